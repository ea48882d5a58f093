// Cambricon MLU: memory in MiB (asked for in units of 256), cores in percent of a
// card. The node says nothing but its capacity; its plugin reads a profile of one
// share from the pod.
#include <algorithm>
#include <span>

#include "vendors/shared.h"
#include "vendors/vendors.h"

namespace aliquot::vendors {
namespace {

constexpr std::string_view kAssignedKey = "CAMBRICON_DSMLU_ASSIGNED";
constexpr std::string_view kProfileKey = "CAMBRICON_DSMLU_PROFILE";
constexpr int64_t kCardCores = 100;
constexpr int64_t kCardSlots = 100;

// Every card has the average memory.
Result<std::vector<core::Device>> ReadNode(const core::Vendor& vendor, const core::NodeSpec& node) {
  std::vector<core::Device> cards;
  const int64_t cores = CapacityOf(node, vendor.config().cores_name);
  if (cores <= 0) return cards;
  if (cores > kMostCards * kCardCores) return TooManyCards(vendor.config().cores_name);
  const int64_t memory =
      std::clamp<int64_t>(CapacityOf(node, vendor.config().memory_name), 0, kMaxInt32);
  for (int64_t i = 0; i * kCardCores < cores; ++i) {
    core::Device& card = cards.emplace_back(MakeCard(vendor, node, "-cambricon-mlu-", i));
    card.slots = kCardSlots;
    card.memory = memory * vendor.memory_factor() * kCardCores / cores;
    card.cores = kCardCores;
  }
  return cards;
}

// The first share of an app container, or else of an init container.
const core::Share* ShareToDescribe(const core::Assigned& assigned) {
  const core::Share* of_init = nullptr;
  for (size_t i = 0; i < assigned.allocation.containers.size(); ++i) {
    const std::vector<core::Share>& shares = assigned.allocation.containers[i];
    if (shares.empty()) continue;
    if (assigned.pod.containers[i].kind == core::ContainerKind::kApp) return &shares.front();
    if (of_init == nullptr) of_init = &shares.front();
  }
  return of_init;
}

void Annotate(const core::Assigned& assigned, StringMap& annotations) {
  annotations.emplace(kAssignedKey, "false");
  if (const core::Share* share = ShareToDescribe(assigned))
    annotations.emplace(kProfileKey,
                        std::to_string(share->index) + "_" + std::to_string(share->cores) + "_" +
                            std::to_string(share->memory / assigned.vendor.memory_factor()));
}

constexpr std::string_view kOtherPodKeys[] = {kAssignedKey, kProfileKey};

}  // namespace

constexpr core::VendorSpec kCambricon{
    .key = "MLU",
    .to_allocate = "hami.io/cambricon-mlu-devices-to-allocate",
    .allocated = "hami.io/cambricon-mlu-devices-allocated",
    .other_pod_keys = kOtherPodKeys,
    .use_id = "cambricon.com/use-gpuuuid",
    .nouse_id = "cambricon.com/nouse-gpuuuid",
    .lock = core::NodeLock::kCambricon,
    .parse_request = ParseShareOfAllCores,
    .read_node = ReadNode,
    .gates = std::span(kShareGates).subspan(1),  // without Healthy: all cards are
    .complete = ClaimReadable,
    .annotate = Annotate,
};

}  // namespace aliquot::vendors
