#include "aliquot/checks/checks.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>

#include "aliquot/base/strings.h"
#include "checks/check.h"

namespace aliquot::checks {
namespace {

using enum Source;

struct Check {
  std::string_view name;
  std::string_view about;
  std::initializer_list<Source> needs;
  void (*run)(const Cluster& cluster, Findings& findings);
};

const Check kChecks[] = {
    {"registration", "whether the cards of the nodes can be read", {kNodes}, CheckRegistration},
    {"handshake", "whether device plugins answer", {kNodes}, CheckHandshakes},
    {"node-lock", "whether nodes stay locked", {kNodes, kPods}, CheckNodeLocks},
    {"allocation", "whether it can be read what pods hold", {kPods}, CheckAllocations},
    {"held-cards", "whether cards have room for what pods hold", {kNodes, kPods}, CheckHeldCards},
    {"foreign-pod",
     "whether pods run on cards that nobody gave them",
     {kNodes, kPods},
     CheckForeignPods},
    {"request", "whether requests of pods can be read", {kPods}, CheckRequests},
    {"unserved", "whether pods wait for what no node has", {kNodes, kPods}, CheckUnserved},
    {"extender",
     "what kube-scheduler's configuration says",
     {kConfigMaps, kNodes, kPods},
     CheckExtender},
    {"server-version",
     "whether the API server's version is supported",
     {kVersion},
     CheckServerVersion},
    {"device-plugin", "which versions the device plugins have", {kDaemonSets}, CheckDevicePlugins},
    {"webhook", "how new pods reach the webhook", {kWebhooks}, CheckWebhooks},
    {"device-class",
     "whether a DRA driver serves the same resources",
     {kDeviceClasses},
     CheckDeviceClasses},
    {"move-pods", "what a move from HAMi changes for pods", {kPods}, CheckMovedPods},
    {"move-quotas", "what a move from HAMi changes for quotas", {kQuotas}, CheckMovedQuotas},
};

NodeCards ReadCards(const kube::Node& node, const core::Registry& registry) {
  NodeCards read;
  const core::NodeSpec spec{node.meta.name, &node.meta.annotations, &node.allocatable,
                            &node.capacity, &node.meta.labels};
  for (const core::Vendor& vendor : registry.vendors()) {
    Result<std::vector<core::Device>> cards = vendor.spec().read_node(vendor, spec);
    if (cards)
      std::move(cards->begin(), cards->end(), std::back_inserter(read.devices));
    else
      read.unreadable.push_back({vendor.spec().node_register, cards.error().message});
  }
  return read;
}

// Why the check cannot be done; empty: it can.
std::string WhyNot(const Check& check, const Snapshot& snapshot) {
  std::vector<std::string> reasons;
  for (const Source source : check.needs)
    if (const auto at = snapshot.missing.find(source); at != snapshot.missing.end())
      reasons.push_back(std::string(Word(source)) + ": " + at->second);
  return Join(reasons, "; ");
}

}  // namespace

std::string_view Word(Source source) {
  constexpr std::string_view kWords[] = {"version",       "nodes",
                                         "pods",          "configmaps",
                                         "daemonsets",    "mutatingwebhookconfigurations",
                                         "deviceclasses", "resourcequotas"};
  static_assert(std::size(kWords) == static_cast<size_t>(kCount));
  return kWords[static_cast<size_t>(source)];
}

std::string_view Word(Severity severity) {
  constexpr std::string_view kWords[] = {"error", "warning", "note"};
  return kWords[static_cast<size_t>(severity)];
}

bool NodeCards::Has(core::VendorId vendor) const {
  return std::ranges::count(devices, vendor, &core::Device::vendor) > 0;
}

std::string NameOf(const kube::Pod& pod) { return "pod " + pod.meta.ns + "/" + pod.meta.name; }

std::string Few(const std::vector<std::string>& names) {
  constexpr size_t kMost = 3;
  const size_t told = std::min(names.size(), kMost);
  const std::string first = Join({names.begin(), names.begin() + static_cast<long>(told)}, ", ");
  return told == names.size() ? first
                              : first + " and " + std::to_string(names.size() - told) + " more";
}

size_t Report::Count(Severity severity) const {
  return static_cast<size_t>(std::ranges::count(findings, severity, &Finding::severity));
}

Report RunChecks(const Snapshot& snapshot, const core::Registry& registry) {
  Cluster cluster{snapshot, registry, {}};
  for (const kube::Node& node : snapshot.nodes)
    cluster.cards.emplace(node.meta.name, ReadCards(node, registry));
  Report report;
  for (const std::string& why : snapshot.unreadable)
    report.not_checked.push_back({"object", "what is with a single object", why});
  for (const Check& check : kChecks) {
    if (std::string why = WhyNot(check, snapshot); !why.empty()) {
      report.not_checked.push_back({check.name, check.about, std::move(why)});
      continue;
    }
    const auto begin = static_cast<long>(report.findings.size());
    Findings findings(check.name, report.findings);
    check.run(cluster, findings);
    std::stable_sort(report.findings.begin() + begin, report.findings.end(),
                     [](const Finding& a, const Finding& b) { return a.object < b.object; });
  }
  std::stable_sort(report.findings.begin(), report.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
  return report;
}

}  // namespace aliquot::checks
