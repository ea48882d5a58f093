#include "aliquot/scheduler/sync.h"

#include <algorithm>

namespace aliquot::scheduler {

void SyncState::SetSynced(Cache cache) {
  MutexLock lock(mutex_);
  synced_ |= 1U << cache;
  changed_.NotifyAll();
}

bool SyncState::synced() const {
  MutexLock lock(mutex_);
  return synced_ == kAll;
}

std::string SyncState::Missing() const {
  constexpr const char* kNames[] = {"nodes", "pods", "resourcequotas"};
  MutexLock lock(mutex_);
  std::string missing;
  for (unsigned cache = 0; cache < kCacheCount; ++cache) {
    if ((synced_ >> cache) & 1U) continue;
    missing += missing.empty() ? "waiting for the first complete list of " : ", ";
    missing += kNames[cache];
  }
  return missing;
}

bool SyncState::Wait(SteadyTime deadline, const std::function<bool()>& give_up) const {
  constexpr auto kLook = std::chrono::milliseconds(200);
  MutexLock lock(mutex_);
  while (synced_ != kAll) {
    const SteadyTime now = std::chrono::steady_clock::now();
    if (stopped_ || now >= deadline || (give_up && give_up())) return false;
    changed_.WaitUntil(mutex_, std::min(deadline, now + kLook));
  }
  return true;
}

void SyncState::Stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  changed_.NotifyAll();
}

}  // namespace aliquot::scheduler
