// Mutex and CondVar with the annotations that let clang check who guards what
// (-Wthread-safety); g++ ignores them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define ALIQUOT_TSA(x) __attribute__((x))
#else
#define ALIQUOT_TSA(x)
#endif
#define GUARDED_BY(x) ALIQUOT_TSA(guarded_by(x))
#define REQUIRES_LOCK(x) ALIQUOT_TSA(requires_capability(x))

namespace aliquot {

class ALIQUOT_TSA(capability("mutex")) Mutex {
 public:
  void Lock() ALIQUOT_TSA(acquire_capability()) { mutex_.lock(); }
  void Unlock() ALIQUOT_TSA(release_capability()) { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class ALIQUOT_TSA(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ALIQUOT_TSA(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.Lock();
  }
  ~MutexLock() ALIQUOT_TSA(release_capability()) { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Waits always take the mutex held by the caller, and may wake for no reason.
class CondVar {
 public:
  void Wait(Mutex& mutex) REQUIRES_LOCK(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    cond_.wait(lock);
    lock.release();
  }
  // False if `at` has passed.
  bool WaitUntil(Mutex& mutex, std::chrono::steady_clock::time_point at) REQUIRES_LOCK(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    // Waiting on the system clock keeps ThreadSanitizer able to see the wait
    // (it does not know pthread_cond_clockwait of this libstdc++).
    const auto left = at - std::chrono::steady_clock::now();
    const bool in_time = cond_.wait_until(lock, std::chrono::system_clock::now() + left) ==
                         std::cv_status::no_timeout;
    lock.release();
    return in_time;
  }
  void NotifyOne() { cond_.notify_one(); }
  void NotifyAll() { cond_.notify_all(); }

 private:
  std::condition_variable cond_;
};

}  // namespace aliquot
