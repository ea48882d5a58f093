#include "kube/rate_limiter.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "aliquot/base/fake_clock.h"

namespace aliquot::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class RateLimiterTest : public ::testing::Test {
 protected:
  // How many calls of the lane may go right now.
  int Free(RateLimiter& limiter, Lane lane) {
    int count = 0;
    while (count < 100 && limiter.Acquire(lane, clock_.Steady(), {})) ++count;
    return count;
  }

  FakeClock clock_;
};

TEST_F(RateLimiterTest, WithoutQpsOnlyTheBackgroundIsBounded) {
  RateLimiter limiter(std::nullopt, 0, clock_);
  EXPECT_EQ(Free(limiter, Lane::kScheduling), 100);
  EXPECT_EQ(Free(limiter, Lane::kBackground), 10);
  clock_.Advance(seconds(1));
  EXPECT_EQ(Free(limiter, Lane::kBackground), 5);
  clock_.Advance(seconds(60));
  EXPECT_EQ(Free(limiter, Lane::kBackground), 10);
}

TEST_F(RateLimiterTest, AGivenQpsBoundsBothLanesTogether) {
  RateLimiter limiter(20, 4, clock_);
  EXPECT_EQ(Free(limiter, Lane::kBackground), 4);
  EXPECT_EQ(Free(limiter, Lane::kScheduling), 0);
  clock_.Advance(milliseconds(100));
  EXPECT_EQ(Free(limiter, Lane::kScheduling), 2);
  EXPECT_EQ(Free(limiter, Lane::kBackground), 0);
}

TEST_F(RateLimiterTest, ZeroIsTheDefaultAndNegativeIsNoBound) {
  RateLimiter zero(0, 0, clock_);
  EXPECT_EQ(Free(zero, Lane::kScheduling), 10);
  clock_.Advance(seconds(1));
  EXPECT_EQ(Free(zero, Lane::kScheduling), 5);
  RateLimiter negative(-1, 0, clock_);
  EXPECT_EQ(Free(negative, Lane::kScheduling), 100);
  EXPECT_EQ(Free(negative, Lane::kBackground), 100);
}

TEST_F(RateLimiterTest, SaysSoWhenTheDeadlineComesFirst) {
  RateLimiter limiter(1, 1, clock_);
  ASSERT_TRUE(limiter.Acquire(Lane::kScheduling, clock_.Steady(), {}));
  EXPECT_EQ(limiter.Acquire(Lane::kScheduling, clock_.Steady(), {}).error().code,
            ErrorCode::kDeadline);
}

// The clock stands still, so nobody goes until the test moves it and then makes
// the waiting calls look again.
TEST_F(RateLimiterTest, ABackgroundCallWaitsForSchedulingCalls) {
  RateLimiter limiter(0.001, 1, clock_);
  ASSERT_TRUE(limiter.Acquire(Lane::kBackground, clock_.Steady(), {}));
  const auto wait_in = [&](Lane lane) {
    auto call = std::async(std::launch::async,
                           [&, lane] { return limiter.Acquire(lane, SteadyTime::max(), {}); });
    while (limiter.waiting(lane) == 0) std::this_thread::yield();
    return call;
  };
  const auto next_token = [&] {
    clock_.Advance(seconds(1000));
    EXPECT_FALSE(limiter.Acquire(Lane::kBackground, clock_.Steady() - seconds(1), {}));
  };
  auto background = wait_in(Lane::kBackground);
  auto scheduling = wait_in(Lane::kScheduling);
  next_token();
  EXPECT_TRUE(scheduling.get());
  EXPECT_EQ(limiter.waiting(Lane::kBackground), 1);
  next_token();
  EXPECT_TRUE(background.get());
}

TEST_F(RateLimiterTest, AStopEndsTheWait) {
  RateLimiter limiter(0.001, 1, clock_);
  ASSERT_TRUE(limiter.Acquire(Lane::kScheduling, clock_.Steady(), {}));
  std::stop_source stop;
  auto waiting = std::async(std::launch::async, [&] {
    return limiter.Acquire(Lane::kScheduling, SteadyTime::max(), stop.get_token());
  });
  stop.request_stop();
  EXPECT_EQ(waiting.get().error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace aliquot::kube
