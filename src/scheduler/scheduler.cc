#include "aliquot/scheduler/scheduler.h"

#include <chrono>

#include "aliquot/base/log.h"

namespace aliquot::scheduler {
namespace {

constexpr auto kBeat = std::chrono::seconds(1);
constexpr auto kStuck = std::chrono::seconds(60);

}  // namespace

Scheduler::Scheduler(kube::Api& api, const core::Registry& registry, Options options,
                     const Clock& clock, RecordEvent record,
                     std::function<void(bool)> on_lock_waiting)
    : options_(std::move(options)),
      clock_(clock),
      ledger_(registry, clock),
      locks_(api, pods_, nodes_, options_, clock, std::move(on_lock_waiting)),
      registrar_(api, registry, ledger_, options_, clock),
      filter_(api, pods_, sync_, registry, ledger_, in_flight_, options_, clock, record),
      bind_(api, pods_, nodes_, registry, ledger_, locks_, in_flight_, options_, clock, record),
      admission_(registry, ledger_, options_),
      pod_events_(registry, ledger_, filter_, locks_, sync_, record),
      node_events_(registrar_, locks_, sync_),
      quota_events_(ledger_, sync_),
      last_beat_(clock.Steady().time_since_epoch().count()) {}

void Scheduler::Start() {
  registrar_.Start();
  housekeeping_ = std::thread([this] {
    for (;;) {
      DoWhatIsDue();
      MutexLock lock(mutex_);
      if (!stopping_) stop_.WaitUntil(mutex_, std::chrono::steady_clock::now() + kBeat);
      if (stopping_) return;
    }
  });
}

void Scheduler::Drain() {
  sync_.Stop();
  locks_.Stop();
}

void Scheduler::Stop() {
  Drain();
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    stop_.NotifyAll();
  }
  registrar_.Stop();
  if (housekeeping_.joinable()) housekeeping_.join();
}

void Scheduler::DoWhatIsDue() {
  registrar_.ExpireDue();
  for (const ledger::Ledger::Held& expired :
       ledger_.ExpireReservations(options_.reservation_timeout)) {
    log::Warn("Dropped the reservation of a pod that was never bound",
              {{"pod", Display(expired.pod)}, {"node", expired.node}});
  }
  last_beat_ = clock_.Steady().time_since_epoch().count();
}

std::optional<std::string> Scheduler::Live() const {
  const SteadyTime beat{SteadyTime::duration(last_beat_.load())};
  if (clock_.Steady() - beat < kStuck) return std::nullopt;
  return "background work has been stuck for more than a minute";
}

}  // namespace aliquot::scheduler
