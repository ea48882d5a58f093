// Clock: where time comes from. Everything that waits, expires or stamps takes
// one, so that tests move time instead of waiting for it.
#pragma once

#include <chrono>

namespace aliquot {

using WallTime = std::chrono::system_clock::time_point;
using SteadyTime = std::chrono::steady_clock::time_point;
using Duration = std::chrono::nanoseconds;

// Thread safety: any method from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime Now() const = 0;       // for stamps that others read
  virtual SteadyTime Steady() const = 0;  // for ages and deadlines
};

// The machine's clock; lives for ever.
Clock& SystemClock();

}  // namespace aliquot
