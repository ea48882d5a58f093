// Cards with the best links between them, from the pair scores that the device
// plugin publishes.
#pragma once

#include <vector>

#include "aliquot/core/vendor.h"

namespace aliquot::vendors {

// A core::SelectHook. One card: the one that the others miss least (lowest sum
// of its scores to the other candidates). Several: the set with the highest sum
// over its pairs. Ties: the first in walk order. With numa-bind every NUMA node
// is looked at for itself, and the best set of all is taken.
bool SelectByLinks(const core::Attempt& attempt, std::vector<core::Pick>& picks);

}  // namespace aliquot::vendors
