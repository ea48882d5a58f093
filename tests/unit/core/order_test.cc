// In which order a policy offers a node's cards to a container.
#include <gtest/gtest.h>

#include "support/builders.h"
#include "unit/core/test_vendor.h"

namespace aliquot::core {
namespace {

using aliquot::testing::Card;
using aliquot::testing::Fit;
using aliquot::testing::Node;
using aliquot::testing::Pod;
using aliquot::testing::PodWish;

// A vendor without gates that takes every card: its picks are the walk.
constexpr VendorSpec kWalker = [] {
  VendorSpec spec = PlainSpec("NVIDIA", {});
  spec.selects = [](const Attempt&) { return true; };
  spec.select = [](const Attempt&, std::vector<Pick>&) { return true; };
  return spec;
}();

// Ids in walk order, each of one letter.
std::string Walk(const std::vector<Card>& cards, std::string_view policy_text, bool numa_bind) {
  static const Registry registry({{kWalker, PlainConfig("nvidia.com")}});
  PodRequest pod = PodWish().AppWith({{"nvidia.com/card", "1"}}).Request(registry);
  pod.numa_bind = numa_bind;
  SchedulePolicy policy;
  policy.cards = ParseCardPolicy(policy_text);
  const NodeFit fit = FitNode(pod, Node("n1", cards, registry), {}, policy, registry);
  std::string ids;
  for (const Share& share : fit.allocation.at(0).containers.at(0)) ids += share.device_id;
  return ids;
}

// Scores are 10 * (slots/10 + memory/100): a and c 1, b and d 3. The walk goes
// from the end of the sorted list to its start.
const std::vector<Card> kFour = {
    {.id = "c", .numa = 1, .used = {1, 0, 0}, .memory = 100},
    {.id = "a", .numa = 0, .used = {1, 0, 0}, .memory = 100},
    {.id = "d", .numa = 1, .used = {0, 30, 0}, .memory = 100},
    {.id = "b", .numa = 0, .used = {0, 30, 0}, .memory = 100},
};

struct Row {
  std::string_view policy;
  std::string_view plain;
  std::string_view numa_bind;
};

TEST(CardOrderTest, FollowsThePolicy) {
  const Row rows[] = {
      {"binpack", "dbca",   // score up, numa up: a c b d
       "badc"},             // numa down, score up: c d a b
      {"spread", "cadb",    // score down, numa up: b d a c
       "cdab"},             // numa up, score down: b a d c
      {"mutex", "dbca",     // slots down, numa up: a c b d
       "dbca"},             // the same
      {"numa", "dcba",      // numa up, index up: a b c d
       "dcba"},             // the same
      {"binpack,", "bdac",  // score up, index up: c a d b
       "dcba"},             // numa up, score up: a b c d
      {"spread,", "acbd",   // score down, index up: d b c a
       "cdab"},             // numa up, score down: b a d c
      {"binpack,numa", "dbca", "dcba"},
      {"numa,binpack", "dcba", "dcba"},
      {"spread,numa", "cadb", "cdab"},
      {"numa,spread", "cdab", "cdab"},
      {"binpack,spread", "bdac", "dcba"},  // equal scores stay equal
      // No word that orders: as spread, in a list with the index behind it.
      {"topology-aware", "cadb", "cdab"},
      {"mutex,topology-aware", "acbd", "cdab"},
      {"unheard-of", "cadb", "cdab"},
      {"", "cadb", "cdab"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(Walk(kFour, row.policy, false), row.plain) << row.policy;
    EXPECT_EQ(Walk(kFour, row.policy, true), row.numa_bind) << row.policy << " numa-bind";
  }
}

TEST(CardOrderTest, OfEqualCardsTheLastRegisteredIsTakenFirst) {
  const std::vector<Card> equal = {{.id = "a"}, {.id = "b"}, {.id = "c"}};
  for (const char* policy : {"binpack", "spread", "mutex", "numa", "binpack,numa"})
    EXPECT_EQ(Walk(equal, policy, false), "cba") << policy;
}

// Slots, cores and memory in parts of 100: gpu-a 10, 90, 10; gpu-b 70, 10, 20.
const std::vector<Card> kUneven = {
    {.id = "gpu-a", .used = {1, 10, 90}, .memory = 100},
    {.id = "gpu-b", .used = {7, 20, 10}, .memory = 100},
};

PodWish Binpack() {
  return Pod({.gpu = "1", .percent = "40"}).Annotate("hami.io/gpu-scheduler-policy", "binpack");
}

TEST(CardOrderTest, WeightsDecideWhichCardIsFuller) {
  // 10 * (0.1 + 0.9 + 0.1) = 11 against 10 * (0.7 + 0.1 + 0.2) = 10
  EXPECT_EQ(Fit(Binpack(), kUneven), "gpu-a,NVIDIA,40,0:;");
  // 10 * (0.1 + 0.9 + 3 * 0.1) = 13 against 10 * (0.7 + 0.1 + 3 * 0.2) = 14
  EXPECT_EQ(
      Fit(Binpack().Annotate("hami.io/device-scoring-weights", "slot=1,core=1,memory=3"), kUneven),
      "gpu-b,NVIDIA,40,0:;");
  // Cores alone: 9 against 1.
  EXPECT_EQ(
      Fit(Binpack().Annotate("hami.io/device-scoring-weights", "slot=0,core=1,memory=0"), kUneven),
      "gpu-a,NVIDIA,40,0:;");
  // Memory alone: 1 against 2.
  EXPECT_EQ(
      Fit(Binpack().Annotate("hami.io/device-scoring-weights", "slot=0,core=0,memory=1"), kUneven),
      "gpu-b,NVIDIA,40,0:;");
}

TEST(CardOrderTest, ASecondContainerStartsFromTheOrderThatTheFirstHasLeft) {
  // Spread: the list becomes b, a, and a is taken, 10 of its memory with it.
  // Now both score 10 * (1/10 + 10/1000), the list stays, and a is taken again.
  const std::vector<Card> cards = {{.id = "a", .memory = 1000},
                                   {.id = "b", .used = {1, 10, 0}, .memory = 1000}};
  EXPECT_EQ(Fit(PodWish().App({.gpu = "1", .mem = "10"}).App({.gpu = "1", .mem = "10"}), cards),
            "a,NVIDIA,10,0:;a,NVIDIA,10,0:;");
}

TEST(CardOrderTest, EveryInitContainerStartsFromTheNodeAsItIs) {
  const std::vector<Card> cards = {{.id = "a"}, {.id = "b"}};
  // b each time: neither init container weighs on the next one or on the app.
  EXPECT_EQ(Fit(PodWish()
                    .Init({.gpu = "1", .mem = "10"})
                    .Init({.gpu = "1", .mem = "20"})
                    .App({.gpu = "1", .mem = "30"}),
                cards),
            "b,NVIDIA,10,0:;b,NVIDIA,20,0:;b,NVIDIA,30,0:;");
}

TEST(CardOrderTest, SpreadTakesIdleCardsOneAfterTheOther) {
  const std::vector<Card> cards = {{.id = "a"}, {.id = "b"}, {.id = "c"}};
  EXPECT_EQ(Fit(PodWish()
                    .App({.gpu = "1", .mem = "1k"})
                    .App({.gpu = "1", .mem = "1k"})
                    .App({.gpu = "1", .mem = "1k"}),
                cards),
            "c,NVIDIA,1000,0:;b,NVIDIA,1000,0:;a,NVIDIA,1000,0:;");
}

TEST(CardOrderTest, BinpackFillsACardBeforeTheNext) {
  // Three times 20000 of 40960: two go onto c, the third does not fit there.
  PodWish pod = PodWish().Annotate("hami.io/gpu-scheduler-policy", "binpack");
  for (int i = 0; i < 3; ++i) pod.App({.gpu = "1", .mem = "20k"});
  EXPECT_EQ(Fit(pod, {{.id = "a"}, {.id = "b"}, {.id = "c"}}),
            "c,NVIDIA,20000,0:;c,NVIDIA,20000,0:;b,NVIDIA,20000,0:;");
}

// What people report: four cards on two NUMA nodes, in use by 90, 70, 30 and
// 10 percent. Scores in tenths: slots 1, cores, memory; only their order counts.
const std::vector<Card> kField = {
    {.id = "Ga", .numa = 0, .used = {1, 36864, 90}},
    {.id = "Gb", .numa = 0, .used = {1, 28672, 70}},
    {.id = "Gc", .numa = 1, .used = {1, 12288, 30}},
    {.id = "Gd", .numa = 1, .used = {1, 4096, 10}},
};

PodWish Field(const std::string& gpus, const std::string& policy) {
  return Pod({.gpu = gpus, .mem = "2048", .cores = "5"})
      .Annotate("hami.io/gpu-scheduler-policy", policy);
}

TEST(CardOrderTest, UtilisationComesBeforeNuma) {
  EXPECT_EQ(Fit(Field("1", "spread"), kField), "Gd,NVIDIA,2048,5:;");
  EXPECT_EQ(Fit(Field("1", "binpack"), kField), "Ga,NVIDIA,2048,5:;");
  EXPECT_EQ(Fit(Field("1", "mutex"), kField), "4/4 ExclusiveDeviceAllocateConflict");
  EXPECT_EQ(Fit(Field("2", "spread").Annotate("nvidia.com/numa-bind", "true"), kField),
            "Gd,NVIDIA,2048,5:Gc,NVIDIA,2048,5:;");
}

}  // namespace
}  // namespace aliquot::core
