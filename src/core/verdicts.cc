#include "aliquot/core/verdicts.h"

#include <algorithm>

namespace aliquot::core {
namespace {

// A cluster where nodes refuse in more ways than these starts over.
constexpr size_t kMostRefusals = 10'000;

bool SameDemand(const ContainerDemand& a, const ContainerDemand& b) {
  return a.kind == b.kind && a.requests == b.requests;
}

// All that a node's verdict depends on: neither whose pod it is nor how its
// containers are called.
bool SameShape(const PodRequest& a, const PodRequest& b) {
  return std::ranges::equal(a.containers, b.containers, SameDemand) && a.selectors == b.selectors &&
         a.numa_bind == b.numa_bind && a.notes == b.notes;
}

bool SamePolicy(const SchedulePolicy& a, const SchedulePolicy& b) {
  return a.spread_nodes == b.spread_nodes && a.cards == b.cards && a.weights == b.weights;
}

}  // namespace

uint32_t Verdicts::NumberOf(const Refusal& refusal) {
  const auto [at, is_new] = numbers_.try_emplace(refusal, static_cast<uint32_t>(refusals_.size()));
  if (is_new) refusals_.push_back(refusal);
  return at->second;
}

Verdicts& VerdictMemo::Of(const PodRequest& pod, const SchedulePolicy& policy) {
  auto at = std::ranges::find_if(shapes_, [&](const std::unique_ptr<Shape>& shape) {
    return SameShape(shape->pod, pod) && SamePolicy(shape->policy, policy);
  });
  if (at == shapes_.end()) {
    if (shapes_.size() == kShapes) shapes_.pop_back();
    shapes_.push_back(std::make_unique<Shape>(Shape{pod, policy, {}}));
    at = shapes_.end() - 1;
  }
  std::rotate(shapes_.begin(), at, at + 1);
  Verdicts& verdicts = shapes_.front()->verdicts;
  if (verdicts.refusals() > kMostRefusals) verdicts = {};
  return verdicts;
}

}  // namespace aliquot::core
