#include "core/fitter.h"

#include <algorithm>
#include <exception>
#include <numeric>

namespace aliquot::core {
namespace {

Placed PlacedAt(size_t container, const Pick& pick) {
  return {container, pick.device, pick.memory, pick.cores, pick.slots, pick.profile, pick.place};
}

// Stable, and without the memory that std::stable_sort allocates: most nodes have few
// cards, many of them in order already.
template <typename Less>
void SortCards(std::vector<uint32_t>& order, Less less) {
  constexpr size_t kFew = 32;
  if (order.size() > kFew) return std::stable_sort(order.begin(), order.end(), less);
  for (auto at = order.begin(); at != order.end(); ++at)
    std::rotate(std::upper_bound(order.begin(), at, *at, less), at, at + 1);
}

int Compare(float a, float b) { return a < b ? -1 : a > b ? 1 : 0; }
int Compare(int64_t a, int64_t b) { return a < b ? -1 : a > b ? 1 : 0; }

}  // namespace

float DeviceScore(const Device& card, const DeviceUse& use, const ContainerDemand& demand,
                  const ScoringWeights& weights) {
  if (card.slots == 0 || card.cores == 0 || card.memory == 0) return 0;
  DeviceUse taken = use;
  if (card.named_after_vendor) {
    for (const ContainerRequest& request : demand.requests) {
      if (request.vendor != card.vendor) continue;
      const bool by_percent = request.memory == 0 && request.memory_percent != kNoPercent;
      taken = taken +
              DeviceUse{1, by_percent ? card.memory * request.memory_percent / 100 : request.memory,
                        request.cores};
    }
  }
  const auto term = [](int64_t weight, int64_t part, int64_t whole) {
    return static_cast<float>(weight) * (static_cast<float>(part) / static_cast<float>(whole));
  };
  return 10.0F * (term(weights.slot, taken.slots, card.slots) +
                  term(weights.core, taken.cores, card.cores) +
                  term(weights.memory, taken.memory, card.memory));
}

Fitter::Fitter(const PodRequest& pod, std::span<const QuotaRoom> quota,
               const SchedulePolicy& policy, const Registry& registry)
    : pod_(pod), quota_(quota), policy_(policy), registry_(registry) {
  for (const ContainerDemand& demand : pod.containers) kinds_.push_back(demand.kind);
  for (const Vendor& vendor : registry.vendors())
    if (vendor.spec().score_node != nullptr && pod.Asks(vendor.id())) scorers_.push_back(&vendor);
}

std::optional<Refusal> Fitter::Fit(const NodeUsage& node) {
  node_ = &node;
  placed_.clear();
  resident_.assign(node.use().begin(), node.use().end());
  order_.resize(node.devices().size());
  bool apps_begun = false;
  for (size_t i = 0; i < pod_.containers.size(); ++i) {
    // Each init container is tried on the node as it is, beside the sidecars
    // before it; the app containers are tried together, beside all sidecars.
    const bool app = kinds_[i] == ContainerKind::kApp;
    if (!app || !apps_begun) {
      use_ = resident_;
      std::iota(order_.begin(), order_.end(), 0U);
    }
    apps_begun = app;
    if (std::optional<Refusal> refusal = FitContainer(i)) return refusal;
    if (kinds_[i] == ContainerKind::kSidecar) resident_ = use_;
  }
  return std::nullopt;
}

std::optional<Refusal> Fitter::FitContainer(size_t container) {
  const ContainerDemand& demand = pod_.containers[container];
  if (demand.requests.empty()) return std::nullopt;
  const std::span<const Device> cards = node_->devices();
  scores_.resize(cards.size());
  for (size_t i = 0; i < cards.size(); ++i)
    scores_[i] = DeviceScore(cards[i], use_[i], demand, policy_.weights);
  for (const ContainerRequest& request : demand.requests) {
    OrderCards(scores_);
    if (std::optional<Refusal> refusal = FitRequestGuarded(container, request)) return refusal;
    for (const Pick& pick : walk_.picks) {
      use_[pick.device] = use_[pick.device] + DeviceUse{pick.slots, pick.memory, pick.cores};
      placed_.push_back(PlacedAt(container, pick));
    }
  }
  return std::nullopt;
}

void Fitter::OrderCards(const std::vector<float>& scores) {
  const std::span<const Device> cards = node_->devices();
  const bool numa_bind = pod_.numa_bind;
  const auto numa = [&](uint32_t a, uint32_t b) { return Compare(cards[a].numa, cards[b].numa); };
  const auto score = [&](uint32_t a, uint32_t b) { return Compare(scores[a], scores[b]); };
  const auto sort = [&](auto compare) {
    SortCards(order_, [&](uint32_t a, uint32_t b) { return compare(a, b) < 0; });
  };
  switch (policy_.cards.order) {
    case CardPolicy::Order::kMutex:
      return sort([&](uint32_t a, uint32_t b) {
        const int by_use = Compare(use_[b].slots, use_[a].slots);
        return by_use != 0 ? by_use : numa(a, b);
      });
    case CardPolicy::Order::kBinpack:
      return sort([&](uint32_t a, uint32_t b) {
        const int first = numa_bind ? numa(b, a) : score(a, b);
        return first != 0 ? first : numa_bind ? score(a, b) : numa(a, b);
      });
    case CardPolicy::Order::kSpread:
      return sort([&](uint32_t a, uint32_t b) {
        const int first = numa_bind ? numa(a, b) : score(b, a);
        return first != 0 ? first : numa_bind ? score(b, a) : numa(a, b);
      });
    case CardPolicy::Order::kChain:
      return sort([&](uint32_t a, uint32_t b) {
        if (numa_bind)
          if (const int by_numa = numa(a, b); by_numa != 0) return by_numa;
        for (const CardPolicy::Key key : policy_.cards.chain) {
          const int by_key = key == CardPolicy::Key::kNuma      ? numa(a, b)
                             : key == CardPolicy::Key::kBinpack ? score(a, b)
                                                                : score(b, a);
          if (by_key != 0) return by_key;
        }
        return Compare(int64_t{cards[a].index}, int64_t{cards[b].index});
      });
  }
}

// A fault in one vendor's code refuses the node and ends nothing else.
std::optional<Refusal> Fitter::FitRequestGuarded(size_t container,
                                                 const ContainerRequest& request) {
  try {
    return FitRequest(container, request);
  } catch (const std::exception& problem) {
    return Refusal::Text(
        std::string(registry_[request.vendor].key()) + " failed: " + problem.what(), false);
  }
}

std::optional<Refusal> Fitter::FitRequest(size_t container, const ContainerRequest& request) {
  const std::span<const Device> cards = node_->devices();
  const Vendor& vendor = registry_[request.vendor];
  const VendorSpec& spec = vendor.spec();
  handed_.clear();
  for (const uint32_t position : order_)
    if (cards[position].vendor == request.vendor && cards[position].requestable)
      handed_.push_back(position);
  const auto gives_several = [&](uint32_t position) {
    return spec.gives_several != nullptr && spec.gives_several(pod_, vendor, cards[position]);
  };
  const auto want = static_cast<size_t>(request.count);
  if (want > handed_.size() && std::none_of(handed_.begin(), handed_.end(), gives_several))
    return Refusal::Bare(Reason::kNodeInsufficientDevice);
  ReasonCounts counts;
  if (node_->unreadable(request.vendor)) {
    counts.Set(Reason::kCardAllocationUnreadable, static_cast<uint32_t>(handed_.size()));
    return Refusal::Counted(counts, handed_.size());
  }

  container_ = container;
  Attempt attempt{
      {registry_, vendor, pod_, policy_, *node_, placed_}, request, container, use_, handed_};
  if (!quota_.empty() && (quota_[request.vendor].memory || quota_[request.vendor].cores)) {
    quota_vendor_ = request.vendor;
    attempt.quota_allows = &Fitter::WithinQuota;
    attempt.quota_context = this;
  }
  if (spec.check_node != nullptr && !spec.check_node(attempt, counts))
    return Refusal::Counted(counts, handed_.size());

  walk_ = {};
  walk_.collects_all = spec.selects != nullptr && spec.selects(attempt);
  // From the end of the list: that is where the policy's first choice stands.
  for (auto at = handed_.rbegin(); at != handed_.rend(); ++at)
    while (PickCard(attempt, *at)) {
      if (!walk_.collects_all && walk_.picks.size() == want) return std::nullopt;
      if (!gives_several(*at)) break;
    }
  if (walk_.collects_all && walk_.picks.size() >= want && spec.select(attempt, walk_.picks)) {
    // Each of them was within the quota beside the cheapest others, not beside these.
    if (attempt.WithinQuota(walk_.picks)) return std::nullopt;
    walk_.counts.Add(Reason::kResourceQuotaNotFit, static_cast<uint32_t>(want));
    return Refusal::Counted(walk_.counts, handed_.size());
  }
  if (!walk_.picks.empty())
    walk_.counts.Set(Reason::kAllocatedCardsInsufficientRequest,
                     static_cast<uint32_t>(walk_.picks.size()));
  if (spec.explain != nullptr) spec.explain(attempt, walk_.picks, walk_.counts);
  return Refusal::Counted(walk_.counts, handed_.size());
}

// Adds the card to the picks, or its reason to the counts.
bool Fitter::PickCard(const Attempt& attempt, uint32_t position) {
  const VendorSpec& spec = attempt.vendor.spec();
  Candidate candidate{attempt,         attempt.vendor, pod_,
                      attempt.request, policy_,        attempt.cards()[position],
                      use_[position],  walk_,          {position}};
  if (spec.size_share == nullptr)
    TakeAsAsked(candidate);
  else
    spec.size_share(candidate);
  for (const Gate gate : spec.gates)
    if (const Reason reason = gate(candidate); reason != Reason::kNone) {
      walk_.counts.Add(reason);
      return false;
    }
  walk_.picks.push_back(candidate.take);
  return true;
}

// The pod as it would be with these picks for the container at hand: with what
// it got so far, and init containers and sidecars where they belong.
bool Fitter::WithinQuota(const void* self, std::span<const Pick> picks) {
  const auto& fitter = *static_cast<const Fitter*>(self);
  const std::span<const Device> cards = fitter.node_->devices();
  const VendorId vendor = fitter.quota_vendor_;
  const auto quota_cores = fitter.registry_[vendor].spec().quota_cores;
  std::vector<Placed> placed = fitter.placed_;
  for (const Pick& pick : picks) placed.push_back(PlacedAt(fitter.container_, pick));
  DeviceUse total;
  std::vector<DeviceUse> uses = CollapsePlaced(placed, fitter.kinds_, cards.size());
  for (size_t i = 0; i < uses.size(); ++i) {
    if (cards[i].vendor != vendor) continue;
    if (quota_cores != nullptr) uses[i].cores = quota_cores(cards[i], uses[i].cores);
    total = total + uses[i];
  }
  const QuotaRoom& room = fitter.quota_[vendor];
  return (!room.memory || total.memory <= *room.memory) &&
         (!room.cores || total.cores <= *room.cores);
}

// What the vendors have to say about the node, beside the default score.
float Fitter::VendorScore() const {
  float score = 0;
  for (const Vendor* vendor : scorers_)
    score += vendor->spec().score_node({registry_, *vendor, pod_, policy_, *node_, placed_});
  return score;
}

Allocation Fitter::TakeAllocation() const {
  Allocation allocation;
  for (const Vendor& vendor : registry_.vendors()) {
    const VendorSpec& spec = vendor.spec();
    VendorAllocation of_vendor{vendor.id(), {}, {}};
    for (const Placed& placed : placed_) {
      const Device& card = node_->devices()[placed.device];
      if (card.vendor != vendor.id()) continue;
      of_vendor.containers.resize(pod_.containers.size());
      std::vector<Share>& shares = of_vendor.containers[placed.container];
      if (placed.profile >= 0)
        of_vendor.instances.push_back({placed.container, shares.size(), card.id,
                                       card.profiles[static_cast<size_t>(placed.profile)].name,
                                       placed.place});
      shares.push_back({card.index, card.id,
                        spec.model_as_type ? card.type : std::string(vendor.key()), placed.memory,
                        placed.cores, placed.slots,
                        spec.annotate != nullptr ? card.facts : Facts()});
    }
    if (!of_vendor.containers.empty()) allocation.push_back(std::move(of_vendor));
  }
  return allocation;
}

}  // namespace aliquot::core
