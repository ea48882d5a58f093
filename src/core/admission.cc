#include "aliquot/core/admission.h"

#include <algorithm>

#include "aliquot/core/vendor.h"

namespace aliquot::core {
namespace {

// For all cards of the request.
DeviceUse LeastUse(const PodRequest& pod, const ContainerRequest& request,
                   const Registry& registry) {
  const VendorSpec& spec = registry[request.vendor].spec();
  DeviceUse use{0, request.memory, std::min<int64_t>(request.cores, 100)};
  if (spec.least_use != nullptr) use = spec.least_use(pod, request);
  return {0, use.memory * request.count, use.cores * request.count};
}

DeviceUse Larger(const DeviceUse& a, const DeviceUse& b) {
  return {0, std::max(a.memory, b.memory), std::max(a.cores, b.cores)};
}

}  // namespace

std::vector<DeviceUse> LeastQuotaUse(const PodRequest& pod, const Registry& registry) {
  std::vector<DeviceUse> apps(registry.size());
  std::vector<DeviceUse> init(registry.size());
  for (const ContainerDemand& demand : pod.containers)
    for (const ContainerRequest& request : demand.requests) {
      const DeviceUse use = LeastUse(pod, request, registry);
      if (demand.kind == ContainerKind::kApp)
        apps[request.vendor] = apps[request.vendor] + use;
      else
        init[request.vendor] = Larger(init[request.vendor], use);
    }
  for (size_t vendor = 0; vendor < apps.size(); ++vendor)
    apps[vendor] = Larger(apps[vendor], init[vendor]);
  return apps;
}

bool ExceedsQuota(std::span<const DeviceUse> least, std::span<const QuotaRoom> room) {
  for (size_t vendor = 0; vendor < room.size(); ++vendor) {
    const DeviceUse& need = least[vendor];
    if (need.memory == 0 && need.cores == 0) continue;
    if (need.memory > room[vendor].memory.value_or(need.memory) ||
        need.cores > room[vendor].cores.value_or(need.cores))
      return true;
  }
  return false;
}

}  // namespace aliquot::core
