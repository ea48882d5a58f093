#include "scheduler/hami_metrics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "aliquot/base/strings.h"

namespace aliquot::scheduler {
namespace {

using core::VendorId;
using ledger::Ledger;
using Type = MetricsText::Type;

constexpr std::string_view kZone = "zone=\"vGPU\",";
constexpr std::string_view kDeprecated = "Deprecated name of an older HAMi.";

double Bytes(int64_t mib) { return static_cast<double>(mib) * 1048576; }

// AMD's cores are compute units; HAMi tells them in percent of the card.
bool CountsComputeUnits(const core::Device& card) {
  return card.cores > 0 && EqualsIgnoreCase(std::string_view(card.type).substr(0, 3), "AMD");
}
double PercentOf(int64_t cores, int64_t total) {
  return std::ceil(static_cast<double>(cores) / static_cast<double>(total) * 100);
}

// ---- cards

struct LabelNames {
  std::string_view cores, index, memory_limit, type, id, node;
};
constexpr LabelNames kNames = {"device_cores", "device_index", "device_memory_limit",
                               "device_type",  "device_uuid",  "node"};
constexpr LabelNames kLegacyNames = {"devicecores", "deviceidx",  "devicememorylimit",
                                     "devicetype",  "deviceuuid", "nodeid"};

// Texts of Label, in the order in which they are written.
struct CardLabels {
  std::string cores, index, memory_limit, type, place;
};

// `node`: the last labels of all its cards.
CardLabels LabelsOf(const core::Device& card, const std::string& node, const LabelNames& names) {
  return {Label(names.cores, card.cores), Label(names.index, card.index),
          Label(names.memory_limit, card.memory), Label(names.type, card.type),
          Label(names.id, card.id) + node};
}

struct Card {
  int64_t memory = 0;
  int64_t cores = 0;
  core::DeviceUse use;
  bool compute_units = false;
  bool repeats_place = false;  // an earlier card of the node has its id and index
  CardLabels labels = {};
  CardLabels legacy_labels = {};
};

// What shares and instances are told of their card.
struct CardFacts {
  uint32_t index = 0;
  int64_t compute_units = 0;  // 0: cores are told as they are
  bool mig = false;
};
using CardKey = std::tuple<std::string_view, VendorId, std::string_view>;  // node, vendor, id
struct CardKeyLess {
  using is_transparent = void;
  template <typename A, typename B>
  bool operator()(const A& a, const B& b) const {
    return View(a) < View(b);
  }
  template <typename Key>
  static CardKey View(const Key& key) {
    return {std::get<0>(key), std::get<1>(key), std::get<2>(key)};
  }
};

template <typename T>
using ByCard = std::map<std::tuple<std::string, VendorId, std::string>, T, CardKeyLess>;

struct Cards {
  std::vector<Card> all;    // ascending by node, in the order of its inventory
  ByCard<CardFacts> facts;  // of the cards of which shares or instances are told something

  const CardFacts* Find(std::string_view node, VendorId vendor, std::string_view id) const {
    const auto at = facts.find(CardKey(node, vendor, id));
    return at == facts.end() ? nullptr : &at->second;
  }
};

void AddNode(const core::NodeUsage& node, const core::Registry& registry,
             const ByCard<int64_t>& shares, bool legacy, Cards& cards) {
  const std::string labels = Label(kNames.node, node.name()).append(kZone);
  const std::string legacy_labels = Label(kLegacyNames.node, node.name()).append(kZone);
  const auto devices = node.devices();
  for (size_t i = 0; i < devices.size(); ++i) {
    const core::Device& device = devices[i];
    Card card{device.memory, device.cores, node.use()[i], CountsComputeUnits(device)};
    bool repeats = false;
    for (const core::Device& earlier : devices.first(i)) {
      if (earlier.id != device.id || earlier.index != device.index) continue;
      card.repeats_place = true;
      repeats = repeats || earlier.type == device.type;
    }
    if (repeats) continue;  // its samples would be there twice
    if (registry[device.vendor].spec().slots_of != nullptr) {
      const auto found = shares.find(CardKey(node.name(), device.vendor, device.id));
      card.use.slots = found == shares.end() ? 0 : found->second;
    }
    const bool mig = device.mode == "mig";
    if (mig || card.compute_units)
      cards.facts.try_emplace({node.name(), device.vendor, device.id},
                              CardFacts{device.index, card.compute_units ? device.cores : 0, mig});
    card.labels = LabelsOf(device, labels, kNames);
    if (legacy) card.legacy_labels = LabelsOf(device, legacy_labels, kLegacyNames);
    cards.all.push_back(std::move(card));
  }
}

// Of the cards whose slots the ledger counts in another unit: HAMi tells shares.
ByCard<int64_t> CountShares(std::span<const Ledger::Held> pods, const core::Registry& registry) {
  ByCard<int64_t> shares;
  for (const Ledger::Held& pod : pods)
    for (const core::VendorAllocation& of_vendor : pod.allocation) {
      if (registry[of_vendor.vendor].spec().slots_of == nullptr) continue;
      core::Allocation alone = {of_vendor};
      for (std::vector<core::Share>& container : alone[0].containers)
        for (core::Share& share : container) share.slots = 1;
      for (const core::Charge& charge : core::Collapse(alone, pod.kinds, pod.init_done))
        shares[{pod.node, charge.vendor, charge.device_id}] += charge.use.slots;
    }
  return shares;
}

// One node after the other: a decision waits for the copy of one at the longest.
Cards ReadCards(const Ledger& ledger, std::span<const Ledger::Held> pods,
                const core::Registry& registry, bool legacy) {
  const ByCard<int64_t> shares = CountShares(pods, registry);
  Cards cards;
  for (const std::string& name : ledger.NodeNames())
    if (const std::optional<core::NodeUsage> node = ledger.Node(name))
      AddNode(*node, registry, shares, legacy, cards);
  return cards;
}

// Which labels stand beside index, type and place.
enum class Extra { kNone, kCores, kCoresAndMemory };

struct CardMetric {
  std::string_view name;
  std::string_view legacy_name;
  Extra extra;
  std::string_view help;
  double (*value)(const Card& card);
  double (*legacy_value)(const Card& card);
};

double MemoryLimit(const Card& card) { return Bytes(card.memory); }
double MemoryAllocated(const Card& card) { return Bytes(card.use.memory); }
double RawCoreLimit(const Card& card) { return static_cast<double>(card.cores); }
double RawCoreAllocated(const Card& card) { return static_cast<double>(card.use.cores); }
double Shares(const Card& card) { return static_cast<double>(card.use.slots); }
double MemoryRatio(const Card& card) {
  return static_cast<double>(card.use.memory) / static_cast<double>(card.memory);
}
double CoreLimit(const Card& card) { return card.compute_units ? 100 : RawCoreLimit(card); }
double CoreAllocated(const Card& card) {
  return card.compute_units ? PercentOf(card.use.cores, card.cores) : RawCoreAllocated(card);
}

constexpr CardMetric kCardMetrics[] = {
    {"hami_gpu_memory_limit_bytes", "GPUDeviceMemoryLimit", Extra::kNone, "Memory of the card.",
     MemoryLimit, MemoryLimit},
    {"hami_gpu_core_limit_ratio", "GPUDeviceCoreLimit", Extra::kNone,
     "Cores of the card, in the vendor's unit, usually percent.", CoreLimit, RawCoreLimit},
    {"hami_gpu_memory_allocated_bytes", "GPUDeviceMemoryAllocated", Extra::kCores,
     "Memory of the card that pods hold.", MemoryAllocated, MemoryAllocated},
    {"hami_gpu_core_allocated_ratio", "GPUDeviceCoreAllocated", Extra::kNone,
     "Cores of the card that pods hold, in the vendor's unit, usually percent.", CoreAllocated,
     RawCoreAllocated},
    {"hami_gpu_shared_count", "GPUDeviceSharedNum", Extra::kNone,
     "Shares of the card that pods hold.", Shares, Shares},
    {"hami_node_gpu_overview", "nodeGPUOverview", Extra::kCoresAndMemory,
     "Memory of the card that pods hold, with what it offers as labels.", MemoryAllocated,
     MemoryAllocated},
};

void WriteCard(const CardLabels& labels, Extra extra, double value, MetricsText& text) {
  const bool cores = extra != Extra::kNone;
  const bool memory = extra == Extra::kCoresAndMemory;
  text.Sample({cores ? labels.cores : std::string_view(), labels.index,
               memory ? labels.memory_limit : std::string_view(), labels.type, labels.place},
              value);
}

void WriteCards(const std::vector<Card>& cards, bool legacy, MetricsText& text) {
  for (const CardMetric& metric : kCardMetrics) {
    text.Begin(metric.name, Type::kGauge, metric.help);
    for (const Card& card : cards) WriteCard(card.labels, metric.extra, metric.value(card), text);
    if (!legacy) continue;
    text.Begin(metric.legacy_name, Type::kGauge, kDeprecated);
    for (const Card& card : cards)
      WriteCard(card.legacy_labels, metric.extra, metric.legacy_value(card), text);
  }
  text.Begin("hami_node_gpu_memory_allocated_ratio", Type::kGauge,
             "Part of the card's memory that pods hold, from 0 to 1.");
  for (const Card& card : cards)
    if (card.memory > 0) WriteCard(card.labels, Extra::kNone, MemoryRatio(card), text);
  if (!legacy) return;
  text.Begin("nodeGPUMemoryPercentage", Type::kGauge, kDeprecated);
  for (const Card& card : cards)
    if (card.memory > 0 && !card.repeats_place)
      text.Sample({card.legacy_labels.index, card.legacy_labels.place}, MemoryRatio(card));
}

// ---- pods

// What one container holds of one card.
struct PodShare {
  size_t container = 0;
  std::string_view device_id;
  VendorId vendor = 0;
  int64_t memory = 0;
  int64_t cores = 0;

  auto key() const { return std::tuple(container, device_id, vendor); }
};

// Ascending by container and card, each pair once.
std::vector<PodShare> SharesOf(const Ledger::Held& pod) {
  std::vector<PodShare> shares;
  for (const core::VendorAllocation& of_vendor : pod.allocation)
    for (size_t i = 0; i < of_vendor.containers.size(); ++i) {
      const bool finished =
          pod.init_done && i < pod.kinds.size() && pod.kinds[i] == core::ContainerKind::kInit;
      if (finished) continue;
      for (const core::Share& share : of_vendor.containers[i])
        if (!share.device_id.empty())
          shares.push_back({i, share.device_id, of_vendor.vendor, share.memory, share.cores});
    }
  std::ranges::stable_sort(shares, {}, &PodShare::key);
  std::vector<PodShare> merged;
  for (const PodShare& share : shares) {
    if (merged.empty() || merged.back().key() != share.key()) {
      merged.push_back(share);
      continue;
    }
    merged.back().memory = core::SaturatingAdd(merged.back().memory, share.memory);
    merged.back().cores = core::SaturatingAdd(merged.back().cores, share.cores);
  }
  return merged;
}

struct PodSample {
  std::string labels;
  std::string legacy_labels;
  double memory = 0;
  double cores = 0;
  double legacy_cores = 0;
};

// Ascending by namespace, name and node. Of pods alike in all three the last seen one
// counts: it is the one that is still there.
std::vector<const Ledger::Held*> InOrder(std::span<const Ledger::Held> pods) {
  std::vector<const Ledger::Held*> order;
  for (const Ledger::Held& pod : pods) order.push_back(&pod);
  std::ranges::sort(order, [](const Ledger::Held* a, const Ledger::Held* b) {
    return std::tie(a->pod.ns, a->pod.name, a->node, b->since, b->pod.uid) <
           std::tie(b->pod.ns, b->pod.name, b->node, a->since, a->pod.uid);
  });
  return order;
}

std::vector<PodSample> ReadPods(std::span<const Ledger::Held> pods, const Cards& cards,
                                bool legacy) {
  std::vector<PodSample> samples;
  const Ledger::Held* before = nullptr;
  std::set<std::pair<size_t, std::string_view>> told;  // of the pods of one name
  for (const Ledger::Held* pod : InOrder(pods)) {
    const auto& [ns, name, uid] = pod->pod;
    const bool same_name = before != nullptr && before->pod.ns == ns && before->pod.name == name &&
                           before->node == pod->node;
    if (!same_name) told.clear();
    before = pod;
    const std::string place =
        Label("namespace", ns) + Label("node", pod->node) + Label("pod", name) + std::string(kZone);
    const std::string legacy_place = Label("nodename", pod->node) + Label("podname", name) +
                                     Label("podnamespace", ns) + std::string(kZone);
    for (const PodShare& share : SharesOf(*pod)) {
      if (!told.emplace(share.container, share.device_id).second) continue;
      PodSample sample;
      const auto container = static_cast<int64_t>(share.container);
      sample.labels =
          Label("container_index", container) + Label("device_uuid", share.device_id) + place;
      if (legacy)
        sample.legacy_labels =
            Label("containeridx", container) + Label("deviceuuid", share.device_id) + legacy_place;
      const CardFacts* card = cards.Find(pod->node, share.vendor, share.device_id);
      sample.memory = Bytes(share.memory);
      sample.legacy_cores = static_cast<double>(share.cores);
      sample.cores = card != nullptr && card->compute_units > 0
                         ? PercentOf(share.cores, card->compute_units)
                         : sample.legacy_cores;
      samples.push_back(std::move(sample));
    }
  }
  return samples;
}

void WritePods(const std::vector<PodSample>& samples, bool legacy, MetricsText& text) {
  text.Begin("hami_vgpu_memory_allocated_bytes", Type::kGauge,
             "Memory of the card that the container holds.");
  for (const PodSample& sample : samples) text.Sample({sample.labels}, sample.memory);
  text.Begin("hami_vgpu_core_allocated_ratio", Type::kGauge,
             "Cores of the card that the container holds, in the vendor's unit, usually percent.");
  for (const PodSample& sample : samples) text.Sample({sample.labels}, sample.cores);
  if (!legacy) return;
  text.Begin("vGPUMemoryAllocated", Type::kGauge, kDeprecated);
  for (const PodSample& sample : samples) text.Sample({sample.legacy_labels}, sample.memory);
  text.Begin("vGPUCoreAllocated", Type::kGauge, kDeprecated);
  for (const PodSample& sample : samples) text.Sample({sample.legacy_labels}, sample.legacy_cores);
}

// ---- instances

struct InstanceLabels {
  std::set<std::string> now;  // each once
  std::set<std::string> legacy;
};

void AddInstance(const core::Instance& instance, const CardFacts& card, std::string_view node,
                 InstanceLabels& labels) {
  const core::InstanceIdentity& identity = *instance.identity;
  labels.now.insert(Label("compute_instance_id", identity.compute_instance) +
                    Label("device_index", card.index) + Label("device_uuid", instance.device_id) +
                    Label("gpu_instance_id", identity.gpu_instance) +
                    Label("mig_uuid", identity.uuid) + Label("node", node) +
                    Label("placement_size", instance.place.size) +
                    Label("placement_start", instance.place.start) +
                    Label("profile", instance.profile) + std::string(kZone));
  labels.legacy.insert(
      Label("deviceidx", card.index) + Label("deviceuuid", instance.device_id) +
      Label("migname", instance.profile + "-" + std::to_string(identity.gpu_instance)) +
      Label("nodeid", node) + std::string(kZone));
}

// What an instance has become is written on the pod long after the ledger has read it.
InstanceLabels ReadInstances(std::span<const Ledger::Held> pods,
                             const kube::Store<kube::Pod>& cache, const core::Registry& registry,
                             const Cards& cards) {
  InstanceLabels labels;
  for (const Ledger::Held& held : pods)
    for (const core::VendorAllocation& of_vendor : held.allocation) {
      if (of_vendor.instances.empty()) continue;
      const auto pod = cache.Get(held.pod.ns, held.pod.name);
      if (pod == nullptr || pod->meta.uid != held.pod.uid) continue;
      const auto read = registry[of_vendor.vendor].spec().read_instances;
      for (const core::Instance& instance : read(pod->meta.annotations)) {
        const CardFacts* card = cards.Find(held.node, of_vendor.vendor, instance.device_id);
        if (instance.identity && card != nullptr && card->mig)
          AddInstance(instance, *card, held.node, labels);
      }
    }
  return labels;
}

void WriteInstances(const InstanceLabels& labels, bool legacy, MetricsText& text) {
  text.Begin("hami_node_gpu_mig_instance_info", Type::kGauge,
             "1 for every MIG instance that a pod has.");
  for (const std::string& instance : labels.now) text.Sample({instance}, 1);
  if (!legacy) return;
  text.Begin("nodeGPUMigInstance", Type::kGauge, kDeprecated);
  for (const std::string& instance : labels.legacy) text.Sample({instance}, 1);
}

// ---- quotas

void WriteQuotas(const std::vector<ledger::QuotaRow>& rows, bool legacy, MetricsText& text) {
  const auto used = [](const ledger::QuotaRow& row) { return static_cast<double>(row.used); };
  const auto limit = [](const ledger::QuotaRow& row) {
    return Label("limit", row.limit.value_or(0));
  };
  text.Begin("hami_resource_quota_used", Type::kGauge,
             "What the namespace's pods hold of the resource, in the vendor's accounting unit.");
  for (const ledger::QuotaRow& row : rows)
    text.Sample({limit(row), Label("namespace", row.ns), Label("quota_name", row.resource), kZone},
                used(row));
  text.Begin("hami_resource_quota_limit", Type::kGauge,
             "The namespace's smallest limit of the resource, in the unit of the resource.");
  for (const ledger::QuotaRow& row : rows)
    if (row.limit)
      text.Sample({Label("namespace", row.ns), Label("quota_name", row.resource), kZone},
                  static_cast<double>(*row.limit));
  if (!legacy) return;
  text.Begin("QuotaUsed", Type::kGauge, kDeprecated);
  for (const ledger::QuotaRow& row : rows)
    text.Sample(
        {limit(row), Label("quotaName", row.resource), Label("quotanamespace", row.ns), kZone},
        used(row));
}

}  // namespace

void WriteHamiMetrics(const Ledger& ledger, std::span<const Ledger::Held> pods,
                      const kube::Store<kube::Pod>& cache, const core::Registry& registry,
                      bool legacy, MetricsText& text) {
  const Cards cards = ReadCards(ledger, pods, registry, legacy);
  WriteCards(cards.all, legacy, text);
  WriteInstances(ReadInstances(pods, cache, registry, cards), legacy, text);
  WritePods(ReadPods(pods, cards, legacy), legacy, text);
  WriteQuotas(ledger.Quotas(), legacy, text);
}

}  // namespace aliquot::scheduler
