#include "server/ledger_json.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "aliquot/ledger/ledger.h"

namespace aliquot::server {
namespace {

using Json = nlohmann::ordered_json;
using ledger::Ledger;
using scheduler::Scheduler;

// Texts of cards come from annotations, in which anything may stand.
std::string Text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A list that is written one element at a time: it may be long.
class List {
 public:
  void Add(const Json& element) { (text_ += text_.size() > 1 ? ",\n" : "\n") += Text(element); }
  std::string Take() { return std::move(text_ += ']'); }

 private:
  std::string text_ = "[";
};

Json Named(const ObjectRef& pod) {
  return {{"namespace", pod.ns}, {"name", pod.name}, {"uid", pod.uid}};
}

Json CardJson(const core::Device& card, const core::DeviceUse& use,
              const core::Registry& registry) {
  const auto amount = [](int64_t used, int64_t of) { return Json{{"used", used}, {"of", of}}; };
  return {{"vendor", registry[card.vendor].key()},
          {"id", card.id},
          {"type", card.type},
          {"healthy", card.healthy},
          {"slots", amount(use.slots, card.slots)},
          {"memory", amount(use.memory, card.memory)},
          {"cores", amount(use.cores, card.cores)}};
}

Json NodeJson(const core::NodeUsage& node, const core::Registry& registry) {
  Json cards = Json::array();
  for (size_t i = 0; i < node.devices().size(); ++i)
    cards.push_back(CardJson(node.devices()[i], node.use()[i], registry));
  Json closed = Json::array();
  for (const core::Vendor& vendor : registry.vendors())
    if (node.unreadable(vendor.id())) closed.push_back(vendor.key());
  return {{"name", node.name()}, {"closedTo", std::move(closed)}, {"cards", std::move(cards)}};
}

Json PodJson(const Ledger::Held& held, SteadyTime now, const core::Registry& registry) {
  Json pod = Named(held.pod);
  pod["node"] = held.node;
  pod["state"] = held.bound ? "bound" : "reserved";
  pod["ageSeconds"] = std::chrono::duration_cast<std::chrono::seconds>(now - held.since).count();
  Json& shares = pod["shares"] = Json::array();
  ledger::ForEachShare(held.allocation,
                       [&](core::VendorId vendor, size_t container, const core::Share& share) {
                         shares.push_back({{"container", container},
                                           {"vendor", registry[vendor].key()},
                                           {"card", share.device_id},
                                           {"memory", share.memory},
                                           {"cores", share.cores}});
                       });
  return pod;
}

std::string Nodes(const Scheduler& scheduler, std::string_view wanted) {
  const Ledger& ledger = scheduler.ledger();
  List nodes;
  const std::vector<std::string> names =
      wanted.empty() ? ledger.NodeNames() : std::vector{std::string(wanted)};
  for (const std::string& name : names)
    if (const std::optional<core::NodeUsage> node = ledger.Node(name))
      nodes.Add(NodeJson(*node, scheduler.registry()));
  return nodes.Take();
}

std::string ForeignPods(const Scheduler& scheduler, std::string_view node) {
  List pods;
  for (const scheduler::ForeignPod& foreign : scheduler.auditor().foreign()) {
    if (!node.empty() && foreign.node != node) continue;
    Json pod = Named(foreign.pod);
    pod["node"] = foreign.node;
    Json& vendors = pod["vendors"] = Json::array();
    for (const core::VendorId vendor : foreign.vendors)
      vendors.push_back(scheduler.registry()[vendor].key());
    pods.Add(pod);
  }
  return pods.Take();
}

}  // namespace

std::string LedgerJson(const Scheduler& scheduler, std::string_view node) {
  const SteadyTime now = scheduler.clock().Steady();
  List pods;
  scheduler.ledger().ForEachPod([&](const Ledger::Held& held) {
    if (node.empty() || held.node == node) pods.Add(PodJson(held, now, scheduler.registry()));
    return true;
  });
  const Ledger::Counts count = scheduler.ledger().Count();
  const Json counts = {
      {"nodes", count.nodes}, {"boundPods", count.bound}, {"reservations", count.reservations}};
  std::string text = "{\"hash\":" + std::to_string(scheduler.ledger().HoldingsHash());
  text += ",\n\"counts\":" + Text(counts);
  text += ",\n\"nodes\":" + Nodes(scheduler, node);
  text += ",\n\"pods\":" + pods.Take();
  text += ",\n\"foreignPods\":" + ForeignPods(scheduler, node);
  return text + "}\n";
}

std::string DifferencesJson(const Scheduler& scheduler, std::string_view node) {
  List differences;
  for (const scheduler::Difference& difference : scheduler.auditor().Look(node).differences) {
    Json json = {{"kind", Word(difference.kind)}, {"node", difference.node}};
    if (!difference.pod.uid.empty()) json["pod"] = Named(difference.pod);
    if (!difference.detail.empty()) json["detail"] = difference.detail;
    differences.Add(json);
  }
  return "{\"differences\":" + differences.Take() + "}\n";
}

}  // namespace aliquot::server
