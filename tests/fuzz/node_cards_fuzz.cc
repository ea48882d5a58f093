// The annotations, labels and capacity of a node, as all vendors read its cards. Each
// line of the input is a key and its text.
#include "fuzz/all_vendors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aliquot;
  const StringMap texts = fuzz::Lines(data, size);
  for (const core::Vendor& vendor : fuzz::AllVendors().vendors()) {
    const Result<std::vector<core::Device>> cards =
        vendor.spec().read_node(vendor, {"n", &texts, &texts, &texts, &texts});
    if (!cards) {
      fuzz::RequireMessage(cards.error());
      continue;
    }
    for (const core::Device& card : *cards) {
      fuzz::Require(card.vendor == vendor.id(), "cards belong to the vendor that reads them");
      for (const core::CardProfile& profile : card.profiles)
        for (const core::Slices& place : profile.placements)
          fuzz::Require(place.start >= 0 && place.size > 0, "placements lie on the card");
    }
  }
  return 0;
}
