#include "aliquot/core/gates.h"

#include <algorithm>

namespace aliquot::core::gates {
namespace {

constexpr int64_t kWholeCard = 100;

const CardSelector& SelectorOf(const Candidate& candidate) {
  return candidate.pod.selectors[candidate.vendor.id()];
}

// Into instances, whose places are the limit: their cores need not add up to the
// card's.
bool IsCutUp(const Candidate& candidate) { return !candidate.card.profiles.empty(); }

}  // namespace

Reason Healthy(Candidate& candidate) {
  return candidate.card.healthy ? Reason::kNone : Reason::kCardNotHealth;
}

Reason NotCordoned(Candidate& candidate) {
  return candidate.card.cordoned ? Reason::kCardCordoned : Reason::kNone;
}

Reason TypeAllowed(Candidate& candidate) {
  const CardSelector& selector = SelectorOf(candidate);
  return selector.AllowsType(candidate.card.type) && selector.AllowsMode(candidate.card.mode)
             ? Reason::kNone
             : Reason::kCardTypeMismatch;
}

Reason IdAllowed(Candidate& candidate) {
  return SelectorOf(candidate).AllowsId(candidate.card.id) ? Reason::kNone
                                                           : Reason::kCardUuidMismatch;
}

Reason FreeSlot(Candidate& candidate) {
  return candidate.card.slots > candidate.use.slots ? Reason::kNone
                                                    : Reason::kCardTimeSlicingExhausted;
}

Reason IdleUnderMutex(Candidate& candidate) {
  return candidate.policy.cards.mutex && candidate.use.slots > 0
             ? Reason::kExclusiveDeviceAllocateConflict
             : Reason::kNone;
}

Reason NumaGroup(Candidate& candidate) {
  Walk& walk = candidate.walk;
  // Where a hook chooses among all cards, it looks at the groups itself.
  if (!candidate.pod.numa_bind || walk.collects_all || candidate.card.numa == walk.numa_group)
    return Reason::kNone;
  walk.counts.Add(Reason::kNumaNotFit, static_cast<uint32_t>(walk.picks.size()));
  walk.picks.clear();
  walk.numa_group = candidate.card.numa;
  return Reason::kNone;
}

Reason QuotaAllows(Candidate& candidate) {
  const Attempt& attempt = candidate.attempt;
  if (attempt.quota_allows == nullptr) return Reason::kNone;
  std::vector<Pick> picks = candidate.walk.picks;
  if (candidate.walk.collects_all) {
    // Of all the acceptable cards only request.count are used: the cheapest others.
    const size_t others = static_cast<size_t>(candidate.request.count) - 1;
    std::stable_sort(picks.begin(), picks.end(),
                     [](const Pick& a, const Pick& b) { return a.memory < b.memory; });
    if (picks.size() > others) picks.resize(others);
  }
  picks.push_back(candidate.take);
  return attempt.WithinQuota(picks) ? Reason::kNone : Reason::kResourceQuotaNotFit;
}

Reason FreeMemory(Candidate& candidate) {
  return candidate.card.memory - candidate.use.memory >= candidate.take.memory
             ? Reason::kNone
             : Reason::kCardInsufficientMemory;
}

Reason FreeCores(Candidate& candidate) {
  return candidate.card.cores - candidate.use.cores >= candidate.take.cores ||
                 (IsCutUp(candidate) && candidate.take.cores == 0)
             ? Reason::kNone
             : Reason::kCardInsufficientCore;
}

Reason ExclusiveIsIdle(Candidate& candidate) {
  return candidate.card.cores == kWholeCard && candidate.take.cores == kWholeCard &&
                 candidate.use.slots > 0
             ? Reason::kExclusiveDeviceAllocateConflict
             : Reason::kNone;
}

Reason CoresNotExhausted(Candidate& candidate) {
  return !IsCutUp(candidate) && candidate.card.cores != 0 &&
                 candidate.use.cores == candidate.card.cores && candidate.take.cores == 0
             ? Reason::kCardComputeUnitsExhausted
             : Reason::kNone;
}

}  // namespace aliquot::core::gates
