#include "scheduler/shadow_verdict.h"

#include <algorithm>
#include <cstdio>
#include <tuple>
#include <vector>

#include "aliquot/ledger/ledger.h"

namespace aliquot::scheduler {
namespace {

// In whatever order a container's cards were written.
auto SharesOf(const core::Allocation& allocation) {
  std::vector<std::tuple<core::VendorId, size_t, std::string, int64_t, int64_t>> shares;
  ledger::ForEachShare(
      allocation, [&](core::VendorId vendor, size_t container, const core::Share& share) {
        shares.emplace_back(vendor, container, share.device_id, share.memory, share.cores);
      });
  std::ranges::sort(shares);
  return shares;
}

std::optional<float> ScoreOf(const std::string& node, const OurDecision& ours) {
  for (const core::ScoredNode& scored : ours.decision.feasible)
    if (ours.nodes[scored.node] == node) return scored.score;
  return std::nullopt;
}

std::string WhyNot(const std::string& node, const OurDecision& ours) {
  if (!ours.objection.empty()) return ours.objection;
  for (const core::RefusedNode& refused : ours.decision.refused)
    if (ours.nodes[refused.node] == node)
      return node + ": " + ours.decision.Why(refused).ToString();
  return node + ": " + std::string(core::kNodeUnregistered);
}

std::string Text(float score) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", static_cast<double>(score));
  return text;
}

}  // namespace

ShadowVerdict Compare(const TheirPlacement& theirs, const OurDecision& ours) {
  ShadowVerdict verdict;
  verdict.their_score = ScoreOf(theirs.node, ours);
  if (ours.decision.fits()) {
    const core::ScoredNode& best = ours.decision.feasible.back();
    verdict.node = ours.nodes[best.node];
    verdict.score = best.score;
  }
  const auto is = [&](ShadowOutcome outcome, std::string reason) {
    verdict.outcome = outcome;
    verdict.reason = std::move(reason);
    return verdict;
  };
  if (!theirs.unreadable.empty()) return is(ShadowOutcome::kUnreadable, theirs.unreadable);
  if (!theirs.no_room.empty())
    return is(ShadowOutcome::kOvercommitted,
              theirs.no_room + (verdict.their_score ? "" : "; " + WhyNot(theirs.node, ours)));
  if (verdict.node.empty()) return is(ShadowOutcome::kRefused, WhyNot(theirs.node, ours));
  if (verdict.node == theirs.node) {
    if (SharesOf(theirs.allocation) == SharesOf(ours.decision.allocation)) return verdict;
    return is(ShadowOutcome::kCards, "other cards or amounts");
  }
  if (!verdict.their_score) return is(ShadowOutcome::kNode, WhyNot(theirs.node, ours));
  if (verdict.their_score == verdict.score)
    return is(ShadowOutcome::kTie, "both score " + Text(*verdict.score));
  return is(ShadowOutcome::kNode, theirs.node + " scores " + Text(*verdict.their_score) + ", " +
                                      verdict.node + " " + Text(*verdict.score));
}

}  // namespace aliquot::scheduler
