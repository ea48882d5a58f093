#include "simulation/model.h"

#include <algorithm>
#include <set>

#include "aliquot/base/check.h"
#include "aliquot/base/strings.h"
#include "aliquot/core/collapse.h"
#include "aliquot/kube/parse.h"

namespace aliquot::simulation {
namespace {

using kube::WatchEvent;
using PodPtr = std::shared_ptr<const kube::Pod>;

constexpr int64_t kWholeCard = 100;

// From the next change on.
std::unique_ptr<cluster::Watch> Open(cluster::Cluster& cluster, const std::string& target) {
  cluster::Response response =
      cluster.Handle({"GET",
                      target + "?watch=true&timeoutSeconds=1000000&resourceVersion=" +
                          std::to_string(std::max<uint64_t>(cluster.resource_version(), 1)),
                      "", ""});
  ALIQUOT_CHECK(response.watch != nullptr);
  return std::move(response.watch);
}

uint64_t Version(const kube::ObjectMeta& meta) {
  return static_cast<uint64_t>(ParseInt64(meta.resource_version).value());
}

std::string Describe(const kube::Pod& pod) {
  return "pod " + pod.meta.ns + "/" + pod.meta.name + " (" + pod.meta.uid + ")";
}

std::string TextAt(const StringMap& annotations, std::string_view key) {
  const std::string* text = aliquot::Find(annotations, key);
  return text == nullptr ? "" : *text;
}

std::string AllocatedTexts(const kube::Pod& pod) {
  std::string all = TextAt(pod.meta.annotations, "hami.io/vgpu-node");
  for (const Hardware& hardware : AllHardware())
    all += "|" + TextAt(pod.meta.annotations, hardware.allocated_key);
  return all;
}

bool Asks(const kube::Pod& pod, const Hardware& hardware) {
  const auto asks = [&](const kube::Container& container) {
    return container.limits.contains(hardware.count);
  };
  return std::ranges::any_of(pod.init_containers, asks) ||
         std::ranges::any_of(pod.containers, asks);
}

// The pod as its annotations would be if they said what the ledger holds. Vendors are known
// here by the texts that their cards' ids begin with.
TakenCards TakenByHolding(const ledger::Ledger::Held& held) {
  kube::Pod pod;
  for (size_t i = 0; i < held.kinds.size(); ++i) {
    kube::Container container;
    container.name = std::to_string(i);
    container.restart_always = held.kinds[i] == core::ContainerKind::kSidecar;
    (held.kinds[i] == core::ContainerKind::kApp ? pod.containers : pod.init_containers)
        .push_back(container);
    if (held.init_done && held.kinds[i] == core::ContainerKind::kInit)
      pod.init_statuses.push_back({container.name, true, 0});
  }
  for (const core::VendorAllocation& of_vendor : held.allocation) {
    std::string text;
    std::string_view key;
    for (const std::vector<core::Share>& shares : of_vendor.containers) {
      for (const core::Share& share : shares) {
        text += share.device_id + ",," + std::to_string(share.memory) + "," +
                std::to_string(share.cores) + ":";
        for (const Hardware& hardware : AllHardware())
          if (share.device_id.starts_with(hardware.vendor) ||
              (hardware.vendor == "MLU" && Contains(share.device_id, "-cambricon-mlu-")))
            key = hardware.allocated_key;
      }
      text += ";";
    }
    pod.meta.annotations.emplace(key, text);
  }
  return TakenBy(pod);
}

// What the annotation keeps of an allocation, as text.
std::string HeldShares(const ledger::Ledger::Held& held) {
  std::string text;
  for (const core::VendorAllocation& of_vendor : held.allocation)
    for (const std::vector<core::Share>& shares : of_vendor.containers) {
      for (const core::Share& share : shares)
        text += share.device_id + "," + share.type + "," + std::to_string(share.memory) + "," +
                std::to_string(share.cores) + ":";
      text += ";";
    }
  return text;
}

std::string WrittenShares(const kube::Pod& pod) {
  std::string text;
  for (const Hardware& hardware : AllHardware())
    text += TextAt(pod.meta.annotations, hardware.allocated_key);
  return text;
}

std::string ToText(const Use& use) {
  return std::to_string(use.slots) + " slots, " + std::to_string(use.memory) + " MiB, " +
         std::to_string(use.cores) + " cores";
}

}  // namespace

Model::Model(cluster::Cluster& cluster, Journal& journal) : cluster_(cluster), journal_(journal) {
  Follow();
}

void Model::Follow() {
  pod_changes_ = Open(cluster_, "/api/v1/pods");
  node_changes_ = Open(cluster_, "/api/v1/nodes");
}

void Model::Compact() {
  CatchUp(nullptr);
  cluster_.Compact();
  Follow();
}

PodPtr Model::Find(const std::string& uid) const {
  const auto at = pods_.find(uid);
  return at == pods_.end() || at->second.deleted ? nullptr : at->second.pod;
}

std::vector<std::string> Model::NodeNames() const {
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes_)
    if (node.now != nullptr) names.push_back(name);
  return names;
}

std::shared_ptr<const kube::Node> Model::Node(const std::string& name) const {
  const auto at = nodes_.find(name);
  return at == nodes_.end() ? nullptr : at->second.now;
}

void Model::CatchUp(const Witness* by) {
  const auto lines = [](cluster::Watch& changes, const auto& take) {
    while (const auto piece = changes.NextUntil({}, SteadyTime::min())) {
      ALIQUOT_CHECK(piece->kind == cluster::Watch::Piece::Kind::kLine);
      take(piece->text);
    }
  };
  lines(*node_changes_, [&](std::string_view line) { TakeNode(line, by); });
  lines(*pod_changes_, [&](std::string_view line) { TakePod(line, by); });
}

void Model::TakeNode(std::string_view line, const Witness* by) {
  const Result<WatchEvent> event = kube::ParseWatchEvent(line);
  ALIQUOT_CHECK(event.ok() && event->type != WatchEvent::Type::kError);
  auto node = std::make_shared<const kube::Node>(kube::ParseNode(event->object).value());
  NodeHistory& history = nodes_[node->meta.name];
  const bool deleted = event->type == WatchEvent::Type::kDeleted;
  if (history.now == nullptr) history.created = Version(node->meta);
  if (history.now != nullptr && !deleted && by != nullptr)
    for (const Hardware& hardware : AllHardware()) {
      const std::string before = TextAt(history.now->meta.annotations, hardware.lock_key);
      if (!before.empty() && TextAt(node->meta.annotations, hardware.lock_key).empty())
        history.unlocks.push_back({Version(node->meta), by->id(), before});
    }
  history.inventories.emplace_back(Version(node->meta), deleted ? Inventory() : InventoryOf(*node));
  history.now = deleted ? nullptr : node;
}

void Model::TakePod(std::string_view line, const Witness* by) {
  const Result<WatchEvent> event = kube::ParseWatchEvent(line);
  ALIQUOT_CHECK(event.ok() && event->type != WatchEvent::Type::kError);
  const auto pod = std::make_shared<const kube::Pod>(kube::ParsePod(event->object).value());
  PodState& state = pods_[pod->meta.uid];
  const PodPtr before = std::exchange(state.pod, pod);
  const bool deleted = event->type == WatchEvent::Type::kDeleted;
  if ((deleted || pod->terminal()) && state.ended == 0) state.ended = Version(pod->meta);
  if (deleted) {
    state.deleted = true;
    return;
  }
  if (before == nullptr) {
    if (on_created) on_created(pod);
    return;
  }
  if (!before->node_name.empty()) {
    JudgeEdit(*before, *pod, by);
  } else if (!pod->node_name.empty()) {
    if (by != nullptr) {
      state.bound_by = by->id();
      JudgeBinding(state, *by);
    }
    if (on_bound) on_bound(pod);
  }
}

// S4: nobody moves what a bound pod has.
void Model::JudgeEdit(const kube::Pod& before, const kube::Pod& now, const Witness* by) const {
  if (AllocatedTexts(before) == AllocatedTexts(now)) return;
  journal_.Violation("S4", "process " + std::to_string(by == nullptr ? 0 : by->id()) +
                               " changed the allocation of bound " + Describe(now) + " on node " +
                               now.node_name + " from " + AllocatedTexts(before) + " to " +
                               AllocatedTexts(now));
}

void Model::JudgeBinding(const PodState& state, const Witness& by) {
  const kube::Pod& pod = *state.pod;
  const std::string what =
      Describe(pod) + ", bound by process " + std::to_string(by.id()) + " to node " + pod.node_name;
  const TakenCards taken = TakenBy(pod);

  const std::string written = TextAt(pod.meta.annotations, "hami.io/vgpu-node");
  if (written != pod.node_name)
    journal_.Violation("S4", what + ": its annotation names node " + written);
  if (taken.empty()) journal_.Violation("S4", what + ": its annotations give it no card");
  const auto held = by.ledger().Find(pod.meta.uid);
  if (!held) journal_.Violation("S2", what + ": the ledger holds nothing for it");
  if (held->node != pod.node_name || HeldShares(*held) != WrittenShares(pod))
    journal_.Violation("S4", what + ": the ledger holds " + HeldShares(*held) + " on node " +
                                 held->node + ", its annotations say " + WrittenShares(pod));

  // What nobody has shown to this process yet it cannot know of: a binding by another one.
  std::map<std::string, TakenCards> holders;
  for (const auto& [uid, other] : pods_)
    if (other.counts() && other.pod->node_name == pod.node_name &&
        (other.bound_by == by.id() || by.SawBound(pod.meta.uid, uid)))
      holders.emplace(Describe(*other.pod), TakenBy(*other.pod));
  CheckCards(what, pod.node_name, by.NodeVersionAtBind(pod.meta.uid), holders, taken);

  CheckLock(what, pod, by);
}

// S6, but for what has been taken from the process since it began to bind: the node was
// deleted and is back without any lock, or another process, which binds the same pod, has
// given the lock back. The lock names a pod, not a process.
void Model::CheckLock(const std::string& what, const kube::Pod& pod, const Witness& by) const {
  const auto at = nodes_.find(pod.node_name);
  if (at == nodes_.end() || at->second.now == nullptr) return;
  const NodeHistory& node = at->second;
  const uint64_t since = by.NodeVersionAtBind(pod.meta.uid);
  const std::string owner = "," + pod.meta.ns + "," + pod.meta.name;
  const bool lost =
      node.created > since ||
      std::ranges::any_of(node.unlocks, [&](const NodeHistory::Unlock& unlock) {
        return unlock.version > since && unlock.by != by.id() && unlock.text.ends_with(owner);
      });
  for (const Hardware& hardware : AllHardware()) {
    // Cambricon's names no owner, so that anybody may have given it back.
    if (!Asks(pod, hardware) || hardware.vendor == "MLU") continue;
    const std::string lock = TextAt(node.now->meta.annotations, hardware.lock_key);
    if (!lost && !lock.ends_with(owner))
      journal_.Violation("S6", what + ": the lock of the node is \"" + lock + "\"");
  }
}

// The room of a card is the largest that its node has offered since version `since`: a node
// may shrink under those who are there, and while a decision is on its way.
void Model::CheckCards(const std::string& what, const std::string& node, uint64_t since,
                       const std::map<std::string, TakenCards>& holders,
                       const TakenCards& cards) const {
  const auto at = nodes_.find(node);
  for (const auto& [card, own] : cards) {
    Use room;
    bool known = false;
    if (at != nodes_.end()) {
      const auto& inventories = at->second.inventories;
      for (size_t i = 0; i < inventories.size(); ++i) {
        const bool replaced = i + 1 < inventories.size() && inventories[i + 1].first <= since;
        const auto found = inventories[i].second.find(card);
        if (replaced || found == inventories[i].second.end()) continue;
        known = true;
        room = {std::max(room.slots, found->second.slots),
                std::max(room.memory, found->second.memory),
                std::max(room.cores, found->second.cores)};
      }
    }
    const std::string name = card.first + " " + card.second;
    if (!known) journal_.Violation("S1", what + ": the node has no card " + name);
    Use sum;
    bool whole = false;
    size_t pods = 0;
    std::string who;
    for (const auto& [pod, taken] : holders) {
      const auto share = taken.find(card);
      if (share == taken.end() || share->second.use.slots == 0) continue;
      ++pods;
      whole = whole || share->second.whole;
      sum = {sum.slots + share->second.use.slots, sum.memory + share->second.use.memory,
             sum.cores + share->second.use.cores};
      who += "\n  " + pod + ": " + ToText(share->second.use);
    }
    if (sum.slots > room.slots || sum.memory > room.memory || sum.cores > room.cores)
      journal_.Violation("S1", what + ": of card " + name + " with " + ToText(room) +
                                   " are taken " + ToText(sum) + " by" + who);
    if (whole && pods > 1)
      journal_.Violation("S1",
                         what + ": card " + name + " is somebody's own and has more pods:" + who);
  }
}

void Model::CheckPromise(const Witness& of, const std::string& uid, const std::string& node,
                         uint64_t node_version) {
  std::map<std::string, TakenCards> holders;
  TakenCards own;
  for (const ledger::Ledger::Held& held : of.ledger().PodsAfter("", SIZE_MAX)) {
    if (held.node != node) continue;
    const TakenCards taken = TakenByHolding(held);
    if (held.pod.uid == uid) own = taken;
    holders.emplace(held.pod.uid, taken);
  }
  CheckCards("promise of process " + std::to_string(of.id()) + " to " + uid + " on node " + node,
             node, node_version, holders, own);
}

void Model::Audit(const Witness& of, uint64_t seen, const std::vector<PodPtr>& cached,
                  Duration longest) const {
  const ledger::Ledger& ledger = of.ledger();
  const std::string who = "process " + std::to_string(of.id());
  if (ledger.Usage() != ledger.RebuildUsage())
    journal_.Violation("S5", who + ": usage is not what the pods hold");

  std::map<std::string, ledger::Ledger::Held> held;
  for (ledger::Ledger::Held& one : ledger.PodsAfter("", SIZE_MAX))
    held.emplace(one.pod.uid, std::move(one));
  for (const PodPtr& pod : cached) {
    if (pod->node_name.empty() || pod->terminal() || WrittenShares(*pod).empty()) continue;
    const auto at = held.find(pod->meta.uid);
    if (at == held.end())
      journal_.Violation("S2",
                         who + " has seen bound " + Describe(*pod) + " and does not count it");
    const ledger::Ledger::Held& one = at->second;
    if (!one.bound || one.node != pod->node_name || HeldShares(one) != WrittenShares(*pod))
      journal_.Violation("S2", who + " counts " + (one.bound ? "" : "as unbound ") +
                                   HeldShares(one) + " on node " + one.node + " for bound " +
                                   Describe(*pod) + ", which has " + WrittenShares(*pod) +
                                   " on node " + pod->node_name);
  }
  for (const auto& [uid, one] : held) {
    const auto at = pods_.find(uid);
    // Those that were forgotten here went long ago.
    const bool ended = at == pods_.end() || (at->second.ended != 0 && at->second.ended <= seen);
    const Duration age = SystemClock().Steady() - one.since;
    if (one.bound && ended)
      journal_.Violation("S3", who + " counts pod " + uid + " as bound, which has ended");
    if (!one.bound && age > longest)
      journal_.Violation("S3", who + " keeps a promise to pod " + uid + " for " +
                                   std::to_string(age.count() / 1000000) + " ms");
  }
}

void Model::ForgetGone(uint64_t version) {
  std::erase_if(pods_,
                [&](const auto& pod) { return pod.second.deleted && pod.second.ended < version; });
}

}  // namespace aliquot::simulation
