// Total: a sum of DeviceUse that never drifts. Amounts come from texts that
// anybody may write; a saturated 64-bit sum could not be given back.
//
// Plain value. Units as in DeviceUse.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "aliquot/core/model.h"

namespace aliquot::ledger {

// Adds what is taken, or gives it back.
enum class Sign { kTake = 1, kGiveBack = -1 };

class Total {
 public:
  void Apply(const core::DeviceUse& use, Sign sign) {
    const auto factor = static_cast<__int128>(sign);
    slots_ += factor * use.slots;
    memory_ += factor * use.memory;
    cores_ += factor * use.cores;
  }

  bool zero() const { return slots_ == 0 && memory_ == 0 && cores_ == 0; }

  // As far as 64 bits go.
  core::DeviceUse Use() const { return {Saturate(slots_), Saturate(memory_), Saturate(cores_)}; }

 private:
  static int64_t Saturate(__int128 sum) {
    return static_cast<int64_t>(std::clamp<__int128>(sum, std::numeric_limits<int64_t>::min(),
                                                     std::numeric_limits<int64_t>::max()));
  }

  __int128 slots_ = 0;
  __int128 memory_ = 0;
  __int128 cores_ = 0;
};

}  // namespace aliquot::ledger
