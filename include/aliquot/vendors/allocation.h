// A pod's allocation as its vendors' annotations say it, both ways.
//
// Thread safety: every function from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aliquot/base/clock.h"
#include "aliquot/base/string_map.h"
#include "aliquot/core/model.h"
#include "aliquot/core/request.h"
#include "aliquot/core/vendor.h"

namespace aliquot::vendors {

// The to-allocate and allocated annotations of every vendor in the allocation.
StringMap WriteAllocation(const core::Allocation& allocation, const core::Registry& registry);

// And the vendors' further ones, for a pod that is to run on `node`.
StringMap WriteAllocation(const core::Allocation& allocation, const core::PodSpec& pod,
                          std::string_view node, WallTime now, const core::Registry& registry);

struct UnreadableAllocation {
  core::VendorId vendor = 0;
  std::string problem;  // names the key
};

struct ReadAllocationResult {
  core::Allocation allocation;  // of the vendors whose text could be read
  std::vector<UnreadableAllocation> unreadable;
  // Keys of texts that do not match the pod's containers: taken by position. Worth a log
  // line.
  std::vector<std::string_view> by_position;
};

// From the allocated annotations. One vendor's unreadable text does not hide
// what the pod holds of another. Negative amounts count as 0. Texts of HAMi
// 2.10 that leave out empty elements are brought to full length with the help
// of the containers' requests.
ReadAllocationResult ReadAllocation(const StringMap& annotations, const core::PodSpec& pod,
                                    const core::Registry& registry);

// Every pod annotation that a vendor may write for a chosen node. Sorted.
std::vector<std::string_view> AllocationKeys(const core::Registry& registry);

}  // namespace aliquot::vendors
