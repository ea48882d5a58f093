// Waiting that a stop_token can cut short.
#pragma once

#include <stop_token>

#include "aliquot/base/clock.h"
#include "aliquot/base/mutex.h"
#include "aliquot/base/result.h"

namespace aliquot::kube {

inline Error CancelledError() { return {ErrorCode::kCancelled, "shutting down"}; }

// False when stopped before the time was over. Waits by the machine's clock.
inline bool SleepFor(Duration time, const std::stop_token& stop) {
  const SteadyTime end = std::chrono::steady_clock::now() + time;
  Mutex mutex;
  CondVar woken;
  const std::stop_callback wake(stop, [&] {
    MutexLock lock(mutex);
    woken.NotifyAll();
  });
  MutexLock lock(mutex);
  while (!stop.stop_requested() && std::chrono::steady_clock::now() < end) {
    woken.WaitUntil(mutex, end);
  }
  return !stop.stop_requested();
}

// Stops when either of two tokens does.
class EitherStop {
 public:
  EitherStop(std::stop_token a, std::stop_token b)
      : a_(std::move(a), Request{this}), b_(std::move(b), Request{this}) {}
  std::stop_token token() const { return source_.get_token(); }

 private:
  struct Request {
    EitherStop* self;
    void operator()() const { self->source_.request_stop(); }
  };
  std::stop_source source_;
  std::stop_callback<Request> a_, b_;
};

}  // namespace aliquot::kube
