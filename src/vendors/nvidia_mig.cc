#include "vendors/nvidia_mig.h"

#include <algorithm>
#include <numeric>

#include "aliquot/codec/vendor_texts.h"
#include "aliquot/core/gates.h"

namespace aliquot::vendors::mig {
namespace {

using core::Attempt;
using core::Candidate;
using core::CardProfile;
using core::Placed;
using core::Reason;
using core::Slices;

using Profiles = std::vector<CardProfile>;

bool IsFree(const Slices& place, const std::vector<Slices>& occupied) {
  return std::none_of(occupied.begin(), occupied.end(),
                      [&](const Slices& other) { return Overlap(place, other); });
}

// What lies on the card: other pods' instances, and this pod's.
std::vector<Slices> Occupied(const Candidate& candidate) {
  std::vector<Slices> occupied;
  const size_t device = candidate.take.device;
  for (const core::Tenant& tenant : candidate.attempt.node.tenants(device))
    occupied.insert(occupied.end(), tenant.instances.begin(), tenant.instances.end());
  for (const Placed& placed : candidate.attempt.placed)
    if (placed.device == device) occupied.push_back(placed.place);
  for (const core::Pick& pick : candidate.walk.picks)
    if (pick.device == device) occupied.push_back(pick.place);
  return occupied;
}

// An instance of the profile that only init containers had which will have ended.
const Placed* LeftBehind(const Candidate& candidate, int profile) {
  const Attempt& attempt = candidate.attempt;
  const size_t device = candidate.take.device;
  const auto ends_before = [&](const Placed& placed) {
    return placed.container != attempt.container &&
           attempt.pod.containers[placed.container].kind == core::ContainerKind::kInit;
  };
  for (const Placed& left : attempt.placed) {
    if (left.device != device || left.profile != profile) continue;
    const bool all_end =
        std::all_of(attempt.placed.begin(), attempt.placed.end(), [&](const Placed& other) {
          return other.device != device || other.place != left.place || ends_before(other);
        });
    const bool taken = std::any_of(
        candidate.walk.picks.begin(), candidate.walk.picks.end(),
        [&](const core::Pick& pick) { return pick.device == device && pick.place == left.place; });
    if (all_end && !taken) return &left;
  }
  return nullptr;
}

// Small ones from the end of the card, so that large ones find room at its start.
std::optional<Slices> FindPlace(const CardProfile& profile, const std::vector<Slices>& occupied) {
  std::vector<Slices> places = profile.placements;
  const bool from_end = profile.name.starts_with("1g.") || profile.name.starts_with("3g.");
  std::stable_sort(places.begin(), places.end(), [&](const Slices& a, const Slices& b) {
    return from_end ? a.start > b.start : a.start < b.start;
  });
  const auto free = std::find_if(places.begin(), places.end(),
                                 [&](const Slices& place) { return IsFree(place, occupied); });
  return free == places.end() ? std::nullopt : std::optional(*free);
}

// Positions of the profiles with enough memory, the best fitting first. For a whole
// card the largest does, even if it has a little less than the card.
std::vector<int> ProfilesFor(const Candidate& candidate) {
  const Profiles& profiles = candidate.card.profiles;
  std::vector<int> order(profiles.size());
  std::iota(order.begin(), order.end(), 0);
  const auto at = [&](int i) -> const CardProfile& { return profiles[static_cast<size_t>(i)]; };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return std::pair(at(a).memory, at(a).slice_count) < std::pair(at(b).memory, at(b).slice_count);
  });
  const auto enough = std::find_if(order.begin(), order.end(),
                                   [&](int i) { return at(i).memory >= candidate.take.memory; });
  const bool whole = candidate.request.memory == 0 && candidate.request.memory_percent == 100;
  if (enough == order.end() && whole && !order.empty()) return {order.back()};
  return {enough, order.end()};
}

// The first profile of that name says where instances may lie.
const CardProfile& Named(const Profiles& profiles, int position) {
  const std::string& name = profiles[static_cast<size_t>(position)].name;
  return *std::find_if(profiles.begin(), profiles.end(),
                       [&](const CardProfile& profile) { return profile.name == name; });
}

void ChooseInstance(Candidate& candidate) {
  const std::vector<Slices> occupied = Occupied(candidate);
  for (const int profile : ProfilesFor(candidate)) {
    std::optional<Slices> place;
    if (const Placed* left = LeftBehind(candidate, profile))
      place = left->place;
    else
      place = FindPlace(Named(candidate.card.profiles, profile), occupied);
    if (!place) continue;
    candidate.take.profile = profile;
    candidate.take.place = *place;
    return;
  }
}

void BecomeInstance(const Candidate& candidate, core::Pick& take) {
  const CardProfile& profile = candidate.card.profiles[static_cast<size_t>(take.profile)];
  take.memory = profile.memory;
  take.cores = profile.cores;
}

}  // namespace

bool GivesSeveral(const core::PodRequest& pod, const core::Vendor& vendor,
                  const core::Device& card) {
  return IsMig(card) && pod.selectors[vendor.id()].AllowsMode(card.mode);
}

Reason Healthy(Candidate& candidate) {
  if (!candidate.card.healthy) return Reason::kCardNotHealth;
  const core::NodeUsage& node = candidate.attempt.node;
  const auto is_mig = [&] { return IsMig(candidate.card); };
  if (node.lost_instance(candidate.vendor.id()) && is_mig()) return Reason::kCardNotHealth;
  for (const core::Tenant& tenant : node.tenants(candidate.take.device))
    if (tenant.instances.empty() == is_mig()) return Reason::kCardNotHealth;
  return Reason::kNone;
}

Reason QuotaAllows(Candidate& candidate) {
  if (!IsMig(candidate.card)) return core::gates::QuotaAllows(candidate);
  const auto picked =
      std::count_if(candidate.walk.picks.begin(), candidate.walk.picks.end(),
                    [&](const core::Pick& pick) { return pick.device == candidate.take.device; });
  if (candidate.card.slots <= candidate.use.slots + picked)
    return Reason::kCardTimeSlicingExhausted;
  ChooseInstance(candidate);
  if (candidate.take.profile < 0) return core::gates::QuotaAllows(candidate);
  const core::Pick asked = candidate.take;
  BecomeInstance(candidate, candidate.take);
  const Reason reason = core::gates::QuotaAllows(candidate);
  candidate.take = asked;  // the card's memory and cores are compared with what is asked
  return reason;
}

Reason HasPlace(Candidate& candidate) {
  if (!IsMig(candidate.card)) return Reason::kNone;
  if (candidate.take.profile < 0) return Reason::kCardMigTopologyInfeasible;
  BecomeInstance(candidate, candidate.take);
  return Reason::kNone;
}

void Annotate(const core::Assigned& assigned, StringMap& annotations) {
  if (!assigned.allocation.instances.empty())
    annotations.emplace(kAllocationsKey,
                        codec::FormatMigReservations(assigned.allocation.instances));
}

std::vector<core::Instance> ReadInstances(const StringMap& annotations) {
  const std::string* text = Find(annotations, kAllocationsKey);
  if (text == nullptr) return {};
  Result<std::vector<core::Instance>> instances = codec::ParseMigReservations(*text);
  return instances ? *std::move(instances) : std::vector<core::Instance>();
}

}  // namespace aliquot::vendors::mig
