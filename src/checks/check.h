// What a check sees and where its findings go. The checks are in nodes.cc, pods.cc,
// extender.cc, setup.cc and move.cc; checks.cc has the table of them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "aliquot/checks/checks.h"
#include "aliquot/core/model.h"

namespace aliquot::checks {

// What the vendors have read of a node's annotations.
struct NodeCards {
  struct Unreadable {
    std::string_view annotation;
    std::string problem;
  };
  std::vector<core::Device> devices;
  std::vector<Unreadable> unreadable;

  bool Has(core::VendorId vendor) const;
};

struct Cluster {
  const Snapshot& read;
  const core::Registry& registry;
  std::map<std::string_view, NodeCards> cards;  // by node
};

class Findings {
 public:
  // They are put at the end of `findings`.
  Findings(std::string_view check, std::vector<Finding>& findings)
      : check_(check), findings_(findings) {}

  void Add(Severity severity, std::string object, std::string what, std::string advice) {
    findings_.push_back({severity, check_, std::move(object), std::move(what), std::move(advice)});
  }

 private:
  std::string_view check_;
  std::vector<Finding>& findings_;
};

// "pod team-a/train-0".
std::string NameOf(const kube::Pod& pod);
// "a, b, c and 4 more".
std::string Few(const std::vector<std::string>& names);
// Still there: not finished.
inline bool IsBound(const kube::Pod& pod) { return !pod.node_name.empty() && !pod.terminal(); }
inline bool IsWaiting(const kube::Pod& pod) { return pod.node_name.empty() && !pod.terminal(); }

// nodes.cc
void CheckRegistration(const Cluster& cluster, Findings& findings);
void CheckHandshakes(const Cluster& cluster, Findings& findings);
void CheckNodeLocks(const Cluster& cluster, Findings& findings);

// pods.cc
void CheckAllocations(const Cluster& cluster, Findings& findings);
void CheckRequests(const Cluster& cluster, Findings& findings);
void CheckUnserved(const Cluster& cluster, Findings& findings);
void CheckForeignPods(const Cluster& cluster, Findings& findings);
void CheckHeldCards(const Cluster& cluster, Findings& findings);

// extender.cc
void CheckExtender(const Cluster& cluster, Findings& findings);

// setup.cc
void CheckServerVersion(const Cluster& cluster, Findings& findings);
void CheckDevicePlugins(const Cluster& cluster, Findings& findings);
void CheckWebhooks(const Cluster& cluster, Findings& findings);
void CheckDeviceClasses(const Cluster& cluster, Findings& findings);

// move.cc
void CheckMovedPods(const Cluster& cluster, Findings& findings);
void CheckMovedQuotas(const Cluster& cluster, Findings& findings);

}  // namespace aliquot::checks
