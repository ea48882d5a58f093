// NVIDIA: cards shared by the container library (mode hami-core, mps) or cut into
// instances (mode mig: nvidia_mig). Memory in MiB times the configured factor, cores
// in percent of a card.
#include <algorithm>
#include <limits>

#include "aliquot/base/strings.h"
#include "aliquot/codec/node_devices.h"
#include "aliquot/core/gates.h"
#include "vendors/nvidia_admission.h"
#include "vendors/nvidia_mig.h"
#include "vendors/nvidia_topology.h"
#include "vendors/vendors.h"

namespace aliquot::vendors {
namespace {

using core::ContainerRequest;
using core::InvalidRequest;

constexpr std::string_view kRegisterKey = "hami.io/node-nvidia-register";
constexpr std::string_view kPairScoreKey = "hami.io/node-nvidia-score";
constexpr std::string_view kCordonKey = "hami.io/device-cordon";  // card ids, comma separated
constexpr int64_t kMaxAmount = std::numeric_limits<int32_t>::max();

std::optional<ContainerRequest> ParseRequest(const core::Vendor& vendor,
                                             const core::ResourceReader& resources,
                                             std::optional<InvalidRequest>& invalid) {
  const core::VendorConfig& config = vendor.config();
  const auto count = resources.Whole(config.count_name, kMaxAmount, invalid);
  const auto memory =
      resources.Whole(config.memory_name, kMaxAmount / vendor.memory_factor(), invalid);
  // Cut to 100 below, however much it is.
  const auto percent =
      resources.Whole(config.memory_percentage_name, std::numeric_limits<int64_t>::max(), invalid);
  const auto cores = resources.Whole(config.cores_name, kMaxAmount, invalid);
  if (invalid) return std::nullopt;

  ContainerRequest request;
  request.count = count.value_or(0);
  if (request.count == 0) {
    const std::string_view share = memory    ? config.memory_name
                                   : percent ? config.memory_percentage_name
                                   : cores   ? config.cores_name
                                             : std::string_view();
    if (share.empty()) return std::nullopt;
    // The webhook adds the default count where none is given; a pod that it has
    // not seen gets the same.
    if (count || config.default_count <= 0) {
      invalid = resources.Invalid(share, "needs " + config.count_name);
      return std::nullopt;
    }
    request.count = config.default_count;
  }
  request.memory = memory.value_or(0) * vendor.memory_factor();
  if (percent.value_or(0) > 0) request.memory_percent = std::min<int64_t>(*percent, 100);
  if (request.memory == 0 && request.memory_percent == core::kNoPercent) {
    if (config.default_memory != 0)
      request.memory = config.default_memory;
    else
      request.memory_percent = 100;
  }
  request.cores = cores.value_or(config.default_cores);
  return request;
}

Result<std::vector<core::Device>> ReadNode(const core::Vendor& vendor, const core::NodeSpec& node) {
  std::vector<core::Device> cards;
  const std::string* text = Find(*node.annotations, kRegisterKey);
  if (text == nullptr) return cards;
  auto registered = codec::ParseNodeDevicesJson(*text);
  if (!registered) return registered.error();
  codec::PairScores scores;
  if (const std::string* score_text = Find(*node.annotations, kPairScoreKey)) {
    auto parsed = codec::ParsePairScores(*score_text);
    if (!parsed) return parsed.error();
    scores = *std::move(parsed);
  }
  std::vector<std::string_view> cordoned;
  if (const std::string* cordon = Find(*node.annotations, kCordonKey))
    for (const std::string_view id : Split(*cordon, ',')) cordoned.push_back(Trim(id));
  for (codec::NodeDevice& entry : *registered) {
    core::Device& card = entry.device;
    vendor.Claim(card);
    card.cordoned =
        !card.id.empty() && std::find(cordoned.begin(), cordoned.end(), card.id) != cordoned.end();
    if (mig::IsMig(card)) card.profiles = std::move(entry.mig_profiles);
    if (const auto at = scores.find(card.id); at != scores.end())
      card.pair_scores = std::move(at->second);
    cards.push_back(std::move(card));
  }
  return cards;
}

// Instances are taken in walk order.
bool SelectsByLinks(const core::Attempt& attempt) {
  return attempt.policy.cards.topology_aware &&
         std::none_of(attempt.handed.begin(), attempt.handed.end(), [&](uint32_t position) {
           return mig::GivesSeveral(attempt.pod, attempt.vendor, attempt.cards()[position]);
         });
}

constexpr core::Gate kGates[] = {
    mig::Healthy,
    core::gates::NotCordoned,
    core::gates::TypeAllowed,
    core::gates::NumaGroup,
    core::gates::IdAllowed,
    core::gates::FreeSlot,
    core::gates::IdleUnderMutex,
    mig::QuotaAllows,
    core::gates::FreeMemory,
    core::gates::FreeCores,
    core::gates::ExclusiveIsIdle,
    core::gates::CoresNotExhausted,
    mig::HasPlace,
};

constexpr std::string_view kOtherPodKeys[] = {mig::kAllocationsKey};

}  // namespace

constexpr core::VendorSpec kNvidia{
    .key = "NVIDIA",
    .node_register = kRegisterKey,
    .node_handshake = "hami.io/node-handshake",
    .to_allocate = "hami.io/vgpu-devices-to-allocate",
    .allocated = "hami.io/vgpu-devices-allocated",
    .other_pod_keys = kOtherPodKeys,
    .use_type = "nvidia.com/use-gputype",
    .nouse_type = "nvidia.com/nouse-gputype",
    .use_id = "nvidia.com/use-gpuuuid",
    .nouse_id = "nvidia.com/nouse-gpuuuid",
    .mode = "nvidia.com/vgpu-mode",
    .gone_without_allocatable = true,
    .lock = core::NodeLock::kShared,
    .parse_request = ParseRequest,
    .read_node = ReadNode,
    .gates = kGates,
    .complete = CompleteNvidia,
    .gives_several = mig::GivesSeveral,
    .selects = SelectsByLinks,
    .select = SelectByLinks,
    .annotate = mig::Annotate,
    .read_instances = mig::ReadInstances,
    .watches_tenants = mig::IsMig,
};

}  // namespace aliquot::vendors
