// Scheduling policies: which node, and which cards on it. Flags give the
// defaults, pod annotations overrule them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aliquot/base/result.h"
#include "aliquot/base/string_map.h"

namespace aliquot::core {

inline constexpr std::string_view kNodePolicyKey = "hami.io/node-scheduler-policy";
inline constexpr std::string_view kCardPolicyKey = "hami.io/gpu-scheduler-policy";
inline constexpr std::string_view kScoringWeightsKey = "hami.io/device-scoring-weights";

// How a node's cards are ordered before one is taken (from the end of the list).
struct CardPolicy {
  // How the list is sorted; what a comma list names goes into `chain`.
  enum class Order { kBinpack, kSpread, kMutex, kChain };
  enum class Key { kBinpack, kSpread, kNuma };

  Order order = Order::kSpread;
  std::vector<Key> chain;
  bool mutex = false;           // only idle cards
  bool topology_aware = false;  // cards with the best links between them

  bool operator==(const CardPolicy&) const = default;
};

// `binpack`, `spread`, `mutex`, `topology-aware`, `numa`, or a comma list of
// them. Anything else acts as `spread`.
CardPolicy ParseCardPolicy(std::string_view text);
// Holds at least one word that ParseCardPolicy knows.
bool IsCardPolicy(std::string_view text);
// `binpack` or `spread`.
bool IsNodePolicy(std::string_view text);

// How much slots, cores and memory count in a card's score.
struct ScoringWeights {
  int64_t slot = 1;
  int64_t core = 1;
  int64_t memory = 1;

  bool operator==(const ScoringWeights&) const = default;
};

// "slot=1,core=1,memory=3"; the error text names the annotation and the problem.
Result<ScoringWeights> ParseScoringWeights(std::string_view text);

// The texts of the flags.
struct PolicyDefaults {
  std::string node = "binpack";
  std::string card = "spread";
};

struct SchedulePolicy {
  bool spread_nodes = false;  // lowest score wins instead of the highest
  CardPolicy cards;
  ScoringWeights weights;
  // "unknown hami.io/node-scheduler-policy \"spreed\"": annotations that name no
  // policy and were passed over.
  std::vector<std::string> unknown;
};

// Error: the scoring weights of the pod cannot be read.
Result<SchedulePolicy> ResolvePolicy(const StringMap& annotations, const PolicyDefaults& defaults);

}  // namespace aliquot::core
