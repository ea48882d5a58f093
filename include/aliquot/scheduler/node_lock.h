// NodeLocks: one pod at a time per node may be between "bound" and "devices
// handed out", because the device plugin finds the pod it serves through this
// lock: annotation hami.io/mutex.lock on the node, "<time>,<namespace>,<pod>".
// Cambricon's plugin has a lock of its own, cambricon.com/dsmlu.lock, whose value is
// a time alone: whose it is we only know of those that we took.
//
// Waiting binds stand in one queue per node, first come, first served; only the
// first of a queue talks to the API server. They are woken by what the caches
// see (OnNode, OnPod), not by polling.
//
// Thread safety: any method from any thread. API calls happen outside locks.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "aliquot/base/clock.h"
#include "aliquot/base/mutex.h"
#include "aliquot/base/result.h"
#include "aliquot/core/vendor.h"
#include "aliquot/kube/api.h"
#include "aliquot/kube/store.h"
#include "aliquot/scheduler/options.h"

namespace aliquot::scheduler {

class NodeLocks {
 public:
  // Everything given outlives it. `on_waiting` (may be empty) is told when binds
  // begin to wait (true) and when the last one has stopped waiting (false): a
  // polling cache reads nodes more often meanwhile.
  NodeLocks(kube::Api& api, const kube::Store<kube::Pod>& pods,
            const kube::Store<kube::Node>& nodes, const Options& options, const Clock& clock,
            std::function<void(bool)> on_waiting);
  ~NodeLocks();

  // Takes the node's lock of a kind for the pod; waits for it as --bind-wait says, until
  // --node-lock-retry-timeout or the deadline. `caller_gone` (may be empty) is
  // looked at while waiting. Errors carry the texts that HAMi's users know.
  Result<void> Acquire(const std::string& node, const kube::Pod& pod, SteadyTime deadline,
                       const std::function<bool()>& caller_gone,
                       core::NodeLock kind = core::NodeLock::kShared);

  // The same without waiting: kConflict where another pod holds it.
  Result<void> TryAcquire(const std::string& node, const kube::Pod& pod, SteadyTime deadline,
                          core::NodeLock kind);

  // Gives the lock back if it is this pod's. A lock of somebody else, or none, is
  // left alone and is success.
  Result<void> Release(const std::string& node, const ObjectRef& pod, SteadyTime deadline,
                       core::NodeLock kind = core::NodeLock::kShared);

  // What the caches saw: wakes those who wait for it.
  void OnNode(const kube::Node& node);
  void OnPod(const kube::Pod& pod);

  // Binds that wait now.
  size_t waiting() const;

  // Ends all waiting, now and later, with the shutdown error.
  void Stop();

 private:
  struct Impl;  // one kind
  Impl& Of(core::NodeLock kind);

  std::function<void(bool)> on_waiting_;
  Mutex mutex_;
  int waiting_kinds_ GUARDED_BY(mutex_) = 0;  // with binds that wait
  std::unique_ptr<Impl> shared_;
  std::unique_ptr<Impl> cambricon_;
};

}  // namespace aliquot::scheduler
