// FakeClock: stands still until a test moves it.
#pragma once

#include <atomic>
#include <cstdint>

#include "aliquot/base/clock.h"

namespace aliquot {

// Thread safety: any method from any thread.
class FakeClock : public Clock {
 public:
  // Starts at 2026-01-01T00:00:00Z.
  WallTime Now() const override {
    return WallTime{std::chrono::duration_cast<WallTime::duration>(
        std::chrono::seconds(1767225600) + Elapsed())};
  }
  SteadyTime Steady() const override { return SteadyTime{std::chrono::hours(1) + Elapsed()}; }

  void Advance(Duration by) { elapsed_ += by.count(); }

 private:
  Duration Elapsed() const { return Duration{elapsed_.load()}; }

  std::atomic<int64_t> elapsed_{0};
};

}  // namespace aliquot
