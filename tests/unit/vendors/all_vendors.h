// Every vendor with the names of a default installation; nodes that describe
// themselves; requests and decisions as short texts.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "aliquot/vendors/allocation.h"
#include "support/builders.h"

namespace aliquot::testing {

inline core::VendorConfig Names(std::string count, std::string memory = "",
                                std::string cores = "") {
  core::VendorConfig config;
  config.count_name = std::move(count);
  config.memory_name = std::move(memory);
  config.cores_name = std::move(cores);
  return config;
}

inline vendors::NamedConfig AscendChip(const std::string& word, int64_t memory_mib,
                                       std::vector<core::CardTemplate> templates) {
  vendors::NamedConfig chip{word, Names("huawei.com/" + word, "huawei.com/" + word + "-memory",
                                        "huawei.com/" + word + "-core")};
  chip.config.memory_allocatable = chip.config.memory_capacity = memory_mib;
  chip.config.templates = std::move(templates);
  return chip;
}

inline const core::Registry& AllVendors() {
  static const core::Registry registry = [] {
    vendors::Configs configs;
    configs.amd = Names("amd.com/gpu", "amd.com/gpumem", "amd.com/gpucores");
    configs.awsneuron = Names("aws.amazon.com/neuron", "", "aws.amazon.com/neuroncore");
    configs.biren = Names("birentech.com/gpu");
    configs.cambricon = Names("cambricon.com/vmlu", "cambricon.com/vmemory", "cambricon.com/vcore");
    configs.enflame =
        Names("enflame.com/drs-gcu", "enflame.com/gcu-memory", "enflame.com/gcu-core");
    configs.gcu = Names("enflame.com/gcu");
    configs.hygon = Names("hygon.com/dcunum", "hygon.com/dcumem", "hygon.com/dcucores");
    configs.kunlun = Names("kunlunxin.com/xpu");
    configs.metax_gpu = Names("metax-tech.com/gpu");
    configs.metax_sgpu =
        Names("metax-tech.com/sgpu", "metax-tech.com/vmemory", "metax-tech.com/vcore");
    configs.mthreads =
        Names("mthreads.com/vgpu", "mthreads.com/sgpu-memory", "mthreads.com/sgpu-core");
    configs.nvidia = ChartConfig();
    configs.vastai = Names("vastaitech.com/va");
    configs.xpu = Names("kunlunxin.com/vxpu", "kunlunxin.com/vxpu-memory");
    configs.ascend = {AscendChip("Ascend910A", 32768, {{"vir02", 2184}, {"vir08", 8738}}),
                      AscendChip("Ascend910C", 65536, {{"vir10", 16384}})};
    configs.ascend[1].config.super_pod = true;
    configs.iluvatar = {{"MR-V100", Names("iluvatar.ai/MR-V100-vgpu", "iluvatar.ai/MR-V100.vMem",
                                          "iluvatar.ai/MR-V100.vCore")}};
    return vendors::MakeRegistry(configs);
  }();
  return registry;
}

inline const core::Vendor& VendorOf(std::string_view key) { return *AllVendors().Find(key); }

// What a container with these limits (or, given too, requests) asks of the vendor:
// "<count>: <memory>, <percent>%, <cores>" ("-" for a percentage that is not
// given), "nothing", or why it is refused.
inline std::string Wish(std::string_view key, StringMap limits, StringMap requests = {}) {
  const PodWish pod = PodWish().AppWith(std::move(limits), std::move(requests));
  const auto parsed = pod.Parse(AllVendors());
  if (const auto* invalid = std::get_if<core::InvalidRequest>(&parsed))
    return invalid->value + ": " + invalid->why;
  for (const core::ContainerRequest& request :
       std::get<core::PodRequest>(parsed).containers[0].requests)
    if (request.vendor == VendorOf(key).id())
      return std::to_string(request.count) + ": " + std::to_string(request.memory) + ", " +
             (request.memory_percent == core::kNoPercent
                  ? "-"
                  : std::to_string(request.memory_percent) + "%") +
             ", " + std::to_string(request.cores);
  return "nothing";
}

// A container "main" of a pod that is being created.
struct NewContainer {
  StringMap limits = {};
  StringMap requests = {};
  std::vector<EnvVar> env = {};
  StringMap annotations = {};  // of the pod
};

// What the vendor makes of it: "refused: <why>", or "left alone" or "claimed" and what is
// to be set, as in "claimed; limit nvidia.com/gpucores=100; env A=1".
inline std::string Completed(const core::Vendor& vendor, const core::Registry& registry,
                             const NewContainer& container) {
  const ObjectRef ref;
  const core::PodSpec pod{
      &ref,
      &container.annotations,
      {{"main", core::ContainerKind::kApp, &container.limits, &container.requests}}};
  const Result<core::Completion> completion =
      vendor.spec().complete(vendor, {registry, pod, pod.containers[0], container.env});
  if (!completion) return "refused: " + completion.error().message;
  std::string text = completion->claimed ? "claimed" : "left alone";
  const auto tell = [&text](const std::string& what, const StringMap& map) {
    for (const auto& [key, value] : map) text += "; " + what + " " + key + "=" + value;
  };
  tell("limit", completion->limits);
  tell("request", completion->requests);
  for (const EnvVar& variable : completion->env)
    text += "; env " + variable.name + "=" + variable.value;
  tell("annotation", completion->annotations);
  if (!completion->runtime_class.empty()) text += "; runtime class " + completion->runtime_class;
  for (const std::string& warning : completion->warnings) text += "; warning " + warning;
  return text;
}

inline std::string Completed(std::string_view key, const NewContainer& container) {
  return Completed(VendorOf(key), AllVendors(), container);
}

// A node as the API server has it.
struct Offer {
  std::string name = "n";
  StringMap annotations = {};
  StringMap capacity = {};
  StringMap labels = {};
};

inline core::NodeUsage Offered(const Offer& offer) {
  core::NodeInventory inventory{offer.name, {}};
  for (const core::Vendor& vendor : AllVendors().vendors()) {
    const auto cards = vendor.spec().read_node(
        vendor, {offer.name, &offer.annotations, &offer.capacity, &offer.capacity, &offer.labels});
    if (cards) inventory.devices.insert(inventory.devices.end(), cards->begin(), cards->end());
  }
  return core::NodeUsage(std::move(inventory));
}

// Of a vendor's cards of a node: "id slots/memory/cores numa; ...", or the error.
inline std::string CardsOf(std::string_view key, const Offer& offer) {
  const core::Vendor& vendor = VendorOf(key);
  const auto cards = vendor.spec().read_node(
      vendor, {offer.name, &offer.annotations, &offer.capacity, &offer.capacity, &offer.labels});
  if (!cards) return "error: " + cards.error().message;
  std::string text;
  for (const core::Device& card : *cards)
    text += (text.empty() ? "" : "; ") + card.id + " " + std::to_string(card.slots) + "/" +
            std::to_string(card.memory) + "/" + std::to_string(card.cores) + " " +
            std::to_string(card.numa);
  return text;
}

inline void Use(core::NodeUsage& node, std::string_view key, std::string_view id,
                const core::DeviceUse& use) {
  const int device = node.FindDevice(VendorOf(key).id(), id);
  ASSERT_GE(device, 0) << id;
  node.SetUse(static_cast<size_t>(device), use);
}

inline core::NodeFit FitOn(const PodWish& pod, const core::NodeUsage& node,
                           std::span<const core::QuotaRoom> quota = {}) {
  return core::FitNode(pod.Request(AllVendors()), node, quota, PolicyOf(pod), AllVendors());
}

inline std::string FitText(const PodWish& pod, const core::NodeUsage& node) {
  return ToText(FitOn(pod, node));
}

// What is written on the pod besides the allocation, in the year 2023.
inline StringMap Written(const PodWish& pod, const core::NodeUsage& node) {
  constexpr auto kNow = WallTime(std::chrono::seconds(1700000000));
  return vendors::WriteAllocation(FitOn(pod, node).allocation, pod.Spec(), node.name(), kNow,
                                  AllVendors());
}

}  // namespace aliquot::testing
