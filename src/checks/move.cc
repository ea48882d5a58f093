// What a scheduler that takes over from HAMi's does otherwise with what is there. The page
// docs/differences.md has all of it; here is what applies to this cluster.
#include <algorithm>
#include <map>
#include <variant>

#include "aliquot/core/policy.h"
#include "aliquot/scheduler/assignment.h"
#include "aliquot/vendors/allocation.h"
#include "checks/check.h"

namespace aliquot::checks {
namespace {

using enum Severity;

// Pods of one kind, told together.
class PodGroup {
 public:
  void Add(const kube::Pod& pod) { names_.push_back(pod.meta.ns + "/" + pod.meta.name); }
  void Tell(Severity severity, std::string what, std::string advice, Findings& findings) const {
    if (names_.empty()) return;
    findings.Add(severity, (names_.size() == 1 ? "pod " : "pods ") + Few(names_), std::move(what),
                 std::move(advice));
  }

 private:
  std::vector<std::string> names_;
};

bool HasUnknownPolicy(const StringMap& annotations) {
  const Result<core::SchedulePolicy> policy = core::ResolvePolicy(annotations, {});
  return policy && !policy->unknown.empty();
}

bool HasBadWeights(const StringMap& annotations) {
  const std::string* weights = Find(annotations, core::kScoringWeightsKey);
  return weights != nullptr && !core::ParseScoringWeights(*weights);
}

bool HasAllocation(const kube::Pod& pod, const core::Registry& registry) {
  return std::ranges::any_of(vendors::AllocationKeys(registry), [&](std::string_view key) {
    return pod.meta.annotations.contains(key);
  });
}

// A sidecar of a running pod that holds devices, beside other containers that do.
bool HasSidecarWithDevices(const kube::Pod& pod, const core::Registry& registry) {
  const ledger::Holding holding = scheduler::HoldingOf(pod, pod.node_name, registry).holding;
  bool found = false;
  ledger::ForEachShare(holding.allocation, [&](core::VendorId, size_t at, const core::Share&) {
    if (at < holding.kinds.size() && holding.kinds[at] == core::ContainerKind::kSidecar)
      found = true;
  });
  return found;
}

bool IsOurs(std::string_view limit, const core::Registry& registry) {
  return std::ranges::any_of(registry.vendors(), [&](const core::Vendor& vendor) {
    const core::VendorConfig& names = vendor.config();
    return limit == "limits." + names.count_name || limit == "limits." + names.memory_name ||
           limit == "limits." + names.cores_name;
  });
}

}  // namespace

void CheckMovedPods(const Cluster& cluster, Findings& findings) {
  PodGroup unknown_policies, bad_weights, promises, sidecars;
  for (const kube::Pod& pod : cluster.read.pods) {
    if (pod.terminal()) continue;
    if (HasUnknownPolicy(pod.meta.annotations)) unknown_policies.Add(pod);
    if (HasBadWeights(pod.meta.annotations)) bad_weights.Add(pod);
    if (IsWaiting(pod) && HasAllocation(pod, cluster.registry)) promises.Add(pod);
    if (IsBound(pod) && HasSidecarWithDevices(pod, cluster.registry)) sidecars.Add(pod);
  }
  unknown_policies.Tell(kNote, "name a policy that is none: the scheduler's flag applies",
                        "HAMi takes such a text for binpack (nodes) or spread (cards).", findings);
  bad_weights.Tell(kWarning,
                   std::string(core::kScoringWeightsKey) +
                       " cannot be read: such a pod is refused on every node",
                   "Correct it; HAMi answers an error, which is tried again for ever.", findings);
  promises.Tell(kNote, "carry devices and are bound to no node: they hold nothing",
                "HAMi counts them as used. They are placed anew.", findings);
  sidecars.Tell(kNote, "have devices in a sidecar, which counts beside the main containers",
                "HAMi counts the larger of both: nodes may look fuller than before.", findings);
}

void CheckMovedQuotas(const Cluster& cluster, Findings& findings) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> by_limit;
  for (const kube::ResourceQuota& quota : cluster.read.quotas) {
    bool has_ours = false;
    for (const auto& [limit, amount] : quota.hard) {
      if (!IsOurs(limit, cluster.registry)) continue;
      has_ours = true;
      if (!quota.scoped) by_limit[{quota.meta.ns, limit}].push_back(quota.meta.name);
    }
    if (quota.scoped && has_ours)
      findings.Add(kNote, "resourcequota " + quota.meta.ns + "/" + quota.meta.name,
                   "it has scopes: its limits on devices are passed over",
                   "HAMi applies them to all pods of the namespace.");
  }
  for (const auto& [of, quotas] : by_limit)
    if (quotas.size() > 1)
      findings.Add(
          kNote, "namespace " + of.first,
          of.second + " is in several quotas (" + Few(quotas) + "): the smallest limit applies",
          "HAMi takes the one that was changed last.");
}

}  // namespace aliquot::checks
