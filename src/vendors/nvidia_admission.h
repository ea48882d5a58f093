// How containers of pods with NVIDIA GPUs are completed when the pod is created.
#pragma once

#include "aliquot/base/result.h"
#include "aliquot/core/vendor.h"

namespace aliquot::vendors {

// A VendorSpec::complete.
Result<core::Completion> CompleteNvidia(const core::Vendor& vendor,
                                        const core::Submitted& submitted);

}  // namespace aliquot::vendors
