#include "aliquot/core/verdicts.h"

#include <gtest/gtest.h>

#include "aliquot/core/schedule.h"
#include "support/builders.h"

namespace aliquot::core {
namespace {

using aliquot::testing::ChartRegistry;
using aliquot::testing::Node;
using aliquot::testing::PodWish;

PodRequest Wish(const char* memory) { return PodWish().App({.gpu = "1", .mem = memory}).Request(); }

TEST(VerdictMemoTest, AShapeIsWhatPodsAskNotWhoseTheyAre) {
  VerdictMemo memo;
  PodRequest pod = Wish("10");
  memo.Of(pod, {})[7].score = 3;
  pod.pod.uid = "another";
  pod.containers[0].name = "another";
  EXPECT_EQ(memo.Of(pod, {})[7].score, 3);
  EXPECT_EQ(memo.Of(Wish("11"), {})[7].score, 0);
  SchedulePolicy spread;
  spread.spread_nodes = true;
  EXPECT_EQ(memo.Of(pod, spread)[7].score, 0);
  pod.numa_bind = true;
  EXPECT_EQ(memo.Of(pod, {})[7].score, 0);
}

TEST(VerdictMemoTest, KeepsTheShapesAskedForLast) {
  VerdictMemo memo;
  memo.Of(Wish("1"), {})[0].score = 1;
  memo.Of(Wish("2"), {})[0].score = 2;
  for (size_t i = 0; i < VerdictMemo::kShapes; ++i) {
    memo.Of(Wish(std::to_string(100 + i).c_str()), {});
    EXPECT_EQ(memo.Of(Wish("1"), {})[0].score, 1);
  }
  EXPECT_EQ(memo.Of(Wish("2"), {})[0].score, 0);
}

TEST(VerdictsTest, EqualRefusalsHaveOneNumber) {
  Verdicts verdicts;
  EXPECT_EQ(verdicts.NumberOf(Refusal::Text("a", true)), 0U);
  EXPECT_EQ(verdicts.NumberOf(Refusal::Text("a", false)), 1U);
  EXPECT_EQ(verdicts.NumberOf(Refusal::Bare(Reason::kNodeInsufficientDevice)), 2U);
  EXPECT_EQ(verdicts.NumberOf(Refusal::Text("a", true)), 0U);
  EXPECT_EQ(verdicts.refusal(1), Refusal::Text("a", false));
}

TEST(VerdictsTest, ANodeThatStaysAsItIsIsNotAskedAgain) {
  const NodeUsage node = Node("n1", {{.id = "G0"}});
  const CandidateNode candidates[] = {{"n1", &node, 0, 0, node.stamp()}};
  const PodRequest pod = Wish("10");
  VerdictMemo memo;
  Schedule(pod, {candidates, {}}, {}, ChartRegistry(), &memo);
  Verdict& kept = memo.Of(pod, {})[0];
  EXPECT_EQ(kept.stamp, node.stamp());
  kept.score = 123;
  EXPECT_EQ(Schedule(pod, {candidates, {}}, {}, ChartRegistry(), &memo).feasible[0].score, 123);
}

}  // namespace
}  // namespace aliquot::core
