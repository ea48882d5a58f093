// Short ways to write Kubernetes objects as the scheduler sees them.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aliquot/codec/node_devices.h"
#include "aliquot/kube/types.h"
#include "support/builders.h"

namespace aliquot::testing {

inline constexpr char kRegisterKey[] = "hami.io/node-nvidia-register";
inline constexpr char kHandshakeKey[] = "hami.io/node-handshake";
inline constexpr char kAllocatedKey[] = "hami.io/vgpu-devices-allocated";
inline constexpr char kToAllocateKey[] = "hami.io/vgpu-devices-to-allocate";
inline constexpr char kNodeKey[] = "hami.io/vgpu-node";
inline constexpr char kTimeKey[] = "hami.io/vgpu-time";

// A pod of namespace "team" with UID "uid-<name>". App containers are named
// c0, c1, ..., init containers i0, i1, ...
class KubePod {
 public:
  explicit KubePod(const std::string& name) {
    pod_.meta.ns = "team";
    pod_.meta.name = name;
    pod_.meta.uid = "uid-" + name;
  }

  KubePod& App(const Ask& ask = {}) { return Add(pod_.containers, ask, false); }
  KubePod& Init(const Ask& ask = {}) { return Add(pod_.init_containers, ask, false); }
  KubePod& Sidecar(const Ask& ask = {}) { return Add(pod_.init_containers, ask, true); }
  KubePod& Annotate(const std::string& key, std::string value) {
    pod_.meta.annotations[key] = std::move(value);
    return *this;
  }
  KubePod& Uid(std::string uid) {
    pod_.meta.uid = std::move(uid);
    return *this;
  }
  // Bound to the node, with this allocated text.
  KubePod& On(std::string node, std::string allocated) {
    pod_.node_name = node;
    return Annotate(kNodeKey, std::move(node)).Annotate(kAllocatedKey, std::move(allocated));
  }
  KubePod& Phase(kube::PodPhase phase) {
    pod_.phase = phase;
    return *this;
  }
  KubePod& Terminating() {
    pod_.meta.terminating = true;
    return *this;
  }
  // Status of the init container at this position; no exit code: it runs.
  KubePod& InitStatus(size_t position, std::optional<int> exit_code) {
    pod_.init_statuses.push_back(
        {pod_.init_containers.at(position).name, exit_code.has_value(), exit_code.value_or(0)});
    return *this;
  }

  operator kube::Pod() const { return pod_; }  // NOLINT: implicit
  kube::Pod* operator->() { return &pod_; }

 private:
  KubePod& Add(std::vector<kube::Container>& list, const Ask& ask, bool sidecar) {
    kube::Container container;
    container.name = (&list == &pod_.containers ? "c" : "i") + std::to_string(list.size());
    container.limits = Resources(ask);
    container.restart_always = sidecar;
    list.push_back(std::move(container));
    return *this;
  }

  kube::Pod pod_;
};

// The register text of a device plugin with these cards.
inline std::string RegisterText(const std::vector<Card>& cards) {
  std::vector<codec::NodeDevice> devices;
  const core::NodeUsage node = Node("", cards);
  for (const core::Device& device : node.devices()) devices.push_back({device, {}, {}});
  return codec::FormatNodeDevicesJson(devices);
}

// As its device plugin has registered it; ten shares are allocatable. What is
// in use of the cards is not said here: pods say it.
inline kube::Node KubeNode(std::string name, const std::vector<Card>& cards) {
  kube::Node node;
  node.meta.name = std::move(name);
  node.meta.annotations[kRegisterKey] = RegisterText(cards);
  node.allocatable["nvidia.com/gpu"] = "10";
  return node;
}

// The lease of an election, held for 15 s; another version with every call.
inline std::shared_ptr<const kube::Lease> KubeLease(std::string holder) {
  static std::atomic<int> version = 0;
  kube::Lease lease;
  lease.meta.ns = "kube-system";
  lease.meta.name = "hami-scheduler";
  lease.meta.resource_version = std::to_string(++version);
  lease.holder = std::move(holder);
  lease.duration = std::chrono::seconds(15);
  return std::make_shared<const kube::Lease>(std::move(lease));
}

}  // namespace aliquot::testing
