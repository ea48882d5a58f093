// What pods ask for, and what they hold.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "aliquot/core/request.h"
#include "aliquot/ledger/ledger.h"
#include "aliquot/scheduler/assignment.h"
#include "aliquot/scheduler/audit.h"
#include "checks/check.h"

namespace aliquot::checks {
namespace {

using enum Severity;

constexpr std::string_view kAssignedNode = "hami.io/vgpu-node";

using ParsedRequest = std::variant<core::PodRequest, core::InvalidRequest>;

ParsedRequest Parse(const kube::Pod& pod, const core::Registry& registry) {
  const ObjectRef ref = pod.meta.Ref();
  return core::ParseRequests(scheduler::SpecOf(pod, ref), registry);
}

// Nodes that offer the resource, but have not told us of a card for it.
std::vector<std::string> OfferedElsewhere(const Cluster& cluster, std::string_view resource) {
  std::vector<std::string> nodes;
  for (const kube::Node& node : cluster.read.nodes)
    if (const std::string* amount = Find(node.allocatable, resource);
        amount != nullptr && *amount != "0")
      nodes.push_back(node.meta.name);
  return nodes;
}

void Above(std::string& text, std::string_view of, int64_t used, int64_t offered) {
  if (used <= offered) return;
  text += (text.empty() ? "" : ", ") + std::string(of) + " " + std::to_string(used) + " of " +
          std::to_string(offered);
}

// What is wrong with a card on which a pod does not fit any more.
std::string DescribeCard(const core::Vendor& vendor, const core::NodeUsage* node,
                         const std::string& id) {
  const std::string card = std::string(vendor.key()) + " card " + id;
  const int at = node == nullptr ? -1 : node->FindDevice(vendor.id(), id);
  if (at < 0) return card + " is held, and the node has not registered it";
  const core::Device& device = node->devices()[static_cast<size_t>(at)];
  const core::DeviceUse& use = node->use()[static_cast<size_t>(at)];
  std::string above;
  Above(above, "shares", use.slots, device.slots);
  Above(above, "memory", use.memory, device.memory);
  Above(above, "cores", use.cores, device.cores);
  return above.empty() ? "" : card + " is held beyond what it has: " + above;
}

}  // namespace

void CheckAllocations(const Cluster& cluster, Findings& findings) {
  for (const kube::Pod& pod : cluster.read.pods) {
    if (!IsBound(pod)) continue;
    const scheduler::WrittenHolding written =
        scheduler::HoldingOf(pod, pod.node_name, cluster.registry);
    for (const std::string& problem : written.problems)
      findings.Add(kError, NameOf(pod), "what it holds cannot be read: " + problem,
                   "Delete the pod; until then node " + pod.node_name +
                       " takes no more pods of that vendor.");
    for (const std::string_view key : written.by_position)
      findings.Add(kNote, NameOf(pod), std::string(key) + " does not match the pod's containers",
                   "Its shares are counted by their position.");
    const std::string* node = Find(pod.meta.annotations, kAssignedNode);
    if (node != nullptr && *node != pod.node_name && !written.holding.empty())
      findings.Add(kWarning, NameOf(pod),
                   "it was given devices on node " + *node + ", and runs on " + pod.node_name,
                   "It counts where it runs (HAMi: where it was given devices). Delete it.");
  }
}

void CheckRequests(const Cluster& cluster, Findings& findings) {
  for (const kube::Pod& pod : cluster.read.pods) {
    if (pod.terminal()) continue;
    const ParsedRequest parsed = Parse(pod, cluster.registry);
    const auto* invalid = std::get_if<core::InvalidRequest>(&parsed);
    if (invalid == nullptr) continue;
    if (IsWaiting(pod))
      findings.Add(kError, NameOf(pod), invalid->ToString(),
                   "It is refused until its manifest is corrected.");
    else
      findings.Add(kWarning, NameOf(pod), invalid->ToString(),
                   "It runs, but the next pod of its manifest is refused: correct that.");
  }
}

void CheckUnserved(const Cluster& cluster, Findings& findings) {
  for (const kube::Pod& pod : cluster.read.pods) {
    if (!IsWaiting(pod)) continue;
    const ParsedRequest parsed = Parse(pod, cluster.registry);
    const auto* request = std::get_if<core::PodRequest>(&parsed);
    if (request == nullptr) continue;
    for (const core::Vendor& vendor : cluster.registry.vendors()) {
      if (!request->Asks(vendor.id()) || std::ranges::any_of(cluster.cards, [&](const auto& node) {
            return node.second.Has(vendor.id());
          }))
        continue;
      const std::string& resource = vendor.config().count_name;
      const std::vector<std::string> offered = OfferedElsewhere(cluster, resource);
      findings.Add(kError, NameOf(pod),
                   "asks for " + resource + ", and no node has registered a card for it",
                   offered.empty() ? "See whether the vendor's device plugin runs."
                                   : "Nodes " + Few(offered) +
                                         " offer it by a device plugin that does not share cards: "
                                         "install the vendor's plugin for HAMi there.");
    }
  }
}

void CheckForeignPods(const Cluster& cluster, Findings& findings) {
  for (const kube::Pod& pod : cluster.read.pods) {
    const auto cards = cluster.cards.find(pod.node_name);
    if (!IsBound(pod) || cards == cluster.cards.end() ||
        !scheduler::HoldingOf(pod, pod.node_name, cluster.registry).holding.empty())
      continue;
    std::vector<std::string> asked;
    for (const core::VendorId vendor :
         scheduler::AskedOf(cards->second.devices, pod, cluster.registry))
      asked.push_back(cluster.registry[vendor].config().count_name);
    if (!asked.empty())
      findings.Add(kError, NameOf(pod),
                   "runs on node " + pod.node_name + " with " + Few(asked) +
                       ", and was not given devices: what it uses is given to others too",
                   "Delete it, and let it come again with our scheduler's name (it names " +
                       (pod.scheduler_name.empty() ? "none" : pod.scheduler_name) + ").");
  }
}

void CheckHeldCards(const Cluster& cluster, Findings& findings) {
  ledger::Ledger ledger(cluster.registry, SystemClock());
  for (const auto& [node, cards] : cluster.cards)
    ledger.SetNode({std::string(node), cards.devices});
  std::vector<const kube::Pod*> holders;
  for (const kube::Pod& pod : cluster.read.pods) {
    if (!IsBound(pod)) continue;
    ledger.Observe(scheduler::HoldingOf(pod, pod.node_name, cluster.registry).holding);
    if (ledger.Find(pod.meta.uid)) holders.push_back(&pod);
  }
  // Node and what is wrong with a card there -> the pods on the card.
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> crowds;
  for (const kube::Pod* pod : holders) {
    if (ledger.StillFits(pod->meta.uid)) continue;
    const std::optional<core::NodeUsage> node = ledger.Node(pod->node_name);
    std::set<std::string> problems;  // several shares may be of one card
    ledger::ForEachShare(ledger.Find(pod->meta.uid)->allocation,
                         [&](core::VendorId vendor, size_t, const core::Share& share) {
                           problems.insert(DescribeCard(cluster.registry[vendor],
                                                        node ? &*node : nullptr, share.device_id));
                         });
    problems.erase("");
    if (problems.empty()) problems.insert("a card that a pod has for itself is shared");
    for (const std::string& problem : problems)
      crowds[{pod->node_name, problem}].push_back(pod->meta.ns + "/" + pod->meta.name);
  }
  for (const auto& [place, pods] : crowds)
    findings.Add(kError, "node " + place.first, place.second + "; by " + Few(pods),
                 "Delete pods until it fits; look at the card if it is not registered.");
}

}  // namespace aliquot::checks
