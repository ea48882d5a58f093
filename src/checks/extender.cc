// How kube-scheduler is told to call the extender.
#include <algorithm>
#include <chrono>
#include <set>

#include "aliquot/base/strings.h"
#include "aliquot/base/time_text.h"
#include "checks/check.h"
#include "checks/extender_config.h"

namespace aliquot::checks {
namespace {

using enum Severity;

// A bind waits 28 s for a node lock (--node-lock-retry-timeout).
constexpr auto kShortestTimeout = std::chrono::seconds(30);
constexpr auto kDefaultTimeout = std::chrono::seconds(5);  // kube-scheduler's own
// kube-scheduler looks at all nodes of a cluster that has no more.
constexpr size_t kNodesWithoutSampling = 100;

// A resource name of the device configuration.
struct Resource {
  std::string name;
  core::VendorId vendor = 0;
  bool count = false;  // of cards, not of a share of them
};

std::vector<Resource> ResourcesOf(const core::Registry& registry) {
  std::vector<Resource> resources;
  for (const core::Vendor& vendor : registry.vendors()) {
    const core::VendorConfig& names = vendor.config();
    for (const std::string* name :
         {&names.count_name, &names.memory_name, &names.memory_percentage_name, &names.cores_name})
      if (!name->empty()) resources.push_back({*name, vendor.id(), name == &names.count_name});
  }
  return resources;
}

bool Asks(const kube::Pod& pod, std::string_view resource) {
  const auto asks = [&](const kube::Container& container) {
    return Find(container.limits, resource) != nullptr ||
           Find(container.requests, resource) != nullptr;
  };
  return std::ranges::any_of(pod.containers, asks) ||
         std::ranges::any_of(pod.init_containers, asks);
}

// Its vendor has cards here, or pods ask for it.
bool IsUsed(const Cluster& cluster, const Resource& resource) {
  return std::ranges::any_of(cluster.cards,
                             [&](const auto& node) { return node.second.Has(resource.vendor); }) ||
         std::ranges::any_of(cluster.read.pods,
                             [&](const kube::Pod& pod) { return Asks(pod, resource.name); });
}

// kube-scheduler finds room for it, if it counts it by itself.
bool IsAllocatable(const Cluster& cluster, const Resource& resource) {
  return std::ranges::any_of(cluster.read.nodes, [&](const kube::Node& node) {
    const std::string* amount = Find(node.allocatable, resource.name);
    return amount != nullptr && *amount != "0" &&
           cluster.cards.at(node.meta.name).Has(resource.vendor);
  });
}

void CheckManaged(const Cluster& cluster, const ExtenderConfig& extender, const std::string& object,
                  Findings& findings) {
  std::set<std::string> seen;  // vendors may share a name
  for (const Resource& resource : ResourcesOf(cluster.registry)) {
    if (!IsUsed(cluster, resource) || !seen.insert(resource.name).second) continue;
    const auto managed = extender.managed.find(resource.name);
    const bool missing = managed == extender.managed.end();
    const bool allocatable = IsAllocatable(cluster, resource);
    const std::string add =
        "Add {name: " + resource.name + ", ignoredByScheduler: true} to managedResources.";
    if (missing && resource.count)
      findings.Add(kError, object,
                   resource.name +
                       " is not among managedResources: pods that ask for nothing else "
                       "are placed without the extender, and get no devices",
                   add);
    else if ((missing || !managed->second) && !allocatable)
      findings.Add(kError, object,
                   resource.name +
                       (missing ? " is not among managedResources" : " has no ignoredByScheduler") +
                       ": kube-scheduler counts it, and no node offers it; pods that ask for it "
                       "stay Pending",
                   add);
    else if (!missing && !managed->second)
      findings.Add(kWarning, object,
                   resource.name +
                       " has no ignoredByScheduler: kube-scheduler counts sums of it, "
                       "the extender counts cards",
                   add);
  }
}

void CheckExtenderConfig(const Cluster& cluster, const ExtenderConfig& extender,
                         const std::string& object, Findings& findings) {
  if (extender.filter_verb.empty() || extender.bind_verb.empty())
    findings.Add(kError, object, "filterVerb or bindVerb is missing",
                 "Set filterVerb: filter and bindVerb: bind.");
  if (extender.ignorable)
    findings.Add(kError, object,
                 "ignorable: true: while the extender does not answer, pods are bound without "
                 "devices",
                 "Remove it.");
  if (!extender.node_cache_capable)
    findings.Add(kError, object,
                 "nodeCacheCapable is not true: every /filter carries whole nodes and is taken for "
                 "a question that reserves nothing",
                 "Set nodeCacheCapable: true.");
  const Duration timeout = extender.http_timeout.value_or(kDefaultTimeout);
  if (timeout < kShortestTimeout)
    findings.Add(kWarning, object,
                 "httpTimeout is " + FormatGoDuration(timeout) +
                     ": binds that wait for a node lock are given up too early",
                 "Set httpTimeout: 30s, above --node-lock-retry-timeout.");
  if (extender.managed.empty())
    findings.Add(kError, object,
                 "there are no managedResources: kube-scheduler counts all resources by itself, "
                 "and asks the extender about every pod",
                 "List the names of the device configuration, with ignoredByScheduler: true.");
  else
    CheckManaged(cluster, extender, object, findings);
}

void CheckSampling(const Cluster& cluster, const KubeSchedulerConfig& config,
                   const std::string& object, Findings& findings) {
  for (const KubeSchedulerConfig::Profile& profile : config.profiles) {
    if (profile.percentage >= 100) continue;
    const bool large = cluster.read.nodes.size() > kNodesWithoutSampling;
    findings.Add(large ? kWarning : kNote, object,
                 "percentageOfNodesToScore of profile " + profile.scheduler_name + " is " +
                     (profile.percentage == 0 ? "not set" : std::to_string(profile.percentage)) +
                     (large ? ": the extender sees a sample of the nodes, perhaps none with a card"
                            : ": above 100 nodes the extender will see a sample of them"),
                 "Set percentageOfNodesToScore: 100.");
  }
}

// It is for our resources, or for all.
bool IsForUs(const ExtenderConfig& extender, const core::Registry& registry) {
  return extender.managed.empty() ||
         std::ranges::any_of(ResourcesOf(registry), [&](const Resource& resource) {
           return extender.managed.contains(resource.name);
         });
}

}  // namespace

void CheckExtender(const Cluster& cluster, Findings& findings) {
  bool found = false;
  for (const kube::ConfigMap& map : cluster.read.config_maps) {
    const std::string object = "configmap " + map.meta.ns + "/" + map.meta.name;
    for (const auto& [file, text] : map.data) {
      if (!Contains(text, "KubeSchedulerConfiguration")) continue;
      const Result<std::optional<KubeSchedulerConfig>> config = ParseKubeSchedulerConfig(text);
      if (!config) {
        findings.Add(kWarning, object, file + " cannot be read: " + config.error().message,
                     "Correct it, if a kube-scheduler uses it.");
        continue;
      }
      if (!*config) continue;
      for (const ExtenderConfig& extender : (*config)->extenders) {
        if (!IsForUs(extender, cluster.registry)) continue;
        found = true;
        CheckExtenderConfig(cluster, extender, object, findings);
        CheckSampling(cluster, **config, object, findings);
      }
    }
  }
  if (!found)
    findings.Add(kNote, "kube-scheduler",
                 "no ConfigMap has a KubeSchedulerConfiguration with an extender for devices",
                 "If its configuration is a file, compare that with deploy/kube-scheduler.yaml.");
}

}  // namespace aliquot::checks
