// WorkerPool: threads that take jobs from one queue. Threads start when jobs
// wait for one, up to a limit, and end when they were idle for a while; one
// always stays. Jobs beyond the limit wait in the queue.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <string>
#include <thread>

#include "aliquot/base/clock.h"
#include "aliquot/base/mutex.h"

namespace aliquot::server {

// Thread safety: any method from any thread, but Stop from one at a time.
class WorkerPool {
 public:
  struct Options {
    std::string name;  // of the threads, up to 15 characters
    size_t max_threads = 1;
    Duration idle_timeout = std::chrono::seconds(30);
  };

  explicit WorkerPool(Options options);
  ~WorkerPool() { Stop(); }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // `job` must not throw. Dropped after Stop.
  void Run(std::function<void()> job);

  // Jobs wait for a thread.
  bool Crowded() const;

  // Drops the jobs that wait, and waits for those that run.
  void Stop();

  // Jobs that wait for a thread.
  size_t queued() const;

  size_t threads() const;

 private:
  using Threads = std::list<std::thread>;

  void Spawn() REQUIRES_LOCK(mutex_);
  void Work(Threads::iterator self);

  const Options options_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> jobs_ GUARDED_BY(mutex_);
  Threads threads_ GUARDED_BY(mutex_);
  Threads ended_ GUARDED_BY(mutex_);  // still to be joined
  size_t idle_ GUARDED_BY(mutex_) = 0;
  bool stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace aliquot::server
