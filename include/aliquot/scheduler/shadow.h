// Shadow: beside another scheduler of the same contract (HAMi), what we would have
// decided for each pod that it places. Nothing is written.
//
// A pod is placed when its allocation annotations appear or change while it is not bound,
// or when it is first seen bound with them. We then decide on the ledger as it stands
// without this pod, compare, and charge what the other has written to the ledger, as the
// pod's reservation, so that the next decision sees it. What does not fit the ledger
// counts once it is bound.
//
// Which nodes kube-scheduler had left for the other is not known here: all that are
// registered are candidates. Our caches lag behind the other's by moments. Both make some
// differences that say nothing about either scheduler.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aliquot/base/clock.h"
#include "aliquot/base/metrics.h"
#include "aliquot/base/metrics_text.h"
#include "aliquot/base/mutex.h"
#include "aliquot/base/object_ref.h"
#include "aliquot/core/policy.h"
#include "aliquot/core/vendor.h"
#include "aliquot/kube/store.h"
#include "aliquot/kube/types.h"
#include "aliquot/ledger/ledger.h"
#include "aliquot/scheduler/sync.h"

namespace aliquot::scheduler {

enum class ShadowOutcome {
  kAgree,          // the same node, cards and amounts
  kTie,            // another node, which scores the same
  kCards,          // the same node, other cards or amounts
  kNode,           // another node
  kRefused,        // we find no node
  kOvercommitted,  // what was given has no room on its cards or in the quota
  kUnreadable,     // what was given cannot be read
  kCount,
};
std::string_view Word(ShadowOutcome outcome);  // "agree"

// The answer to both sides' decisions for one pod.
struct ShadowVerdict {
  ShadowOutcome outcome = ShadowOutcome::kAgree;
  std::string reason;                // why not kAgree
  std::string node;                  // ours; empty: none
  std::optional<float> score;        // of our node
  std::optional<float> their_score;  // of their node, by our reckoning; none: it does not fit there

  bool operator==(const ShadowVerdict&) const = default;
};

struct ShadowDifference {
  WallTime at;
  ObjectRef pod;
  ShadowVerdict verdict;
  std::string shares;  // that we would have given, as text; empty: no node
  std::string their_node;
  std::string their_shares;
};

// Stands before the handler of pod events, to which it passes everything on.
//
// Thread safety: the events by one reflector's thread; the rest from any thread.
class Shadow : public kube::Observer<kube::Pod> {
 public:
  static constexpr size_t kKept = 256;  // differences

  // Everything given outlives it.
  Shadow(kube::Observer<kube::Pod>& next, const core::Registry& registry, ledger::Ledger& ledger,
         const SyncState& sync, const core::PolicyDefaults& policy, const Clock& clock)
      : next_(next),
        registry_(registry),
        ledger_(ledger),
        sync_(sync),
        policy_(policy),
        clock_(clock),
        since_(clock.Now()) {}

  void OnUpsert(const std::shared_ptr<const kube::Pod>& old,
                const std::shared_ptr<const kube::Pod>& now) override;
  void OnDelete(const std::shared_ptr<const kube::Pod>& last) override { next_.OnDelete(last); }
  void OnSynced() override { next_.OnSynced(); }
  void OnListed(SteadyTime asked) override { next_.OnListed(asked); }

  WallTime since() const { return since_; }
  uint64_t count(ShadowOutcome outcome) const {
    return counts_[static_cast<size_t>(outcome)].value();
  }
  // The last kKept, oldest first; agreements and ties are only counted.
  std::vector<ShadowDifference> differences() const;

  void WriteMetrics(MetricsText& text) const;

 private:
  void OnPlaced(const kube::Pod& pod, std::string node);
  void Tell(ShadowDifference difference);

  kube::Observer<kube::Pod>& next_;
  const core::Registry& registry_;
  ledger::Ledger& ledger_;
  const SyncState& sync_;
  const core::PolicyDefaults& policy_;
  const Clock& clock_;
  const WallTime since_;
  std::array<Counter, static_cast<size_t>(ShadowOutcome::kCount)> counts_;

  mutable Mutex mutex_;
  std::deque<ShadowDifference> differences_ GUARDED_BY(mutex_);
};

}  // namespace aliquot::scheduler
