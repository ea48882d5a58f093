// What goes wrong in one seed. Every seed has some of the kinds, each as often as the seed
// says: rare coincidences need faults that do not drown each other.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "aliquot/base/clock.h"
#include "property/random.h"

namespace aliquot::simulation {

enum class Fault {
  // Of the API server and the way to it.
  kSlow,         // an answer that takes seconds, perhaps beyond the caller's deadline
  kLostRequest,  // nothing was done, and nobody knows
  kLostAnswer,   // it was done, and nobody knows
  kConflict,     // 409 for no reason of ours
  kTooMany,      // 429
  kServerError,  // 503
  kOutage,       // for a while nothing gets through, answers that were on their way neither
  kStorm,        // for a while almost everything is answered with 429
  kWatchCut,     // the stream of a watch breaks
  kTwice,        // a watch tells the same event twice
  kStall,        // one cache falls behind
  kCompaction,   // the history is gone: 410, and a new list
  // Of the scheduler and those who call it.
  kRestart,     // the process ends, also in the midst of a write
  kOverlap,     // an old process goes on for a while beside the new one
  kNoBind,      // a filter without a bind
  kBlindBind,   // a bind without a filter before
  kDoubleCall,  // the same question twice at the same time
  kStalePod,    // kube-scheduler asks with an old copy of the pod, or for one that is bound
  // Of the cluster.
  kNodeChange,   // cards come, go, grow, shrink, fall ill
  kNodeLoss,     // a node is deleted, and perhaps returns
  kDeadPlugin,   // a device plugin stops answering
  kPodDeletion,  // at any point of the pod's life
  kReplacedPod,  // between filter and bind another pod gets the name
  kQuota,        // quotas come and go
  kCount,
};

std::string_view NameOf(Fault fault);

class Faults {
 public:
  explicit Faults(property::Random& random);

  // Draws; counts it if so.
  bool Happens(Fault fault);

  // May happen in this seed.
  bool has(Fault fault) const { return permille_[Index(fault)] > 0; }

  // No more faults from here on.
  void Stop() { permille_.fill(0); }

  using Counts = std::array<uint64_t, static_cast<size_t>(Fault::kCount)>;
  const Counts& counts() const { return counts_; }

 private:
  static size_t Index(Fault fault) { return static_cast<size_t>(fault); }

  property::Random& random_;
  std::array<int, static_cast<size_t>(Fault::kCount)> permille_ = {};
  Counts counts_ = {};
};

}  // namespace aliquot::simulation
