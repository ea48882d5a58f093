#include "aliquot/core/collapse.h"

#include <algorithm>
#include <utility>

namespace aliquot::core {
namespace {

// The arithmetic for one card, fed with its shares in container order.
class CardPeak {
 public:
  void Add(size_t container, ContainerKind kind, const auto& taken) {
    const DeviceUse share{taken.slots, std::max<int64_t>(taken.memory, 0),
                          std::max<int64_t>(taken.cores, 0)};
    if (kind == ContainerKind::kSidecar) {
      sidecars_ = sidecars_ + share;
    } else if (kind == ContainerKind::kApp) {
      apps_ = apps_ + share;
    } else {
      if (container != init_container_) init_ = {};
      init_container_ = container;
      init_ = init_ + share;
      init_peak_ = Max(init_peak_, init_ + sidecars_);
    }
  }

  DeviceUse Total(bool init_done) const {
    const DeviceUse running = apps_ + sidecars_;
    return init_done ? running : Max(running, init_peak_);
  }

 private:
  DeviceUse sidecars_;  // so far
  DeviceUse apps_;
  DeviceUse init_;  // of the current ordinary init container
  DeviceUse init_peak_;
  size_t init_container_ = static_cast<size_t>(-1);
};

ContainerKind KindOf(std::span<const ContainerKind> kinds, size_t container) {
  return container < kinds.size() ? kinds[container] : ContainerKind::kApp;
}

}  // namespace

std::vector<DeviceUse> CollapsePlaced(std::span<const Placed> placed,
                                      std::span<const ContainerKind> kinds, size_t devices,
                                      bool init_done) {
  std::vector<CardPeak> peaks(devices);
  for (const Placed& share : placed)
    peaks[share.device].Add(share.container, KindOf(kinds, share.container), share);
  std::vector<DeviceUse> totals;
  totals.reserve(devices);
  for (const CardPeak& peak : peaks) totals.push_back(peak.Total(init_done));
  return totals;
}

std::vector<Charge> Collapse(const Allocation& allocation, std::span<const ContainerKind> kinds,
                             bool init_done) {
  std::vector<Charge> charges;
  for (const VendorAllocation& of_vendor : allocation) {
    std::map<std::string_view, CardPeak> peaks;
    for (size_t i = 0; i < of_vendor.containers.size(); ++i)
      for (const Share& share : of_vendor.containers[i])
        peaks[share.device_id].Add(i, KindOf(kinds, i), share);
    for (const auto& [id, peak] : peaks) {
      const DeviceUse total = peak.Total(init_done);
      // A card that only finished init containers used is free again.
      if (total != DeviceUse{})
        charges.push_back({of_vendor.vendor, std::string(id), total, std::nullopt});
    }
  }
  return charges;
}

}  // namespace aliquot::core
