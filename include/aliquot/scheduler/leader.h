// Leader: whether this process decides and writes, or another replica does. The
// kube-schedulers elect their leader by a lease, each beside an extender of ours; we
// never take the lease, but look who holds it.
//
// This process leads while the holder is its host name, or begins with it and "_"
// (kube-scheduler's identity is "<host name>_<uuid>"), and no longer than the lease's
// duration after we saw it change last, by our own clock: candidates judge it likewise.
//
// Thread safety: any method from any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "aliquot/base/clock.h"
#include "aliquot/base/mutex.h"
#include "aliquot/kube/store.h"
#include "aliquot/kube/types.h"
#include "aliquot/scheduler/options.h"

namespace aliquot::scheduler {

// Observes the one lease of Options::election; without an election it always leads.
class Leader : public kube::Observer<kube::Lease> {
 public:
  // `clock` outlives it. A shadow never leads.
  Leader(std::optional<Election> election, const Clock& clock, bool shadow = false)
      : election_(std::move(election)), clock_(clock), shadow_(shadow) {}

  // True of now only: a lease also ends without an event.
  bool Leads() const { return !Obstacle(); }
  // Why it does not lead: `lease kube-system/hami-scheduler is held by "gpu-2_5f0c"`.
  // Nothing: it leads.
  std::optional<std::string> Obstacle() const;

  // True once it leads; false at the deadline (steady clock of the machine), when
  // `give_up` (may be empty) says so, looked at a few times a second, or after Stop.
  bool Wait(SteadyTime deadline, const std::function<bool()>& give_up) const;
  void Stop();

  void OnUpsert(const std::shared_ptr<const kube::Lease>& old,
                const std::shared_ptr<const kube::Lease>& now) override;
  void OnDelete(const std::shared_ptr<const kube::Lease>& last) override;

 private:
  std::optional<std::string> ObstacleNow() const REQUIRES_LOCK(mutex_);

  const std::optional<Election> election_;
  const Clock& clock_;
  const bool shadow_;

  mutable Mutex mutex_;
  mutable CondVar changed_;
  std::shared_ptr<const kube::Lease> lease_ GUARDED_BY(mutex_);  // null: there is none
  SteadyTime seen_ GUARDED_BY(mutex_){};                         // since when it is as it is
  bool stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace aliquot::scheduler
