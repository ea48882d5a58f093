// Enflame: whole cards (vendor "GCU", from the node's capacity), and slices of
// cards ("Enflame"), made of profiles such as "3g.20gb": three slices with 20 GB.
#include <algorithm>
#include <map>
#include <set>

#include "aliquot/base/strings.h"
#include "aliquot/codec/json_quote.h"
#include "aliquot/codec/vendor_texts.h"
#include "vendors/shared.h"
#include "vendors/vendors.h"

namespace aliquot::vendors {
namespace {

constexpr std::string_view kCapacityKey = "enflame.com/gcu-drs-capacity";
constexpr int64_t kMibPerGb = 1024;
constexpr int64_t kMaxGb = kMaxInt32 / kMibPerGb;

// ---- whole cards: memory and cores are 100 each

Result<std::vector<Device>> ReadCards(const core::Vendor& vendor, const core::NodeSpec& node) {
  std::vector<Device> cards;
  const int64_t count = CapacityOf(node, vendor.config().count_name);
  if (count > kMostCards) return TooManyCards(vendor.config().count_name);
  for (int64_t i = 0; i < count; ++i) {
    Device& card = cards.emplace_back(MakeCard(vendor, node, "-GCU-", i));
    card.slots = 1;
    card.memory = 100;
    card.cores = 100;
  }
  return cards;
}

void TakeWholeCard(Candidate& candidate) {
  candidate.take.memory = 100;
  candidate.take.cores = 100;
}

Reason Unused(Candidate& candidate) {
  return candidate.use.slots > 0 || UsedByOther(candidate.attempt, "Enflame", candidate.card.index)
             ? Reason::kExclusiveDeviceAllocateConflict
             : Reason::kNone;
}

Result<core::Completion> CompleteCards(const core::Vendor& vendor,
                                       const core::Submitted& submitted) {
  const std::string& name = vendor.config().count_name;
  const std::string* count = core::ResourceReader(submitted.container, false).Find(name);
  if (count != nullptr && RoundedUp(*count) <= 0) return NotPositive(name);
  return core::Completion{.claimed = count != nullptr};
}

constexpr core::Gate kCardGates[] = {Unused, core::gates::FreeSlot};

// ---- slices: the request

// What ContainerRequest::memory is, in memory_percent.
constexpr int64_t kSliceSize = 0;  // the number of slices
constexpr int64_t kGbOrMib = -1;   // GB if it is small, else MiB; cores in percent
constexpr int64_t kMib = -2;       // as it was written; cores in percent

std::optional<core::ContainerRequest> ParseSlice(const core::Vendor& vendor,
                                                 const core::ResourceReader& resources,
                                                 std::optional<core::InvalidRequest>& invalid) {
  const core::VendorConfig& config = vendor.config();
  core::ContainerRequest request{.count = 1};
  const auto size = resources.Whole(config.count_name, kMaxInt32, invalid);
  if (invalid) return std::nullopt;
  if (size && *size > 0) {
    request.memory = *size;
    request.memory_percent = kSliceSize;
    return request;
  }
  const auto memory = resources.Whole(config.memory_name, INT64_MAX, invalid);
  request.memory_percent = kGbOrMib;
  if (memory) {
    const std::string& text = *resources.Find(config.memory_name);
    request.memory = MebibytesIfSuffixed(text, *memory);
    if (text.ends_with('i')) request.memory_percent = kMib;
    if (request.memory > kMaxInt32 && !invalid)
      invalid = resources.Invalid(config.memory_name, "out of range");
  }
  const auto cores = resources.Whole(config.cores_name, kMaxInt32, invalid);
  request.cores = cores.value_or(0);
  if (invalid || (!memory && !cores)) return std::nullopt;
  return request;
}

// What stands in limits or in requests only is copied to the other side.
void CopyToOtherSide(const core::ContainerSpec& container, const std::string& resource,
                     core::Completion& completion) {
  const std::string* quantity = core::ResourceReader(container, false).Find(resource);
  if (quantity == nullptr) return;
  if (Find(*container.limits, resource) == nullptr) completion.limits.emplace(resource, *quantity);
  if (Find(*container.requests, resource) == nullptr)
    completion.requests.emplace(resource, *quantity);
}

// With a size, memory and cores are not looked at.
Result<core::Completion> CompleteSlices(const core::Vendor& vendor,
                                        const core::Submitted& submitted) {
  const core::VendorConfig& config = vendor.config();
  const core::ResourceReader resources(submitted.container, false);
  const std::string* size = resources.Find(config.count_name);
  const std::string* memory = resources.Find(config.memory_name);
  const std::string* cores = resources.Find(config.cores_name);
  core::Completion completion;
  if (size != nullptr) {
    if (RoundedUp(*size) <= 0) return NotPositive(config.count_name);
    CopyToOtherSide(submitted.container, config.count_name, completion);
    completion.claimed = true;
    return completion;
  }
  if (memory != nullptr && RoundedUp(*memory) <= 0) return NotPositive(config.memory_name);
  if (cores != nullptr && (RoundedUp(*cores) <= 0 || RoundedUp(*cores) > 100))
    return InvalidError(config.cores_name + " must be in range (0,100]");
  CopyToOtherSide(submitted.container, config.memory_name, completion);
  CopyToOtherSide(submitted.container, config.cores_name, completion);
  completion.claimed = memory != nullptr || cores != nullptr;
  return completion;
}

// A number of slices says nothing of memory. A memory in GB is at least as many MiB.
core::DeviceUse LeastSlice(const core::PodRequest&, const core::ContainerRequest& request) {
  return {0, request.memory_percent == kSliceSize ? 0 : request.memory, request.cores};
}

// ---- slices: the node

// "3g.20gb" gives 3 slices with 20 GB; anything else no profile.
std::optional<CardProfile> ParseProfile(std::string_view name) {
  const std::string lower = ToLower(Trim(name));
  const std::vector<std::string_view> parts = Split(lower, '.');
  if (parts.size() < 2) return std::nullopt;
  std::string_view size_text = Trim(parts[0]);
  std::string_view gb_text = Trim(parts[1]);
  if (size_text.ends_with('g')) size_text.remove_suffix(1);
  if (gb_text.ends_with("gb")) gb_text.remove_suffix(2);
  const int64_t size = ParseInt64(size_text).value_or(0);
  const int64_t gb = ParseInt64(gb_text).value_or(0);
  if (size <= 0 || size > kMaxInt32 || gb <= 0 || gb > kMaxGb) return std::nullopt;
  return CardProfile{std::string(name), gb * kMibPerGb, 0, size, {}};
}

// Ascending by size, memory and name; cores in percent of the largest, rounded up.
std::vector<CardProfile> ReadProfiles(const std::map<std::string, std::string>& named) {
  std::vector<CardProfile> profiles;
  int64_t largest = 0;
  for (const auto& [name, id] : named)
    if (std::optional<CardProfile> profile = ParseProfile(name)) {
      largest = std::max(largest, profile->slice_count);
      profiles.push_back(*std::move(profile));
    }
  for (CardProfile& profile : profiles)
    profile.cores = (profile.slice_count * 100 + largest - 1) / largest;
  std::stable_sort(profiles.begin(), profiles.end(), [](const auto& a, const auto& b) {
    return std::pair(a.slice_count, a.memory) < std::pair(b.slice_count, b.memory);
  });
  return profiles;
}

int64_t MostSlices(const Device& card) { return card.profiles.back().slice_count; }

int64_t MostMemory(const Device& card) {
  int64_t most = 0;
  for (const CardProfile& profile : card.profiles) most = std::max(most, profile.memory);
  return most;
}

Result<std::vector<Device>> ReadSlices(const core::Vendor& vendor, const core::NodeSpec& node) {
  std::vector<Device> cards;
  const std::string* text = Find(*node.annotations, kCapacityKey);
  if (text == nullptr) return cards;
  const Result<codec::DrsCapacity> capacity = codec::ParseDrsCapacity(*text);
  if (!capacity)
    return InvalidError("failed to parse " + std::string(kCapacityKey) + ": " +
                        capacity.error().message);
  const std::vector<CardProfile> profiles = ReadProfiles(capacity->profiles);
  if (profiles.empty())
    return InvalidError("no valid drs profiles found on node " + std::string(node.name));
  std::set<int64_t> indexes;
  for (const codec::DrsDevice& device : capacity->devices) {
    if (device.capacity <= 0 || device.index < 0 || device.index > kMaxInt32 ||
        !indexes.insert(device.index).second)
      continue;
    Device& card = cards.emplace_back(MakeCard(vendor, node, "-enflame-drs-", device.index));
    card.profiles = profiles;
    card.slots = device.capacity;
    card.memory = MostMemory(card);
    card.cores = 100;
    card.facts.emplace("minor", device.minor);
    for (const auto& [name, id] : capacity->profiles) card.facts.emplace("profile " + name, id);
  }
  return cards;
}

// ---- slices: the choice

// The smallest profile that does, or null.
const CardProfile* ChooseProfile(const Device& card, const core::ContainerRequest& request) {
  const auto chosen = [&]() -> std::vector<CardProfile>::const_iterator {
    if (request.memory_percent == kSliceSize)
      return std::find_if(card.profiles.begin(), card.profiles.end(),
                          [&](const CardProfile& p) { return p.slice_count == request.memory; });
    const bool in_gb =
        request.memory_percent == kGbOrMib && request.memory <= 2 * MostMemory(card) / kMibPerGb;
    const int64_t gb = in_gb ? request.memory : (request.memory + kMibPerGb - 1) / kMibPerGb;
    return std::find_if(card.profiles.begin(), card.profiles.end(), [&](const CardProfile& p) {
      return p.memory / kMibPerGb >= gb && p.cores >= request.cores;
    });
  }();
  return chosen == card.profiles.end() ? nullptr : &*chosen;
}

bool HasProfile(const Attempt& attempt, core::ReasonCounts& counts) {
  if (ChooseProfile(attempt.cards()[attempt.handed.front()], attempt.request) != nullptr)
    return true;
  counts.Set(Reason::kModeNotFit, 1);
  return false;
}

void TakeProfile(Candidate& candidate) {
  const CardProfile& profile = *ChooseProfile(candidate.card, candidate.request);
  candidate.take.memory = profile.memory;
  candidate.take.cores = profile.cores;
  candidate.take.slots = profile.slice_count;
}

Reason NotWhole(Candidate& candidate) {
  return UsedByOther(candidate.attempt, "GCU", candidate.card.index)
             ? Reason::kExclusiveDeviceAllocateConflict
             : Reason::kNone;
}

Reason FreeSlices(Candidate& candidate) {
  const int64_t slices = candidate.use.slots + candidate.take.slots;
  return slices <= candidate.card.slots && slices <= MostSlices(candidate.card)
             ? Reason::kNone
             : Reason::kCardTimeSlicingExhausted;
}

// The percentage was rounded up.
int64_t SlicesOf(const Device& card, const core::Share& share) {
  return std::max<int64_t>(share.cores * MostSlices(card) / 100, 1);
}

bool IsEarliersCard(const Attempt& attempt, size_t device) {
  return std::any_of(attempt.placed.begin(), attempt.placed.end(),
                     [&](const core::Placed& placed) { return placed.device == device; });
}

// A pod names one card for all its containers: later ones rather take that too.
bool FollowsEarlier(const Attempt& attempt) {
  return std::any_of(attempt.handed.begin(), attempt.handed.end(),
                     [&](uint32_t position) { return IsEarliersCard(attempt, position); });
}

bool SelectEarliers(const Attempt& attempt, std::vector<Pick>& picks) {
  const auto same = std::find_if(picks.begin(), picks.end(), [&](const Pick& pick) {
    return IsEarliersCard(attempt, pick.device);
  });
  picks = {same == picks.end() ? picks.front() : *same};
  return true;
}

// ---- slices: annotations

std::string DescribeContainer(const core::Share& share) {
  std::string text =
      "{\"allocated\":false,\"request\":" + std::to_string(std::max<int64_t>(share.slots, 1));
  for (const auto& [fact, id] : share.facts) {
    if (!fact.starts_with("profile ")) continue;
    const std::string name = fact.substr(8);
    const std::optional<CardProfile> profile = ParseProfile(name);
    if (!profile || profile->slice_count != share.slots || profile->memory != share.memory)
      continue;
    const std::string_view id_text = core::TextOf(share.facts, fact);
    if (!id_text.empty()) text += ",\"profileID\":" + codec::JsonQuote(id_text);
    text += ",\"profileName\":" + codec::JsonQuote(name);
    break;
  }
  return text + "}";
}

constexpr std::string_view kAssigned = "enflame.com/gcu-assigned";
constexpr std::string_view kTime = "enflame.com/gcu-assigned-time";
constexpr std::string_view kIndex = "enflame.com/gcu-assigned-index";
constexpr std::string_view kId = "enflame.com/gcu-assigned-id";
constexpr std::string_view kMinor = "enflame.com/gcu-assigned-minor";
constexpr std::string_view kSize = "enflame.com/gcu-request-size";
constexpr std::string_view kContainers = "assigned-containers";

void AnnotateSlices(const core::Assigned& assigned, StringMap& annotations) {
  StringMap containers;
  for (size_t i = 0; i < assigned.allocation.containers.size(); ++i) {
    const std::vector<core::Share>& shares = assigned.allocation.containers[i];
    if (shares.empty()) continue;
    const core::Share& share = shares.front();
    if (containers.empty()) {
      annotations.emplace(kAssigned, "false");
      annotations.emplace(kTime, FormatUnixNanoseconds(assigned.now));
      annotations.emplace(kIndex, std::to_string(share.index));
      annotations.emplace(kId, std::to_string(share.index));
      annotations.emplace(kMinor, core::TextOf(share.facts, "minor"));
      annotations.emplace(kSize, std::to_string(std::max<int64_t>(share.slots, 1)));
    }
    containers.emplace(assigned.pod.containers[i].name, DescribeContainer(share));
  }
  std::vector<std::string> members;
  for (const auto& [name, text] : containers)
    members.push_back(codec::JsonQuote(name) + ":" + text);
  annotations.emplace(kContainers, "{" + Join(members, ",") + "}");
}

constexpr core::Gate kSliceGates[] = {
    core::gates::IdAllowed,
    core::gates::FreeSlot,
    core::gates::IdleUnderMutex,
    NotWhole,
    FreeSlices,
    core::gates::QuotaAllows,
    core::gates::FreeMemory,
};
constexpr std::string_view kSlicePodKeys[] = {kAssigned, kTime, kIndex,     kId,
                                              kMinor,    kSize, kContainers};

std::optional<core::ContainerRequest> ParseCards(const core::Vendor& vendor,
                                                 const core::ResourceReader& resources,
                                                 std::optional<core::InvalidRequest>& invalid) {
  std::optional<core::ContainerRequest> request = ParseShare(vendor, resources, invalid);
  if (request) {
    request->memory = 100;
    request->cores = 100;
  }
  return request;
}

}  // namespace

constexpr core::VendorSpec kGcu{
    .key = "GCU",
    .to_allocate = "hami.io/enflame-gcu-devices-to-allocate",
    .allocated = "hami.io/enflame-gcu-devices-allocated",
    .parse_request = ParseCards,
    .read_node = ReadCards,
    .gates = kCardGates,
    .complete = CompleteCards,
    .size_share = TakeWholeCard,
};

constexpr core::VendorSpec kEnflame{
    .key = "Enflame",
    .node_register = kCapacityKey,
    .allocated = "hami.io/enflame-vgpu-devices-allocated",
    .other_pod_keys = kSlicePodKeys,
    .use_id = "enflame.com/use-gpuuuid",
    .nouse_id = "enflame.com/nouse-gpuuuid",
    .parse_request = ParseSlice,
    .read_node = ReadSlices,
    .gates = kSliceGates,
    .memory_unit = MebibytesIfSuffixed,
    .complete = CompleteSlices,
    .least_use = LeastSlice,
    .size_share = TakeProfile,
    .check_node = HasProfile,
    .selects = FollowsEarlier,
    .select = SelectEarliers,
    .annotate = AnnotateSlices,
    .slots_of = SlicesOf,
};

}  // namespace aliquot::vendors
