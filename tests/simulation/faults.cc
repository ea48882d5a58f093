#include "simulation/faults.h"

namespace aliquot::simulation {

std::string_view NameOf(Fault fault) {
  switch (fault) {
    case Fault::kSlow:
      return "slow";
    case Fault::kLostRequest:
      return "lost-request";
    case Fault::kLostAnswer:
      return "lost-answer";
    case Fault::kConflict:
      return "conflict";
    case Fault::kTooMany:
      return "too-many";
    case Fault::kServerError:
      return "server-error";
    case Fault::kOutage:
      return "outage";
    case Fault::kStorm:
      return "storm";
    case Fault::kWatchCut:
      return "watch-cut";
    case Fault::kTwice:
      return "twice";
    case Fault::kStall:
      return "stall";
    case Fault::kCompaction:
      return "compaction";
    case Fault::kRestart:
      return "restart";
    case Fault::kOverlap:
      return "overlap";
    case Fault::kNoBind:
      return "no-bind";
    case Fault::kBlindBind:
      return "blind-bind";
    case Fault::kDoubleCall:
      return "double-call";
    case Fault::kStalePod:
      return "stale-pod";
    case Fault::kNodeChange:
      return "node-change";
    case Fault::kNodeLoss:
      return "node-loss";
    case Fault::kDeadPlugin:
      return "dead-plugin";
    case Fault::kPodDeletion:
      return "pod-deletion";
    case Fault::kReplacedPod:
      return "replaced-pod";
    case Fault::kQuota:
      return "quota";
    case Fault::kCount:
      break;
  }
  return "?";
}

Faults::Faults(property::Random& random) : random_(random) {
  if (random.Chance(3)) return;  // a world in which all goes well
  for (int& permille : permille_)
    if (random.Chance(50)) permille = static_cast<int>(random.OneOf<int64_t>({3, 10, 30, 100}));
}

bool Faults::Happens(Fault fault) {
  const int permille = permille_[Index(fault)];
  if (permille == 0 || random_.Between(1, 1000) > permille) return false;
  ++counts_[Index(fault)];
  return true;
}

}  // namespace aliquot::simulation
