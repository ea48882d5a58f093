// Random choices from one seed. The same seed gives the same choices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

namespace aliquot::property {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  // From `least` to `most`, both included.
  int64_t Between(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(engine_);
  }
  bool Chance(int percent) { return Between(1, 100) <= percent; }

  template <typename T>
  T OneOf(std::initializer_list<T> values) {
    return values.begin()[Between(0, static_cast<int64_t>(values.size()) - 1)];
  }
  template <typename T>
  T& Any(std::vector<T>& values) {
    return values[static_cast<size_t>(Between(0, static_cast<int64_t>(values.size()) - 1))];
  }
  template <typename T>
  const T& Any(const std::vector<T>& values) {
    return values[static_cast<size_t>(Between(0, static_cast<int64_t>(values.size()) - 1))];
  }
  template <typename T>
  void Shuffle(std::vector<T>& values) {
    std::shuffle(values.begin(), values.end(), engine_);
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace aliquot::property
