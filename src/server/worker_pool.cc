#include "server/worker_pool.h"

#include <pthread.h>

#include <system_error>
#include <utility>

#include "aliquot/base/log.h"

namespace aliquot::server {

WorkerPool::WorkerPool(Options options) : options_(std::move(options)) {
  MutexLock lock(mutex_);
  Spawn();
}

void WorkerPool::Run(std::function<void()> job) {
  MutexLock lock(mutex_);
  if (stopped_) return;
  jobs_.push_back(std::move(job));
  if (jobs_.size() <= idle_ || threads_.size() >= options_.max_threads) {
    changed_.NotifyOne();
    return;
  }
  try {
    Spawn();
  } catch (const std::system_error& failure) {
    log::Warn("Could not start a thread", {{"pool", options_.name}, {"error", failure.what()}});
  }
}

bool WorkerPool::Crowded() const {
  MutexLock lock(mutex_);
  return jobs_.size() > idle_;
}

size_t WorkerPool::queued() const {
  MutexLock lock(mutex_);
  return jobs_.size();
}

size_t WorkerPool::threads() const {
  MutexLock lock(mutex_);
  return threads_.size();
}

void WorkerPool::Stop() {
  Threads threads;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    jobs_.clear();
    threads.splice(threads.end(), threads_);
    threads.splice(threads.end(), ended_);
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads) thread.join();
}

void WorkerPool::Spawn() {
  for (std::thread& thread : ended_) thread.join();
  ended_.clear();
  const auto self = threads_.emplace(threads_.end());
  try {
    *self = std::thread([this, self] { Work(self); });
  } catch (...) {
    threads_.erase(self);
    throw;
  }
}

void WorkerPool::Work(Threads::iterator self) {
  ::pthread_setname_np(::pthread_self(), options_.name.substr(0, 15).c_str());
  while (true) {
    std::function<void()> job;
    {
      MutexLock lock(mutex_);
      while (jobs_.empty()) {
        if (stopped_) return;
        ++idle_;
        const bool in_time = changed_.WaitUntil(
            mutex_, std::chrono::steady_clock::now() +
                        std::chrono::duration_cast<SteadyTime::duration>(options_.idle_timeout));
        --idle_;
        if (!in_time && jobs_.empty() && !stopped_ && threads_.size() > 1) {
          ended_.splice(ended_.end(), threads_, self);
          return;
        }
      }
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace aliquot::server
