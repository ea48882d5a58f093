// SyncState: whether the caches are complete, and waiting until they are.
//
// Thread safety: any method from any thread.
#pragma once

#include <functional>
#include <string>

#include "aliquot/base/clock.h"
#include "aliquot/base/mutex.h"

namespace aliquot::scheduler {

class SyncState {
 public:
  enum Cache { kNodes, kPods, kQuotas, kCacheCount };

  // The cache's first complete list was handled.
  void SetSynced(Cache cache);
  bool synced() const;
  // "waiting for the first complete list of nodes, pods"; empty once synced.
  std::string Missing() const;

  // True once synced; false at the deadline (steady clock of the machine), when
  // `give_up` says so (looked at a few times a second), or after Stop.
  bool Wait(SteadyTime deadline, const std::function<bool()>& give_up) const;
  void Stop();

 private:
  static constexpr unsigned kAll = (1U << kCacheCount) - 1;

  mutable Mutex mutex_;
  mutable CondVar changed_;
  unsigned synced_ GUARDED_BY(mutex_) = 0;
  bool stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace aliquot::scheduler
