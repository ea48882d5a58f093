#include "aliquot/core/schedule.h"

#include <algorithm>

#include "aliquot/base/check.h"
#include "core/fitter.h"

namespace aliquot::core {
namespace {

// The best kRankedNodes to the end, best last.
void Rank(std::vector<ScoredNode>& feasible, std::span<const CandidateNode> nodes, bool spread) {
  const auto better = [&](const ScoredNode& a, const ScoredNode& b) {
    if (a.score != b.score) return spread ? a.score < b.score : a.score > b.score;
    return nodes[a.node].name < nodes[b.node].name;
  };
  const size_t ranked = std::min(kRankedNodes, feasible.size());
  std::partial_sort(feasible.rbegin(), feasible.rbegin() + static_cast<std::ptrdiff_t>(ranked),
                    feasible.rend(), better);
}

}  // namespace

Decision Schedule(const PodRequest& pod, const Snapshot& snapshot, const SchedulePolicy& policy,
                  const Registry& registry) {
  ALIQUOT_CHECK(!pod.empty());
  Decision decision;
  Fitter fitter(pod, snapshot.quota, policy, registry);
  for (size_t i = 0; i < snapshot.nodes.size(); ++i) {
    const NodeUsage* node = snapshot.nodes[i].usage;
    if (node == nullptr) {
      decision.refused.push_back({i, Refusal::Text("node unregistered", true)});
    } else if (std::optional<Refusal> refusal = fitter.Fit(*node)) {
      decision.refused.push_back({i, *std::move(refusal)});
    } else {
      decision.feasible.push_back({i, node->score() + fitter.VendorScore()});
    }
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
