// What pods hold, as text for people.
#pragma once

#include <string>
#include <vector>

#include "aliquot/core/model.h"
#include "aliquot/core/vendor.h"

namespace aliquot::scheduler {

// "NVIDIA/0: GPU-0,3000,30; NVIDIA/1: GPU-1,500,5": vendor, container, card, memory, cores.
// Of all vendors but those in `except`; "nothing" if there is nothing.
std::string Describe(const core::Allocation& allocation, const core::Registry& registry,
                     const std::vector<core::VendorId>& except = {});

}  // namespace aliquot::scheduler
