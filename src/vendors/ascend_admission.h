// How containers of pods with Ascend NPUs are completed when the pod is created.
#pragma once

#include <string_view>

#include "aliquot/base/result.h"
#include "aliquot/base/string_map.h"
#include "aliquot/core/vendor.h"

namespace aliquot::vendors {

// Pod annotation: how its NPUs are split.
inline constexpr std::string_view kModeKey = "huawei.com/vnpu-mode";
inline constexpr std::string_view kHamiCore = "hami-core";

// The pod's NPUs are split by software; otherwise by templates of the driver.
bool IsHamiCore(const StringMap& annotations);

// A VendorSpec::complete.
Result<core::Completion> CompleteAscend(const core::Vendor& vendor,
                                        const core::Submitted& submitted);

}  // namespace aliquot::vendors
