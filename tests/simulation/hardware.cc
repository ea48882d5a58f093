#include "simulation/hardware.h"

#include <algorithm>

#include "aliquot/base/check.h"
#include "aliquot/base/strings.h"

namespace aliquot::simulation {
namespace {

constexpr int64_t kWholeCard = 100;
constexpr int64_t kCambriconSlots = 100;

constexpr Hardware kHardware[] = {
    {"NVIDIA", "hami.io/node-nvidia-register", "hami.io/node-handshake",
     "hami.io/vgpu-devices-allocated", "hami.io/mutex.lock", "nvidia.com/gpu", "nvidia.com/gpumem",
     "nvidia.com/gpucores", 1},
    {"DCU", "hami.io/node-dcu-register", "hami.io/node-handshake-dcu",
     "hami.io/dcu-devices-allocated", "hami.io/mutex.lock", "hygon.com/dcunum", "hygon.com/dcumem",
     "hygon.com/dcucores", 1},
    {"MLU", "", "", "hami.io/cambricon-mlu-devices-allocated", "cambricon.com/dsmlu.lock",
     "cambricon.com/vmlu", "cambricon.com/mlu.smlu.vmemory", "cambricon.com/mlu.smlu.vcore", 256},
};

int64_t Number(std::string_view text) { return ParseInt64(text).value(); }

int64_t Amount(const kube::Node& node, std::string_view resource) {
  const std::string* text = Find(node.capacity, resource);
  return text == nullptr ? 0 : Number(*text);
}

Use Sum(const Use& a, const Use& b) {
  return {a.slots + b.slots, a.memory + b.memory, a.cores + b.cores};
}
Use Larger(const Use& a, const Use& b) {
  return {std::max(a.slots, b.slots), std::max(a.memory, b.memory), std::max(a.cores, b.cores)};
}

// Of one container.
using Shares = std::map<CardKey, Taken>;

std::vector<Shares> SharesOf(const kube::Pod& pod) {
  std::vector<Shares> containers(pod.init_containers.size() + pod.containers.size());
  for (const Hardware& hardware : kHardware) {
    const std::string* text = Find(pod.meta.annotations, hardware.allocated_key);
    if (text == nullptr) continue;
    size_t container = 0;
    for (const std::string_view of_container : Split(*text, ';')) {
      for (const std::string_view share : Split(of_container, ':')) {
        const std::vector<std::string_view> fields = Split(share, ',');
        if (fields.size() < 4) continue;
        Taken& taken =
            containers.at(container)[{std::string(hardware.vendor), std::string(fields[0])}];
        taken.use = Sum(taken.use, {1, Number(fields[2]), Number(fields[3])});
        taken.whole = taken.whole || Number(fields[3]) == kWholeCard;
      }
      ++container;
    }
  }
  return containers;
}

bool InitEnded(const kube::Pod& pod) {
  if (pod.init_statuses.empty()) return false;
  for (const kube::InitStatus& status : pod.init_statuses) {
    const auto container =
        std::ranges::find(pod.init_containers, status.name, &kube::Container::name);
    const bool sidecar = container != pod.init_containers.end() && container->restart_always;
    if (!sidecar && (!status.terminated || status.exit_code != 0)) return false;
  }
  return true;
}

void Add(const Shares& shares, TakenCards& to) {
  for (const auto& [card, share] : shares) {
    to[card].use = Sum(to[card].use, share.use);
    to[card].whole = to[card].whole || share.whole;
  }
}

void Raise(const TakenCards& other, TakenCards& to) {
  for (const auto& [card, taken] : other) {
    to[card].use = Larger(to[card].use, taken.use);
    to[card].whole = to[card].whole || taken.whole;
  }
}

}  // namespace

std::span<const Hardware> AllHardware() { return kHardware; }

Inventory InventoryOf(const kube::Node& node) {
  Inventory inventory;
  for (const Hardware& hardware : kHardware) {
    const std::string vendor(hardware.vendor);
    const std::string* text = Find(node.meta.annotations, hardware.register_key);
    if (hardware.vendor == "NVIDIA" && text != nullptr) {
      for (const Json& card : Json::parse(*text))
        inventory[{vendor, card["id"]}] = {card["count"], card["devmem"], card["devcore"]};
    } else if (hardware.vendor == "DCU" && text != nullptr) {
      for (const std::string_view card : Split(*text, ':')) {
        const std::vector<std::string_view> fields = Split(card, ',');
        if (fields.size() < 7) continue;
        inventory[{vendor, std::string(fields[0])}] = {Number(fields[1]), Number(fields[2]),
                                                       Number(fields[3])};
      }
    } else if (hardware.vendor == "MLU") {
      const int64_t cards = Amount(node, hardware.cores) / kWholeCard;
      for (int64_t i = 0; i < cards; ++i)
        inventory[{vendor, node.meta.name + "-cambricon-mlu-" + std::to_string(i)}] = {
            kCambriconSlots, Amount(node, hardware.memory) * hardware.memory_unit / cards,
            kWholeCard};
    }
  }
  return inventory;
}

// Sidecars run from their place on, the other init containers one after the other, then the
// rest of the pod together.
TakenCards TakenBy(const kube::Pod& pod) {
  const std::vector<Shares> containers = SharesOf(pod);
  TakenCards peak, sidecars;
  for (size_t i = 0; i < pod.init_containers.size(); ++i) {
    if (pod.init_containers[i].restart_always) {
      Add(containers[i], sidecars);
    } else if (!InitEnded(pod)) {
      TakenCards now = sidecars;
      Add(containers[i], now);
      Raise(now, peak);
    }
  }
  TakenCards rest = sidecars;
  for (size_t i = pod.init_containers.size(); i < containers.size(); ++i) Add(containers[i], rest);
  Raise(rest, peak);
  return peak;
}

std::string MachineSpec::RegisterText() const {
  Json cards_json = Json::array();
  std::string colons;
  for (size_t i = 0; i < cards.size(); ++i) {
    const Card& card = cards[i];
    cards_json.push_back({{"id", card.id},
                          {"index", i},
                          {"count", card.slots},
                          {"devmem", card.memory},
                          {"devcore", kWholeCard},
                          {"type", "NVIDIA A100-SXM4-40GB"},
                          {"mode", "hami-core"},
                          {"health", card.healthy}});
    colons += card.id + "," + std::to_string(card.slots) + "," + std::to_string(card.memory) +
              ",100,DCU-K100_AI,0," + (card.healthy ? "true," : "false,") + std::to_string(i) +
              ",hami-core:";
  }
  return hardware->vendor == "NVIDIA" ? cards_json.dump() : colons;
}

Json MachineSpec::Resources() const {
  int64_t count = 0, memory = 0;
  for (const Card& card : cards) {
    count += card.slots;
    memory += card.memory;
  }
  Json capacity = {{"cpu", "64"}, {"memory", "512Gi"}, {"pods", "110"}};
  capacity[std::string(hardware->count)] = std::to_string(count);
  if (hardware->register_key.empty()) {
    capacity[std::string(hardware->cores)] = std::to_string(kWholeCard * cards.size());
    capacity[std::string(hardware->memory)] = std::to_string(memory / hardware->memory_unit);
  }
  Json allocatable = capacity;
  if (!plugin_alive) allocatable[std::string(hardware->count)] = "0";
  return {{"capacity", capacity}, {"allocatable", allocatable}};
}

MachineSpec RandomMachine(property::Random& random, int number, const Hardware& hardware) {
  MachineSpec machine;
  machine.name = "n" + std::to_string(number);
  machine.hardware = &hardware;
  const int64_t cards = random.Between(1, 3), slots = random.Between(3, 6);
  const int64_t memory = 1024 * random.Between(8, 16);
  for (int64_t i = 0; i < cards; ++i)
    machine.cards.push_back(
        {std::string(hardware.vendor) + "-" + std::to_string(number) + "-" + std::to_string(i),
         slots, memory});
  return machine;
}

Json RandomPod(property::Random& random, const std::string& ns, const std::string& name,
               const MachineSpec& machine) {
  const Hardware& hardware = *machine.hardware;
  const int64_t card = machine.cards.front().memory;
  const auto limits = [&](int64_t count, int64_t memory, int64_t cores) {
    Json resources;
    resources[std::string(hardware.count)] = std::to_string(count);
    resources[std::string(hardware.memory)] = std::to_string(memory / hardware.memory_unit);
    resources[std::string(hardware.cores)] = std::to_string(cores);
    return Json{{"limits", resources}};
  };
  const auto container = [&](const std::string& called, Json resources) {
    return Json{{"name", called}, {"image", "demo"}, {"resources", std::move(resources)}};
  };
  // A quarter of a card at most, so that several of them fit onto one card together.
  const auto part = [&] {
    return limits(1, card / random.Between(4, 12), random.OneOf<int64_t>({0, 5, 10, 25}));
  };
  Json spec = {{"schedulerName", "hami-scheduler"}};
  Json& containers = spec["containers"] = Json::array();
  if (random.Chance(70)) {
    containers.push_back(container(
        "c0", limits(random.Between(1, static_cast<int64_t>(machine.cards.size())),
                     card / random.Between(1, 8), random.OneOf<int64_t>({0, 0, 20, 50, 80, 100}))));
  } else {
    containers.push_back(container("c0", part()));
    if (random.Chance(50)) containers.push_back(container("c1", part()));
    if (random.Chance(70)) spec["initContainers"].push_back(container("i0", part()));
    if (random.Chance(30)) {
      Json sidecar = container("s0", part());
      sidecar["restartPolicy"] = "Always";
      spec["initContainers"].push_back(std::move(sidecar));
    }
  }
  Json meta = {{"name", name}, {"namespace", ns}};
  if (random.Chance(20)) meta["annotations"]["hami.io/node-scheduler-policy"] = "spread";
  if (random.Chance(20)) meta["annotations"]["hami.io/gpu-scheduler-policy"] = "binpack";
  return {{"metadata", meta}, {"spec", spec}};
}

}  // namespace aliquot::simulation
