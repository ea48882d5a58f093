#include "simulation/run.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <vector>

#include "simulation/kube_scheduler.h"
#include "simulation/machine.h"
#include "simulation/process.h"
#include "simulation/world.h"

namespace aliquot::simulation {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// All pods are to be placed so long after the last promise of the troubled time has expired.
constexpr Duration kPlacedWithin = minutes(20);
constexpr Duration kLongestTrouble = minutes(60);

class Seed {
 public:
  Seed(uint64_t seed, bool print, const core::Registry& registry)
      : world_(seed, print, registry), kube_scheduler_(world_) {
    property::Random& random = world_.random;
    options_.scheduler_name = "hami-scheduler";
    options_.assignment_write =
        random.Chance(70) ? scheduler::AssignmentWrite::kFilter : scheduler::AssignmentWrite::kBind;
    options_.bind_wait = random.OneOf({scheduler::BindWait::kAll, scheduler::BindWait::kAll,
                                       scheduler::BindWait::kGroup, scheduler::BindWait::kNone});
    options_.reservation_timeout = seconds(random.OneOf<int64_t>({60, 300, 900}));
    poll_ = random.Chance(10);
    workers_ = static_cast<int>(random.Between(1, 4));
    world_.model.on_created = [this](const auto& pod) { kube_scheduler_.Add(pod); };
    world_.model.on_bound = [this](const auto& pod) {
      world_.Spawn([this, pod] { RunPod(world_, pod); });
    };
  }

  Figures Run(uint64_t decisions) {
    BuildNodes(world_);
    StartProcess();
    for (int i = 0; i < workers_; ++i) world_.Spawn([this] { kube_scheduler_.Work(); });
    world_.Spawn([this] { Churn(world_); });
    world_.Spawn([this] { Weather(world_); });
    world_.Spawn([this] { KeepProcesses(); });
    while (kube_scheduler_.decisions < decisions && MachineTime() < kLongestTrouble) Watch();
    Calm();
    Empty();
    world_.over = true;
    world_.Join();
    kube_scheduler_.processes.clear();
    return {kube_scheduler_.decisions, kube_scheduler_.binds, static_cast<uint64_t>(last_id_),
            world_.journal.steps(),    world_.journal.hash(), world_.faults.counts()};
  }

 private:
  void StartProcess() {
    kube_scheduler_.processes.push_back(
        std::make_shared<Process>(world_, ++last_id_, options_, poll_));
  }

  // After an end a new one starts; now and then the old one goes on for a while.
  void KeepProcesses() {
    auto& processes = kube_scheduler_.processes;
    while (!world_.over) {
      Sleep(milliseconds(world_.random.Between(100, 2000)));
      BuryDead();
      if (processes.empty()) {
        Sleep(milliseconds(world_.random.Between(50, 20000)));
        StartProcess();
      } else if (processes.size() > 1) {
        if (world_.calm || world_.random.Chance(20)) processes.front()->Kill();
      } else if (world_.faults.Happens(Fault::kOverlap)) {
        StartProcess();
      } else if (world_.faults.Happens(Fault::kRestart)) {
        processes.front()->Kill();
      }
    }
  }

  // The end of the object takes time, in which others look at the list.
  void BuryDead() {
    auto& processes = kube_scheduler_.processes;
    const auto dead = std::stable_partition(processes.begin(), processes.end(),
                                            [](const auto& process) { return process->alive(); });
    const std::vector<std::shared_ptr<Process>> buried(std::make_move_iterator(dead),
                                                       std::make_move_iterator(processes.end()));
    processes.erase(dead, processes.end());
  }

  void Watch() {
    Sleep(seconds(1));
    for (const auto& process : std::vector(kube_scheduler_.processes)) process->Audit();
    uint64_t seen = UINT64_MAX;
    for (const auto& process : kube_scheduler_.processes)
      if (process->alive()) seen = std::min(seen, process->pods_seen());
    if (!kube_scheduler_.processes.empty()) world_.model.ForgetGone(seen);
  }

  // L1: now everything finds its place.
  void Calm() {
    world_.faults.Stop();
    world_.calm = true;
    const Duration until = MachineTime() + options_.reservation_timeout + kPlacedWithin;
    while (kube_scheduler_.pending() > 0) {
      Watch();
      if (MachineTime() > until)
        world_.journal.Violation("L1", std::to_string(kube_scheduler_.pending()) +
                                           " pods that fit have not been placed");
    }
  }

  // Nothing is left over when everything has ended.
  void Empty() {
    const Duration until = MachineTime() + options_.reservation_timeout + minutes(10);
    const auto alive = [this] {
      size_t pods = 0;
      for (const auto& [uid, state] : world_.model.pods()) pods += !state.deleted;
      return pods;
    };
    const auto held = [this] {
      if (kube_scheduler_.processes.empty()) return size_t{1};
      const ledger::Ledger::Counts counts = kube_scheduler_.processes.back()->ledger().Count();
      return counts.bound + counts.reservations;
    };
    while (alive() > 0 || held() > 0) {
      Watch();
      if (MachineTime() > until)
        world_.journal.Violation("S3", std::to_string(alive()) + " pods are there, " +
                                           std::to_string(held()) + " hold something");
    }
    for (const auto& process : kube_scheduler_.processes)
      for (const auto& [node, cards] : process->ledger().Usage().nodes)
        for (const core::DeviceUse& use : cards)
          if (use != core::DeviceUse{})
            world_.journal.Violation("S3", "node " + node + " has usage and no pods");
  }

  World world_;
  KubeScheduler kube_scheduler_;
  scheduler::Options options_;
  bool poll_ = false;
  int workers_ = 1;
  int last_id_ = 0;
};

}  // namespace

Figures RunSeed(uint64_t seed, uint64_t decisions, bool print, const core::Registry& registry) {
  Figures figures;
  RunMachine(seed, [&] { figures = Seed(seed, print, registry).Run(decisions); });
  return figures;
}

}  // namespace aliquot::simulation
