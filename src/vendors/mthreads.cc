// Moore Threads: memory in MiB (asked for in units of 512), cores in sixteenths of
// a card; both are sums over the cards of a container. The node says nothing but
// its capacity. A pod uses one card, or one container of it several.
#include <algorithm>

#include "aliquot/base/quantity.h"
#include "vendors/shared.h"
#include "vendors/vendors.h"

namespace aliquot::vendors {
namespace {

constexpr std::string_view kIndexKey = "mthreads.com/gpu-index";
constexpr std::string_view kNodeKey = "mthreads.com/predicate-node";
constexpr std::string_view kTimeKey = "mthreads.com/predicate-time";
constexpr std::string_view kCountKey = "mthreads.com/request-gpu-num";
constexpr int64_t kWholeMemory = 96;  // as it is asked for
constexpr int64_t kCardCores = 16;
constexpr int64_t kCardSlots = 100;

int64_t DivideUp(int64_t amount, int64_t parts) { return (amount + parts - 1) / parts; }

std::optional<core::ContainerRequest> ParseRequest(const core::Vendor& vendor,
                                                   const core::ResourceReader& resources,
                                                   std::optional<core::InvalidRequest>& invalid) {
  std::optional<core::ContainerRequest> request = ParseShare(vendor, resources, invalid);
  if (!request) return std::nullopt;
  request->memory = DivideUp(request->memory, request->count);
  request->cores = DivideUp(request->cores, request->count);
  return request;
}

bool IsSizeOfAShare(std::string_view memory) {
  constexpr int64_t kSizes[] = {2, 4, 8, 16, 32, 64, kWholeMemory};
  const std::optional<Quantity> quantity = Quantity::Parse(memory);
  return quantity &&
         std::find(std::begin(kSizes), std::end(kSizes), quantity->AsInt64()) != std::end(kSizes);
}

// Several cards, and one without memory, are whole cards, whatever the pod says; it is
// warned of what it does not get.
// What stands in requests only is copied to limits.
Result<core::Completion> Complete(const core::Vendor& vendor, const core::Submitted& submitted) {
  const core::VendorConfig& config = vendor.config();
  const core::ResourceReader resources(submitted.container, false);
  const Result<int64_t> count = ReadCount(resources, config.count_name);
  if (!count) return count.error();
  if (*count == 0) return core::Completion();

  core::Completion completion{.claimed = true};
  const auto keep = [&](const std::string& resource) {
    if (FindLimit(submitted, resource) == nullptr)
      completion.limits.emplace(resource, *resources.Find(resource));
  };
  keep(config.count_name);
  const std::string* memory = resources.Find(config.memory_name);
  if (*count > 1) completion.annotations.emplace(kCountKey, std::to_string(*count));
  if (*count > 1 || memory == nullptr) {
    if (*count > kMaxInt32) return completion;  // it is refused as out of range
    const auto give_whole = [&](const std::string& resource, int64_t amount) {
      const std::string* asked = resources.Find(resource);
      if (asked != nullptr && RoundedUp(*asked) != amount)
        completion.warnings.push_back(resource + " " + *asked + " becomes " +
                                      std::to_string(amount) + ": the cards are given whole");
      completion.limits.emplace(resource, std::to_string(amount));
    };
    give_whole(config.cores_name, kCardCores * *count);
    give_whole(config.memory_name, kWholeMemory * *count);
    return completion;
  }
  if (!IsSizeOfAShare(*memory))
    return InvalidError(
        "sGPU memory request value is invalid, valid values are [2, 4, 8, 16, 32, 64, 96]");
  keep(config.memory_name);
  if (resources.Find(config.cores_name) != nullptr) {
    std::optional<core::InvalidRequest> invalid;
    resources.Whole(config.cores_name, kCardCores, invalid);
    if (invalid) return InvalidError(config.cores_name + " must be in range [0,16]");
    keep(config.cores_name);
  }
  return completion;
}

Result<std::vector<core::Device>> ReadNode(const core::Vendor& vendor, const core::NodeSpec& node) {
  std::vector<core::Device> cards;
  const int64_t cores = CapacityOf(node, vendor.config().cores_name);
  if (cores <= 0) return cards;
  if (cores > kMostCards * kCardCores) return TooManyCards(vendor.config().cores_name);
  const int64_t units =
      std::clamp<int64_t>(CapacityOf(node, vendor.config().memory_name), 0, kMaxInt32);
  const int64_t memory = units * vendor.memory_factor() * kCardCores / cores;
  if (memory > kMaxInt32) return InvalidError(vendor.config().memory_name + ": out of range");
  for (int64_t i = 0; i < std::max<int64_t>(cores / kCardCores, 1); ++i) {
    core::Device& card = cards.emplace_back(MakeCard(vendor, node, "-mthreads-", i));
    card.slots = kCardSlots;
    card.memory = memory;
    card.cores = kCardCores;
  }
  return cards;
}

bool IsApp(const Attempt& attempt, size_t container) {
  return attempt.pod.containers[container].kind == core::ContainerKind::kApp;
}

bool IsOurs(const Attempt& attempt, const core::Placed& placed) {
  return attempt.cards()[placed.device].vendor == attempt.vendor.id();
}

// The card of the earlier app (or init) containers: the pod names one for all.
Reason OneCardPerPod(Candidate& candidate) {
  const Attempt& attempt = candidate.attempt;
  for (const core::Placed& placed : attempt.placed)
    if (IsOurs(attempt, placed) && placed.device != candidate.take.device &&
        IsApp(attempt, placed.container) == IsApp(attempt, attempt.container))
      return Reason::kCardNotFoundCustomFilterRule;
  return Reason::kNone;
}

// The first of several containers looks for a card with room for all of them.
bool SelectsForAll(const Attempt& attempt) {
  size_t containers = 0;
  for (const core::ContainerDemand& demand : attempt.pod.containers)
    for (const core::ContainerRequest& request : demand.requests)
      containers += request.vendor == attempt.vendor.id() ? 1 : 0;
  return containers > 1 && attempt.request.count == 1;
}

bool HoldsAll(const Attempt& attempt, size_t device) {
  const core::Device& card = attempt.cards()[device];
  std::vector<core::Placed> wanted;
  std::vector<core::ContainerKind> kinds;
  for (const core::ContainerDemand& demand : attempt.pod.containers) {
    for (const core::ContainerRequest& request : demand.requests)
      if (request.vendor == attempt.vendor.id())
        wanted.push_back(
            {kinds.size(), 0, request.memory > 0 ? request.memory : card.memory, request.cores});
    kinds.push_back(demand.kind);
  }
  const core::DeviceUse total =
      attempt.node.use()[device] + core::CollapsePlaced(wanted, kinds, 1).front();
  return total.slots <= card.slots && total.memory <= card.memory && total.cores <= card.cores;
}

bool SelectForAll(const Attempt& attempt, std::vector<Pick>& picks) {
  auto best = std::find_if(picks.begin(), picks.end(), [&](const Pick& pick) {
    return std::any_of(attempt.placed.begin(), attempt.placed.end(),
                       [&](const core::Placed& placed) { return placed.device == pick.device; });
  });
  if (best == picks.end())
    best = std::find_if(picks.begin(), picks.end(),
                        [&](const Pick& pick) { return HoldsAll(attempt, pick.device); });
  if (best == picks.end()) best = picks.begin();
  picks = {*best};
  return true;
}

void Annotate(const core::Assigned& assigned, StringMap& annotations) {
  annotations.emplace(kIndexKey, IndexesOfLastContainer(assigned.allocation));
  annotations.emplace(kNodeKey, assigned.node);
  annotations.emplace(kTimeKey, FormatUnixNanoseconds(assigned.now));
}

constexpr core::Gate kGates[] = {
    core::gates::IdAllowed,         core::gates::FreeSlot,   core::gates::IdleUnderMutex,
    core::gates::QuotaAllows,       core::gates::FreeMemory, core::gates::FreeCores,
    core::gates::CoresNotExhausted, OneCardPerPod,
};

constexpr std::string_view kOtherPodKeys[] = {kIndexKey, kNodeKey, kTimeKey};

}  // namespace

constexpr core::VendorSpec kMthreads{
    .key = "Mthreads",
    .allocated = "hami.io/mthreads-vgpu-devices-allocated",
    .other_pod_keys = kOtherPodKeys,
    .use_id = "mthreads.ai/use-gpuuuid",
    .nouse_id = "mthreads.ai/nouse-gpuuuid",
    .parse_request = ParseRequest,
    .read_node = ReadNode,
    .gates = kGates,
    .complete = Complete,
    .selects = SelectsForAll,
    .select = SelectForAll,
    .annotate = Annotate,
};

}  // namespace aliquot::vendors
