#include "aliquot/core/schedule.h"

#include <algorithm>

#include "aliquot/base/check.h"
#include "core/fitter.h"

namespace aliquot::core {
namespace {

// The best kRankedNodes to the end, best last. Names mostly come in ascending order, so
// of equal scores those that were there first stay the best.
void Rank(std::vector<ScoredNode>& feasible, std::span<const CandidateNode> nodes, bool spread) {
  const auto better = [&](const ScoredNode& a, const ScoredNode& b) {
    if (a.score != b.score) return spread ? a.score < b.score : a.score > b.score;
    const CandidateNode& one = nodes[a.node];
    const CandidateNode& other = nodes[b.node];
    return one.rank != other.rank ? one.rank < other.rank : one.name < other.name;
  };
  const auto ranked = static_cast<std::ptrdiff_t>(std::min(kRankedNodes, feasible.size()));
  std::partial_sort(feasible.begin(), feasible.begin() + ranked, feasible.end(), better);
  std::ranges::reverse(feasible);
}

Verdict Ask(Fitter& fitter, const NodeUsage& usage, Verdicts& verdicts) {
  if (const std::optional<Refusal> refusal = fitter.Fit(usage))
    return {usage.stamp(), 0, verdicts.NumberOf(*refusal)};
  return {usage.stamp(), usage.score() + fitter.VendorScore(), Verdict::kFits};
}

// The refusals of one decision, by their numbers among all that were ever heard.
class RefusalNumbers {
 public:
  RefusalNumbers(const Verdicts& verdicts, std::vector<Refusal>& refusals)
      : verdicts_(verdicts), refusals_(refusals) {}

  uint32_t Of(uint32_t number) {
    if (number >= numbers_.size()) numbers_.resize(verdicts_.refusals(), kNone);
    if (numbers_[number] == kNone) {
      numbers_[number] = static_cast<uint32_t>(refusals_.size());
      refusals_.push_back(verdicts_.refusal(number));
    }
    return numbers_[number];
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  const Verdicts& verdicts_;
  std::vector<Refusal>& refusals_;
  std::vector<uint32_t> numbers_;
};

}  // namespace

Decision Schedule(const PodRequest& pod, const Snapshot& snapshot, const SchedulePolicy& policy,
                  const Registry& registry, VerdictMemo* memo) {
  ALIQUOT_CHECK(!pod.empty());
  Decision decision;
  decision.feasible.reserve(snapshot.nodes.size());
  decision.refused.reserve(snapshot.nodes.size());
  Fitter fitter(pod, snapshot.quota, policy, registry);
  // What a quota leaves changes with every pod: such verdicts are not worth keeping.
  const bool keeps = memo != nullptr && snapshot.quota.empty();
  Verdicts unkept;
  Verdicts& verdicts = keeps ? memo->Of(pod, policy) : unkept;
  std::optional<uint32_t> unregistered;
  const auto verdict_on = [&](const CandidateNode& node) -> Verdict {
    if (node.usage == nullptr) {
      if (!unregistered)
        unregistered =
            verdicts.NumberOf(Refusal::Text(std::string(kNodeUnregistered), /*unresolvable=*/true));
      return {0, 0, *unregistered};
    }
    if (!keeps) return Ask(fitter, *node.usage, verdicts);
    Verdict& kept = verdicts[node.slot];
    if (kept.stamp != node.stamp) kept = Ask(fitter, *node.usage, verdicts);
    return kept;
  };
  RefusalNumbers numbers(verdicts, decision.refusals);
  for (uint32_t i = 0; i < snapshot.nodes.size(); ++i) {
    const Verdict verdict = verdict_on(snapshot.nodes[i]);
    if (verdict.refusal == Verdict::kFits)
      decision.feasible.push_back({i, verdict.score});
    else
      decision.refused.push_back({i, numbers.Of(verdict.refusal)});
  }
  if (!decision.fits()) return decision;
  Rank(decision.feasible, snapshot.nodes, policy.spread_nodes);
  // Only the chosen node's shares are written out; it fits as it did before.
  const std::optional<Refusal> refusal =
      fitter.Fit(*snapshot.nodes[decision.feasible.back().node].usage);
  ALIQUOT_CHECK(!refusal);
  decision.allocation = fitter.TakeAllocation();
  return decision;
}

NodeFit FitNode(const PodRequest& pod, const NodeUsage& node, std::span<const QuotaRoom> quota,
                const SchedulePolicy& policy, const Registry& registry) {
  Fitter fitter(pod, quota, policy, registry);
  if (std::optional<Refusal> refusal = fitter.Fit(node)) return {std::move(refusal), {}};
  return {std::nullopt, fitter.TakeAllocation()};
}

}  // namespace aliquot::core
