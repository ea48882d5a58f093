// Cards in mode mig: each share is an instance of one of the card's profiles, with
// a place on the card that is its alone.
#pragma once

#include <vector>

#include "aliquot/core/vendor.h"

namespace aliquot::vendors::mig {

inline constexpr std::string_view kAllocationsKey = "hami.io/vgpu-mig-allocations";

inline bool IsMig(const core::Device& card) { return card.mode == "mig"; }

// Hooks of VendorSpec.
void SizeShare(core::Candidate& candidate);  // as asked, and of a MIG card the instance
bool GivesSeveral(const core::PodRequest& pod, const core::Vendor& vendor,
                  const core::Device& card);
void Annotate(const core::Assigned& assigned, StringMap& annotations);
std::vector<core::Instance> ReadInstances(const StringMap& annotations);

// Gates; none of them objects to a card that is not in mode mig, except Trusted to
// one on which instances were reserved.
core::Reason Trusted(core::Candidate& candidate);  // it is known where everybody is
core::Reason FreeSlotBesidePicks(core::Candidate& candidate);
core::Reason QuotaAllows(core::Candidate& candidate);  // with what the instance takes
core::Reason HasPlace(core::Candidate& candidate);     // the share becomes the instance

}  // namespace aliquot::vendors::mig
