#include "kube/rate_limiter.h"

#include <algorithm>

#include "kube/stop.h"

namespace aliquot::kube {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr double kDefaultQps = 5;
constexpr int kDefaultBurst = 10;
constexpr Duration kLongestWait = std::chrono::hours(1);  // then looks again

}  // namespace

RateLimiter::RateLimiter(std::optional<double> qps, int burst, const Clock& clock)
    : clock_(clock),
      scheduling_bounded_(qps && *qps >= 0),
      background_bounded_(!qps || *qps >= 0),
      qps_(qps && *qps > 0 ? *qps : kDefaultQps),
      burst_(burst > 0 ? burst : kDefaultBurst),
      tokens_(burst_),
      refilled_(clock.Steady()) {}

void RateLimiter::Refill(SteadyTime now) {
  tokens_ = std::min(burst_, tokens_ + qps_ * Seconds(now - refilled_).count());
  refilled_ = now;
}

Result<void> RateLimiter::Acquire(Lane lane, SteadyTime deadline, const std::stop_token& stop) {
  const bool scheduling = lane == Lane::kScheduling;
  int& waiting = waiting_[static_cast<size_t>(lane)];
  if (stop.stop_requested()) return CancelledError();
  if (!(scheduling ? scheduling_bounded_ : background_bounded_)) return {};

  const std::stop_callback wake(stop, [&] {
    MutexLock lock(mutex_);
    changed_.NotifyAll();
  });
  MutexLock lock(mutex_);
  ++waiting;
  Result<void> result;
  for (;;) {
    const SteadyTime now = clock_.Steady();
    Refill(now);
    const bool our_turn = scheduling || waiting_[static_cast<size_t>(Lane::kScheduling)] == 0;
    if (stop.stop_requested()) {
      result = CancelledError();
      break;
    }
    if (now <= deadline && our_turn && tokens_ >= 1) {
      tokens_ -= 1;
      break;
    }
    if (now >= deadline) {
      result = Error{ErrorCode::kDeadline, "the client's rate limit left no time for the call"};
      break;
    }
    // Rounded up, so that the token is there after the wait.
    const Duration token = std::chrono::ceil<Duration>(Seconds((1 - tokens_) / qps_));
    const Duration wait = std::min(our_turn ? token : kLongestWait, deadline - now);
    changed_.WaitUntil(mutex_, std::chrono::steady_clock::now() + std::min(wait, kLongestWait));
  }
  --waiting;
  changed_.NotifyAll();  // whoever waited behind us looks again
  return result;
}

int RateLimiter::waiting(Lane lane) const {
  MutexLock lock(mutex_);
  return waiting_[static_cast<size_t>(lane)];
}

}  // namespace aliquot::kube
