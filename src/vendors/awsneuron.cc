// AWS Neuron: whole devices, or single cores of them. The cores of a share are a
// bit mask of its device's cores; memory is always 0. The node says nothing but
// its capacity and its instance type; several devices are neighbours.
#include <algorithm>
#include <bit>

#include "aliquot/base/quantity.h"
#include "aliquot/base/strings.h"
#include "vendors/shared.h"
#include "vendors/vendors.h"

namespace aliquot::vendors {
namespace {

constexpr std::string_view kAllocatedKey = "NEURON_ALLOCATED";
constexpr std::string_view kIdsKey = "AWS_NEURON_IDS";
constexpr std::string_view kNodeKey = "aws.amazon.com/predicate-node";
constexpr std::string_view kResourceKey = "NEURON_RESOURCE_TYPE";
constexpr std::string_view kTimeKey = "NEURON_ALLOC_TIME";
constexpr std::string_view kInstanceTypeLabel = "node.kubernetes.io/instance-type";
constexpr std::string_view kNodeType = "AWSNodeType";
constexpr std::string_view kCoresPerDevice = "CoresPerDevice";
constexpr int64_t kSharedCores = 2;  // of a device, that can be asked for one by one
constexpr int64_t kMostCoresPerDevice = 31;

int64_t CountBits(int64_t mask) { return std::popcount(static_cast<uint64_t>(mask)); }

// ---- request: ContainerRequest::cores 0 stands for whole devices

std::optional<int64_t> ReadPositive(const core::ResourceReader& resources,
                                    const std::string& resource, int64_t max,
                                    std::optional<core::InvalidRequest>& invalid) {
  const std::optional<Quantity> quantity = Quantity::Parse(*resources.Find(resource));
  const std::optional<int64_t> value = quantity ? quantity->AsInt64() : std::nullopt;
  if (!value)
    invalid = resources.Invalid(resource, resource + " must be an integer");
  else if (*value < 0)
    invalid = resources.Invalid(resource, resource + " must be greater than 0");
  else if (*value > max)
    invalid = resources.Invalid(resource, resource + " must not exceed " + std::to_string(max));
  return value;
}

std::optional<core::ContainerRequest> ParseRequest(const core::Vendor& vendor,
                                                   const core::ResourceReader& resources,
                                                   std::optional<core::InvalidRequest>& invalid) {
  const std::string& count_name = vendor.config().count_name;
  const std::string& cores_name = vendor.config().cores_name;
  core::ContainerRequest request;
  if (resources.Find(count_name) != nullptr) {
    request.count = ReadPositive(resources, count_name, kMaxInt32, invalid).value_or(0);
  } else if (resources.Find(cores_name) != nullptr) {
    const int64_t cores =
        ReadPositive(resources, cores_name, kSharedCores * kMaxInt32, invalid).value_or(0);
    request.cores = std::min(cores, kSharedCores);
    request.count = cores == 0 ? 0 : cores / request.cores;
    if (!invalid && cores > kSharedCores && cores % kSharedCores != 0)
      invalid = resources.Invalid(cores_name, cores_name + " must be 1 or a multiple of " +
                                                  std::to_string(kSharedCores) + ", got " +
                                                  std::to_string(cores));
  }
  if (invalid || request.count == 0) return std::nullopt;
  return request;
}

Result<core::Completion> Complete(const core::Vendor& vendor, const core::Submitted& submitted) {
  const core::ResourceReader resources(submitted.container, false);
  const core::VendorConfig& config = vendor.config();
  const std::string& name =
      resources.Find(config.count_name) != nullptr ? config.count_name : config.cores_name;
  if (resources.Find(name) == nullptr) return core::Completion();
  std::optional<core::InvalidRequest> invalid;
  const bool asks = ParseRequest(vendor, resources, invalid).has_value();
  if (invalid) return InvalidError(invalid->why);
  if (!asks) return NotPositive(name);
  return core::Completion{.claimed = true};
}

// Whole devices have two cores at least.
core::DeviceUse LeastUse(const core::PodRequest&, const core::ContainerRequest& request) {
  return {0, 0, request.cores == 0 ? kSharedCores : request.cores};
}

// ---- node

Result<std::vector<Device>> ReadNode(const core::Vendor& vendor, const core::NodeSpec& node) {
  std::vector<Device> cards;
  const int64_t count = CapacityOf(node, vendor.config().count_name);
  if (count <= 0) return cards;
  if (count > kMostCards) return TooManyCards(vendor.config().count_name);
  const int64_t cores = std::clamp<int64_t>(CapacityOf(node, vendor.config().cores_name) / count, 0,
                                            kMostCoresPerDevice);
  const std::string* type = Find(*node.labels, kInstanceTypeLabel);
  for (int64_t i = 0; i < count; ++i) {
    Device& card = cards.emplace_back(MakeCard(vendor, node, "-AWSNeuron-", i));
    card.slots = cores;
    card.cores = (int64_t{1} << cores) - 1;
    card.facts.emplace(kNodeType, type == nullptr ? "" : *type);
    card.facts.emplace(kCoresPerDevice, cores);
  }
  return cards;
}

// ---- one device

// All cores of an idle device, or the lowest free ones of those that are shared. 0:
// there are not enough.
void TakeFreeCores(Candidate& candidate) {
  const int64_t used = candidate.use.cores;
  const int64_t wanted = candidate.request.cores;
  int64_t& mask = candidate.take.cores;
  if (wanted == 0 || candidate.request.count > 1) {
    mask = used == 0 ? candidate.card.cores : 0;
    return;
  }
  for (int64_t bit = 1; bit < int64_t{1} << kSharedCores && CountBits(mask) < wanted; bit <<= 1)
    if ((candidate.card.cores & bit) != 0 && (used & bit) == 0) mask |= bit;
  if (CountBits(mask) < wanted) mask = 0;
}

Reason QuotaAllowsOne(Candidate& candidate) {
  return candidate.request.count > 1 ? Reason::kNone : core::gates::QuotaAllows(candidate);
}

Reason HasFreeCores(Candidate& candidate) {
  return candidate.take.cores != 0 ? Reason::kNone : Reason::kCardInsufficientCore;
}

// ---- several devices: neighbours by index, none of them in use

bool SelectsBlock(const Attempt& attempt) { return attempt.request.count > 1; }

// Inferentia's devices are a ring that may be cut anywhere, Trainium's are given in
// blocks of 4, 8 or 16.
std::vector<Pick> FindBlock(const Attempt& attempt, std::span<const Pick> picks) {
  const std::span<const Device> cards = attempt.cards();
  const int64_t count = attempt.request.count;
  const std::string_view type = core::TextOf(cards[attempt.handed.front()].facts, kNodeType);
  const bool ring = Contains(type, "inf") || Contains(type, "Inf");
  if (!ring && count != 4 && count != 8 && count != 16) return {};
  std::vector<Pick> idle;
  for (const Pick& pick : picks)
    if (attempt.use[pick.device].slots == 0) idle.push_back(pick);
  std::sort(idle.begin(), idle.end(), [&](const Pick& a, const Pick& b) {
    return cards[a.device].index < cards[b.device].index;
  });
  for (size_t first = 0; first + static_cast<size_t>(count) <= idle.size(); ++first) {
    const int64_t from = cards[idle[first].device].index;
    const size_t last = first + static_cast<size_t>(count) - 1;
    if (cards[idle[last].device].index != from + count - 1 || (!ring && from % count != 0))
      continue;
    return {idle.begin() + static_cast<std::ptrdiff_t>(first),
            idle.begin() + static_cast<std::ptrdiff_t>(last) + 1};
  }
  return {};
}

bool SelectBlock(const Attempt& attempt, std::vector<Pick>& picks) {
  std::vector<Pick> block = FindBlock(attempt, picks);
  if (block.empty() || !attempt.WithinQuota(block)) return false;
  picks = std::move(block);
  return true;
}

void Explain(const Attempt& attempt, std::span<const Pick> acceptable, core::ReasonCounts& counts) {
  if (attempt.request.count == 1) return;
  counts = {};
  counts.Set(
      FindBlock(attempt, acceptable).empty() ? Reason::kNoBlock : Reason::kResourceQuotaNotFit, 1);
}

// ---- annotations

void Annotate(const core::Assigned& assigned, StringMap& annotations) {
  std::vector<std::string> ids;
  bool cores_named = false;
  for (size_t i = 0; i < assigned.allocation.containers.size(); ++i) {
    const core::ResourceReader resources(assigned.pod.containers[i], false);
    const bool whole = resources.Find(assigned.vendor.config().count_name) != nullptr;
    for (const core::Share& share : assigned.allocation.containers[i]) {
      if (whole) {
        ids.push_back(std::to_string(share.index));
        continue;
      }
      const int64_t first = share.index * core::NumberOf(share.facts, kCoresPerDevice).value_or(0);
      for (int64_t core = 0; core < kSharedCores; ++core)
        if (((share.cores >> core) & 1) != 0) {
          ids.push_back(std::to_string(first + core));
          cores_named = true;
        }
    }
  }
  if (ids.empty()) return;
  annotations.emplace(kIdsKey, Join(ids, ","));
  annotations.emplace(kTimeKey, FormatUnixNanoseconds(assigned.now));
  annotations.emplace(kAllocatedKey, "false");
  annotations.emplace(kNodeKey, assigned.node);
  if (cores_named) annotations.emplace(kResourceKey, assigned.vendor.config().cores_name);
}

int64_t QuotaCores(const Device&, int64_t mask) { return CountBits(mask); }

constexpr core::Gate kGates[] = {
    core::gates::IdAllowed, core::gates::FreeSlot, core::gates::IdleUnderMutex,
    QuotaAllowsOne,         HasFreeCores,          core::gates::FreeCores};
constexpr std::string_view kOtherPodKeys[] = {kIdsKey, kTimeKey, kAllocatedKey, kNodeKey,
                                              kResourceKey};

}  // namespace

constexpr core::VendorSpec kAwsNeuron{
    .key = "AWSNeuron",
    .allocated = "hami.io/aws-neuron-devices-allocated",
    .other_pod_keys = kOtherPodKeys,
    .use_id = "aws.amazon.com/use-neuron-uuid",
    .nouse_id = "aws.amazon.com/nouse-neuron-uuid",
    .parse_request = ParseRequest,
    .read_node = ReadNode,
    .gates = kGates,
    .complete = Complete,
    .least_use = LeastUse,
    .size_share = TakeFreeCores,
    .selects = SelectsBlock,
    .select = SelectBlock,
    .explain = Explain,
    .annotate = Annotate,
    .quota_cores = QuotaCores,
};

}  // namespace aliquot::vendors
