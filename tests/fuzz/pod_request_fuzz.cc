// The resources and annotations of a pod, as all vendors read them. Each line of the
// input is a resource or annotation and its value.
#include <variant>

#include "aliquot/core/request.h"
#include "aliquot/vendors/allocation.h"
#include "fuzz/all_vendors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aliquot;
  const StringMap texts = fuzz::Lines(data, size);
  const ObjectRef ref{"team", "p", "uid"};
  const core::PodSpec pod{&ref, &texts, {{"c", core::ContainerKind::kApp, &texts, nullptr}}};
  const auto request = core::ParseRequests(pod, fuzz::AllVendors());
  if (const auto* invalid = std::get_if<core::InvalidRequest>(&request))
    fuzz::Require(!invalid->resource.empty() && !invalid->why.empty(), "a refusal says why");
  else
    for (const core::ContainerRequest& wish :
         std::get<core::PodRequest>(request).containers.at(0).requests) {
      fuzz::Require(wish.count > 0 && wish.memory >= 0 && wish.cores >= 0, "a wish is positive");
      fuzz::Require(wish.count <= INT32_MAX && wish.memory <= INT32_MAX, "and within bounds");
    }
  const auto held = vendors::ReadAllocation(texts, pod, fuzz::AllVendors());
  for (const core::VendorAllocation& of_vendor : held.allocation)
    for (const auto& shares : of_vendor.containers)
      for (const core::Share& share : shares)
        fuzz::Require(share.memory >= 0 && share.cores >= 0, "nothing negative is counted");
  for (const vendors::UnreadableAllocation& unreadable : held.unreadable)
    fuzz::Require(!unreadable.problem.empty(), "a text that cannot be read is told of");
  return 0;
}
