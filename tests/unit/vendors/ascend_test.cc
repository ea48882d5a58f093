#include <gtest/gtest.h>

#include "unit/vendors/all_vendors.h"

namespace aliquot::testing {
namespace {

struct Npu {
  uint32_t index = 0;
  std::string network = {};  // JSON; empty: none
};

// Ids "u<position>".
Offer Npus(const std::string& chip, const std::vector<Npu>& npus, StringMap annotations = {}) {
  std::string text;
  for (size_t i = 0; i < npus.size(); ++i)
    text +=
        std::string(text.empty() ? "" : ",") + R"({"id":"u)" + std::to_string(i) + R"(","index":)" +
        std::to_string(npus[i].index) + R"(,"count":10,"devmem":32768,"devcore":30,"type":")" +
        chip + R"(","health":true)" +
        (npus[i].network.empty() ? "" : R"(,"custominfo":{"NetworkID":)" + npus[i].network + "}") +
        "}";
  annotations["hami.io/node-register-" + chip] = "[" + text + "]";
  return {.annotations = std::move(annotations)};
}

PodWish Asking(const std::string& chip, const std::string& count) {
  return PodWish().AppWith(
      {{"huawei.com/" + chip, count}, {"huawei.com/" + chip + "-memory", "1"}});
}

// "3 2" for the NPUs u3 and u2.
std::string Chosen(const PodWish& pod, const core::NodeUsage& node) {
  const core::NodeFit fit = FitOn(pod, node);
  if (fit.refusal) return fit.refusal->ToString();
  std::string text;
  for (const core::Share& share : fit.allocation.at(0).containers.at(0))
    text += (text.empty() ? "" : " ") + share.device_id.substr(1);
  return text;
}

TEST(AscendTest, SeveralNpusComeFromTheLargestNetwork) {
  // Networks 0: 0 to 3, 1: 4 and 5.
  const core::NodeUsage node =
      Offered(Npus("Ascend910A", {{0, "0"}, {1, "0"}, {2, "0"}, {3, "0"}, {4, "1"}, {5, "1"}}));
  const auto chosen = [&](const std::string& count) {
    return Chosen(Asking("Ascend910A", count), node);
  };
  EXPECT_EQ(chosen("1"), "5");
  EXPECT_EQ(chosen("2"), "3 2");
  EXPECT_EQ(chosen("5"), "3 2 1 0 5");
  EXPECT_EQ(chosen("6"), "5 4 3 2 1 0");
}

TEST(AscendTest, NetworksThatAreNoNumbersComeLast) {
  EXPECT_EQ(Chosen(Asking("Ascend910A", "2"),
                   Offered(Npus("Ascend910A", {{0, "0"}, {1, "null"}, {2, "\"x\""}}))),
            "0 2");
}

TEST(AscendTest, PairsShareAModule) {
  const auto chosen = [](const std::string& count, const std::vector<Npu>& npus) {
    return Chosen(Asking("Ascend910C", count), Offered(Npus("Ascend910C", npus)));
  };
  EXPECT_EQ(chosen("2", {{0}, {1}, {2}}), "1 0");
  EXPECT_EQ(chosen("4", {{0}, {1}, {2}, {4}, {6}}), "2/5 AllocatedCardsInsufficientRequest");
  EXPECT_EQ(chosen("2", {{0}, {2}}), "0/2 AllocatedCardsInsufficientRequest");
  // An odd one more: of the half module.
  EXPECT_EQ(chosen("3", {{0}, {1}, {2}, {4}, {5}}), "4 3 2");
  EXPECT_EQ(chosen("3", {{0}, {1}, {2}, {3}}), "3 2 1");
  // Two of one index are no pair.
  EXPECT_EQ(chosen("2", {{0}, {0}}), "0/2 AllocatedCardsInsufficientRequest");
}

TEST(AscendTest, SoftSplitNeedsANodeThatSupportsIt) {
  const PodWish pod = Asking("Ascend910A", "1").Annotate("huawei.com/vnpu-mode", "hami-core");
  EXPECT_EQ(Chosen(pod, Offered(Npus("Ascend910A", {{0}, {1}}))), "1/2 ModeNotFit");
  EXPECT_EQ(Chosen(pod, Offered(Npus("Ascend910A", {{0}}, {{"hami-vnpu-core", "True"}}))),
            "1/1 ModeNotFit");
  EXPECT_EQ(Chosen(pod, Offered(Npus("Ascend910A", {{0}}, {{"hami-vnpu-core", "true"}}))), "0");
}

TEST(AscendTest, CoresOfSoftSplitNodesArePercent) {
  EXPECT_EQ(CardsOf("Ascend910A", Npus("Ascend910A", {{0}})), "u0 10/32768/30 0");
  EXPECT_EQ(CardsOf("Ascend910A", Npus("Ascend910A", {{0}}, {{"hami-vnpu-core", "true"}})),
            "u0 10/32768/100 0");
}

TEST(AscendTest, TellsTheRuntimeTheTemplate) {
  const auto info = [](const std::string& memory, const std::string& mode) {
    return Written(
        PodWish()
            .AppWith({{"huawei.com/Ascend910A", "1"}, {"huawei.com/Ascend910A-memory", memory}})
            .Annotate("huawei.com/vnpu-mode", mode),
        Offered(Npus("Ascend910A", {{0}}, {{"hami-vnpu-core", "true"}})))["huawei.com/Ascend910A"];
  };
  EXPECT_EQ(info("2184", ""), R"([{"UUID":"u0","temp":"vir02","memory":2184}])");
  EXPECT_EQ(info("5000", ""), R"([{"UUID":"u0","temp":"vir08","memory":5000}])");
  EXPECT_EQ(info("32768", ""), R"([{"UUID":"u0","memory":32768}])");
  EXPECT_EQ(info("2184", "hami-core"), R"([{"UUID":"u0","memory":2184}])");
}

// 10 for NPUs of one network, 5 for two of two.
TEST(AscendTest, NodesWithOneNetworkScoreHigher) {
  const core::NodeUsage one = Offered(Npus("Ascend910A", {{0, "0"}, {1, "0"}}));
  const core::NodeUsage two = Offered(Npus("Ascend910A", {{0, "0"}, {1, "1"}}));
  const core::CandidateNode nodes[] = {{"a", &one}, {"b", &two}};
  const auto request = Asking("Ascend910A", "2").Request(AllVendors());
  core::SchedulePolicy policy;
  core::Decision decision = core::Schedule(request, {nodes, {}}, policy, AllVendors());
  EXPECT_FLOAT_EQ(decision.feasible.at(0).score, 5.0F);
  EXPECT_FLOAT_EQ(decision.feasible.at(1).score, 10.0F);
  policy.spread_nodes = true;
  decision = core::Schedule(request, {nodes, {}}, policy, AllVendors());
  EXPECT_FLOAT_EQ(decision.feasible.at(1).score, -10.0F);  // the same node is the best one
}

}  // namespace
}  // namespace aliquot::testing
