// Counter and Histogram: what a running process counts about itself, without
// locks. What they are called and how they are written is their owner's business
// (metrics_text.h).
//
// Thread safety: any method from any thread. A histogram that is read while others
// write to it may be missing their latest observations, in whole or in part.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "aliquot/base/clock.h"

namespace aliquot {

class Counter {
 public:
  void Add(uint64_t amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// How long something took.
class Histogram {
 public:
  // Upper bounds, inclusive: from a decision in memory up to a bind that waits for
  // its node lock. Above the last one there is one more bucket.
  static constexpr std::array<Duration, 16> kBounds = {
      std::chrono::microseconds(50),  std::chrono::microseconds(100),
      std::chrono::microseconds(250), std::chrono::microseconds(500),
      std::chrono::milliseconds(1),   std::chrono::microseconds(2500),
      std::chrono::milliseconds(5),   std::chrono::milliseconds(10),
      std::chrono::milliseconds(25),  std::chrono::milliseconds(50),
      std::chrono::milliseconds(100), std::chrono::milliseconds(250),
      std::chrono::seconds(1),        std::chrono::milliseconds(2500),
      std::chrono::seconds(10),       std::chrono::seconds(30),
  };

  void Observe(Duration took) {
    size_t bucket = 0;
    while (bucket < kBounds.size() && took > kBounds[bucket]) ++bucket;
    buckets_[bucket].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(took.count(), std::memory_order_relaxed);
  }

  // Of one bucket alone; kBounds.size() is the one above all bounds.
  uint64_t count(size_t bucket) const { return buckets_[bucket].load(std::memory_order_relaxed); }
  Duration sum() const { return Duration(sum_.load(std::memory_order_relaxed)); }

 private:
  std::array<std::atomic<uint64_t>, kBounds.size() + 1> buckets_{};
  std::atomic<Duration::rep> sum_{0};
};

// What `run` answers; how long it took goes into the histogram.
template <typename Run>
auto Timed(Histogram& histogram, const Clock& clock, Run run) {
  const SteadyTime began = clock.Steady();
  auto answer = run();
  histogram.Observe(clock.Steady() - began);
  return answer;
}

}  // namespace aliquot
