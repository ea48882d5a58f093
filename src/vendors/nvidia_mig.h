// Cards in mode mig: each share is an instance of one of the card's profiles, with
// a place on the card that is its alone.
#pragma once

#include <vector>

#include "aliquot/core/vendor.h"

namespace aliquot::vendors::mig {

inline constexpr std::string_view kAllocationsKey = "hami.io/vgpu-mig-allocations";

inline bool IsMig(const core::Device& card) { return card.mode == "mig"; }

// Hooks of VendorSpec.
bool GivesSeveral(const core::PodRequest& pod, const core::Vendor& vendor,
                  const core::Device& card);
void Annotate(const core::Assigned& assigned, StringMap& annotations);
std::vector<core::Instance> ReadInstances(const StringMap& annotations);

// Gates, for cards of every mode.
core::Reason Healthy(core::Candidate& candidate);  // and it is known where everybody is
// Chooses the instance, whose amounts count against the quota.
core::Reason QuotaAllows(core::Candidate& candidate);
core::Reason HasPlace(core::Candidate& candidate);  // the share becomes the instance

}  // namespace aliquot::vendors::mig
