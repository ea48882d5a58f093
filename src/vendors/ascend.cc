// Huawei Ascend: one vendor per chip in the configuration, whose name every key is
// made of. Memory in MiB times the configured factor; cores in percent of a card
// where the node splits cards by software (hami-core). Several NPUs come from one
// network, or of 910C as pairs that share a module.
#include <algorithm>
#include <map>

#include "aliquot/base/strings.h"
#include "aliquot/base/time_text.h"
#include "aliquot/codec/json_quote.h"
#include "vendors/ascend_admission.h"
#include "vendors/owned_spec.h"
#include "vendors/shared.h"
#include "vendors/vendors.h"

namespace aliquot::vendors {
namespace {

constexpr std::string_view kNodeModeKey = "hami-vnpu-core";
constexpr std::string_view kTimeKey = "predicate-time";
constexpr std::string_view kNetwork = "NetworkID";

// Where cards are split by software, cores are percent, whatever was registered.
Result<std::vector<Device>> ReadNode(const core::Vendor& vendor, const core::NodeSpec& node) {
  Result<std::vector<Device>> cards = ReadJsonCards(vendor, node);
  if (!cards) return cards;
  const std::string* said = Find(*node.annotations, kNodeModeKey);
  const bool hami_core = said != nullptr ? *said == "true" : vendor.config().hami_core;
  for (Device& card : *cards) {
    card.mode = hami_core ? kHamiCore : "";
    if (hami_core) card.cores = 100;
  }
  return cards;
}

bool SupportsMode(const Attempt& attempt, core::ReasonCounts& counts) {
  if (!IsHamiCore(attempt.pod.notes) || attempt.cards()[attempt.handed.front()].mode == kHamiCore)
    return true;
  counts.Set(Reason::kModeNotFit, 1);
  return false;
}

bool HasNetworks(const core::Vendor& vendor) { return vendor.key().starts_with("Ascend910"); }

bool InModules(const Attempt& attempt) {
  return attempt.vendor.key() == "Ascend910C" && attempt.request.count > 1;
}

bool SelectsSet(const Attempt& attempt) {
  return InModules(attempt) ||
         (HasNetworks(attempt.vendor) &&
          std::all_of(attempt.handed.begin(), attempt.handed.end(), [&](uint32_t position) {
            return attempt.cards()[position].facts.contains(kNetwork);
          }));
}

using Groups = std::vector<std::vector<Pick>>;

// Groups in order of their first member, members in walk order; picks without a
// key are left out.
template <typename KeyOf>
Groups GroupBy(std::span<const Pick> picks, const KeyOf& key_of) {
  Groups groups;
  std::map<int64_t, size_t> group_of;
  for (const Pick& pick : picks) {
    const std::optional<int64_t> key = key_of(pick);
    if (!key) continue;
    const auto [at, added] = group_of.try_emplace(*key, groups.size());
    if (added) groups.emplace_back();
    groups[at->second].push_back(pick);
  }
  return groups;
}

// From the network with the most free NPUs, then the next one.
std::vector<Pick> SelectByNetwork(const Attempt& attempt, std::span<const Pick> picks,
                                  size_t count) {
  Groups groups = GroupBy(picks, [&](const Pick& pick) {
    return core::NumberOf(attempt.cards()[pick.device].facts, kNetwork);
  });
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  std::vector<Pick> chosen;
  for (const std::vector<Pick>& group : groups)
    chosen.insert(chosen.end(), group.begin(), group.end());
  for (const Pick& pick : picks)  // those of no network
    if (!core::NumberOf(attempt.cards()[pick.device].facts, kNetwork)) chosen.push_back(pick);
  chosen.resize(count);
  return chosen;
}

// Whole modules, and for an odd count one NPU more, rather of a half module. Fewer
// than asked for if there are not enough.
std::vector<Pick> SelectModules(const Attempt& attempt, std::span<const Pick> picks) {
  const auto count = static_cast<size_t>(attempt.request.count);
  const auto index_of = [&](const Pick& pick) { return attempt.cards()[pick.device].index; };
  const auto is_full = [&](const std::vector<Pick>& module) {
    return module.size() == 2 && index_of(module[0]) != index_of(module[1]);
  };
  std::vector<Pick> chosen;
  std::vector<Pick> halves;
  std::vector<Pick> left;
  for (const std::vector<Pick>& module : GroupBy(
           picks, [&](const Pick& pick) { return std::optional<int64_t>(index_of(pick) / 2); })) {
    std::vector<Pick>& to = is_full(module) && chosen.size() + 2 <= count ? chosen
                            : module.size() == 1                          ? halves
                                                                          : left;
    to.insert(to.end(), module.begin(), module.end());
  }
  if (chosen.size() + 1 == count && (!halves.empty() || !left.empty()))
    chosen.push_back(halves.empty() ? left.front() : halves.front());
  return chosen;
}

bool SelectSet(const Attempt& attempt, std::vector<Pick>& picks) {
  const auto count = static_cast<size_t>(attempt.request.count);
  if (InModules(attempt)) {
    std::vector<Pick> chosen = SelectModules(attempt, picks);
    if (chosen.size() != count) return false;
    picks = std::move(chosen);
  } else if (count == 1) {
    picks.resize(1);
  } else if (picks.size() > count) {
    picks = SelectByNetwork(attempt, picks, count);
  }
  return true;
}

// Of modules it is told how many NPUs they would have given.
void Explain(const Attempt& attempt, std::span<const Pick> acceptable, core::ReasonCounts& counts) {
  if (InModules(attempt))
    counts.Set(Reason::kAllocatedCardsInsufficientRequest,
               static_cast<uint32_t>(SelectModules(attempt, acceptable).size()));
}

// Per container the part of its NPUs that are on one network.
float ScoreNode(const core::NodeView& view) {
  if (!HasNetworks(view.vendor)) return 0;
  std::map<size_t, std::vector<const Device*>> containers;
  for (const core::Placed& placed : view.placed)
    if (view.cards()[placed.device].vendor == view.vendor.id())
      containers[placed.container].push_back(&view.cards()[placed.device]);
  float score = 0;
  for (const auto& [container, cards] : containers) {
    std::map<int64_t, size_t> of_network;
    size_t most = 0;
    size_t all = 0;
    bool known = true;
    for (const Device* card : cards) {
      known = known && card->facts.contains(kNetwork);
      if (const std::optional<int64_t> network = core::NumberOf(card->facts, kNetwork)) {
        most = std::max(most, ++of_network[*network]);
        ++all;
      }
    }
    if (known && all > 0) score += static_cast<float>(most) / static_cast<float>(all);
  }
  return view.policy.spread_nodes ? -10 * score : 10 * score;
}

// What the runtime needs of a share; the template that holds the memory, unless
// the card is split by software or taken as a whole.
std::string RuntimeInfo(const core::Vendor& vendor, const core::Share& share, bool hami_core) {
  std::vector<std::string> members;
  if (!share.device_id.empty()) members.push_back("\"UUID\":" + codec::JsonQuote(share.device_id));
  if (!hami_core)
    for (const core::CardTemplate& part : vendor.config().templates)
      if (share.memory <= part.memory) {
        if (!part.name.empty()) members.push_back("\"temp\":" + codec::JsonQuote(part.name));
        break;
      }
  if (share.memory != 0) members.push_back("\"memory\":" + std::to_string(share.memory));
  if (share.cores != 0) members.push_back("\"core\":" + std::to_string(share.cores));
  return "{" + Join(members, ",") + "}";
}

void Annotate(const core::Assigned& assigned, StringMap& annotations) {
  const bool hami_core = IsHamiCore(*assigned.pod.annotations);
  std::vector<std::string> infos;
  for (const std::vector<core::Share>& shares : assigned.allocation.containers)
    for (const core::Share& share : shares)
      infos.push_back(RuntimeInfo(assigned.vendor, share, hami_core));
  annotations.emplace("huawei.com/" + std::string(assigned.vendor.key()),
                      "[" + Join(infos, ",") + "]");
  annotations.emplace(kTimeKey, FormatUnixSeconds(assigned.now));
}

constexpr std::string_view kPodNotes[] = {kModeKey};

}  // namespace

core::Vendor MakeAscend(const NamedConfig& config) {
  const std::string& word = config.common_word;
  auto owned = std::make_shared<OwnedSpec>();
  core::VendorSpec& spec = owned->spec;
  owned->Name(word);
  spec.node_register = owned->Keep("hami.io/node-register-" + word);
  owned->other_pod_keys = {kTimeKey, owned->Keep("huawei.com/" + word)};
  spec.pod_notes = kPodNotes;
  spec.lock = core::NodeLock::kShared;
  spec.parse_request = ParseShare;
  spec.read_node = ReadNode;
  spec.gates = kShareGates;
  spec.complete = CompleteAscend;
  spec.check_node = SupportsMode;
  spec.selects = SelectsSet;
  spec.select = SelectSet;
  spec.explain = Explain;
  spec.score_node = ScoreNode;
  spec.annotate = Annotate;
  return MakeVendor(std::move(owned), config.config);
}

}  // namespace aliquot::vendors
