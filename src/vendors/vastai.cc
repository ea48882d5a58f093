// VastAI: whole cards, or single dies of multi-die cards where the plugin
// publishes them. Only slots are handed out; dies of one container come from one
// physical card (AIC) where that is possible.
#include <algorithm>
#include <map>

#include "vendors/shared.h"
#include "vendors/vendors.h"

namespace aliquot::vendors {
namespace {

std::string_view AicOf(const Device& card) { return core::TextOf(card.facts, "AIC"); }
std::string_view StrategyOf(const Device& card) {
  return core::TextOf(card.facts, "DeviceStrategy");
}

// Whatever the plugin writes as cores, 100 are counted, so that no score is 0.
Result<std::vector<Device>> ReadNode(const core::Vendor& vendor, const core::NodeSpec& node) {
  Result<std::vector<Device>> cards = ReadJsonCards(vendor, node);
  if (cards)
    for (Device& card : *cards) card.cores = 100;
  return cards;
}

// The node offers dies: all of them say so.
bool OffersDies(const Attempt& attempt) {
  return std::all_of(attempt.handed.begin(), attempt.handed.end(), [&](uint32_t position) {
    return StrategyOf(attempt.cards()[position]) == "die";
  });
}

// Under `mutex` a die is as busy as its physical card.
Reason IdleCardUnderMutex(Candidate& candidate) {
  const Attempt& attempt = candidate.attempt;
  const std::string_view aic = AicOf(candidate.card);
  if (!candidate.policy.cards.mutex || aic.empty() || !OffersDies(attempt)) return Reason::kNone;
  const bool busy = std::any_of(attempt.handed.begin(), attempt.handed.end(), [&](uint32_t other) {
    return attempt.use[other].slots > 0 && AicOf(attempt.cards()[other]) == aic;
  });
  return busy ? Reason::kExclusiveDeviceAllocateConflict : Reason::kNone;
}

// Free dies by physical card, in walk order; by AIC, then those without one, each
// by itself.
std::vector<std::vector<Pick>> GroupByCard(std::span<const Device> cards,
                                           const std::vector<Pick>& picks) {
  std::map<std::string_view, std::vector<Pick>> by_aic;
  std::vector<std::vector<Pick>> alone;
  for (const Pick& pick : picks) {
    const std::string_view aic = AicOf(cards[pick.device]);
    if (aic.empty())
      alone.push_back({pick});
    else
      by_aic[aic].push_back(pick);
  }
  std::vector<std::vector<Pick>> groups;
  for (auto& [aic, group] : by_aic) groups.push_back(std::move(group));
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  groups.insert(groups.end(), alone.begin(), alone.end());
  return groups;
}

// A single die: from the card that has the fewest left.
Pick SelectOne(const Attempt& attempt, const std::vector<Pick>& picks) {
  if (attempt.policy.cards.mutex) return picks.front();
  std::map<std::string_view, int64_t> left;
  for (const Pick& pick : picks) ++left[AicOf(attempt.cards()[pick.device])];
  left[""] = 1;  // each die that lies on no known card is by itself
  return *std::min_element(picks.begin(), picks.end(), [&](const Pick& a, const Pick& b) {
    return left[AicOf(attempt.cards()[a.device])] < left[AicOf(attempt.cards()[b.device])];
  });
}

// Several: from the smallest card that has them all, else from the largest ones.
bool SelectDies(const Attempt& attempt, std::vector<Pick>& picks) {
  const auto count = static_cast<size_t>(attempt.request.count);
  if (picks.size() == count) return true;
  if (count == 1) {
    picks = {SelectOne(attempt, picks)};
    return true;
  }
  const std::vector<std::vector<Pick>> groups = GroupByCard(attempt.cards(), picks);
  const std::vector<Pick>* enough = nullptr;
  for (const std::vector<Pick>& group : groups)  // largest first; equal ones by AIC
    if (group.size() >= count && (enough == nullptr || group.size() < enough->size()))
      enough = &group;
  picks.clear();
  if (enough != nullptr)
    picks = *enough;
  else
    for (const std::vector<Pick>& group : groups)
      picks.insert(picks.end(), group.begin(), group.end());
  picks.resize(count);
  return true;
}

// Per container the part of its dies that lie on one card.
float ScoreNode(const core::NodeView& view) {
  std::map<size_t, std::vector<const Device*>> containers;
  for (const core::Placed& placed : view.placed)
    if (view.cards()[placed.device].vendor == view.vendor.id())
      containers[placed.container].push_back(&view.cards()[placed.device]);
  float score = 0;
  for (const auto& [container, dies] : containers) {
    std::map<std::string_view, size_t> of_card;
    size_t most = 0;
    const bool known = std::all_of(dies.begin(), dies.end(), [&](const Device* die) {
      const std::string_view strategy = StrategyOf(*die);
      most = std::max(most, ++of_card[AicOf(*die)]);
      return !AicOf(*die).empty() && (strategy.empty() || strategy == "die");
    });
    if (known) score += static_cast<float>(most) / static_cast<float>(dies.size());
  }
  return view.policy.spread_nodes ? -score : score;
}

constexpr core::Gate kGates[] = {core::gates::Healthy, core::gates::IdAllowed,
                                 core::gates::FreeSlot, core::gates::IdleUnderMutex,
                                 IdleCardUnderMutex};

}  // namespace

constexpr core::VendorSpec kVastai{
    .key = "Vastai",
    .node_register = "hami.io/node-va-register",
    .node_handshake = "hami.io/node-handshake-va",
    .to_allocate = "hami.io/Vastai-devices-to-allocate",
    .allocated = "hami.io/Vastai-devices-allocated",
    .use_id = "vastaitech.com/use-gpuuuid",
    .nouse_id = "vastaitech.com/nouse-gpuuuid",
    .lock = core::NodeLock::kShared,
    .parse_request = ParseShare,
    .read_node = ReadNode,
    .gates = kGates,
    .complete = ClaimCount,
    .size_share = TakeSlotOnly,
    .selects = OffersDies,
    .select = SelectDies,
    .score_node = ScoreNode,
};

}  // namespace aliquot::vendors
