// The two scores: of a card, by which cards are ordered, and of a node.
#include <gtest/gtest.h>

#include "support/builders.h"

namespace aliquot::core {
namespace {

using aliquot::testing::Card;
using aliquot::testing::Node;

constexpr ScoringWeights kEven{};

// A card whose type is the vendor's key: requests count in its score.
Device Named(int64_t slots, int64_t cores, int64_t memory) {
  Device card;
  card.type = "NVIDIA";
  card.slots = slots;
  card.cores = cores;
  card.memory = memory;
  aliquot::testing::ChartRegistry()[0].Claim(card);
  return card;
}

DeviceUse Used(int64_t slots, int64_t cores, int64_t memory) { return {slots, memory, cores}; }

ContainerDemand Asks(ContainerRequest request) { return {"c", ContainerKind::kApp, {request}}; }

TEST(DeviceScoreTest, AddsTheUsedParts) {
  // 10 * (slots 2/10 + cores 1/4 + memory 2048/8192)
  EXPECT_FLOAT_EQ(DeviceScore(Named(10, 4, 8192), Used(2, 1, 2048), {}, kEven), 7.0F);
}

TEST(DeviceScoreTest, CountsTheRequestOnCardsNamedAfterTheVendor) {
  // 10 * (slots (2+1)/10 + cores (1+1)/4 + memory (2048+1024)/8192)
  const ContainerDemand demand = Asks({.count = 1, .memory = 1024, .cores = 1});
  EXPECT_FLOAT_EQ(DeviceScore(Named(10, 4, 8192), Used(2, 1, 2048), demand, kEven), 11.75F);

  Device model = Named(10, 4, 8192);
  model.type = "NVIDIA A100";
  aliquot::testing::ChartRegistry()[0].Claim(model);
  EXPECT_FLOAT_EQ(DeviceScore(model, Used(2, 1, 2048), demand, kEven), 7.0F);
}

TEST(DeviceScoreTest, CountsARequestInPercentAsItsPartOfTheCard) {
  // 10 * (slots 1/10 + cores 0/4 + memory 25 %)
  EXPECT_FLOAT_EQ(
      DeviceScore(Named(10, 4, 8192), {}, Asks({.count = 1, .memory_percent = 25}), kEven), 3.5F);
  // Given both, memory counts: 10 * (1/10 + 4096/8192)
  EXPECT_FLOAT_EQ(DeviceScore(Named(10, 4, 8192), {},
                              Asks({.count = 1, .memory = 4096, .memory_percent = 25}), kEven),
                  6.0F);
}

TEST(DeviceScoreTest, CountsRequestsOfTheCardsOwnVendorOnly) {
  const ContainerDemand demand = Asks({.vendor = 1, .count = 1, .memory = 1024, .cores = 1});
  EXPECT_FLOAT_EQ(DeviceScore(Named(10, 4, 8192), Used(2, 1, 2048), demand, kEven), 7.0F);
}

TEST(DeviceScoreTest, WeighsItsTerms) {
  // 10 * (1 * 2/10 + 0 * 1/4 + 3 * 2048/8192)
  EXPECT_FLOAT_EQ(DeviceScore(Named(10, 4, 8192), Used(2, 1, 2048), {}, {1, 0, 3}), 9.5F);
}

TEST(DeviceScoreTest, IsZeroIfACardLacksOneDimension) {
  EXPECT_EQ(DeviceScore(Named(0, 4, 8192), Used(2, 1, 2048), {}, kEven), 0.0F);
  EXPECT_EQ(DeviceScore(Named(10, 0, 8192), Used(2, 1, 2048), {}, kEven), 0.0F);
  EXPECT_EQ(DeviceScore(Named(10, 4, 0), Used(2, 1, 2048), {}, kEven), 0.0F);
}

TEST(NodeScoreTest, IsTheUtilisationOverAllCards) {
  const auto score = [](const std::vector<Card>& cards) { return Node("n1", cards).score(); };
  const Card half{.id = "a", .used = Used(5, 50, 4000), .slots = 10, .memory = 8000};
  // 10 * (5/10 + 50/100 + 4000/8000); with an idle one beside it, half of that.
  EXPECT_FLOAT_EQ(score({half}), 15.0F);
  EXPECT_FLOAT_EQ(score({half, {.id = "b", .memory = 8000}}), 7.5F);
  // 10 * ((50+75)/(100+150) + (100+200)/(100+200) + (100+200)/(100+200))
  EXPECT_FLOAT_EQ(
      score({{.id = "a", .used = Used(50, 100, 100), .slots = 100, .memory = 100, .cores = 100},
             {.id = "b", .used = Used(75, 200, 200), .slots = 150, .memory = 200, .cores = 200}}),
      25.0F);
}

TEST(NodeScoreTest, IsZeroIfTheNodeLacksOneDimension) {
  EXPECT_EQ(Node("n1", {{.id = "a", .used = Used(1, 1, 0), .memory = 0}}).score(), 0.0F);
  EXPECT_EQ(Node("n1", {}).score(), 0.0F);
}

TEST(NodeScoreTest, FollowsTheUse) {
  NodeUsage node = Node("n1", {{.id = "a"}, {.id = "b"}});
  EXPECT_EQ(node.score(), 0.0F);
  node.SetUse(1, {4, 20480, 50});
  // 10 * (4/20 + 50/200 + 20480/81920)
  EXPECT_FLOAT_EQ(node.score(), 7.0F);
  node.SetUse(1, {});
  EXPECT_EQ(node.score(), 0.0F);
}

}  // namespace
}  // namespace aliquot::core
