// The decision: which node, and which cards on it. A pure function of the
// request, the snapshot and the policy: no I/O, threads, clock, JSON or logs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "aliquot/core/model.h"
#include "aliquot/core/policy.h"
#include "aliquot/core/reasons.h"
#include "aliquot/core/request.h"
#include "aliquot/core/vendor.h"
#include "aliquot/core/verdicts.h"

namespace aliquot::core {

// A node that the caller asks about. `usage` is null for one that is not
// registered.
struct CandidateNode {
  std::string_view name;
  const NodeUsage* usage = nullptr;
  // For a VerdictMemo: a number of its own, and usage->stamp(), so that what was said
  // before is found without a look at the usage.
  uint32_t slot = 0;
  // The smaller name has the smaller rank. Equal ranks: the names are compared.
  uint32_t rank = 0;
  uint64_t stamp = 0;
};

// The cluster as one decision sees it. Everything outlives the decision.
struct Snapshot {
  std::span<const CandidateNode> nodes;
  // By VendorId: what the pod's namespace may still take. Empty: no limits.
  std::span<const QuotaRoom> quota;
};

// How many of the nodes that fit are put in order: as many as are told of.
constexpr size_t kRankedNodes = 10;

struct ScoredNode {
  uint32_t node = 0;  // position in Snapshot::nodes
  float score = 0;
};

struct RefusedNode {
  uint32_t node = 0;     // position in Snapshot::nodes
  uint32_t refusal = 0;  // position in Decision::refusals
};

struct Decision {
  // The nodes that fit. The best kRankedNodes are the last, best at the end; of
  // equal scores the smaller name is better. The others stand before them
  // in no order.
  std::vector<ScoredNode> feasible;
  std::vector<RefusedNode> refused;  // in the order of the snapshot
  std::vector<Refusal> refusals;     // each once
  // On feasible.back(); empty if there is none.
  Allocation allocation;

  bool fits() const { return !feasible.empty(); }
  const Refusal& Why(const RefusedNode& node) const { return refusals[node.refusal]; }
};

// With a memo, nodes that have not changed since a pod of the same shape was decided
// are not asked again: then nodes have slots and stamps.
// REQUIRES: !pod.empty().
Decision Schedule(const PodRequest& pod, const Snapshot& snapshot, const SchedulePolicy& policy,
                  const Registry& registry, VerdictMemo* memo = nullptr);

// Whether the pod fits on one node, and how. Empty allocation: it does not, and
// `refusal` says why.
struct NodeFit {
  std::optional<Refusal> refusal;
  Allocation allocation;
};
NodeFit FitNode(const PodRequest& pod, const NodeUsage& node, std::span<const QuotaRoom> quota,
                const SchedulePolicy& policy, const Registry& registry);

// A card's score, by which cards are ordered for one container:
// 10 * (w.slot*(r+slots used)/slots + w.core*... + w.memory*...), 0 if one of
// the totals is 0. The container's own request counts only on cards whose type
// is the vendor's key.
float DeviceScore(const Device& card, const DeviceUse& use, const ContainerDemand& demand,
                  const ScoringWeights& weights);

}  // namespace aliquot::core
