// topology-aware: the cards with the best links between them.
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <map>

#include "support/builders.h"

namespace aliquot::vendors {
namespace {

using aliquot::testing::Card;
using aliquot::testing::Fit;
using aliquot::testing::Pod;
using aliquot::testing::PodWish;

using Links = std::map<std::pair<std::string, std::string>, int64_t>;

// Idle cards with these ids (in register order), linked both ways.
std::vector<Card> Linked(const std::vector<std::string>& ids, const Links& links,
                         int64_t otherwise = 0) {
  std::vector<Card> cards;
  for (const std::string& id : ids) {
    Card card{.id = id};
    for (const std::string& other : ids)
      if (other != id) card.pair_scores[other] = otherwise;
    for (const auto& [pair, score] : links) {
      if (pair.first == id) card.pair_scores[pair.second] = score;
      if (pair.second == id) card.pair_scores[pair.first] = score;
    }
    cards.push_back(std::move(card));
  }
  return cards;
}

PodWish Ask(const std::string& gpus) {
  return Pod({.gpu = gpus, .mem = "1"}).Annotate("hami.io/gpu-scheduler-policy", "topology-aware");
}

// Ids in the order in which they are written.
std::string Chosen(const PodWish& pod, const std::vector<Card>& cards,
                   const std::vector<core::QuotaRoom>& quota = {}) {
  const core::NodeFit fit =
      core::FitNode(pod.Request(), aliquot::testing::Node("n1", cards), quota,
                    aliquot::testing::PolicyOf(pod), aliquot::testing::ChartRegistry());
  if (fit.refusal) return fit.refusal->ToString();
  std::string ids;
  for (const core::Share& share : fit.allocation.at(0).containers.back())
    ids += (ids.empty() ? "" : " ") + share.device_id;
  return ids;
}

TEST(TopologyTest, SeveralCardsAreTheSetWithTheBestLinks) {
  // a, c and f: 100 + 100 + 1 over their pairs; the walk is f, e, d, c, b, a.
  const auto six =
      Linked({"a", "b", "c", "d", "e", "f"}, {{{"a", "f"}, 100}, {{"c", "f"}, 100}}, 1);
  EXPECT_EQ(Chosen(Ask("3"), six), "f c a");
  const auto three =
      Linked({"a", "b", "c"}, {{{"a", "b"}, 100}, {{"a", "c"}, 200}, {{"b", "c"}, 150}});
  EXPECT_EQ(Chosen(Ask("2"), three), "c a");
}

TEST(TopologyTest, OneCardIsTheOneThatTheOthersMissLeast) {
  // Sums: f 5 * 1, any other 1 + 4 * 100.
  const auto six = Linked(
      {"a", "b", "c", "d", "e", "f"},
      {{{"a", "f"}, 1}, {{"b", "f"}, 1}, {{"c", "f"}, 1}, {{"d", "f"}, 1}, {{"e", "f"}, 1}}, 100);
  EXPECT_EQ(Chosen(Ask("1"), six), "f");
  // Sums: dev-0 100 + 200, dev-1 100 + 150, dev-2 200 + 150.
  const auto three =
      Linked({"dev-0", "dev-1", "dev-2"},
             {{{"dev-0", "dev-1"}, 100}, {{"dev-0", "dev-2"}, 200}, {{"dev-1", "dev-2"}, 150}});
  EXPECT_EQ(Chosen(Ask("1"), three), "dev-1");
}

TEST(TopologyTest, ScoresMayBeNegative) {
  const auto cards =
      Linked({"dev-0", "dev-1", "dev-2"},
             {{{"dev-0", "dev-1"}, -5}, {{"dev-0", "dev-2"}, -3}, {{"dev-1", "dev-2"}, -1}});
  EXPECT_EQ(Chosen(Ask("2"), cards), "dev-2 dev-1");
  EXPECT_EQ(Chosen(Ask("1"), cards), "dev-0");  // -5 - 3 is the lowest sum
}

TEST(TopologyTest, OfEqualSetsTheFirstOfTheWalkIsTaken) {
  const auto cards = Linked({"a", "b", "c", "d"}, {});
  EXPECT_EQ(Chosen(Ask("1"), cards), "d");
  EXPECT_EQ(Chosen(Ask("2"), cards), "d c");
  EXPECT_EQ(Chosen(Ask("3"), cards), "d c b");
}

TEST(TopologyTest, WithoutScoresEveryCardIsEqual) {
  const std::vector<Card> cards = {{.id = "a"}, {.id = "b"}, {.id = "c"}};
  EXPECT_EQ(Chosen(Ask("3"), cards), "c b a");
  EXPECT_EQ(Chosen(Ask("2"), cards), "c b");
  EXPECT_EQ(Chosen(Ask("1"), cards), "c");
}

TEST(TopologyTest, OnlyAcceptableCardsCount) {
  // a and c would be best, but a is full; of the other pairs b-c.
  auto cards = Linked({"a", "b", "c", "d"}, {{{"a", "c"}, 500}, {{"b", "c"}, 50}});
  cards[0].used = {10, 0, 0};
  EXPECT_EQ(Chosen(Ask("2"), cards), "c b");
  // One card: a's score of 500 to c does not count against c, nor for it.
  // Sums among b, c, d: b 50, c 50, d 0.
  EXPECT_EQ(Chosen(Ask("1"), cards), "d");
}

TEST(TopologyTest, TooFewAcceptableCardsAreCounted) {
  auto cards = Linked({"a", "b", "c"}, {});
  cards[0].healthy = false;
  EXPECT_EQ(Chosen(Ask("3"), cards), "1/3 CardNotHealth, 2/3 AllocatedCardsInsufficientRequest");
}

TEST(TopologyTest, LinksMayHaveTwoDirections) {
  // Of the pair (earlier, later) in walk order: b before a, c before both.
  std::vector<Card> cards = Linked({"a", "b", "c"}, {});
  cards[0].pair_scores = {{"b", 900}, {"c", 900}};  // from a: never looked at
  cards[1].pair_scores = {{"a", 10}};
  cards[2].pair_scores = {{"b", 20}};
  EXPECT_EQ(Chosen(Ask("2"), cards), "c b");
}

TEST(TopologyTest, NumaBindLooksAtEveryNumaNode) {
  // The best pair is a-b on NUMA node 0, though the walk ends elsewhere.
  auto cards = Linked({"a", "b", "c", "d", "e", "f"},
                      {{{"a", "b"}, 300}, {{"c", "d"}, 100}, {{"e", "f"}, 200}, {{"b", "c"}, 900}});
  for (size_t i = 0; i < cards.size(); ++i) cards[i].numa = static_cast<int64_t>(i / 2);
  EXPECT_EQ(Chosen(Ask("2").Annotate("nvidia.com/numa-bind", "true"), cards), "b a");
  EXPECT_EQ(Chosen(Ask("2"), cards), "c b");  // across nodes without it
}

TEST(TopologyTest, NumaBindPassesOverGroupsThatAreTooSmall) {
  auto cards = Linked({"a", "b", "c"}, {});
  cards[2].numa = 1;
  EXPECT_EQ(Chosen(Ask("2").Annotate("nvidia.com/numa-bind", "true"), cards), "b a");
  cards[1].numa = 2;
  EXPECT_EQ(Chosen(Ask("2").Annotate("nvidia.com/numa-bind", "true"), cards),
            "3/3 AllocatedCardsInsufficientRequest");
}

TEST(TopologyTest, OfEqualNumaNodesTheFirstOfTheWalkIsTaken) {
  auto cards = Linked({"a", "b", "c", "d"}, {{{"a", "b"}, 100}, {{"c", "d"}, 100}});
  cards[2].numa = cards[3].numa = 1;
  EXPECT_EQ(Chosen(Ask("2").Annotate("nvidia.com/numa-bind", "true"), cards), "d c");
}

TEST(TopologyTest, OneCardUnderNumaBindIsTheLeastMissedOfAnyNumaNode) {
  // Sums within NUMA nodes: a, b 300 each; c, d 100 each.
  auto cards = Linked({"a", "b", "c", "d"}, {{{"a", "b"}, 300}, {{"c", "d"}, 100}});
  cards[2].numa = cards[3].numa = 1;
  EXPECT_EQ(Chosen(Ask("1").Annotate("nvidia.com/numa-bind", "true"), cards), "d");
}

TEST(TopologyTest, WorksInAListOfPolicies) {
  const auto cards = Linked({"a", "b", "c"}, {{{"a", "c"}, 200}});
  EXPECT_EQ(Chosen(Pod({.gpu = "2", .mem = "1"})
                       .Annotate("hami.io/gpu-scheduler-policy", "binpack, topology-aware"),
                   cards),
            "c a");
}

TEST(TopologyTest, EveryContainerChoosesForItself) {
  // 30000 of 40960: the second container cannot have the same cards.
  const auto cards = Linked({"a", "b", "c", "d"}, {{{"a", "c"}, 200}, {{"b", "d"}, 100}});
  const auto two = aliquot::testing::Ask{.gpu = "2", .mem = "30k"};
  EXPECT_EQ(
      Fit(PodWish().App(two).App(two).Annotate("hami.io/gpu-scheduler-policy", "topology-aware"),
          cards),
      "c,NVIDIA,30000,0:a,NVIDIA,30000,0:;d,NVIDIA,30000,0:b,NVIDIA,30000,0:;");
}

TEST(TopologyTest, TheQuotaCountsTheCardsThatWillBeUsed) {
  // Four cards are acceptable, two of 1000 each are used.
  const auto cards = Linked({"a", "b", "c", "d"}, {{{"a", "c"}, 200}});
  const PodWish pod =
      Pod({.gpu = "2", .mem = "1000"}).Annotate("hami.io/gpu-scheduler-policy", "topology-aware");
  EXPECT_EQ(Chosen(pod, cards, {{.memory = 2000, .cores = {}}}), "c a");
  EXPECT_EQ(Chosen(pod, cards, {{.memory = 1999, .cores = {}}}),
            "1/4 AllocatedCardsInsufficientRequest, 3/4 ResourceQuotaNotFit");
}

TEST(TopologyTest, AChoiceOverTheQuotaIsRefused) {
  // Whole cards of 1000, 1000 and 100. Each of the large ones is within 1500
  // beside the small one; the best linked pair is 2000.
  auto cards = Linked({"a", "b", "c"}, {{{"a", "b"}, 100}});
  cards[0].memory = cards[1].memory = 1000;
  cards[2].memory = 100;
  const PodWish pod = Pod({.gpu = "2"}).Annotate("hami.io/gpu-scheduler-policy", "topology-aware");
  EXPECT_EQ(Chosen(pod, cards, {{.memory = 2000, .cores = {}}}), "b a");
  EXPECT_EQ(Chosen(pod, cards, {{.memory = 1999, .cores = {}}}), "2/3 ResourceQuotaNotFit");
}

TEST(TopologyTest, TheChoiceAmongSixteenCardsIsTheBest) {
  // Everyone scores 1 with everyone, but each of eight chosen 2 with the next.
  std::vector<std::string> ids;
  for (char c = 'a'; c < 'a' + 16; ++c) ids.emplace_back(1, c);
  Links links;
  for (size_t i = 0; i + 2 < ids.size(); i += 2) links[{ids[i], ids[i + 2]}] = 2;
  EXPECT_EQ(Chosen(Ask("8"), Linked(ids, links, 1)), "o m k i g e c a");
}

// "00", "01", ...: as many ids, in the order of their numbers.
std::vector<std::string> Numbered(int count) {
  std::vector<std::string> ids;
  for (int i = 0; i < count; ++i) ids.push_back(std::to_string(i / 10) + std::to_string(i % 10));
  return ids;
}

// Cards of groups of `size`, 10 within a group, 1 between groups.
std::vector<Card> Grouped(int count, int size) {
  const std::vector<std::string> ids = Numbered(count);
  Links links;
  for (int i = 0; i < count; ++i)
    for (int j = i + 1; j < count; ++j)
      if (i / size == j / size)
        links[{ids[static_cast<size_t>(i)], ids[static_cast<size_t>(j)]}] = 10;
  return Linked(ids, links, 1);
}

TEST(TopologyTest, AmongMoreCardsThanCanAllBeTriedAGroupIsFound) {
  auto cards = Grouped(48, 12);
  // The walk begins in the last group, which has only 11 cards left; the third is whole.
  cards[47].healthy = false;
  EXPECT_EQ(Chosen(Ask("12"), cards), "35 34 33 32 31 30 29 28 27 26 25 24");
}

TEST(TopologyTest, ManyCardsOfEqualLinksAreTheFirstOfTheWalk) {
  EXPECT_EQ(Chosen(Ask("12"), Linked(Numbered(40), {})), "39 38 37 36 35 34 33 32 31 30 29 28");
}

TEST(TopologyTest, AHundredOfTwoHundredCardsTakeNoTime) {
  // Every set would be 9 * 10^58 of them; this is some milliseconds.
  const auto cards = Grouped(200, 100);
  const auto begin = std::chrono::steady_clock::now();
  const std::string chosen = Chosen(Ask("100"), cards);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_TRUE(chosen.starts_with("199 198 197 ")) << chosen;
  EXPECT_TRUE(chosen.ends_with(" 102 101 100")) << chosen;
}

TEST(TopologyTest, AbsurdScoresDoNotWrap) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  const auto cards =
      Linked({"a", "b", "c", "d"}, {{{"a", "b"}, kMost}, {{"b", "c"}, kMost}, {{"a", "c"}, kMost}},
             kLeast);
  EXPECT_EQ(Chosen(Ask("3"), cards), "c b a");
  EXPECT_EQ(Chosen(Ask("1"), cards), "d");
}

}  // namespace
}  // namespace aliquot::vendors
