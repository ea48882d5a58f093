#include "aliquot/core/policy.h"

#include <gtest/gtest.h>

namespace aliquot::core {
namespace {

using Order = CardPolicy::Order;
using Key = CardPolicy::Key;

constexpr bool kMutex = true;
constexpr bool kTopology = true;

struct PolicyRow {
  std::string_view text;
  Order order;
  std::vector<Key> chain = {};
  bool mutex = false;
  bool topology_aware = false;
};

TEST(CardPolicyTest, ReadsWordsAndLists) {
  const PolicyRow rows[] = {
      {"binpack", Order::kBinpack},
      {"spread", Order::kSpread},
      {"mutex", Order::kMutex, {}, kMutex},
      {"topology-aware", Order::kSpread, {}, !kMutex, kTopology},
      {"numa", Order::kChain, {Key::kNuma}},
      // A single value that names no policy, and no value.
      {"binpak", Order::kSpread},
      {"BINPACK", Order::kSpread},
      {"topology-aware-2", Order::kSpread},
      {"mutexed", Order::kSpread},
      {"", Order::kSpread},
      // Lists: known words in the order written, trimmed, each once.
      {"numa,binpack", Order::kChain, {Key::kNuma, Key::kBinpack}},
      {"binpack,numa", Order::kChain, {Key::kBinpack, Key::kNuma}},
      {" spread , numa ,spread", Order::kChain, {Key::kSpread, Key::kNuma}},
      {"binpack,", Order::kChain, {Key::kBinpack}},
      {"binpack,xyz,numa", Order::kChain, {Key::kBinpack, Key::kNuma}},
      {",", Order::kChain, {Key::kSpread}},
      {"x,y", Order::kChain, {Key::kSpread}},
      // mutex and topology-aware order nothing, wherever they stand.
      {"binpack, mutex", Order::kChain, {Key::kBinpack}, kMutex},
      {"topology-aware,numa", Order::kChain, {Key::kNuma}, !kMutex, kTopology},
      {"mutex,topology-aware", Order::kChain, {Key::kSpread}, kMutex, kTopology},
  };
  for (const PolicyRow& row : rows) {
    const CardPolicy policy = ParseCardPolicy(row.text);
    EXPECT_EQ(policy.order, row.order) << row.text;
    EXPECT_EQ(policy.chain, row.chain) << row.text;
    EXPECT_EQ(policy.mutex, row.mutex) << row.text;
    EXPECT_EQ(policy.topology_aware, row.topology_aware) << row.text;
  }
}

TEST(CardPolicyTest, KnowsWhatNamesAPolicy) {
  for (const char* text :
       {"binpack", "spread", "numa", "mutex", "topology-aware", "x,numa", "binpack,", " mutex , y"})
    EXPECT_TRUE(IsCardPolicy(text)) << text;
  for (const char* text : {"", " ", ",", "binpak", "Spread", "topology", "x,y"})
    EXPECT_FALSE(IsCardPolicy(text)) << text;
}

TEST(NodePolicyTest, IsBinpackOrSpreadToTheLetter) {
  EXPECT_TRUE(IsNodePolicy("binpack"));
  EXPECT_TRUE(IsNodePolicy("spread"));
  for (const char* text : {"", "numa", "Spread", "spread ", "binpack,spread"})
    EXPECT_FALSE(IsNodePolicy(text)) << text;
}

// ---- scoring weights

TEST(ScoringWeightsTest, ReadsThreeWeightsInAnyOrder) {
  EXPECT_EQ(*ParseScoringWeights("slot=1,core=2,memory=3"), (ScoringWeights{1, 2, 3}));
  EXPECT_EQ(*ParseScoringWeights(" memory = 3, slot = 1, core = 0 "), (ScoringWeights{1, 0, 3}));
  EXPECT_EQ(*ParseScoringWeights("core=+7,memory=0,slot=0"), (ScoringWeights{0, 7, 0}));
  EXPECT_EQ(*ParseScoringWeights("slot=9223372036854775807,core=0,memory=0"),
            (ScoringWeights{9223372036854775807, 0, 0}));
}

struct WeightsRow {
  std::string text;
  std::string problem;
};

TEST(ScoringWeightsTest, NamesTheFirstProblem) {
  const std::string kThree = "expected slot, core, and memory weights";
  const WeightsRow rows[] = {
      {"", kThree},
      {"slot=1", kThree},
      {"slot=1,core=1", kThree},
      {"slot=1,core=1,memory=1,", kThree},
      {"slot=1,core=1,memory", "expected key=value entries"},
      {"slot,core,memory", "expected key=value entries"},
      {",,", "expected key=value entries"},
      {"slot=1,slot=2,memory=3", "duplicate \"slot\" weight"},
      {"slot=1, slot =x,memory=3", "duplicate \"slot\" weight"},
      {"x=1,x=2,y=3", "unknown weight \"x\""},  // before the second one is looked at
      {"slot=1.5,core=1,memory=3", "\"slot\" weight must be an integer"},
      {"slot=,core=1,memory=3", "\"slot\" weight must be an integer"},
      {"slot=1=2,core=1,memory=3", "\"slot\" weight must be an integer"},
      {"slot=9223372036854775808,core=1,memory=3", "\"slot\" weight must be an integer"},
      {"gpu=x,core=1,memory=3", "\"gpu\" weight must be an integer"},
      {"slot=1,core=-1,memory=3", "\"core\" weight must not be negative"},
      {"gpu=-1,core=1,memory=3", "\"gpu\" weight must not be negative"},
      {"slot=1,core=1,gpu=1", "unknown weight \"gpu\""},
      {"slot=1,core=1,Memory=1", "unknown weight \"Memory\""},
      {"=1,core=1,memory=1", "unknown weight \"\""},
      {"slot=0,core=0,memory=0", "at least one weight must be positive"},
  };
  for (const WeightsRow& row : rows) {
    const Result<ScoringWeights> weights = ParseScoringWeights(row.text);
    ASSERT_FALSE(weights.ok()) << row.text;
    EXPECT_EQ(weights.error().message, "invalid hami.io/device-scoring-weights annotation \"" +
                                           row.text + "\": " + row.problem);
  }
}

// ---- annotations over flags

constexpr const char* kNodeKey = "hami.io/node-scheduler-policy";
constexpr const char* kCardKey = "hami.io/gpu-scheduler-policy";

TEST(ResolvePolicyTest, TakesTheFlagsWhereThePodSaysNothing) {
  const SchedulePolicy hami = *ResolvePolicy({}, {});
  EXPECT_FALSE(hami.spread_nodes);
  EXPECT_EQ(hami.cards.order, Order::kSpread);
  EXPECT_EQ(hami.weights, (ScoringWeights{1, 1, 1}));

  const SchedulePolicy flags = *ResolvePolicy({}, {.node = "spread", .card = "mutex"});
  EXPECT_TRUE(flags.spread_nodes);
  EXPECT_TRUE(flags.cards.mutex);
}

TEST(ResolvePolicyTest, ThePodsAnnotationsComeBeforeTheFlags) {
  const SchedulePolicy policy =
      *ResolvePolicy({{kNodeKey, "binpack"},
                      {kCardKey, "numa,binpack"},
                      {"hami.io/device-scoring-weights", "slot=1,core=0,memory=3"}},
                     {.node = "spread", .card = "spread"});
  EXPECT_FALSE(policy.spread_nodes);
  EXPECT_EQ(policy.cards.chain, (std::vector{Key::kNuma, Key::kBinpack}));
  EXPECT_EQ(policy.weights, (ScoringWeights{1, 0, 3}));
  EXPECT_TRUE(policy.unknown.empty());
}

TEST(ResolvePolicyTest, PassesOverAnnotationsThatNameNoPolicyAndSaysSo) {
  const SchedulePolicy policy = *ResolvePolicy({{kNodeKey, "spreed"}, {kCardKey, "binpak"}},
                                               {.node = "spread", .card = "binpack"});
  EXPECT_TRUE(policy.spread_nodes);
  EXPECT_EQ(policy.cards.order, Order::kBinpack);
  EXPECT_EQ(policy.unknown,
            (std::vector<std::string>{"unknown hami.io/node-scheduler-policy \"spreed\"",
                                      "unknown hami.io/gpu-scheduler-policy \"binpak\""}));
}

TEST(ResolvePolicyTest, EmptyAnnotationsAreAbsent) {
  const SchedulePolicy policy =
      *ResolvePolicy({{kNodeKey, ""}, {kCardKey, ""}}, {.node = "spread", .card = "binpack"});
  EXPECT_TRUE(policy.spread_nodes);
  EXPECT_EQ(policy.cards.order, Order::kBinpack);
  EXPECT_TRUE(policy.unknown.empty());
}

TEST(ResolvePolicyTest, UnknownFlagsActAsBinpackForNodesAndSpreadForCards) {
  const SchedulePolicy policy = *ResolvePolicy({}, {.node = "spreed", .card = "binpak"});
  EXPECT_FALSE(policy.spread_nodes);
  EXPECT_EQ(policy.cards.order, Order::kSpread);
  EXPECT_TRUE(policy.unknown.empty());
}

TEST(ResolvePolicyTest, BadWeightsAreAnError) {
  const auto policy = ResolvePolicy({{"hami.io/device-scoring-weights", ""}}, {});
  ASSERT_FALSE(policy.ok());
  EXPECT_EQ(policy.error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace aliquot::core
