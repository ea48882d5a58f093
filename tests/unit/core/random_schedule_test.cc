// Properties of decisions, on random nodes and pods.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "aliquot/base/strings.h"
#include "aliquot/core/collapse.h"
#include "support/builders.h"

namespace aliquot::core {
namespace {

using aliquot::testing::Ask;
using aliquot::testing::Card;
using aliquot::testing::ChartRegistry;
using aliquot::testing::Node;
using aliquot::testing::PodWish;
using aliquot::testing::PolicyOf;

// The seed is in the name of the test.
class RandomScheduleTest : public ::testing::TestWithParam<unsigned> {
 protected:
  int64_t Up(int64_t max) { return std::uniform_int_distribution<int64_t>(0, max)(random_); }
  bool Chance(int percent) { return Up(99) < percent; }
  template <typename T>
  T OneOf(std::initializer_list<T> values) {
    return values.begin()[Up(static_cast<int64_t>(values.size()) - 1)];
  }

  // Small amounts, so that limits are met often.
  std::vector<Card> RandomCards() {
    std::vector<Card> cards;
    for (int64_t i = 0, n = 1 + Up(5); i < n; ++i) {
      Card card{.id = "G" + std::to_string(i)};
      card.numa = Up(2);
      card.slots = Up(4);
      card.memory = OneOf<int64_t>({0, 40, 100, 100, 250});
      card.cores = OneOf<int64_t>({0, 100, 100, 100, 200});
      card.used = {Up(card.slots), Up(card.memory),
                   OneOf<int64_t>({0, Up(card.cores), card.cores})};
      card.type = OneOf<std::string>({"NVIDIA A100", "NVIDIA T4", "NVIDIA", "unknown"});
      card.mode = OneOf<std::string>({"hami-core", "mps", ""});
      card.healthy = Chance(90);
      card.cordoned = Chance(5);
      for (int64_t j = 0; j < n; ++j)
        if (j != i && Chance(70)) card.pair_scores["G" + std::to_string(j)] = Up(20) - 5;
      cards.push_back(std::move(card));
    }
    return cards;
  }

  Ask RandomAsk() {
    Ask ask;
    ask.gpu = std::to_string(1 + Up(2));
    if (Chance(60))
      ask.mem = std::to_string(1 + Up(60));
    else if (Chance(80))
      ask.percent = std::to_string(Up(100));
    if (Chance(60)) ask.cores = std::to_string(OneOf<int64_t>({0, 10, 30, 50, 100, 120}));
    return ask;
  }

  void Select(PodWish& pod) {
    if (Chance(15))
      pod.Annotate("nvidia.com/use-gputype", OneOf<std::string>({"A100", "t4,", ","}));
    if (Chance(15))
      pod.Annotate("nvidia.com/nouse-gpuuuid", OneOf<std::string>({"G0", "G1, G2", ","}));
    if (Chance(15)) pod.Annotate("nvidia.com/vgpu-mode", OneOf<std::string>({"mps", "hami-core"}));
    if (Chance(40)) pod.Annotate("nvidia.com/numa-bind", "true");
    pod.Annotate(std::string(kNodePolicyKey), OneOf<std::string>({"binpack", "spread"}));
    if (Chance(20)) pod.Annotate(std::string(kScoringWeightsKey), "slot=0,core=1,memory=7");
  }

  PodWish RandomPod() {
    PodWish pod;
    Select(pod);
    pod.Annotate(std::string(kCardPolicyKey),
                 OneOf<std::string>({"binpack", "spread", "mutex", "topology-aware", "numa",
                                     "numa,binpack", "spread,mutex", "binpack,topology-aware"}));
    for (int64_t i = 0, n = Up(2); i < n; ++i) {
      const Ask ask = Chance(70) ? RandomAsk() : Ask{};
      Chance(50) ? pod.Init(ask) : pod.Sidecar(ask);
    }
    for (int64_t i = 0, n = Up(2); i < n; ++i) pod.App(Chance(70) ? RandomAsk() : Ask{});
    return pod.App(RandomAsk());
  }

  std::mt19937_64 random_{GetParam()};
};

std::vector<ContainerKind> KindsOf(const PodRequest& pod) {
  std::vector<ContainerKind> kinds;
  for (const ContainerDemand& demand : pod.containers) kinds.push_back(demand.kind);
  return kinds;
}

// What a pod got is what it asked for, container by container.
void ExpectAsAsked(const PodRequest& pod, const SchedulePolicy& policy, const NodeUsage& node,
                   const Allocation& allocation) {
  ASSERT_EQ(allocation.size(), 1U);
  ASSERT_EQ(allocation[0].containers.size(), pod.containers.size());
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    const std::vector<Share>& shares = allocation[0].containers[i];
    if (pod.containers[i].requests.empty()) {
      EXPECT_TRUE(shares.empty());
      continue;
    }
    const ContainerRequest& request = pod.containers[i].requests[0];
    EXPECT_EQ(static_cast<int64_t>(shares.size()), request.count);
    std::set<std::string> ids;
    std::set<int64_t> numa;
    for (const Share& share : shares) {
      const int at = node.FindDevice(0, share.device_id);
      ASSERT_GE(at, 0);
      const Device& card = node.devices()[static_cast<size_t>(at)];
      ids.insert(share.device_id);
      numa.insert(card.numa);
      EXPECT_EQ(share.index, card.index);
      EXPECT_EQ(share.type, "NVIDIA");
      EXPECT_EQ(share.cores, std::min<int64_t>(request.cores, 100));
      EXPECT_EQ(share.memory,
                request.memory > 0 ? request.memory : card.memory * request.memory_percent / 100);
      EXPECT_TRUE(card.healthy && !card.cordoned && card.type != "unknown");
      EXPECT_TRUE(pod.selectors[0].AllowsType(card.type));
      EXPECT_TRUE(pod.selectors[0].AllowsMode(card.mode));
      EXPECT_TRUE(pod.selectors[0].AllowsId(card.id));
      if (policy.cards.mutex) {
        EXPECT_EQ(node.use()[static_cast<size_t>(at)].slots, 0);
      }
    }
    EXPECT_EQ(ids.size(), shares.size()) << "a card twice in one container";
    if (pod.numa_bind) {
      EXPECT_EQ(numa.size(), 1U);
    }
  }
}

TEST_P(RandomScheduleTest, NeverOvercommitsACardOrAQuota) {
  NodeUsage node = Node("n1", RandomCards());
  std::vector<QuotaRoom> quota;
  if (Chance(40)) quota = {{.memory = Up(300), .cores = {}}};
  if (Chance(20)) quota = {{.memory = Up(300), .cores = Up(300)}};
  for (int round = 0; round < 20; ++round) {
    const PodWish wish = RandomPod();
    const PodRequest pod = wish.Request();
    const SchedulePolicy policy = PolicyOf(wish);
    const NodeFit fit = FitNode(pod, node, quota, policy, ChartRegistry());
    if (fit.refusal) {
      EXPECT_FALSE(fit.refusal->ToString().empty());
      continue;
    }
    ExpectAsAsked(pod, policy, node, fit.allocation);
    for (const Charge& charge : Collapse(fit.allocation, KindsOf(pod), false)) {
      const auto at = static_cast<size_t>(node.FindDevice(0, charge.device_id));
      const Device& card = node.devices()[at];
      node.SetUse(at, node.use()[at] + charge.use);
      const DeviceUse& use = node.use()[at];
      EXPECT_LE(use.slots, card.slots);
      EXPECT_LE(use.memory, card.memory);
      EXPECT_LE(use.cores, card.cores);
      if (quota.empty()) continue;
      for (const auto& [left, taken] : {std::pair(&quota[0].memory, charge.use.memory),
                                        std::pair(&quota[0].cores, charge.use.cores)})
        if (*left) {
          **left -= taken;
          EXPECT_GE(**left, 0);
        }
    }
  }
}

// Whether one more share of this size may go onto the card, said once more.
bool MayTake(const PodRequest& pod, const SchedulePolicy& policy, const Device& card,
             const DeviceUse& used) {
  const ContainerRequest& request = pod.containers[0].requests[0];
  const int64_t cores = std::min<int64_t>(request.cores, 100);
  const int64_t memory =
      request.memory > 0 ? request.memory : card.memory * request.memory_percent / 100;
  const CardSelector& selector = pod.selectors[0];
  return card.healthy && !card.cordoned && Contains(ToUpper(card.type), "NVIDIA") &&
         selector.AllowsType(card.type) && selector.AllowsMode(card.mode) &&
         selector.AllowsId(card.id) && used.slots + 1 <= card.slots &&
         !(policy.cards.mutex && used.slots > 0) && used.memory + memory <= card.memory &&
         used.cores + cores <= card.cores &&
         !(card.cores == 100 && cores == 100 && used.slots > 0) &&
         !(card.cores > 0 && used.cores == card.cores && cores == 0);
}

TEST_P(RandomScheduleTest, RefusesOnlyANodeThatHasNoRoom) {
  for (int round = 0; round < 20; ++round) {
    const NodeUsage node = Node("n1", RandomCards());
    PodWish wish = PodWish().App(RandomAsk());
    Select(wish);
    wish.Annotate(std::string(kCardPolicyKey),
                  OneOf<std::string>({"binpack", "spread", "mutex", "topology-aware", "numa",
                                      "spread,mutex", "binpack,topology-aware"}));
    const PodRequest pod = wish.Request();
    const SchedulePolicy policy = PolicyOf(wish);
    std::map<int64_t, int64_t> suitable;  // by NUMA node, or all together
    for (size_t i = 0; i < node.devices().size(); ++i)
      if (MayTake(pod, policy, node.devices()[i], node.use()[i]))
        ++suitable[pod.numa_bind ? node.devices()[i].numa : 0];
    const bool has_room = std::any_of(suitable.begin(), suitable.end(), [&](const auto& group) {
      return group.second >= pod.containers[0].requests[0].count;
    });
    const NodeFit fit = FitNode(pod, node, {}, policy, ChartRegistry());
    EXPECT_EQ(!fit.refusal.has_value(), has_room)
        << (fit.refusal ? fit.refusal->ToString() : "") << " policy "
        << wish.annotations().find(kCardPolicyKey)->second;
  }
}

// By name, so that decisions over differently ordered nodes can be compared.
struct Outcome {
  std::string chosen;
  Allocation allocation;
  std::map<std::string, float> feasible;
  std::map<std::string, std::string> refused;

  bool operator==(const Outcome&) const = default;
};

Outcome Decide(const PodWish& wish, const std::vector<NodeUsage>& nodes,
               std::span<const QuotaRoom> quota = {}, VerdictMemo* memo = nullptr) {
  std::vector<CandidateNode> candidates;
  for (const NodeUsage& node : nodes)
    candidates.push_back({node.name(), node.devices().empty() ? nullptr : &node,
                          static_cast<uint32_t>(candidates.size()), 0, node.stamp()});
  const Decision decision =
      Schedule(wish.Request(), {candidates, quota}, PolicyOf(wish), ChartRegistry(), memo);
  Outcome outcome;
  for (const ScoredNode& scored : decision.feasible)
    outcome.feasible[nodes[scored.node].name()] = scored.score;
  for (const RefusedNode& refused : decision.refused)
    outcome.refused[nodes[refused.node].name()] = decision.Why(refused).ToString();
  if (decision.fits()) outcome.chosen = nodes[decision.feasible.back().node].name();
  outcome.allocation = decision.allocation;
  return outcome;
}

TEST_P(RandomScheduleTest, VerdictsThatAreKeptChangeNothing) {
  std::vector<NodeUsage> nodes{NodeUsage({"unregistered", {}})};
  for (int i = 0; i < 10; ++i) nodes.push_back(Node("n" + std::to_string(i), RandomCards()));
  const std::vector<PodWish> wishes{RandomPod(), RandomPod(), RandomPod(), RandomPod()};
  VerdictMemo memo;
  for (int round = 0; round < 100; ++round) {
    PodWish wish = wishes[static_cast<size_t>(Up(3))];
    std::vector<QuotaRoom> quota;
    if (Chance(10)) quota = {{.memory = Up(300), .cores = {}}};
    const Outcome outcome = Decide(wish, nodes, quota, &memo);
    ASSERT_EQ(outcome, Decide(wish, nodes, quota)) << "round " << round;
    NodeUsage& changed = nodes[static_cast<size_t>(1 + Up(9))];
    switch (Up(3)) {
      case 0:
        changed = Node(changed.name(), RandomCards());
        break;
      case 1:
        changed.SetUnreadable(0, Chance(50));
        break;
      default:
        changed.SetUse(0, {Up(2), Up(50), Up(100)});
    }
  }
}

TEST_P(RandomScheduleTest, TheOrderOfTheNodesDoesNotMatter) {
  std::vector<NodeUsage> nodes;
  // Few different nodes, so that scores are often equal.
  const std::vector<Card> kinds[] = {RandomCards(), RandomCards(), RandomCards()};
  for (int i = 0; i < 30; ++i) nodes.push_back(Node("n" + std::to_string(i), kinds[Up(2)]));
  for (int round = 0; round < 5; ++round) {
    const PodWish wish = RandomPod();
    const Outcome first = Decide(wish, nodes);
    EXPECT_EQ(first, Decide(wish, nodes));
    std::shuffle(nodes.begin(), nodes.end(), random_);
    EXPECT_EQ(first, Decide(wish, nodes));
    if (first.chosen.empty()) continue;
    // The best score, and of those the smallest name.
    const bool spread = PolicyOf(wish).spread_nodes;
    for (const auto& [name, score] : first.feasible) {
      const float best = first.feasible.at(first.chosen);
      EXPECT_TRUE(spread ? best <= score : best >= score) << name;
      if (score == best) {
        EXPECT_LE(first.chosen, name);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomScheduleTest, ::testing::Range(1U, 101U));

}  // namespace
}  // namespace aliquot::core
