// Init container arithmetic: what a pod takes of each card, given that init
// containers run one after the other before the others, and sidecars all along.
//
// Per card and dimension, the largest of
//   each ordinary init container + the sidecars before it,
//   all app containers + all sidecars;
// once the ordinary init containers have succeeded, only the latter.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aliquot/core/model.h"

namespace aliquot::core {

// One share placed for one container, by the card's position.
struct Placed {
  size_t container = 0;
  size_t device = 0;
  int64_t memory = 0;
  int64_t cores = 0;
  int64_t slots = 1;
  int profile = -1;   // of Device::profiles; -1: not an instance
  Slices place = {};  // of an instance
};

// Per card position (0 .. devices-1). Negative amounts count as 0. Containers
// past the end of `kinds` count as app containers.
std::vector<DeviceUse> CollapsePlaced(std::span<const Placed> placed,
                                      std::span<const ContainerKind> kinds, size_t devices,
                                      bool init_done = false);

// What one pod takes of one card.
struct Charge {
  VendorId vendor = 0;
  std::string device_id;
  DeviceUse use;
  std::optional<int64_t> quota_cores =
      {};  // what counts against a quota, where it is not use.cores

  bool operator==(const Charge&) const = default;
};

// Ascending by vendor, then card id. `quota_cores` is left open.
std::vector<Charge> Collapse(const Allocation& allocation, std::span<const ContainerKind> kinds,
                             bool init_done);

}  // namespace aliquot::core
