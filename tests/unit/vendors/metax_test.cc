#include <gtest/gtest.h>

#include "unit/vendors/all_vendors.h"

namespace aliquot::testing {
namespace {

TEST(MetaxSgpuTest, MemoryIsGibOrHasAUnit) {
  const auto wish = [](const std::string& memory) {
    return Wish("Metax-SGPU", {{"metax-tech.com/sgpu", "1"}, {"metax-tech.com/vmemory", memory}});
  };
  EXPECT_EQ(wish("16"), "1: 16384, -, 100");
  EXPECT_EQ(wish("1Gi"), "1: 1024, -, 100");
  EXPECT_EQ(wish("16G"), "1: 15258, -, 100");
  EXPECT_EQ(wish("16k"), "1: 16384000, -, 100");  // the API server's 16000
  EXPECT_EQ(wish("1e3"), "1: 1024000, -, 100");
  EXPECT_EQ(wish("512Ki"), "1: 1, -, 100");
  EXPECT_EQ(wish("0"), "1: 0, 100%, 100");
  EXPECT_EQ(wish("2097151"), "1: 2147482624, -, 100");
  EXPECT_EQ(wish("2097152"), "2097152: out of range");
  EXPECT_EQ(wish("999999999999"), "999999999999: out of range");
  EXPECT_EQ(Wish("Metax-SGPU", {}, {{"metax-tech.com/sgpu", "1"}}), "nothing");
}

// Zone of each card; ids "g<position>".
Offer Shared(const std::vector<int>& zones) {
  std::string text;
  for (size_t i = 0; i < zones.size(); ++i)
    text += std::string(text.empty() ? "" : ",") + R"({"uuid":"g)" + std::to_string(i) +
            R"(","totalDevCount":16,"totalCompute":100,"totalVRam":65536,"healthy":true,)"
            R"("qosPolicy":"fixed-share","linkZone":)" +
            std::to_string(zones[i]) + "}";
  return {.annotations = {{"metax-tech.com/node-gpu-devices", "[" + text + "]"}}};
}

PodWish Asking(const std::string& count, const std::string& cores) {
  return PodWish().AppWith({{"metax-tech.com/sgpu", count}, {"metax-tech.com/vcore", cores}});
}

std::string Chosen(const PodWish& pod, const core::NodeUsage& node) {
  const core::NodeFit fit = FitOn(pod, node);
  if (fit.refusal) return fit.refusal->ToString();
  std::string text;
  for (const core::Share& share : fit.allocation.at(0).containers.at(0))
    text += (text.empty() ? "" : " ") + share.device_id;
  return text;
}

TEST(MetaxSgpuTest, WholeCardsComeFromOneZone) {
  EXPECT_EQ(Chosen(Asking("1", "100"), Offered(Shared({1, 1, 2}))), "g2");
  EXPECT_EQ(Chosen(Asking("2", "100"), Offered(Shared({1, 1, 2, 2, 2}))), "g1 g0");
  EXPECT_EQ(Chosen(Asking("4", "100"), Offered(Shared({1, 1, 2, 2, 2, 2}))), "g5 g4 g3 g2");
  EXPECT_EQ(Chosen(Asking("4", "100"), Offered(Shared({1, 1, 2, 2, 2}))), "g1 g0 g4 g3");
  EXPECT_EQ(Chosen(Asking("2", "100"), Offered(Shared({0, 0, 1, 1}))), "g3 g2");
  EXPECT_EQ(Chosen(Asking("4", "100"), Offered(Shared({0, 0, 1, 1, 1}))), "g4 g3 g2 g1");
  // Shares go the way of the card policy.
  EXPECT_EQ(Chosen(Asking("1", "99"), Offered(Shared({1, 1, 2}))), "g2");
}

core::Tenant Neighbour(std::string uid, StringMap notes, int64_t cores = 10) {
  return {.uid = std::move(uid),
          .use = {1, 1, cores},
          .largest_cores = cores,
          .notes = std::move(notes)};
}

class MetaxNeighbourTest : public ::testing::Test {
 protected:
  void Occupy(std::vector<core::Tenant> tenants) {
    Use(node_, "Metax-SGPU", "g0", {static_cast<int64_t>(tenants.size()), 1, 10});
    node_.SetTenants(0, std::move(tenants));
  }
  std::string FitWith(const std::string& key, const std::string& value) {
    const PodWish pod = Asking("1", "10").AppWith({});
    return Chosen(PodWish()
                      .AppWith({{"metax-tech.com/sgpu", "1"},
                                {"metax-tech.com/vcore", "10"},
                                {"metax-tech.com/vmemory", "1"}})
                      .Annotate("metax-tech.com/" + key, value),
                  node_);
  }
  core::NodeUsage node_ = Offered(Shared({0}));
};

TEST_F(MetaxNeighbourTest, ClassesKeepToThemselves) {
  const StringMap online{{"metax-tech.com/sgpu-app-class", "online"}};
  const StringMap offline{{"metax-tech.com/sgpu-app-class", "offline"}};
  constexpr const char* kMismatch = "1/1 CardAppClassMismatch";
  Occupy({Neighbour("a", offline)});
  EXPECT_EQ(FitWith("sgpu-app-class", "online"), "g0");
  EXPECT_EQ(FitWith("none", ""), kMismatch);
  Occupy({Neighbour("a", offline), Neighbour("b", online)});
  EXPECT_EQ(FitWith("sgpu-app-class", "online"), "g0");
  EXPECT_EQ(FitWith("sgpu-app-class", "offline"), kMismatch);
  Occupy({Neighbour("a", {})});
  EXPECT_EQ(FitWith("sgpu-app-class", "offline"), kMismatch);
  EXPECT_EQ(FitWith("sgpu-qos-policy", "fixed-share"), "g0");  // as published
}

TEST_F(MetaxNeighbourTest, TheQosOfTheNeighboursCountsBeforeThePublishedOne) {
  constexpr const char* kMismatch = "1/1 CardQosPolicyMismatch";
  EXPECT_EQ(FitWith("sgpu-qos-policy", "burst-share"), "g0");  // idle
  Occupy({Neighbour("a", {{"metax-tech.com/sgpu-qos-policy", "burst-share"}})});
  EXPECT_EQ(FitWith("sgpu-qos-policy", "burst-share"), "g0");
  EXPECT_EQ(FitWith("sgpu-qos-policy", "fixed-share"), kMismatch);
  Occupy({Neighbour("a", {{"metax-tech.com/sgpu-qos-policy", "burst-share"}}, 100)});
  EXPECT_EQ(FitWith("sgpu-qos-policy", "fixed-share"), "g0");  // exclusive: any
}

// The links that the pod gets (10 a pair) times 10, less those that it cuts.
TEST(MetaxSgpuTest, ScoresTopology) {
  const auto score = [](const std::vector<int>& zones, const std::string& count,
                        const std::string& use) {
    const core::NodeUsage node = Offered(Shared(zones));
    const core::CandidateNode nodes[] = {{"n", &node}};
    const PodWish pod = Asking(count, "100")
                            .Annotate("metax-tech.com/sgpu-topology-aware", "true")
                            .Annotate("metax-tech.com/use-gpuuuid", use);
    const core::Decision decision =
        core::Schedule(pod.Request(AllVendors()), {nodes, {}}, {}, AllVendors());
    return decision.feasible.at(0).score / 10000;
  };
  EXPECT_FLOAT_EQ(score({1, 1, 1, 1}, "1", "g0"), -30);
  EXPECT_FLOAT_EQ(score({1, 1, 1, 1}, "2", "g0,g1"), 60);
  EXPECT_FLOAT_EQ(score({1}, "1", "g0"), 0);
  EXPECT_FLOAT_EQ(score({1, 2}, "2", "g0,g1"), 0);
  EXPECT_FLOAT_EQ(score({1, 1, 1, 1, 2}, "4", "g0,g1,g2,g3"), 600);
  EXPECT_FLOAT_EQ(score({1, 1, 1, 2, 2}, "4", "g1,g2,g3,g4"), 180);
  EXPECT_FLOAT_EQ(score({1, 1, 1, 1, 2, 2, 2, 2}, "8", "g0,g1,g2,g3,g4,g5,g6,g7"), 1200);
}

TEST(MetaxGpuTest, ScoresTheTopologyOfTheNode) {
  const auto score = [](StringMap annotations, bool spread) {
    const core::NodeUsage node =
        Offered({.annotations = std::move(annotations), .capacity = {{"metax-tech.com/gpu", "2"}}});
    const core::CandidateNode nodes[] = {{"n", &node}};
    core::SchedulePolicy policy;
    policy.spread_nodes = spread;
    return core::Schedule(PodWish().AppWith({{"metax-tech.com/gpu", "2"}}).Request(AllVendors()),
                          {nodes, {}}, policy, AllVendors())
        .feasible.at(0)
        .score;
  };
  const StringMap both{{"metax-tech.com/gpu.topology.losses", R"({"1":123,"2":321})"},
                       {"metax-tech.com/gpu.topology.scores", R"({"2":200})"}};
  EXPECT_FLOAT_EQ(score(both, false), 1679);
  EXPECT_FLOAT_EQ(score(both, true), 1800);
  EXPECT_FLOAT_EQ(score({}, false), 0);
  EXPECT_FLOAT_EQ(score({}, true), 2000);
  EXPECT_FLOAT_EQ(score({{"metax-tech.com/gpu.topology.losses", "broken"}}, false), 2000);
}

}  // namespace
}  // namespace aliquot::testing
