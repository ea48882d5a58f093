#include "simulation/world.h"

#include <algorithm>
#include <thread>

#include "aliquot/base/time_text.h"
#include "simulation/machine.h"

namespace aliquot::simulation {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kNamespaces[] = {"team-a", "team-b"};
constexpr int kPodNames = 40;
constexpr size_t kMostPods = 24;
constexpr const char* kMergePatch = "application/merge-patch+json";

std::string NodeTarget(const std::string& name) { return "/api/v1/nodes/" + name; }

// Its annotations and amounts as the device plugin has them now.
void WriteNode(World& world, const MachineSpec& machine) {
  if (!machine.hardware->register_key.empty()) {
    Json annotations;
    annotations[std::string(machine.hardware->register_key)] = machine.RegisterText();
    (void)world.Do("PATCH", NodeTarget(machine.name),
                   {{"metadata", {{"annotations", annotations}}}});
  }
  (void)world.Do("PATCH", NodeTarget(machine.name) + "/status", {{"status", machine.Resources()}});
}

void CreateNode(World& world, const MachineSpec& machine) {
  Json meta = {{"name", machine.name}};
  if (!machine.hardware->register_key.empty())
    meta["annotations"][std::string(machine.hardware->register_key)] = machine.RegisterText();
  (void)world.Do("POST", "/api/v1/nodes", {{"metadata", meta}, {"status", machine.Resources()}});
}

// The plugin answers the scheduler's handshake while it is alive.
void RunPlugin(World& world, const std::string& name) {
  while (!world.over) {
    Sleep(seconds(30));
    const auto machine = world.machines.find(name);
    if (machine == world.machines.end() || !machine->second.plugin_alive) continue;
    const std::string_view key = machine->second.hardware->handshake_key;
    const auto node = world.model.Node(name);
    if (node == nullptr || key.empty()) continue;
    const std::string* handshake = Find(node->meta.annotations, key);
    if (handshake == nullptr || !handshake->starts_with("Requesting_")) continue;
    Json annotations;
    annotations[std::string(key)] = "Reported_" + FormatHandshakeTime(SystemClock().Now());
    (void)world.Do("PATCH", NodeTarget(name), {{"metadata", {{"annotations", annotations}}}});
  }
}

void ChangeNode(World& world, MachineSpec& machine) {
  property::Random& random = world.random;
  MachineSpec::Card& card = random.Any(machine.cards);
  switch (random.Between(1, 5)) {
    case 1:
      card.healthy = !card.healthy;
      break;
    case 2:
      if (machine.cards.size() > 1) machine.cards.pop_back();
      break;
    case 3:
      card.memory = card.memory * random.Between(50, 150) / 100;
      break;
    case 4:
      card.slots = random.Between(1, 6);
      break;
    default:
      machine = world.built.at(machine.name);
  }
  world.journal.Say("node " + machine.name + " changes");
  WriteNode(world, machine);
}

void LoseNode(World& world, const std::string name) {
  world.journal.Say("node " + name + " is deleted");
  world.machines.erase(name);
  (void)world.Do("DELETE", NodeTarget(name));
  world.Spawn([&world, name] {
    // Its pods are collected some time later, if it has not come back before.
    Sleep(seconds(world.random.Between(1, 90)));
    if (world.random.Chance(70)) {
      std::vector<std::shared_ptr<const kube::Pod>> lost;
      for (const auto& [uid, state] : world.model.pods())
        if (!state.deleted && state.pod->node_name == name) lost.push_back(state.pod);
      for (const auto& pod : lost)
        (void)world.Do("DELETE", PodTarget(*pod) + "?gracePeriodSeconds=0");
    }
    if (world.machines.contains(name)) return;  // it is calm, and it has been repaired
    world.machines[name] = world.built.at(name);
    world.journal.Say("node " + name + " is back");
    CreateNode(world, world.machines[name]);
  });
}

void ChangePlugin(World& world, MachineSpec& machine) {
  machine.plugin_alive = !machine.plugin_alive;
  world.journal.Say("device plugin of " + machine.name +
                    (machine.plugin_alive ? " is alive" : " is dead"));
  WriteNode(world, machine);
}

void DeletePod(World& world) {
  std::vector<std::shared_ptr<const kube::Pod>> alive;
  for (const auto& [uid, state] : world.model.pods())
    if (!state.deleted) alive.push_back(state.pod);
  if (alive.empty()) return;
  const auto pod = world.random.Any(alive);
  // With a period of grace it is marked first, and goes when kubelet has ended it.
  const bool at_once = world.random.Chance(50);
  world.journal.Say("user deletes pod " + pod->meta.name + " " + pod->meta.uid +
                    (at_once ? " at once" : ""));
  (void)world.Do("DELETE", PodTarget(*pod) + (at_once ? "?gracePeriodSeconds=0" : ""));
  if (at_once) return;
  world.Spawn([&world, pod] {
    Sleep(milliseconds(world.random.Between(100, 20000)));
    const auto now = world.model.Find(pod->meta.uid);
    if (now != nullptr) (void)world.Do("DELETE", PodTarget(*now) + "?gracePeriodSeconds=0");
  });
}

void ChangeQuota(World& world) {
  const std::string target =
      std::string("/api/v1/namespaces/") + kNamespaces[0] + "/resourcequotas";
  (void)world.Do("DELETE", target + "/gpus");
  if (world.random.Chance(40)) return;
  Json hard = {{"limits.nvidia.com/gpumem", std::to_string(1024 * world.random.Between(4, 40))},
               {"limits.nvidia.com/gpucores", std::to_string(world.random.Between(20, 300))}};
  (void)world.Do("POST", target, {{"metadata", {{"name", "gpus"}}}, {"spec", {{"hard", hard}}}});
}

void Repair(World& world) {
  world.journal.Say("calm");
  for (const char* ns : kNamespaces)
    (void)world.Do("DELETE", std::string("/api/v1/namespaces/") + ns + "/resourcequotas/gpus");
  for (const auto& [name, machine] : world.built) {
    const bool there = world.machines.contains(name);
    world.machines[name] = machine;
    if (there)
      WriteNode(world, machine);
    else
      CreateNode(world, machine);
  }
}

}  // namespace

World::World(uint64_t seed, bool print, const core::Registry& of_vendors)
    : random(seed),
      faults(random),
      journal(seed, print),
      cluster({.seed = seed}),
      model(cluster, journal),
      registry(of_vendors) {
  for (const char* ns : kNamespaces)
    (void)Do("POST", "/api/v1/namespaces", {{"metadata", {{"name", ns}}}});
}

void World::Spawn(std::function<void()> run) {
  ++running_;
  std::thread([this, run = std::move(run)] {
    run();
    --running_;
  }).detach();
}

void World::Join() {
  while (running_ > 0) Sleep(seconds(1));
}

Result<std::string> World::Do(const std::string& method, const std::string& target,
                              const Json& body) {
  Result<std::string> answer = users.Call(method, target, body.is_null() ? "" : body.dump(),
                                          method == "PATCH" ? kMergePatch : "");
  model.CatchUp(nullptr);
  return answer;
}

std::string PodTarget(const kube::Pod& pod) {
  return "/api/v1/namespaces/" + pod.meta.ns + "/pods/" + pod.meta.name;
}

void BuildNodes(World& world) {
  const auto hardware = AllHardware();
  const bool mixed = world.random.Chance(40);
  const auto nodes = static_cast<int>(world.random.Between(1, 4));
  for (int i = 1; i <= nodes; ++i) {
    const size_t vendor = mixed ? static_cast<size_t>(world.random.Between(0, 2)) : 0;
    MachineSpec machine = RandomMachine(world.random, i, hardware[vendor]);
    world.built[machine.name] = world.machines[machine.name] = machine;
    CreateNode(world, machine);
    world.Spawn([&world, name = machine.name] { RunPlugin(world, name); });
  }
}

void CreatePod(World& world) {
  size_t alive = 0;
  for (const auto& [uid, state] : world.model.pods()) alive += !state.deleted;
  if (alive >= kMostPods) return;
  auto machine = world.built.begin();
  std::advance(machine, world.random.Between(0, static_cast<int64_t>(world.built.size()) - 1));
  const std::string ns = kNamespaces[world.random.Between(0, 1)];
  const std::string name = "p" + std::to_string(world.random.Between(1, kPodNames));
  const Json pod = RandomPod(world.random, ns, name, machine->second);
  (void)world.Do("POST", "/api/v1/namespaces/" + ns + "/pods", pod);  // the name may be taken
}

void ReplacePod(World& world, const kube::Pod& pod) {
  world.journal.Say("user replaces pod " + pod.meta.name + " " + pod.meta.uid);
  (void)world.Do("DELETE", PodTarget(pod) + "?gracePeriodSeconds=0");
  auto machine = world.built.begin();
  std::advance(machine, world.random.Between(0, static_cast<int64_t>(world.built.size()) - 1));
  (void)world.Do("POST", "/api/v1/namespaces/" + pod.meta.ns + "/pods",
                 RandomPod(world.random, pod.meta.ns, pod.meta.name, machine->second));
}

void RunPod(World& world, std::shared_ptr<const kube::Pod> pod) {
  property::Random& random = world.random;
  const std::string target = PodTarget(*pod);
  // False: the pod is not there any more.
  const auto patch = [&](const std::string& where, Json what) {
    if (world.model.Find(pod->meta.uid) == nullptr) return false;
    if (where.empty()) what["metadata"]["uid"] = pod->meta.uid;
    return world.Do("PATCH", target + where, what).ok();
  };
  const auto phase = [&](const char* name) {
    return patch("/status", {{"status", {{"phase", name}}}});
  };
  Sleep(milliseconds(random.Between(20, random.Chance(90) ? 2000 : 60000)));
  for (;;) {
    const auto machine = world.machines.find(pod->node_name);
    if (machine == world.machines.end() || machine->second.plugin_alive) break;
    Sleep(seconds(5));
    if (world.model.Find(pod->meta.uid) == nullptr) break;
  }

  // The device plugin: served or not, the lock goes back.
  const bool served = random.Chance(96);
  if (!patch("", {{"metadata",
                   {{"annotations", {{"hami.io/bind-phase", served ? "success" : "failed"}}}}}}))
    return;  // nobody asks for its devices: the lock stays where it is
  if (const auto node = world.model.Node(pod->node_name)) {
    Json locks;
    for (const Hardware& hardware : AllHardware())
      if (const std::string* lock = Find(node->meta.annotations, hardware.lock_key);
          lock != nullptr &&
          (hardware.vendor == "MLU" || lock->ends_with("," + pod->meta.ns + "," + pod->meta.name)))
        locks[std::string(hardware.lock_key)] = nullptr;
    if (!locks.is_null())
      (void)world.Do("PATCH", NodeTarget(pod->node_name), {{"metadata", {{"annotations", locks}}}});
  }

  // Kubelet.
  bool runs = served && phase("Running");
  if (runs && !pod->init_containers.empty()) {
    Sleep(milliseconds(random.Between(100, 5000)));
    Json statuses = Json::array();
    for (const kube::Container& init : pod->init_containers) {
      Json state = {{"running", Json::object()}};
      if (!init.restart_always) state = {{"terminated", {{"exitCode", 0}}}};
      statuses.push_back({{"name", init.name}, {"state", state}});
    }
    runs = patch("/status", {{"status", {{"initContainerStatuses", statuses}}}});
  }
  if (runs) Sleep(milliseconds(random.Between(200, world.calm ? 5000 : 40000)));
  if (!phase(runs && random.Chance(80) ? "Succeeded" : "Failed")) return;
  Sleep(milliseconds(random.Between(0, 10000)));
  if (world.model.Find(pod->meta.uid) != nullptr)
    (void)world.Do("DELETE", target + "?gracePeriodSeconds=0");
}

void Churn(World& world) {
  const auto pause = world.random.OneOf<int64_t>({100, 300, 1000});
  while (!world.calm) {
    Sleep(milliseconds(world.random.Between(1, 2 * pause)));
    if (world.random.Chance(60)) CreatePod(world);
    if (world.faults.Happens(Fault::kPodDeletion)) DeletePod(world);
    if (world.faults.Happens(Fault::kQuota)) ChangeQuota(world);
    if (world.machines.empty()) continue;
    auto machine = world.machines.begin();
    std::advance(machine, world.random.Between(0, static_cast<int64_t>(world.machines.size()) - 1));
    if (world.faults.Happens(Fault::kNodeChange)) ChangeNode(world, machine->second);
    if (world.faults.Happens(Fault::kDeadPlugin)) ChangePlugin(world, machine->second);
    if (world.faults.Happens(Fault::kNodeLoss)) LoseNode(world, machine->first);
  }
  Repair(world);
}

void Weather(World& world) {
  const auto spell = [&](Fault fault, bool& on) {
    if (!world.faults.Happens(fault)) return;
    on = true;
    Sleep(milliseconds(world.random.Between(50, 40000)));
    on = false;
  };
  while (!world.calm) {
    Sleep(milliseconds(world.random.Between(100, 3000)));
    if (world.faults.Happens(Fault::kCompaction)) world.model.Compact();
    spell(Fault::kOutage, world.outage);
    spell(Fault::kStorm, world.storm);
  }
}

}  // namespace aliquot::simulation
