// Checks: what would go wrong in a cluster, before or after it moves from HAMi's scheduler
// to ours. Each check is a function of objects that were read before; a new one is a
// function and a line in the table in checks.cc.
//
// Thread safety: pure functions and plain values.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "aliquot/base/clock.h"
#include "aliquot/core/vendor.h"
#include "aliquot/kube/setup_objects.h"
#include "aliquot/kube/types.h"

namespace aliquot::checks {

enum class Source {
  kVersion,
  kNodes,
  kPods,
  kConfigMaps,
  kDaemonSets,
  kWebhooks,
  kDeviceClasses,
  kQuotas,
  kCount,
};
// "nodes".
std::string_view Word(Source source);

// The cluster as it was read: at about one moment, not at exactly one.
struct Snapshot {
  WallTime now;  // when it was read
  // What could not be read, and why. The lists of other sources are complete.
  std::map<Source, std::string> missing;
  // Single objects that are not in the lists because they could not be read, and why.
  std::vector<std::string> unreadable;

  std::string server_version;  // "v1.33.1"
  std::vector<kube::Node> nodes;
  std::vector<kube::Pod> pods;
  std::vector<kube::ConfigMap> config_maps;
  std::vector<kube::DaemonSet> daemon_sets;
  std::vector<kube::MutatingWebhookConfiguration> webhooks;
  std::vector<kube::DeviceClass> device_classes;
  std::vector<kube::ResourceQuota> quotas;
};

enum class Severity {
  kError,    // pods do not run, or run on devices that they were not given
  kWarning,  // goes wrong under some circumstances
  kNote,     // to know
};
// "error".
std::string_view Word(Severity severity);

struct Finding {
  Severity severity = Severity::kError;
  std::string_view check = {};  // its name, e.g. "registration"
  std::string object;           // "pod team-a/train-0"; objects of one kind: "3 pods"
  std::string what;
  std::string advice;  // what to do

  bool operator==(const Finding&) const = default;
};

struct NotChecked {
  std::string_view check;
  std::string_view about;  // what is not known now
  std::string why;

  bool operator==(const NotChecked&) const = default;
};

struct Report {
  std::vector<Finding> findings;  // by severity, check and object
  std::vector<NotChecked> not_checked;

  size_t Count(Severity severity) const;
};

// `registry`: the vendors with the resource names that are in force.
Report RunChecks(const Snapshot& snapshot, const core::Registry& registry);

}  // namespace aliquot::checks
