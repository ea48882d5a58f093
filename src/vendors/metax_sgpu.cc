// MetaX, shared GPUs: memory in MiB (asked for in GiB, or with a unit), cores in
// percent. A card in use has a QoS, and pods of one class (online, offline, none);
// whole cards come from one link zone where that is possible.
#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>

#include "aliquot/base/quantity.h"
#include "aliquot/base/strings.h"
#include "aliquot/codec/json_quote.h"
#include "aliquot/codec/vendor_texts.h"
#include "vendors/shared.h"
#include "vendors/vendors.h"

namespace aliquot::vendors {
namespace {

constexpr std::string_view kClassKey = "metax-tech.com/sgpu-app-class";
constexpr std::string_view kQosKey = "metax-tech.com/sgpu-qos-policy";
constexpr std::string_view kTopologyKey = "metax-tech.com/sgpu-topology-aware";
constexpr std::string_view kDevicesKey = "metax-tech.com/gpu-devices-allocated";
constexpr std::string_view kTimeKey = "metax-tech.com/predicate-time";
constexpr std::string_view kOnline = "online";
constexpr std::string_view kOffline = "offline";
constexpr std::string_view kBestEffort = "best-effort";
constexpr int64_t kWholeCard = 100;
constexpr float kNodeWeight = 10000;

std::string_view NoteAt(const StringMap& notes, std::string_view key) {
  const std::string* note = Find(notes, key);
  return note == nullptr ? std::string_view() : *note;
}

bool IsOnline(const core::PodRequest& pod) { return NoteAt(pod.notes, kClassKey) == kOnline; }

// ---- request

// With a unit it is bytes. Without one it is GiB, also where the API server has
// written "16k" for 16000.
int64_t Mebibytes(std::string_view text, int64_t value) {
  constexpr int64_t kMebi = 1 << 20;
  const bool unit =
      std::any_of(text.begin(), text.end(), [](unsigned char c) { return std::isalpha(c); });
  if (unit && value >= kMebi) return value / kMebi;
  if (text.ends_with('i')) return value > 0 ? 1 : 0;
  return value > kMaxInt32 ? value : value * 1024;
}

// What is wrong with the amounts in limits; empty if nothing is.
std::string Objection(const core::VendorConfig& config, const core::Submitted& submitted) {
  const auto number = [](const std::string& text) {
    const std::optional<Quantity> quantity = Quantity::Parse(text);
    return quantity ? quantity->AsInt64() : std::nullopt;
  };
  if (const std::string* text = FindLimit(submitted, config.cores_name)) {
    const std::optional<int64_t> cores = number(*text);
    if (!cores) return config.cores_name + " must be an integer";
    if (*cores < 0 || *cores > kWholeCard) return config.cores_name + " must be in range [0,100]";
  }
  if (const std::string* text = FindLimit(submitted, config.memory_name)) {
    const std::optional<int64_t> memory = number(*text);
    if (!memory) return config.memory_name + " must be an integer";
    if (*memory < 0 || Mebibytes(*text, *memory) > kMaxInt32)
      return config.memory_name + " is out of range";
  }
  return "";
}

// A pod without a class or QoS of its own becomes best-effort.
Result<core::Completion> Complete(const core::Vendor& vendor, const core::Submitted& submitted) {
  const core::VendorConfig& config = vendor.config();
  const std::string* count = FindLimit(submitted, config.count_name);
  if (count == nullptr) return core::Completion();
  if (RoundedUp(*count) <= 0) return NotPositive(config.count_name);
  if (std::string wrong = Objection(config, submitted); !wrong.empty())
    return InvalidError(std::move(wrong));

  core::Completion completion{.claimed = true};
  if (const std::string* app_class = Find(*submitted.pod.annotations, kClassKey)) {
    if (*app_class != kOnline && *app_class != kOffline)
      return InvalidError(std::string(kClassKey) + " must be set one of [online, offline]");
    if (RoundedUp(*count) != 1) return InvalidError("app-class pod must request single device");
    if (*app_class == kOnline) return completion;  // whatever its QoS
  }
  const std::string* qos = Find(*submitted.pod.annotations, kQosKey);
  if (qos == nullptr)
    completion.annotations.emplace(kQosKey, kBestEffort);
  else if (*qos != kBestEffort && *qos != "fixed-share" && *qos != "burst-share")
    return InvalidError(std::string(kQosKey) +
                        " must be set one of [best-effort, fixed-share, burst-share]");
  return completion;
}

// Online pods reserve no cores.
core::DeviceUse LeastUse(const core::PodRequest& pod, const core::ContainerRequest& request) {
  return {0, request.memory, IsOnline(pod) ? 0 : request.cores};
}

void SizeShare(Candidate& candidate) {
  core::TakeAsAsked(candidate);
  candidate.take.cores = IsOnline(candidate.pod) ? 0 : candidate.request.cores;
}

// ---- node

Result<std::vector<Device>> ReadNode(const core::Vendor& vendor, const core::NodeSpec& node) {
  const std::string* text = Find(*node.annotations, vendor.spec().node_register);
  if (text == nullptr) return std::vector<Device>();
  Result<std::vector<Device>> cards = codec::ParseMetaxDevices(*text);
  if (cards)
    for (Device& card : *cards) {
      card.type = vendor.key();
      vendor.Claim(card);
    }
  return cards;
}

bool WatchesTenants(const Device&) { return true; }

// ---- who may share a card

Reason HealthyCard(Candidate& candidate) {
  return candidate.card.healthy ? Reason::kNone : Reason::kCardUnhealthy;
}

// Pods of the ledger on a card, by class.
struct Neighbours {
  int64_t online = 0;
  int64_t offline = 0;
};

Neighbours NeighboursOn(const core::NodeUsage& node, size_t device) {
  Neighbours neighbours;
  for (const Tenant& tenant : node.tenants(device)) {
    const std::string_view of_class = NoteAt(tenant.notes, kClassKey);
    neighbours.online += of_class == kOnline ? 1 : 0;
    neighbours.offline += of_class == kOffline ? 1 : 0;
  }
  return neighbours;
}

bool HasEarlierContainer(const Candidate& candidate) {
  return std::any_of(
      candidate.attempt.placed.begin(), candidate.attempt.placed.end(),
      [&](const core::Placed& placed) { return placed.device == candidate.take.device; });
}

Reason ClassAllowed(Candidate& candidate) {
  if (candidate.use.slots == 0) return Reason::kNone;
  const std::string_view own = NoteAt(candidate.pod.notes, kClassKey);
  Neighbours there = NeighboursOn(candidate.attempt.node, candidate.take.device);
  if (HasEarlierContainer(candidate)) {
    there.online += own == kOnline ? 1 : 0;
    there.offline += own == kOffline ? 1 : 0;
  }
  const bool allowed = there.online > 0    ? own == kOnline
                       : there.offline > 0 ? own == kOnline || own == kOffline
                                           : own != kOnline && own != kOffline;
  return allowed ? Reason::kNone : Reason::kCardAppClassMismatch;
}

// What the pods on the card have made it, which its plugin may not have published
// yet. Empty: any.
std::string_view QosOf(const Candidate& candidate) {
  for (const Tenant& tenant : candidate.attempt.node.tenants(candidate.take.device)) {
    if (NoteAt(tenant.notes, kClassKey) == kOnline) continue;
    if (tenant.largest_cores == kWholeCard) return "";
    if (const std::string* qos = Find(tenant.notes, kQosKey)) return *qos;
  }
  return core::TextOf(candidate.card.facts, "QosPolicy");
}

Reason QosAllowed(Candidate& candidate) {
  if (IsOnline(candidate.pod) || candidate.use.slots == 0 ||
      candidate.request.cores == kWholeCard || HasEarlierContainer(candidate))
    return Reason::kNone;
  const std::string_view qos = QosOf(candidate);
  return qos.empty() || qos == NoteAt(candidate.pod.notes, kQosKey)
             ? Reason::kNone
             : Reason::kCardQosPolicyMismatch;
}

Reason CoresNotExhausted(Candidate& candidate) {
  return IsOnline(candidate.pod) ? Reason::kNone : core::gates::CoresNotExhausted(candidate);
}

// ---- the choice among acceptable cards

bool SelectsSet(const Attempt& attempt) {
  const std::string* of_class = Find(attempt.pod.notes, kClassKey);
  return of_class != nullptr ? *of_class == kOnline : attempt.request.cores == kWholeCard;
}

int64_t ZoneOf(const Device& card) { return core::NumberOf(card.facts, "LinkZone").value_or(0); }

// The smallest zone that has them all, or the smallest ones together; unlinked
// cards last.
std::vector<Pick> SelectByZone(std::span<const Device> cards, const std::vector<Pick>& picks,
                               size_t count) {
  std::map<int64_t, std::vector<Pick>> by_zone;
  std::vector<Pick> unlinked;
  for (const Pick& pick : picks) {
    const int64_t zone = ZoneOf(cards[pick.device]);
    (zone > 0 ? by_zone[zone] : unlinked).push_back(pick);
  }
  std::vector<std::vector<Pick>> zones;
  for (auto& [zone, members] : by_zone) zones.push_back(std::move(members));
  std::stable_sort(zones.begin(), zones.end(),
                   [](const auto& a, const auto& b) { return a.size() < b.size(); });
  const auto enough = std::find_if(zones.begin(), zones.end(),
                                   [&](const auto& zone) { return zone.size() >= count; });
  std::vector<Pick> chosen;
  if (enough != zones.end())
    chosen = *enough;
  else
    for (const std::vector<Pick>& zone : zones)
      chosen.insert(chosen.end(), zone.begin(), zone.end());
  chosen.insert(chosen.end(), unlinked.begin(), unlinked.end());
  chosen.resize(count);
  return chosen;
}

// Idle cards, then few online pods, then few offline ones; offline pods alone last.
std::vector<Pick> SelectForOnline(const core::NodeUsage& node, std::vector<Pick> picks,
                                  size_t count) {
  const auto rank = [&](const Pick& pick) {
    const Neighbours there = NeighboursOn(node, pick.device);
    const bool only_offline = there.online == 0 && there.offline > 0;
    return std::tuple(only_offline, there.online, there.offline);
  };
  std::stable_sort(picks.begin(), picks.end(),
                   [&](const Pick& a, const Pick& b) { return rank(a) < rank(b); });
  picks.resize(count);
  return picks;
}

bool SelectSet(const Attempt& attempt, std::vector<Pick>& picks) {
  const auto count = static_cast<size_t>(attempt.request.count);
  if (picks.size() == count) return true;
  picks = IsOnline(attempt.pod) ? SelectForOnline(attempt.node, std::move(picks), count)
                                : SelectByZone(attempt.cards(), picks, count);
  return true;
}

// ---- the node's score

// 10 for each pair of cards with a link.
int64_t Links(std::span<const Device> cards, const std::vector<size_t>& set) {
  std::map<int64_t, int64_t> of_zone;
  int64_t links = 0;
  for (const size_t device : set)
    if (const int64_t zone = ZoneOf(cards[device]); zone > 0) links += 10 * of_zone[zone]++;
  return links;
}

int64_t OnlineScore(const core::NodeView& view, const std::vector<size_t>& taken) {
  int64_t score = 0;
  for (const size_t device : taken) {
    const Neighbours there = NeighboursOn(view.node, device);
    score -= there.online == 0 ? 100 * there.offline : 20 * there.online + 2 * there.offline;
  }
  return score;
}

// The links among the pod's cards, less those that it cuts.
int64_t TopologyScore(const core::NodeView& view, const std::vector<size_t>& taken) {
  std::vector<size_t> idle;
  std::vector<size_t> rest;
  for (size_t i = 0; i < view.cards().size(); ++i) {
    if (view.cards()[i].vendor != view.vendor.id() || view.node.use()[i].slots > 0) continue;
    idle.push_back(i);
    if (!std::binary_search(taken.begin(), taken.end(), i)) rest.push_back(i);
  }
  const int64_t own = Links(view.cards(), taken);
  return 10 * own - (Links(view.cards(), idle) - own - Links(view.cards(), rest));
}

float ScoreNode(const core::NodeView& view) {
  const bool online = IsOnline(view.pod);
  const std::optional<bool> said = ParseBool(NoteAt(view.pod.notes, kTopologyKey));
  if (!online && !said.value_or(view.vendor.config().topology_aware)) return 0;
  std::vector<size_t> taken;
  for (const core::Placed& placed : view.placed)
    if (view.cards()[placed.device].vendor == view.vendor.id() &&
        (online || placed.cores == kWholeCard))
      taken.push_back(placed.device);
  if (taken.empty()) return 0;
  std::sort(taken.begin(), taken.end());
  taken.erase(std::unique(taken.begin(), taken.end()), taken.end());
  const auto score =
      static_cast<float>(online ? OnlineScore(view, taken) : TopologyScore(view, taken));
  return (view.policy.spread_nodes ? -kNodeWeight : kNodeWeight) * score;
}

// ---- annotations

void Annotate(const core::Assigned& assigned, StringMap& annotations) {
  std::vector<std::string> containers;
  for (const std::vector<core::Share>& shares : assigned.allocation.containers) {
    std::vector<std::string> devices;
    for (const core::Share& share : shares) {
      std::string device = "{\"uuid\":" + codec::JsonQuote(share.device_id);
      if (share.cores != 0) device += ",\"compute\":" + std::to_string(share.cores);
      if (share.memory != 0) device += ",\"vRam\":" + std::to_string(share.memory);
      devices.push_back(device + "}");
    }
    containers.push_back("[" + Join(devices, ",") + "]");
  }
  annotations.emplace(kDevicesKey, "[" + Join(containers, ",") + "]");
  annotations.emplace(kTimeKey, FormatUnixNanoseconds(assigned.now));
}

constexpr core::Gate kGates[] = {
    HealthyCard,
    ClassAllowed,
    QosAllowed,
    core::gates::IdAllowed,
    core::gates::FreeSlot,
    core::gates::IdleUnderMutex,
    core::gates::QuotaAllows,
    core::gates::FreeMemory,
    core::gates::FreeCores,
    core::gates::ExclusiveIsIdle,
    CoresNotExhausted,
};
constexpr std::string_view kPodNotes[] = {kClassKey, kQosKey, kTopologyKey};
constexpr std::string_view kOtherPodKeys[] = {kDevicesKey, kTimeKey};

}  // namespace

constexpr core::VendorSpec kMetaxSgpu{
    .key = "Metax-SGPU",
    .node_register = "metax-tech.com/node-gpu-devices",
    .to_allocate = "hami.io/metax-sgpu-devices-to-allocate",
    .allocated = "hami.io/metax-sgpu-devices-allocated",
    .other_pod_keys = kOtherPodKeys,
    .use_id = "metax-tech.com/use-gpuuuid",
    .nouse_id = "metax-tech.com/nouse-gpuuuid",
    .pod_notes = kPodNotes,
    .lock = core::NodeLock::kShared,
    .limits_only = true,
    .parse_request = ParseShareOfAllCores,
    .read_node = ReadNode,
    .gates = kGates,
    .memory_unit = Mebibytes,
    .complete = Complete,
    .least_use = LeastUse,
    .size_share = SizeShare,
    .selects = SelectsSet,
    .select = SelectSet,
    .score_node = ScoreNode,
    .annotate = Annotate,
    .watches_tenants = WatchesTenants,
};

}  // namespace aliquot::vendors
