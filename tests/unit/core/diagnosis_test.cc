#include "aliquot/core/diagnosis.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace aliquot::core {
namespace {

std::vector<std::string_view> Names(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

// "n01", "n02", ...
std::vector<std::string> Numbered(int count) {
  std::vector<std::string> names;
  for (int i = 1; i <= count; ++i) names.push_back((i < 10 ? "n0" : "n") + std::to_string(i));
  return names;
}

Refusal Counted(std::initializer_list<Reason> reasons) {
  ReasonCounts counts;
  for (const Reason reason : reasons) counts.Add(reason);
  return Refusal::Counted(counts, 8);
}

TEST(DescribeFitTest, NamesTheChosenNodeAndTheScores) {
  const std::vector<std::string> names = {"gpu-1", "cpu-7", "gpu-2"};
  Decision decision;
  decision.feasible = {{0, 3.75F}, {2, 11.25F}};  // chosen last
  EXPECT_EQ(DescribeFit(decision, Names(names)),
            "find fit node(gpu-2), 1 nodes not fit, 2 nodes fit(gpu-1:3.75,gpu-2:11.25)");
}

TEST(DescribeFitTest, RoundsScoresToTwoDecimals) {
  const std::vector<std::string> names = {"a"};
  Decision decision;
  decision.feasible = {{0, 2.0F / 3.0F}};
  EXPECT_EQ(DescribeFit(decision, Names(names)),
            "find fit node(a), 0 nodes not fit, 1 nodes fit(a:0.67)");
}

TEST(DescribeFitTest, NamesTheTenBestAndCountsTheRest) {
  const std::vector<std::string> names = Numbered(12);
  Decision decision;
  for (uint32_t i = 0; i < names.size(); ++i)
    decision.feasible.push_back({i, static_cast<float>(i)});
  EXPECT_EQ(DescribeFit(decision, Names(names)),
            "find fit node(n12), 0 nodes not fit, 12 nodes fit(n03:2.00,n04:3.00,n05:4.00,n06:5.00,"
            "n07:6.00,n08:7.00,n09:8.00,n10:9.00,n11:10.00,n12:11.00,... 2 more)");
}

Decision AllRefused(const std::vector<std::string>& names, const Refusal& refusal) {
  Decision decision;
  decision.refusals = {refusal};
  for (uint32_t i = 0; i < names.size(); ++i) decision.refused.push_back({i, 0});
  return decision;
}

TEST(DescribeRefusalsTest, GroupsNodesByWordInByteOrder) {
  const std::vector<std::string> names = {"b", "c", "a", "d"};
  Decision decision;
  decision.refusals = {Counted({Reason::kCardInsufficientMemory}),
                       Refusal::Text("node unregistered", true),
                       Counted({Reason::kCardUuidMismatch, Reason::kCardInsufficientMemory}),
                       Refusal::Bare(Reason::kNodeInsufficientDevice)};
  decision.refused = {{0, 0}, {1, 1}, {2, 2}, {3, 3}};
  EXPECT_EQ(DescribeRefusals(decision, Names(names)),
            "no available node, 4 nodes do not meet: 2 nodes CardInsufficientMemory(a,b); "
            "1 nodes CardUuidMismatch(a); 1 nodes NodeInsufficientDevice(d); "
            "1 nodes node unregistered(c)");
}

TEST(DescribeRefusalsTest, NamesTheFirstTenNodesAndCountsTheRest) {
  std::vector<std::string> names = Numbered(13);
  std::reverse(names.begin(), names.end());
  const Decision decision = AllRefused(names, Refusal::Text("node unregistered", true));
  EXPECT_EQ(DescribeRefusals(decision, Names(names)),
            "no available node, 13 nodes do not meet: 13 nodes node unregistered("
            "n01,n02,n03,n04,n05,n06,n07,n08,n09,n10,... 3 more)");
}

TEST(DescribeRefusalsTest, TenNodesAreAllNamed) {
  const std::vector<std::string> names = Numbered(10);
  const Decision decision = AllRefused(names, Counted({Reason::kCardNotHealth}));
  EXPECT_EQ(DescribeRefusals(decision, Names(names)),
            "no available node, 10 nodes do not meet: 10 nodes CardNotHealth("
            "n01,n02,n03,n04,n05,n06,n07,n08,n09,n10)");
}

TEST(DescribeRefusalsTest, WithoutCandidatesThereIsNothingToName) {
  EXPECT_EQ(DescribeRefusals({}, {}), "no available node, 0 nodes do not meet");
}

TEST(DescribeRefusalTest, TellsWhatConcernsEveryNode) {
  EXPECT_EQ(DescribeRefusal(3, "InvalidDeviceRequest: ..."),
            "no available node, 3 nodes do not meet: InvalidDeviceRequest: ...");
}

}  // namespace
}  // namespace aliquot::core
