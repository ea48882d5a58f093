// The gates that vendors' tables are made of. Each looks at one card and says
// why it cannot be taken, or kNone.
#pragma once

#include "aliquot/core/vendor.h"

namespace aliquot::core::gates {

Reason Healthy(Candidate& candidate);
Reason NotCordoned(Candidate& candidate);
Reason TypeAllowed(Candidate& candidate);  // model lists and sharing mode of the pod
Reason IdAllowed(Candidate& candidate);
Reason FreeSlot(Candidate& candidate);
Reason IdleUnderMutex(Candidate& candidate);  // policy `mutex` wants idle cards

// numa-bind: a card of another NUMA node starts a new group, the picks of the
// old one are given up (and counted as NumaNotFit). Never an objection itself.
Reason NumaGroup(Candidate& candidate);

Reason QuotaAllows(Candidate& candidate);
Reason FreeMemory(Candidate& candidate);
Reason FreeCores(Candidate& candidate);
Reason ExclusiveIsIdle(Candidate& candidate);    // all 100 cores of a card: nobody else on it
Reason CoresNotExhausted(Candidate& candidate);  // no share without cores of a card with none left

}  // namespace aliquot::core::gates
