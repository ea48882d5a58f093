#include <gtest/gtest.h>

#include "aliquot/base/fake_clock.h"
#include "aliquot/base/mutex.h"
#include "aliquot/base/time_text.h"

namespace aliquot {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(FakeClock, StandsStillUntilMoved) {
  FakeClock clock;
  EXPECT_EQ(FormatRfc3339(clock.Now()), "2026-01-01T00:00:00Z");
  const WallTime wall = clock.Now();
  const SteadyTime steady = clock.Steady();
  EXPECT_EQ(clock.Now(), wall);
  EXPECT_EQ(clock.Steady(), steady);
  clock.Advance(milliseconds(1500));
  EXPECT_EQ(clock.Now() - wall, milliseconds(1500));
  EXPECT_EQ(clock.Steady() - steady, milliseconds(1500));
}

TEST(SystemClock, IsOneAndDoesNotGoBack) {
  Clock& clock = SystemClock();
  EXPECT_EQ(&clock, &SystemClock());
  const SteadyTime before = clock.Steady();
  EXPECT_GE(clock.Steady(), before);
  EXPECT_GT(clock.Now(), *ParseRfc3339("2024-01-01T00:00:00Z"));
}

TEST(CondVar, WaitUntilEndsAtATimeThatHasPassed) {
  Mutex mutex;
  CondVar cond;
  MutexLock lock(mutex);
  EXPECT_FALSE(cond.WaitUntil(mutex, std::chrono::steady_clock::now() - seconds(1)));
}

}  // namespace
}  // namespace aliquot
