// The Kubernetes objects we read, cut down to the fields we use. Everything
// else of an object is dropped while it is parsed (a GPU pod is 7 KB on the
// wire, a few hundred bytes here).
//
// Plain values. A stored object is shared as shared_ptr<const T> and never
// changes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aliquot/base/clock.h"
#include "aliquot/base/object_ref.h"
#include "aliquot/base/string_map.h"

namespace aliquot::kube {

struct ObjectMeta {
  std::string ns;  // empty for nodes
  std::string name;
  std::string uid;
  std::string resource_version;
  StringMap annotations;  // without kubectl.kubernetes.io/last-applied-configuration
  StringMap labels;
  bool terminating = false;         // metadata.deletionTimestamp is set
  std::optional<WallTime> created;  // metadata.creationTimestamp

  ObjectRef Ref() const { return {ns, name, uid}; }
  bool operator==(const ObjectMeta&) const = default;
};

// Quantities stay text: "3k". A bare JSON number is kept as its digits.
struct Container {
  std::string name;
  StringMap limits;
  StringMap requests;
  bool restart_always = false;  // of an init container: a sidecar

  bool operator==(const Container&) const = default;
};

enum class PodPhase { kUnknown, kPending, kRunning, kSucceeded, kFailed };

// status.initContainerStatuses[]
struct InitStatus {
  std::string name;
  bool terminated = false;  // state.terminated is there
  int32_t exit_code = 0;    // of it

  bool operator==(const InitStatus&) const = default;
};

struct Pod {
  ObjectMeta meta;
  std::string node_name;       // spec.nodeName, empty while unbound
  std::string scheduler_name;  // spec.schedulerName
  std::string pod_group;       // spec.schedulingGroup.podGroupName
  std::vector<Container> init_containers;
  std::vector<Container> containers;
  PodPhase phase = PodPhase::kUnknown;
  std::vector<InitStatus> init_statuses;

  bool terminal() const { return phase == PodPhase::kSucceeded || phase == PodPhase::kFailed; }
  bool operator==(const Pod&) const = default;
};

struct Node {
  ObjectMeta meta;
  StringMap allocatable;  // status.allocatable
  StringMap capacity;     // status.capacity

  bool operator==(const Node&) const = default;
};

struct ResourceQuota {
  ObjectMeta meta;
  StringMap hard;       // spec.hard
  bool scoped = false;  // has scopes or a scope selector

  bool operator==(const ResourceQuota&) const = default;
};

// Who leads. Its times are not read: another machine's clock wrote them.
struct Lease {
  ObjectMeta meta;
  std::string holder;    // spec.holderIdentity; empty: nobody
  Duration duration{0};  // spec.leaseDurationSeconds

  bool operator==(const Lease&) const = default;
};

struct Secret {
  ObjectMeta meta;
  StringMap data;  // decoded from base64

  bool operator==(const Secret&) const = default;
};

// Mutating or validating.
struct WebhookConfiguration {
  struct Webhook {
    std::string name;
    std::string ca_bundle;  // clientConfig.caBundle, base64

    bool operator==(const Webhook&) const = default;
  };
  ObjectMeta meta;
  std::vector<Webhook> webhooks;

  bool operator==(const WebhookConfiguration&) const = default;
};

}  // namespace aliquot::kube
