// What a pod holds of one vendor's cards, as its annotations say it:
//
//   text      = { container ";" }
//   container = { uuid "," type "," memory "," cores ":" }
//
// e.g. ";GPU-0,NVIDIA,1000,30:;;" for the second of three containers. Position
// is container: init containers first, empty ones included.
//
// Thread safety: every function from any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aliquot/base/result.h"
#include "aliquot/core/model.h"

namespace aliquot::codec {

using ContainerShares = std::vector<std::vector<core::Share>>;

// REQUIRES: no ',', ':' or ';' in ids and types. Share::index is not written.
std::string FormatPodDevices(std::span<const std::vector<core::Share>> containers);

// One list for each piece between semicolons, so one more than there are
// semicolons: "A,T,1,2:;" gives two, the last one empty. Pieces between colons
// without a comma are passed over, and fields after the fourth. Numbers fit
// int32; negative ones are handed on (the caller clamps them). Errors: kInvalid.
Result<ContainerShares> ParsePodDevices(std::string_view text);

struct AlignedShares {
  ContainerShares containers;
  // The text does not fit the pod: shares were taken by plain position. Worth a
  // log line.
  bool mismatch = false;
};

// Gives the lists of a parsed text to the pod's containers. `asks` has one
// entry per container: whether it asks this vendor for cards.
//
// HAMi 2.10 leaves out the containers without cards. A text with fewer
// semicolons than containers is taken for such a one: its lists belong, in
// order, to the containers that ask. Any other text goes by position.
//
// The result is as long as `asks`, without the empty lists at the end that
// belong to no container; longer only if the text holds shares for containers
// that the pod does not have. Those stay counted.
AlignedShares AlignContainers(ContainerShares parsed, const std::vector<bool>& asks);

}  // namespace aliquot::codec
