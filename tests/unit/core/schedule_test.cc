#include "aliquot/core/schedule.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "support/builders.h"
#include "unit/core/test_vendor.h"

namespace aliquot::core {
namespace {

using aliquot::testing::Card;
using aliquot::testing::ChartRegistry;
using aliquot::testing::Fit;
using aliquot::testing::Node;
using aliquot::testing::Pod;
using aliquot::testing::PodWish;
using aliquot::testing::PolicyOf;
using aliquot::testing::ToText;

using Nodes = std::vector<NodeUsage>;

std::vector<CandidateNode> Candidates(const Nodes& nodes) {
  std::vector<CandidateNode> candidates;
  for (const NodeUsage& node : nodes)
    candidates.push_back({node.name(), node.devices().empty() ? nullptr : &node});
  return candidates;
}

Decision Decide(const PodWish& pod, const Nodes& nodes) {
  const std::vector<CandidateNode> candidates = Candidates(nodes);
  return Schedule(pod.Request(), {candidates, {}}, PolicyOf(pod), ChartRegistry());
}

// "n1: G0,NVIDIA,3000,0:;", or "none".
std::string Choice(const PodWish& pod, const Nodes& nodes) {
  const Decision decision = Decide(pod, nodes);
  if (!decision.fits()) return "none";
  return nodes[decision.feasible.back().node].name() + ": " +
         ToText({std::nullopt, decision.allocation});
}

// ---- which node, which card

// n1 scores 10 * (1/20 + 25/200 + 2000/16000) = 3, n2 scores
// 10 * (1/20 + 75/200 + 6000/16000) = 8.
Nodes TwoNodes() {
  return {Node("n1",
               {{.id = "d1", .used = {1, 2000, 25}, .memory = 8000}, {.id = "d2", .memory = 8000}}),
          Node("n2", {{.id = "d3", .memory = 8000},
                      {.id = "d4", .used = {1, 6000, 75}, .memory = 8000}})};
}

TEST(ScheduleTest, NodeAndCardPoliciesAreIndependent) {
  struct {
    const char* node;
    const char* card;
    const char* choice;
  } const rows[] = {
      {"binpack", "binpack", "n2: d4,NVIDIA,1000,20:;"},
      {"binpack", "spread", "n2: d3,NVIDIA,1000,20:;"},
      {"spread", "binpack", "n1: d1,NVIDIA,1000,20:;"},
      {"spread", "spread", "n1: d2,NVIDIA,1000,20:;"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(Choice(Pod({.gpu = "1", .mem = "1k", .cores = "20"})
                         .Annotate(std::string(kNodePolicyKey), row.node)
                         .Annotate(std::string(kCardPolicyKey), row.card),
                     TwoNodes()),
              row.choice);
}

TEST(ScheduleTest, AnInitContainerNeedsRoomAsWell) {
  // d4 has 2000 left: neither the init container nor the app fits there.
  EXPECT_EQ(Choice(PodWish()
                       .Annotate(std::string(kCardPolicyKey), "binpack")
                       .Init({.gpu = "1", .mem = "5k", .cores = "20"})
                       .App({.gpu = "1", .mem = "4k", .cores = "20"}),
                   TwoNodes()),
            "n2: d3,NVIDIA,5000,20:;d3,NVIDIA,4000,20:;");
}

TEST(ScheduleTest, OfEqualNodesTheSmallerNameWinsUnderBothPolicies) {
  const Nodes nodes = {Node("n2", {{.id = "x"}}), Node("n10", {{.id = "y"}}),
                       Node("n3", {{.id = "z"}})};
  for (const char* policy : {"binpack", "spread"})
    EXPECT_EQ(
        Choice(Pod({.gpu = "1", .mem = "1k"}).Annotate(std::string(kNodePolicyKey), policy), nodes),
        "n10: y,NVIDIA,1000,0:;")
        << policy;
}

TEST(ScheduleTest, ScoresANodeAsItIsBeforeThePod) {
  const Decision decision = Decide(Pod({.gpu = "1"}), {Node("n1", {{.id = "a"}})});
  ASSERT_TRUE(decision.fits());
  EXPECT_EQ(decision.feasible.back().score, 0.0F);
}

TEST(ScheduleTest, RanksTheBestNodesAtTheEnd) {
  Nodes nodes;
  for (int i = 0; i < 25; ++i)  // used slots: 0, 7, 14, 21, 3, ... each of 0..24 once
    nodes.push_back(
        Node("n" + std::to_string(i), {{.id = "a", .used = {i * 7 % 25, 0, 0}, .slots = 100}}));
  const PodWish pod = Pod({.gpu = "1", .mem = "1"});
  const Decision binpack = Decide(pod, nodes);
  ASSERT_EQ(binpack.feasible.size(), 25U);
  for (size_t i = 0; i < kRankedNodes; ++i)  // 10 * 24/100, 23/100, ...
    EXPECT_FLOAT_EQ(binpack.feasible[24 - i].score, 0.1F * static_cast<float>(24 - i));

  const Decision spread =
      Decide(Pod({.gpu = "1", .mem = "1"}).Annotate(std::string(kNodePolicyKey), "spread"), nodes);
  for (size_t i = 0; i < kRankedNodes; ++i)
    EXPECT_FLOAT_EQ(spread.feasible[24 - i].score, 0.1F * static_cast<float>(i));
}

// ---- refusals

TEST(ScheduleTest, SaysOfEveryNodeWhyNot) {
  const Nodes nodes = {Node("a", {{.id = "0", .memory = 50}}), Node("b", {}),
                       Node("c", {{.id = "0"}, {.id = "1", .healthy = false}})};
  const Decision decision = Decide(Pod({.gpu = "2", .mem = "1000"}), nodes);
  EXPECT_FALSE(decision.fits());
  EXPECT_TRUE(decision.allocation.empty());
  ASSERT_EQ(decision.refused.size(), 3U);
  EXPECT_EQ(decision.Why(decision.refused[0]).ToString(), "NodeInsufficientDevice");
  EXPECT_EQ(decision.Why(decision.refused[1]), Refusal::Text("node unregistered", true));
  EXPECT_EQ(decision.Why(decision.refused[2]).ToString(),
            "1/2 AllocatedCardsInsufficientRequest, 1/2 CardNotHealth");
  EXPECT_EQ(decision.refused[2].node, 2U);
}

TEST(ScheduleTest, NamesTheRefusedBesideTheFeasible) {
  const Decision decision =
      Decide(Pod({.gpu = "1", .mem = "1000"}),
             {Node("a", {{.id = "0", .memory = 50}}), Node("b", {{.id = "0"}})});
  ASSERT_TRUE(decision.fits());
  EXPECT_EQ(decision.feasible.back().node, 1U);
  ASSERT_EQ(decision.refused.size(), 1U);
  EXPECT_EQ(decision.refused[0].node, 0U);
}

TEST(ScheduleTest, TwoCardsAreNotOnOneCard) {
  EXPECT_EQ(Fit(Pod({.gpu = "2", .mem = "1"}), {{.id = "a"}}), "NodeInsufficientDevice");
  EXPECT_EQ(Fit(Pod({.gpu = "2", .mem = "1"}), {{.id = "a"}, {.id = "b"}}),
            "b,NVIDIA,1,0:a,NVIDIA,1,0:;");
}

TEST(ScheduleTest, TheLastContainerIsEnoughToRefuse) {
  EXPECT_EQ(
      Fit(PodWish().App({.gpu = "1", .mem = "1"}).App({.gpu = "1", .mem = "50k"}), {{.id = "a"}}),
      "1/1 CardInsufficientMemory");
}

TEST(ScheduleTest, ANodeWithAnUnreadablePodTakesNoMoreOfThatVendor) {
  NodeUsage node = Node("n1", {{.id = "a"}, {.id = "b"}});
  node.SetUnreadable(0, true);
  const PodWish pod = Pod({.gpu = "1"});
  const auto fit = [&] { return ToText(FitNode(pod.Request(), node, {}, {}, ChartRegistry())); };
  EXPECT_EQ(fit(), "2/2 CardAllocationUnreadable");
  node.SetUnreadable(0, false);
  EXPECT_EQ(fit(), "b,NVIDIA,40960,0:;");
}

// ---- containers

TEST(ScheduleTest, KeepsEmptyListsForContainersThatAskNothing) {
  const std::vector<Card> cards = {{.id = "A"}};
  const auto ask = aliquot::testing::Ask{.gpu = "1", .mem = "1000"};
  EXPECT_EQ(Fit(PodWish().App().App(ask).App(), cards), ";A,NVIDIA,1000,0:;;");
  EXPECT_EQ(Fit(PodWish().Init().Init(ask).App(ask), cards), ";A,NVIDIA,1000,0:;A,NVIDIA,1000,0:;");
  EXPECT_EQ(Fit(PodWish().Init(ask).App().App(ask), cards), "A,NVIDIA,1000,0:;;A,NVIDIA,1000,0:;");
}

TEST(ScheduleTest, ContainersOfOnePodShareTheCardsThereAre) {
  // Three shares are in use of four; two containers need two more.
  const std::vector<Card> cards = {{.id = "G0", .used = {3, 300, 0}, .slots = 4}};
  const auto ask = aliquot::testing::Ask{.gpu = "1", .mem = "100"};
  EXPECT_EQ(Fit(PodWish().App(ask).App(ask), cards), "1/1 CardTimeSlicingExhausted");
  EXPECT_EQ(Fit(PodWish().App(ask), cards), "G0,NVIDIA,100,0:;");
}

TEST(ScheduleTest, InitContainersAreJudgedOneByOneOnTheIdleNode) {
  const std::vector<Card> cards = {{.id = "A", .memory = 10000}};
  // 8000 and 7000 never run at the same time, nor does the app.
  EXPECT_EQ(Fit(PodWish()
                    .Init({.gpu = "1", .mem = "8k"})
                    .Init({.gpu = "1", .mem = "7k"})
                    .App({.gpu = "1", .mem = "9k"}),
                cards),
            "A,NVIDIA,8000,0:;A,NVIDIA,7000,0:;A,NVIDIA,9000,0:;");
  EXPECT_EQ(Fit(PodWish().Init({.gpu = "1", .mem = "1k", .cores = "30"}).App(),
                {{.id = "a", .used = {1, 0, 80}}, {.id = "b", .used = {1, 0, 80}}}),
            "2/2 CardInsufficientCore");
}

TEST(ScheduleTest, ASidecarTakesRoomFromAllThatFollow) {
  const std::vector<Card> cards = {{.id = "A", .memory = 10000}};
  const auto gpu = [](const char* mem) { return aliquot::testing::Ask{.gpu = "1", .mem = mem}; };
  // Beside the app: 4000 + 6000 fit, one MiB more does not.
  EXPECT_EQ(Fit(PodWish().Sidecar(gpu("4k")).App(gpu("6k")), cards),
            "A,NVIDIA,4000,0:;A,NVIDIA,6000,0:;");
  EXPECT_EQ(Fit(PodWish().Sidecar(gpu("4k")).App(gpu("6001")), cards),
            "1/1 CardInsufficientMemory");
  // Beside an init container behind it, not one before it.
  EXPECT_EQ(Fit(PodWish().Sidecar(gpu("4k")).Init(gpu("6001")).App(), cards),
            "1/1 CardInsufficientMemory");
  EXPECT_EQ(Fit(PodWish().Init(gpu("6001")).Sidecar(gpu("4k")).App(), cards),
            "A,NVIDIA,6001,0:;A,NVIDIA,4000,0:;;");
  // Beside each other.
  EXPECT_EQ(Fit(PodWish().Sidecar(gpu("6k")).Sidecar(gpu("5k")).App(), cards),
            "1/1 CardInsufficientMemory");
}

// ---- several vendors

// Cards of both vendors with equal ids.
NodeUsage MixedNode() {
  return Node("n1",
              {{.id = "0", .memory = 100, .type = "Alpha", .vendor = 0},
               {.id = "0", .memory = 200, .type = "Beta", .vendor = 1}},
              TwoVendors());
}

std::string FitMixed(const PodWish& pod, const NodeUsage& node,
                     const std::vector<QuotaRoom>& quota = {}) {
  return ToText(FitNode(pod.Request(TwoVendors()), node, quota, {}, TwoVendors()));
}

TEST(ScheduleTest, WritesOneFullListPerVendorInUse) {
  EXPECT_EQ(FitMixed(PodWish()
                         .AppWith({{"alpha/card", "1"}, {"alpha/mem", "30"}})
                         .AppWith({{"beta/card", "1"}, {"beta/mem", "150"}})
                         .App(),
                     MixedNode()),
            "0,Alpha,30,0:;;; ;0,Beta,150,0:;;");
  EXPECT_EQ(FitMixed(PodWish().App().AppWith({{"beta/card", "1"}}), MixedNode()), ";0,Beta,0,0:;");
}

TEST(ScheduleTest, EqualIdsOfTwoVendorsAreTwoCards) {
  NodeUsage node = MixedNode();
  node.SetUse(0, {10, 100, 0});  // Alpha's is full
  EXPECT_EQ(FitMixed(PodWish().AppWith({{"beta/card", "1"}, {"beta/mem", "150"}}), node),
            "0,Beta,150,0:;");
  EXPECT_EQ(FitMixed(PodWish().AppWith({{"alpha/card", "1"}}), node),
            "1/1 CardTimeSlicingExhausted");
}

TEST(ScheduleTest, EveryVendorOfAContainerHasToFit) {
  EXPECT_EQ(
      FitMixed(PodWish().AppWith({{"alpha/card", "1"}, {"beta/card", "1"}, {"beta/mem", "201"}}),
               MixedNode()),
      "1/1 CardInsufficientMemory");
  EXPECT_EQ(FitMixed(PodWish().AppWith({{"alpha/card", "1"}, {"beta/card", "2"}}), MixedNode()),
            "NodeInsufficientDevice");
}

TEST(ScheduleTest, AnUnreadablePodOfOneVendorDoesNotCloseTheOther) {
  NodeUsage node = MixedNode();
  node.SetUnreadable(1, true);
  EXPECT_EQ(FitMixed(PodWish().AppWith({{"alpha/card", "1"}}), node), "0,Alpha,0,0:;");
  EXPECT_EQ(FitMixed(PodWish().AppWith({{"beta/card", "1"}}), node),
            "1/1 CardAllocationUnreadable");
}

TEST(ScheduleTest, CountsAgainstTheQuotaOfTheirOwnVendor) {
  const std::vector<QuotaRoom> quota = {{.memory = 10, .cores = {}}, {}};
  EXPECT_EQ(
      FitMixed(PodWish().AppWith({{"alpha/card", "1"}, {"alpha/mem", "11"}}), MixedNode(), quota),
      "1/1 ResourceQuotaNotFit");
  EXPECT_EQ(FitMixed(PodWish()
                         .AppWith({{"beta/card", "1"}, {"beta/mem", "200"}})
                         .AppWith({{"alpha/card", "1"}, {"alpha/mem", "10"}}),
                     MixedNode(), quota),
            ";0,Alpha,10,0:; 0,Beta,200,0:;;");
}

TEST(ScheduleTest, AModelWithoutTheVendorsKeyIsNeverHandedOut) {
  EXPECT_EQ(Fit(Pod({.gpu = "1"}), {{.id = "a", .type = "A100-SXM4"}}), "NodeInsufficientDevice");
  EXPECT_EQ(Fit(Pod({.gpu = "1", .mem = "1"}), {{.id = "a", .type = "nvidia a100"}}),
            "a,NVIDIA,1,0:;");
}

TEST(ScheduleTest, AFaultInAVendorRefusesTheNodeAndNothingElse) {
  constexpr Gate kThrows[] = {[](Candidate& candidate) -> Reason {
    if (candidate.card.id == "bad") throw std::runtime_error("no such thing");
    return Reason::kNone;
  }};
  const VendorSpec spec = PlainSpec("Alpha", kThrows);
  const Registry registry({{spec, PlainConfig("alpha")}});
  const Nodes nodes = {Node("a", {{.id = "bad", .type = "Alpha"}}, registry),
                       Node("b", {{.id = "good", .type = "Alpha"}}, registry)};
  const Decision decision = Schedule(PodWish().AppWith({{"alpha/card", "1"}}).Request(registry),
                                     {Candidates(nodes), {}}, {}, registry);
  ASSERT_TRUE(decision.fits());
  EXPECT_EQ(decision.feasible.back().node, 1U);
  ASSERT_EQ(decision.refused.size(), 1U);
  EXPECT_EQ(decision.Why(decision.refused[0]), Refusal::Text("Alpha failed: no such thing", false));
}

TEST(ScheduleTest, FitNodeAgreesWithSchedule) {
  const Nodes nodes = TwoNodes();
  const PodWish pod = Pod({.gpu = "2", .mem = "1k", .cores = "20"});
  const Decision decision = Decide(pod, nodes);
  ASSERT_TRUE(decision.fits());
  const NodeFit fit = FitNode(pod.Request(), nodes[decision.feasible.back().node], {},
                              PolicyOf(pod), ChartRegistry());
  EXPECT_FALSE(fit.refusal.has_value());
  EXPECT_EQ(fit.allocation, decision.allocation);
}

}  // namespace
}  // namespace aliquot::core
