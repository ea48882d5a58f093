// Two schedulers' decisions for one pod, compared. A pure function.
#pragma once

#include <span>
#include <string>

#include "aliquot/core/model.h"
#include "aliquot/core/schedule.h"
#include "aliquot/scheduler/shadow.h"

namespace aliquot::scheduler {

// What was written on the pod by the other one.
struct TheirPlacement {
  std::string node;
  core::Allocation allocation;
  std::string unreadable = {};  // why the text cannot be read; empty: it can
  std::string no_room = {};     // why the ledger has no room for it; empty: it has
};

// What we decide for the same pod.
struct OurDecision {
  std::vector<std::string> nodes;  // the candidates, as the decision numbers them
  core::Decision decision;
  std::string objection = {};  // why there is no decision; empty: there is one
};

ShadowVerdict Compare(const TheirPlacement& theirs, const OurDecision& ours);

}  // namespace aliquot::scheduler
