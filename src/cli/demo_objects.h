// The demo's own cluster: nodes and pods of the examples, as the YAML that an
// operator would write.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "aliquot/base/result.h"

namespace aliquot::cli {

// Stands for all examples at once, in one cluster.
inline constexpr std::string_view kAllVendors = "all";

struct DemoObjects {
  std::string all;  // nodes and pods
  std::string nodes;
  std::string pods;
};

// Of a vendor's example, or of all of them. The error names the vendors there are.
Result<DemoObjects> ObjectsOf(std::string_view vendor);

// "amd, ascend, ... or all"
std::string KnownVendors();

}  // namespace aliquot::cli
