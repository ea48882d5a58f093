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
//
// The best set is exact for any count among up to 16 cards, and for small counts among
// more. Where looking at every set would take too long, it is the best of those that
// grow from one card by the card with the best links to them: a good one, always the
// same one, and in milliseconds.
bool SelectByLinks(const core::Attempt& attempt, std::vector<core::Pick>& picks);

}  // namespace aliquot::vendors
