// Short ways to write what a decision is made of: what pods ask for, cards and
// what is in use of them, nodes. Only what a test is about has to be named.
#pragma once

#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "aliquot/base/object_ref.h"
#include "aliquot/base/string_map.h"
#include "aliquot/codec/pod_devices.h"
#include "aliquot/core/model.h"
#include "aliquot/core/policy.h"
#include "aliquot/core/request.h"
#include "aliquot/core/schedule.h"
#include "aliquot/core/vendor.h"
#include "aliquot/vendors/registry.h"

namespace aliquot::testing {

// The NVIDIA section as the chart renders it.
inline core::VendorConfig ChartConfig() {
  core::VendorConfig nvidia;
  nvidia.count_name = "nvidia.com/gpu";
  nvidia.memory_name = "nvidia.com/gpumem";
  nvidia.memory_percentage_name = "nvidia.com/gpumem-percentage";
  nvidia.cores_name = "nvidia.com/gpucores";
  nvidia.default_count = 1;
  return nvidia;
}

// NVIDIA and nobody else, so that a test names what it is about.
inline core::Registry NvidiaOnly(core::VendorConfig config) {
  vendors::Configs configs;
  configs.nvidia = std::move(config);
  return core::Registry({*vendors::MakeRegistry(configs).Find("NVIDIA")});
}

inline const core::Registry& ChartRegistry() {
  static const core::Registry registry = NvidiaOnly(ChartConfig());
  return registry;
}

inline constexpr core::VendorId kNvidia = 0;  // in ChartRegistry

// What a container asks for, as the texts of its resources; empty: not there.
struct Ask {
  std::string gpu = {};
  std::string mem = {};
  std::string percent = {};
  std::string cores = {};
};

inline StringMap Resources(const Ask& ask) {
  StringMap resources;
  const auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) resources.emplace(name, text);
  };
  add("nvidia.com/gpu", ask.gpu);
  add("nvidia.com/gpumem", ask.mem);
  add("nvidia.com/gpumem-percentage", ask.percent);
  add("nvidia.com/gpucores", ask.cores);
  return resources;
}

// A pod as a decision sees its manifest. Init containers come first, as they run.
class PodWish {
 public:
  explicit PodWish(std::string name = "p") : ref_{"team", name, "uid-" + name} {}

  PodWish& Init(const Ask& ask = {}) { return Add(core::ContainerKind::kInit, Resources(ask)); }
  PodWish& Sidecar(const Ask& ask = {}) {
    return Add(core::ContainerKind::kSidecar, Resources(ask));
  }
  PodWish& App(const Ask& ask = {}) { return Add(core::ContainerKind::kApp, Resources(ask)); }
  // Resources of any name.
  PodWish& InitWith(StringMap limits) { return Add(core::ContainerKind::kInit, std::move(limits)); }
  PodWish& AppWith(StringMap limits, StringMap requests = {}) {
    return Add(core::ContainerKind::kApp, std::move(limits), std::move(requests));
  }
  PodWish& Annotate(std::string key, std::string value) {
    annotations_[std::move(key)] = std::move(value);
    return *this;
  }

  const StringMap& annotations() const { return annotations_; }

  // Views into this object.
  core::PodSpec Spec() const {
    core::PodSpec spec{&ref_, &annotations_, {}};
    for (const Container& container : containers_)
      spec.containers.push_back(
          {container.name, container.kind, &container.limits, &container.requests});
    return spec;
  }
  std::variant<core::PodRequest, core::InvalidRequest> Parse(
      const core::Registry& registry = ChartRegistry()) const {
    return core::ParseRequests(Spec(), registry);
  }
  // REQUIRES: it can be read.
  core::PodRequest Request(const core::Registry& registry = ChartRegistry()) const {
    return std::get<core::PodRequest>(Parse(registry));
  }

 private:
  struct Container {
    std::string name;
    core::ContainerKind kind;
    StringMap limits, requests;
  };

  PodWish& Add(core::ContainerKind kind, StringMap limits, StringMap requests = {}) {
    containers_.push_back(
        {"c" + std::to_string(containers_.size()), kind, std::move(limits), std::move(requests)});
    return *this;
  }

  ObjectRef ref_;
  StringMap annotations_;
  std::vector<Container> containers_;
};

// A pod of one app container.
inline PodWish Pod(const Ask& ask) { return PodWish().App(ask); }

// A card as its node registered it, and what is in use of it.
struct Card {
  std::string id;
  int64_t numa = 0;
  core::DeviceUse used = {};
  int64_t slots = 10;
  int64_t memory = 40960;
  int64_t cores = 100;
  std::string type = "NVIDIA A100-SXM4-40GB";
  std::string mode = "hami-core";
  bool healthy = true;
  bool cordoned = false;
  std::map<std::string, int64_t, std::less<>> pair_scores = {};
  core::VendorId vendor = kNvidia;
};

inline core::NodeUsage Node(std::string name, const std::vector<Card>& cards,
                            const core::Registry& registry = ChartRegistry()) {
  core::NodeInventory inventory{std::move(name), {}};
  for (const Card& card : cards) {
    core::Device device;
    device.id = card.id;
    device.type = card.type;
    device.mode = card.mode;
    device.index = static_cast<uint32_t>(inventory.devices.size());
    device.slots = card.slots;
    device.memory = card.memory;
    device.cores = card.cores;
    device.numa = card.numa;
    device.healthy = card.healthy;
    device.cordoned = card.cordoned;
    device.pair_scores = card.pair_scores;
    registry[card.vendor].Claim(device);
    inventory.devices.push_back(std::move(device));
  }
  core::NodeUsage node(std::move(inventory));
  for (size_t i = 0; i < cards.size(); ++i) node.SetUse(i, cards[i].used);
  return node;
}

// Shares and what a pod holds of them, container by container.
inline core::Share ShareOf(std::string id, int64_t memory, int64_t cores = 0,
                           std::string type = "NVIDIA") {
  core::Share share;
  share.device_id = std::move(id);
  share.type = std::move(type);
  share.memory = memory;
  share.cores = cores;
  return share;
}
inline core::VendorAllocation Held(std::vector<std::vector<core::Share>> containers,
                                   core::VendorId vendor = kNvidia) {
  core::VendorAllocation held;
  held.vendor = vendor;
  held.containers = std::move(containers);
  return held;
}

// A node that fits says what the pod would get ("G0,NVIDIA,3000,30:;", the
// vendors' texts joined by blanks), one that does not says why.
inline std::string ToText(const core::NodeFit& fit) {
  if (fit.refusal) return fit.refusal->ToString();
  std::string text;
  for (const core::VendorAllocation& of_vendor : fit.allocation)
    text += (text.empty() ? "" : " ") + codec::FormatPodDevices(of_vendor.containers);
  return text;
}

// The policy that the pod's annotations give on top of HAMi's flags.
inline core::SchedulePolicy PolicyOf(const PodWish& pod) {
  return *core::ResolvePolicy(pod.annotations(), core::PolicyDefaults());
}

inline std::string Fit(const PodWish& pod, const std::vector<Card>& cards,
                       const std::vector<core::QuotaRoom>& quota = {}) {
  return ToText(
      core::FitNode(pod.Request(), Node("n1", cards), quota, PolicyOf(pod), ChartRegistry()));
}

}  // namespace aliquot::testing

namespace aliquot::core {

inline void PrintTo(const DeviceUse& use, std::ostream* out) {
  *out << use.slots << " slots, " << use.memory << " memory, " << use.cores << " cores";
}
inline void PrintTo(const ContainerRequest& request, std::ostream* out) {
  *out << "{" << request.count << " cards, memory " << request.memory << ", percent "
       << request.memory_percent << ", cores " << request.cores << "}";
}

}  // namespace aliquot::core
