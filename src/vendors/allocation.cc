#include "aliquot/vendors/allocation.h"

#include <algorithm>

#include "aliquot/codec/pod_devices.h"

namespace aliquot::vendors {
namespace {

std::vector<bool> ContainersThatAsk(const core::PodSpec& pod, const core::Vendor& vendor) {
  std::vector<bool> asks;
  for (const core::ContainerSpec& container : pod.containers) {
    std::optional<core::InvalidRequest> invalid;
    const core::ResourceReader resources(container, vendor.spec().limits_only);
    asks.push_back(vendor.spec().parse_request(vendor, resources, invalid).has_value());
  }
  return asks;
}

void ClampNegatives(codec::ContainerShares& containers) {
  for (std::vector<core::Share>& shares : containers)
    for (core::Share& share : shares) {
      share.memory = std::max<int64_t>(share.memory, 0);
      share.cores = std::max<int64_t>(share.cores, 0);
    }
}

bool HasShares(const codec::ContainerShares& containers) {
  return std::any_of(containers.begin(), containers.end(),
                     [](const std::vector<core::Share>& shares) { return !shares.empty(); });
}

}  // namespace

StringMap WriteAllocation(const core::Allocation& allocation, const core::Registry& registry) {
  StringMap annotations;
  for (const core::VendorAllocation& of_vendor : allocation) {
    const core::VendorSpec& spec = registry[of_vendor.vendor].spec();
    const std::string text = codec::FormatPodDevices(of_vendor.containers);
    for (const std::string_view key : {spec.to_allocate, spec.allocated})
      if (!key.empty()) annotations.emplace(key, text);
  }
  return annotations;
}

StringMap WriteAllocation(const core::Allocation& allocation, const core::PodSpec& pod,
                          std::string_view node, WallTime now, const core::Registry& registry) {
  StringMap annotations = WriteAllocation(allocation, registry);
  for (const core::VendorAllocation& of_vendor : allocation) {
    const core::Vendor& vendor = registry[of_vendor.vendor];
    if (vendor.spec().annotate != nullptr)
      vendor.spec().annotate({vendor, pod, of_vendor, node, now}, annotations);
  }
  return annotations;
}

ReadAllocationResult ReadAllocation(const StringMap& annotations, const core::PodSpec& pod,
                                    const core::Registry& registry) {
  ReadAllocationResult result;
  for (const core::Vendor& vendor : registry.vendors()) {
    const core::VendorSpec& spec = vendor.spec();
    const std::string* text = Find(annotations, spec.allocated);
    if (text == nullptr) continue;
    Result<codec::ContainerShares> parsed = codec::ParsePodDevices(*text);
    if (!parsed) {
      result.unreadable.push_back(
          {vendor.id(), std::string(spec.allocated) + ": " + parsed.error().message});
      continue;
    }
    codec::AlignedShares aligned =
        codec::AlignContainers(*std::move(parsed), ContainersThatAsk(pod, vendor));
    if (aligned.mismatch) result.by_position.push_back(spec.allocated);
    if (!HasShares(aligned.containers)) continue;
    ClampNegatives(aligned.containers);
    result.allocation.push_back({vendor.id(), std::move(aligned.containers),
                                 spec.read_instances != nullptr ? spec.read_instances(annotations)
                                                                : std::vector<core::Instance>()});
  }
  return result;
}

std::vector<std::string_view> AllocationKeys(const core::Registry& registry) {
  std::vector<std::string_view> keys;
  for (const core::Vendor& vendor : registry.vendors()) {
    const core::VendorSpec& spec = vendor.spec();
    for (const std::string_view key : {spec.to_allocate, spec.allocated})
      if (!key.empty()) keys.push_back(key);
    keys.insert(keys.end(), spec.other_pod_keys.begin(), spec.other_pod_keys.end());
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

}  // namespace aliquot::vendors
