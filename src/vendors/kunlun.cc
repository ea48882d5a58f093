// Kunlun: whole cards (vendor "kunlun", from the node's capacity), and parts of
// cards ("XPU": a quarter, a half or all of one; a card's parts are of one size).
// Both choose among a host's eight cards by how they are connected.
#include <algorithm>
#include <set>

#include "vendors/kunlun_topology.h"
#include "vendors/shared.h"
#include "vendors/vendors.h"

namespace aliquot::vendors {
namespace {

constexpr std::string_view kIndexKey = "BAIDU_COM_DEVICE_IDX";
constexpr int64_t kCardMemory = 98304;
constexpr int64_t kCardSlots = 100;

// ---- both

// Other counts of connected cards do not exist.
Result<core::Completion> Complete(const core::Vendor& vendor, const core::Submitted& submitted) {
  Result<core::Completion> completion = ClaimCount(vendor, submitted);
  if (!completion || !completion->claimed) return completion;
  const std::string& name = vendor.config().count_name;
  const int64_t count = RoundedUp(*FindLimit(submitted, name));
  if (count != 1 && count != 2 && count != 4 && count != 8)
    return InvalidError(name + " must be one of [1, 2, 4, 8]");
  return completion;
}

bool AlwaysSelects(const Attempt&) { return true; }

bool SelectConnected(const Attempt& attempt, std::vector<Pick>& picks) {
  std::array<bool, kKunlunCards> free{};
  std::array<Pick, kKunlunCards> pick_of{};
  for (const Pick& pick : picks) {
    const uint32_t index = attempt.cards()[pick.device].index;
    if (index >= kKunlunCards) continue;
    free[index] = true;
    pick_of[index] = pick;
  }
  const std::vector<size_t> cards = SelectKunlunCards(free, attempt.request.count);
  if (cards.empty()) return false;
  picks.clear();
  for (const size_t card : cards) picks.push_back(pick_of[card]);
  return true;
}

// One word for the whole node: a card's own is told only of the id lists.
void ExplainCards(const Attempt&, std::span<const Pick>, core::ReasonCounts& counts) {
  const uint32_t unwanted = counts[Reason::kCardUuidMismatch];
  counts = {};
  counts.Set(unwanted > 0 ? Reason::kCardUuidMismatch : Reason::kNoBlock,
             std::max<uint32_t>(unwanted, 1));
}

// ---- whole cards

Result<std::vector<Device>> ReadCards(const core::Vendor& vendor, const core::NodeSpec& node) {
  std::vector<Device> cards;
  const int64_t count = CapacityOf(node, vendor.config().count_name);
  if (count > kMostCards) return TooManyCards(vendor.config().count_name);
  for (int64_t i = 0; i < count; ++i) {
    Device& card = cards.emplace_back(MakeCard(vendor, node, "-kunlun-", i));
    card.slots = kCardSlots;
    card.memory = kCardMemory;
    card.cores = 100;
    card.numa = i >= count / 2 ? 1 : 0;
  }
  return cards;
}

void TakeWholeCard(Candidate& candidate) {
  candidate.take.memory = candidate.card.memory;
  candidate.take.cores = candidate.card.cores;
}

Reason Unused(Candidate& candidate) {
  return candidate.use.slots > 0 || UsedByOther(candidate.attempt, "XPU", candidate.card.index)
             ? Reason::kExclusiveDeviceAllocateConflict
             : Reason::kNone;
}

// How much less broken up the pod leaves the node than it was before.
float ScoreCards(const core::NodeView& view) {
  std::array<bool, kKunlunCards> before{};
  std::array<bool, kKunlunCards> taken{};
  for (size_t i = 0; i < view.cards().size(); ++i)
    if (view.cards()[i].vendor == view.vendor.id() && view.cards()[i].index < kKunlunCards)
      before[view.cards()[i].index] = view.node.use()[i].slots > 0;
  for (const core::Placed& placed : view.placed)
    if (view.cards()[placed.device].vendor == view.vendor.id())
      taken[view.cards()[placed.device].index] = true;
  const int more = KunlunFragments(taken) - KunlunFragments(before);
  const float score = more == -1 ? 3000 : more == 0 ? 2000 : more == 2 ? 0 : 1000;
  return view.policy.spread_nodes ? -score : score;
}

void AnnotateCards(const core::Assigned& assigned, StringMap& annotations) {
  annotations.emplace(kIndexKey, IndexesOfLastContainer(assigned.allocation));
}

constexpr core::Gate kCardGates[] = {core::gates::IdAllowed, Unused, core::gates::FreeMemory};
constexpr std::string_view kCardPodKeys[] = {kIndexKey};

// ---- parts

int64_t PartFor(int64_t memory) {
  return memory <= kCardMemory / 4   ? kCardMemory / 4
         : memory <= kCardMemory / 2 ? kCardMemory / 2
                                     : kCardMemory;
}

std::optional<core::ContainerRequest> ParsePart(const core::Vendor& vendor,
                                                const core::ResourceReader& resources,
                                                std::optional<core::InvalidRequest>& invalid) {
  const std::optional<Asked> asked = ReadAsked(vendor, resources, invalid);
  if (!asked) return std::nullopt;
  core::ContainerRequest request;
  request.count = asked->count;
  request.memory = asked->memory ? PartFor(*asked->memory) : kCardMemory;
  request.cores = request.memory * 100 / kCardMemory;
  return request;
}

// The size of a part is written into the pod.
Result<core::Completion> CompletePart(const core::Vendor& vendor,
                                      const core::Submitted& submitted) {
  Result<core::Completion> completion = Complete(vendor, submitted);
  const std::string& name = vendor.config().memory_name;
  if (!completion || !completion->claimed || FindLimit(submitted, name) == nullptr)
    return completion;
  std::optional<core::InvalidRequest> invalid;
  const core::ResourceReader resources(submitted.container, false);
  if (const auto request = ParsePart(vendor, resources, invalid)) {
    completion->limits.emplace(name, std::to_string(request->memory));
    completion->requests.emplace(name, std::to_string(request->memory));
  }
  return completion;
}

Result<std::vector<Device>> ReadParts(const core::Vendor& vendor, const core::NodeSpec& node) {
  Result<std::vector<Device>> cards = ReadJsonCards(vendor, node);
  if (!cards) return cards;
  std::set<uint32_t> indexes;
  for (const Device& card : *cards)
    if (!indexes.insert(card.index).second)
      return InvalidError("index " + std::to_string(card.index) + " is given twice");
  return cards;
}

Reason NotWhole(Candidate& candidate) {
  return UsedByOther(candidate.attempt, "kunlun", candidate.card.index)
             ? Reason::kExclusiveDeviceAllocateConflict
             : Reason::kNone;
}

bool SameSize(const DeviceUse& use, int64_t memory) {
  return use.slots <= 0 || use.memory / use.slots == memory;
}

// An init container's part is not in the use that an app container sees, but the pod is
// charged the larger of both: of two sizes others would see only one. Nobody joins a
// whole card.
bool SameSizeAsEarlier(const Candidate& candidate) {
  const std::span<const core::Placed> placed = candidate.attempt.placed;
  return std::all_of(placed.begin(), placed.end(), [&](const core::Placed& earlier) {
    return earlier.device != candidate.take.device || earlier.memory == candidate.take.memory ||
           std::max(earlier.memory, candidate.take.memory) == kCardMemory;
  });
}

Reason OneSizePerCard(Candidate& candidate) {
  return SameSize(candidate.use, candidate.take.memory) && SameSizeAsEarlier(candidate)
             ? Reason::kNone
             : Reason::kCardInsufficientMemory;
}

// For all parts at once, rather on the cards that the pod already has.
bool PartsWithinQuota(const Attempt& attempt, core::ReasonCounts& counts) {
  std::vector<uint32_t> cards(attempt.handed.begin(), attempt.handed.end());
  std::stable_partition(cards.begin(), cards.end(), [&](uint32_t card) {
    return std::any_of(attempt.placed.begin(), attempt.placed.end(),
                       [&](const core::Placed& placed) { return placed.device == card; });
  });
  cards.resize(static_cast<size_t>(attempt.request.count));
  std::vector<Pick> picks;
  for (const uint32_t card : cards)
    picks.push_back({card, attempt.request.memory, attempt.request.cores});
  if (attempt.WithinQuota(picks)) return true;
  counts.Set(Reason::kResourceQuotaNotFit, static_cast<uint32_t>(attempt.handed.size()));
  return false;
}

// Under `mutex` it is told how many cards only the policy stands against.
void ExplainParts(const Attempt& attempt, std::span<const Pick> acceptable,
                  core::ReasonCounts& counts) {
  uint32_t only_mutex = 0;
  if (attempt.policy.cards.mutex)
    for (const uint32_t position : attempt.handed) {
      const Device& card = attempt.cards()[position];
      const DeviceUse& use = attempt.use[position];
      if (use.slots > 0 && card.healthy && card.memory - use.memory >= attempt.request.memory &&
          SameSize(use, attempt.request.memory))
        ++only_mutex;
    }
  if (only_mutex == 0) return ExplainCards(attempt, acceptable, counts);
  counts = {};
  counts.Set(Reason::kExclusiveDeviceAllocateConflict, only_mutex);
}

constexpr core::Gate kPartGates[] = {core::gates::IdAllowed,  core::gates::IdleUnderMutex,
                                     core::gates::Healthy,    NotWhole,
                                     core::gates::FreeMemory, OneSizePerCard};

}  // namespace

constexpr core::VendorSpec kKunlun{
    .key = "kunlun",
    .allocated = "hami.io/kunlun-allocated",
    .other_pod_keys = kCardPodKeys,
    .use_id = "hami.io/use-xpu-uuid",
    .nouse_id = "hami.io/no-use-xpu-uuid",
    .old_use_id = "baidu.com/use-gpuuuid",
    .old_nouse_id = "baidu.com/nouse-gpuuuid",
    .parse_request = ParseShare,
    .read_node = ReadCards,
    .gates = kCardGates,
    .complete = Complete,
    .size_share = TakeWholeCard,
    .selects = AlwaysSelects,
    .select = SelectConnected,
    .explain = ExplainCards,
    .score_node = ScoreCards,
    .annotate = AnnotateCards,
};

constexpr core::VendorSpec kXpu{
    .key = "XPU",
    .node_register = "hami.io/node-register-xpu",
    .node_handshake = "hami.io/node-handshake-xpu",
    .to_allocate = "hami.io/xpu-devices-to-allocate",
    .allocated = "hami.io/xpu-devices-allocated",
    .use_id = "hami.io/use-xpu-uuid",
    .nouse_id = "hami.io/no-use-xpu-uuid",
    .old_use_id = "baidu.com/use-gpuuuid",
    .old_nouse_id = "baidu.com/nouse-gpuuuid",
    .lock = core::NodeLock::kShared,
    .parse_request = ParsePart,
    .read_node = ReadParts,
    .gates = kPartGates,
    .memory_unit = MebibytesIfSuffixed,
    .complete = CompletePart,
    .check_node = PartsWithinQuota,
    .selects = AlwaysSelects,
    .select = SelectConnected,
    .explain = ExplainParts,
};

}  // namespace aliquot::vendors
