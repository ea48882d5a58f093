#include "core/fitter.h"

#include <algorithm>
#include <exception>
#include <numeric>

namespace aliquot::core {
namespace {

constexpr int64_t kWholeCardCores = 100;

// What a request takes of one card: memory as asked or by percentage (rounded
// down), cores up to the whole card.
void SizeShare(const ContainerRequest& request, const Device& card, Candidate& candidate) {
  candidate.cores = std::min(request.cores, kWholeCardCores);
  candidate.memory = request.memory;
  if (request.memory <= 0 && request.memory_percent != kNoPercent)
    candidate.memory = card.memory * request.memory_percent / 100;
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
      taken = taken + DeviceUse{1,
                                by_percent ? card.memory * request.memory_percent / 100
                                           : request.memory,
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
      use_[pick.device] = use_[pick.device] + DeviceUse{1, pick.memory, pick.cores};
      placed_.push_back({container, pick.device, pick.memory, pick.cores});
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
    std::stable_sort(order_.begin(), order_.end(),
                     [&](uint32_t a, uint32_t b) { return compare(a, b) < 0; });
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
  const auto want = static_cast<size_t>(request.count);
  if (want > handed_.size()) return Refusal::Bare(Reason::kNodeInsufficientDevice);
  ReasonCounts unreadable;
  if (node_->unreadable(request.vendor)) {
    unreadable.Set(Reason::kCardAllocationUnreadable, static_cast<uint32_t>(handed_.size()));
    return Refusal::Counted(unreadable, handed_.size());
  }

  container_ = container;
  walk_ = {};
  walk_.collects_all = spec.selects != nullptr && spec.selects(pod_, policy_);
  if (!quota_.empty() && (quota_[request.vendor].memory || quota_[request.vendor].cores)) {
    walk_.quota_allows = &Fitter::QuotaAllows;
    walk_.quota_context = this;
  }
  // From the end of the list: that is where the policy's first choice stands.
  for (auto at = handed_.rbegin(); at != handed_.rend(); ++at) {
    Candidate candidate{vendor,      pod_, request, policy_, cards[*at],
                        use_[*at],   0,    0,       walk_};
    SizeShare(request, candidate.card, candidate);
    Reason reason = Reason::kNone;
    for (const Gate gate : spec.gates) {
      reason = gate(candidate);
      if (reason != Reason::kNone) break;
    }
    if (reason != Reason::kNone) {
      walk_.counts.Add(reason);
      continue;
    }
    walk_.picks.push_back({*at, candidate.memory, candidate.cores});
    if (!walk_.collects_all && walk_.picks.size() == want) return std::nullopt;
  }
  if (walk_.collects_all && walk_.picks.size() >= want &&
      spec.select(pod_, request, cards, walk_.picks))
    return std::nullopt;
  if (!walk_.picks.empty())
    walk_.counts.Set(Reason::kAllocatedCardsInsufficientRequest,
                     static_cast<uint32_t>(walk_.picks.size()));
  return Refusal::Counted(walk_.counts, handed_.size());
}

// The pod as it would be with the candidate: what it got so far, the picks of
// this container, and the candidate, with init containers and sidecars where
// they belong.
bool Fitter::QuotaAllows(const void* self, const Candidate& candidate) {
  const auto& fitter = *static_cast<const Fitter*>(self);
  const std::span<const Device> cards = fitter.node_->devices();
  std::vector<Pick> picks = candidate.walk.picks;
  if (candidate.walk.collects_all) {
    // Of all the acceptable cards only request.count are used: the cheapest others.
    const size_t others = static_cast<size_t>(candidate.request.count) - 1;
    std::stable_sort(picks.begin(), picks.end(),
                     [](const Pick& a, const Pick& b) { return a.memory < b.memory; });
    if (picks.size() > others) picks.resize(others);
  }
  std::vector<Placed> placed = fitter.placed_;
  for (const Pick& pick : picks)
    placed.push_back({fitter.container_, pick.device, pick.memory, pick.cores});
  placed.push_back({fitter.container_, static_cast<size_t>(&candidate.card - cards.data()),
                    candidate.memory, candidate.cores});
  DeviceUse total;
  const std::vector<DeviceUse> uses = CollapsePlaced(placed, fitter.kinds_, cards.size());
  for (size_t i = 0; i < uses.size(); ++i)
    if (cards[i].vendor == candidate.request.vendor) total = total + uses[i];
  const QuotaRoom& room = fitter.quota_[candidate.request.vendor];
  return (!room.memory || total.memory <= *room.memory) &&
         (!room.cores || total.cores <= *room.cores);
}

Allocation Fitter::TakeAllocation() const {
  Allocation allocation;
  for (const Vendor& vendor : registry_.vendors()) {
    VendorAllocation of_vendor{vendor.id(), {}};
    of_vendor.containers.resize(pod_.containers.size());
    bool any = false;
    for (const Placed& placed : placed_) {
      const Device& card = node_->devices()[placed.device];
      if (card.vendor != vendor.id()) continue;
      any = true;
      of_vendor.containers[placed.container].push_back(
          {card.index, card.id, std::string(vendor.key()), placed.memory, placed.cores});
    }
    if (any) allocation.push_back(std::move(of_vendor));
  }
  return allocation;
}

}  // namespace aliquot::core
