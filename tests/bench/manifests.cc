#include "manifests.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "aliquot/codec/node_devices.h"
#include "aliquot/codec/pod_devices.h"

namespace aliquot::bench {
namespace {

using Json = nlohmann::json;

constexpr int64_t kCardMemory = 40960;
constexpr int64_t kSharesPerCard = 10;
constexpr int64_t kShareMemory = 2000;
constexpr int64_t kShareCores = 10;

std::string CardId(size_t node, size_t card) {
  return "GPU-" + load::NodeName(node) + "-" + std::to_string(card);
}

load::Limits OneCard(int64_t memory) {
  return {{"nvidia.com/gpu", "1"},
          {"nvidia.com/gpumem", std::to_string(memory)},
          {"nvidia.com/gpucores", std::to_string(kShareCores)}};
}

}  // namespace

std::string NodeManifest(size_t node) {
  std::vector<codec::NodeDevice> cards(kCards);
  for (size_t i = 0; i < kCards; ++i) {
    core::Device& card = cards[i].device;
    card.id = CardId(node, i);
    card.type = "NVIDIA A100-SXM4-40GB";
    card.mode = "hami-core";
    card.index = static_cast<uint32_t>(i);
    card.slots = kSharesPerCard;
    card.memory = kCardMemory;
    card.cores = 100;
    card.numa = static_cast<int64_t>(i / 4);
    card.healthy = true;
  }
  Json manifest;
  manifest["metadata"]["name"] = load::NodeName(node);
  manifest["metadata"]["annotations"]["hami.io/node-nvidia-register"] =
      codec::FormatNodeDevicesJson(cards);
  manifest["status"]["allocatable"]["nvidia.com/gpu"] = std::to_string(kCards * kSharesPerCard);
  return manifest.dump();
}

std::string RunningPodManifest(size_t node, size_t pod) {
  core::Share share;
  share.device_id = CardId(node, pod % kCards);
  share.type = "NVIDIA";
  share.memory = kShareMemory;
  share.cores = kShareCores;
  const std::vector<std::vector<core::Share>> containers = {{share}};
  const std::string allocation = codec::FormatPodDevices(containers);

  Json manifest;
  Json& meta = manifest["metadata"];
  const std::string name = load::NodeName(node) + "-pod-" + std::to_string(pod);
  meta["name"] = name;
  meta["namespace"] = "load";
  meta["uid"] = "uid-" + name;
  meta["annotations"] = {{"hami.io/vgpu-node", load::NodeName(node)},
                         {"hami.io/vgpu-devices-allocated", allocation},
                         {"hami.io/vgpu-devices-to-allocate", allocation},
                         {"hami.io/bind-phase", "success"}};
  manifest["spec"]["nodeName"] = load::NodeName(node);
  Json& container = manifest["spec"]["containers"][0];
  container["name"] = "main";
  container["image"] = "registry.example/train:1.4.2";
  container["resources"]["limits"] = OneCard(kShareMemory);
  return manifest.dump();
}

load::Limits FitsEverywhere() { return OneCard(3000); }
load::Limits FitsNowhere() { return OneCard(kCardMemory + 1); }

}  // namespace aliquot::bench
