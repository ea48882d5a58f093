// One seed, from an empty cluster to an empty cluster.
#pragma once

#include <cstdint>

#include "aliquot/core/vendor.h"
#include "simulation/faults.h"

namespace aliquot::simulation {

struct Figures {
  uint64_t decisions = 0;
  uint64_t binds = 0;
  uint64_t processes = 0;
  uint64_t steps = 0;
  uint64_t hash = 0;  // of all steps
  Faults::Counts faults = {};
};

// Ends the program if a rule is broken. `decisions`: how many are to be made before it gets
// calm. `print`: every step.
Figures RunSeed(uint64_t seed, uint64_t decisions, bool print, const core::Registry& registry);

}  // namespace aliquot::simulation
