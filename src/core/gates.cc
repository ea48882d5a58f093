#include "aliquot/core/gates.h"

namespace aliquot::core::gates {
namespace {

constexpr int64_t kWholeCard = 100;

const CardSelector& SelectorOf(const Candidate& candidate) {
  return candidate.pod.selectors[candidate.vendor.id()];
}

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
  const Walk& walk = candidate.walk;
  return walk.quota_allows == nullptr || walk.quota_allows(walk.quota_context, candidate)
             ? Reason::kNone
             : Reason::kResourceQuotaNotFit;
}

Reason FreeMemory(Candidate& candidate) {
  return candidate.card.memory - candidate.use.memory >= candidate.memory
             ? Reason::kNone
             : Reason::kCardInsufficientMemory;
}

Reason FreeCores(Candidate& candidate) {
  return candidate.card.cores - candidate.use.cores >= candidate.cores
             ? Reason::kNone
             : Reason::kCardInsufficientCore;
}

Reason ExclusiveIsIdle(Candidate& candidate) {
  return candidate.card.cores == kWholeCard && candidate.cores == kWholeCard &&
                 candidate.use.slots > 0
             ? Reason::kExclusiveDeviceAllocateConflict
             : Reason::kNone;
}

Reason CoresNotExhausted(Candidate& candidate) {
  return candidate.card.cores != 0 && candidate.use.cores == candidate.card.cores &&
                 candidate.cores == 0
             ? Reason::kCardComputeUnitsExhausted
             : Reason::kNone;
}

}  // namespace aliquot::core::gates
