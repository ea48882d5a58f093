#include <gtest/gtest.h>

#include "unit/vendors/all_vendors.h"

namespace aliquot::testing {
namespace {

// Dies by the cards they are on, in list order; "" is a die of no card.
Offer Dies(const std::vector<std::string>& aics) {
  std::string text;
  for (size_t i = 0; i < aics.size(); ++i)
    text += std::string(text.empty() ? "" : ",") + R"({"id":"d)" + std::to_string(i) +
            R"(","count":1,"type":"Vastai","health":true,"custominfo":{"DeviceStrategy":"die")" +
            (aics[i].empty() ? "" : R"(,"AIC":")" + aics[i] + "\"") + "}}";
  return {.annotations = {{"hami.io/node-va-register", "[" + text + "]"}}};
}

PodWish Asking(const std::string& count) {
  return PodWish().AppWith({{"vastaitech.com/va", count}});
}

TEST(VastaiTest, DiesOfOneContainerComeFromOneCard) {
  // From the smallest card that has them all.
  EXPECT_EQ(FitText(Asking("2"), Offered(Dies({"A", "A", "A", "B", "B"}))),
            "d4,Vastai,0,0:d3,Vastai,0,0:;");
  EXPECT_EQ(FitText(Asking("3"), Offered(Dies({"A", "A", "A", "B", "B", "C"}))),
            "d2,Vastai,0,0:d1,Vastai,0,0:d0,Vastai,0,0:;");
  // No card has them all: the largest first.
  EXPECT_EQ(FitText(Asking("4"), Offered(Dies({"A", "A", "A", "B", "B", "C"}))),
            "d2,Vastai,0,0:d1,Vastai,0,0:d0,Vastai,0,0:d4,Vastai,0,0:;");
  EXPECT_EQ(FitText(Asking("2"), Offered(Dies({"B", "B", "A", "A"}))),
            "d3,Vastai,0,0:d2,Vastai,0,0:;");
  // Dies of no card are the last.
  EXPECT_EQ(FitText(Asking("2"), Offered(Dies({"A", "", ""}))), "d0,Vastai,0,0:d2,Vastai,0,0:;");
}

TEST(VastaiTest, ASingleDieComesFromTheCardThatHasTheFewestLeft) {
  EXPECT_EQ(FitText(Asking("1"), Offered(Dies({"A", "B", "B"}))), "d0,Vastai,0,0:;");
}

TEST(VastaiTest, UnderMutexADieIsAsBusyAsItsCard) {
  core::NodeUsage node = Offered(Dies({"1", "1", "2"}));
  Use(node, "Vastai", "d0", {1, 0, 0});
  EXPECT_EQ(FitText(Asking("1").Annotate("hami.io/gpu-scheduler-policy", "mutex"), node),
            "d2,Vastai,0,0:;");
  Use(node, "Vastai", "d2", {1, 0, 0});
  EXPECT_EQ(FitText(Asking("1").Annotate("hami.io/gpu-scheduler-policy", "mutex"), node),
            "1/3 ExclusiveDeviceAllocateConflict, 2/3 CardTimeSlicingExhausted");
}

// 1 for dies of one card, half for two of two cards.
TEST(VastaiTest, NodesWithDiesOfOneCardScoreHigher) {
  const core::NodeUsage one = Offered(Dies({"A", "A"}));
  const core::NodeUsage two = Offered(Dies({"A", "B"}));
  const core::CandidateNode nodes[] = {{"a", &one}, {"b", &two}};
  const core::Decision decision =
      core::Schedule(Asking("2").Request(AllVendors()), {nodes, {}}, {}, AllVendors());
  ASSERT_EQ(decision.feasible.size(), 2U);
  EXPECT_FLOAT_EQ(decision.feasible[0].score, 0.5F);
  EXPECT_FLOAT_EQ(decision.feasible[1].score, 1.0F);
}

}  // namespace
}  // namespace aliquot::testing
