// RateLimiter: the client's own budget towards the API server, a token bucket.
//
// Thread safety: any method from any thread.
#pragma once

#include <array>
#include <optional>
#include <stop_token>

#include "aliquot/base/clock.h"
#include "aliquot/base/mutex.h"
#include "aliquot/base/result.h"
#include "aliquot/kube/api.h"

namespace aliquot::kube {

class RateLimiter {
 public:
  // `qps` as --kube-qps: given, one bucket bounds both lanes (0: 5/s, negative:
  // no bound); not given, only the background lane is bounded, to 5/s. `burst`
  // 0 or less: 10.
  RateLimiter(std::optional<double> qps, int burst, const Clock& clock);

  // Blocks until the call may go. A background call waits while a scheduling
  // call does. Errors: kDeadline, kCancelled.
  Result<void> Acquire(Lane lane, SteadyTime deadline, const std::stop_token& stop);

  // Calls that are in Acquire now.
  int waiting(Lane lane) const;

 private:
  void Refill(SteadyTime now) REQUIRES_LOCK(mutex_);

  const Clock& clock_;
  const bool scheduling_bounded_;
  const bool background_bounded_;
  const double qps_;
  const double burst_;

  mutable Mutex mutex_;
  CondVar changed_;
  double tokens_ GUARDED_BY(mutex_);
  SteadyTime refilled_ GUARDED_BY(mutex_);
  std::array<int, 2> waiting_ GUARDED_BY(mutex_) = {};  // by lane
};

}  // namespace aliquot::kube
