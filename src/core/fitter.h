// Fitter: tries one pod on one node after the other, with scratch space that is
// kept between nodes. Private to core; schedule.h is the interface.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "aliquot/core/collapse.h"
#include "aliquot/core/schedule.h"

namespace aliquot::core {

// Not thread-safe; everything given to the constructor outlives it.
class Fitter {
 public:
  Fitter(const PodRequest& pod, std::span<const QuotaRoom> quota, const SchedulePolicy& policy,
         const Registry& registry);

  // No value: the pod fits, and TakeAllocation has what it would get.
  std::optional<Refusal> Fit(const NodeUsage& node);

  // Of the last node that fit.
  float VendorScore() const;
  Allocation TakeAllocation() const;

 private:
  std::optional<Refusal> FitContainer(size_t container);
  std::optional<Refusal> FitRequestGuarded(size_t container, const ContainerRequest& request);
  std::optional<Refusal> FitRequest(size_t container, const ContainerRequest& request);
  void OrderCards(const std::vector<float>& scores);
  bool PickCard(const Attempt& attempt, uint32_t position);
  static bool WithinQuota(const void* self, std::span<const Pick> picks);

  const PodRequest& pod_;
  std::span<const QuotaRoom> quota_;
  const SchedulePolicy& policy_;
  const Registry& registry_;
  std::vector<ContainerKind> kinds_;
  std::vector<const Vendor*> scorers_;  // of the vendors asked

  // Of the node at hand.
  const NodeUsage* node_ = nullptr;
  std::vector<DeviceUse> resident_;  // the node's use and the sidecars so far
  std::vector<DeviceUse> use_;       // and what the current pass took
  std::vector<uint32_t> order_;      // positions of cards; a pass reorders it in place
  std::vector<uint32_t> handed_;     // those of the request's vendor, in that order
  std::vector<float> scores_;        // by position
  std::vector<Placed> placed_;       // in container order
  size_t container_ = 0;             // being fitted
  VendorId quota_vendor_ = 0;        // of the request being fitted
  Walk walk_;
};

}  // namespace aliquot::core
