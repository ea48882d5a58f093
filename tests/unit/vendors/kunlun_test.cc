#include <gtest/gtest.h>

#include "unit/vendors/all_vendors.h"
#include "vendors/kunlun_topology.h"

namespace aliquot::testing {
namespace {

using Cards = std::vector<size_t>;

std::array<bool, 8> Set(const Cards& cards) {
  std::array<bool, 8> set{};
  for (const size_t card : cards) set[card] = true;
  return set;
}

TEST(KunlunTopologyTest, ChoosesConnectedCards) {
  const struct {
    Cards free;
    int64_t count;
    Cards chosen;
  } rows[] = {
      {{0, 1, 2, 3, 4, 5, 6, 7}, 1, {0}},
      {{0, 1, 2, 3, 4, 5, 6, 7}, 2, {0, 1}},
      {{0, 1, 2, 3, 4, 5, 6, 7}, 4, {0, 1, 2, 3}},
      {{0, 1, 2, 3, 4, 5, 6, 7}, 8, {0, 1, 2, 3, 4, 5, 6, 7}},
      {{0, 1, 2, 3, 4, 5, 6, 7}, 3, {}},
      {{0, 1, 2, 3, 4, 6, 7}, 1, {4}},  // the wing that is broken already
      {{0, 1, 2, 3, 4, 6, 7}, 2, {4, 6}},
      {{0, 1, 2, 3, 4, 6, 7}, 4, {0, 1, 2, 3}},
      {{0, 1, 2, 3, 4, 6, 7}, 8, {}},
      {{0, 1, 2, 3, 4, 5}, 1, {4}},
      {{0, 1, 2, 3, 4, 5}, 2, {4, 5}},
      {{3, 7}, 2, {3, 7}},
      {{2, 7}, 2, {}},
      {{0, 1, 4, 5, 6}, 4, {0, 1, 4, 5}},
      {{0, 1, 2, 4, 5, 7}, 4, {0, 1, 4, 5}},  // 2 and 7 are left, without a link
      {{0, 1, 3, 4, 5, 7}, 4, {0, 1, 4, 5}},
      {{0, 2, 3, 4, 6, 7}, 4, {2, 3, 6, 7}},
      {{0, 1, 2, 4}, 4, {}},
  };
  for (const auto& row : rows)
    EXPECT_EQ(vendors::SelectKunlunCards(Set(row.free), row.count), row.chosen)
        << ::testing::PrintToString(row.free) << " " << row.count;
}

TEST(KunlunTopologyTest, CountsFragments) {
  EXPECT_EQ(vendors::KunlunFragments(Set({})), 1);
  EXPECT_EQ(vendors::KunlunFragments(Set({0, 1, 2, 3})), 1);
  EXPECT_EQ(vendors::KunlunFragments(Set({0})), 3);
  EXPECT_EQ(vendors::KunlunFragments(Set({4})), 3);
  EXPECT_EQ(vendors::KunlunFragments(Set({0, 1})), 2);
}

TEST(KunlunTest, RoundsPartsUp) {
  const auto wish = [](const std::string& memory) {
    return Wish("XPU", {{"kunlunxin.com/vxpu", "1"}, {"kunlunxin.com/vxpu-memory", memory}});
  };
  EXPECT_EQ(wish("0"), "1: 24576, -, 25");
  EXPECT_EQ(wish("24576"), "1: 24576, -, 25");
  EXPECT_EQ(wish("24577"), "1: 49152, -, 50");
  EXPECT_EQ(wish("200000"), "1: 98304, -, 100");
  EXPECT_EQ(wish("24Gi"), "1: 24576, -, 25");
  EXPECT_EQ(wish("-5"), "-5: negative");
  EXPECT_EQ(Wish("XPU", {{"kunlunxin.com/vxpu", "1"}}), "1: 98304, -, 100");
  EXPECT_EQ(Wish("XPU", {{"kunlunxin.com/vxpu-memory", "1"}}), "1: needs kunlunxin.com/vxpu");
}

Offer Parts(size_t cards) {
  std::string text;
  for (size_t i = 0; i < cards; ++i)
    text += std::string(text.empty() ? "" : ",") + R"({"id":"x)" + std::to_string(i) +
            R"(","index":)" + std::to_string(i) +
            R"(,"count":4,"devmem":98304,"devcore":100,"type":"XPU","health":true})";
  return {.annotations = {{"hami.io/node-register-xpu", "[" + text + "]"}}};
}

PodWish Part(const std::string& count, const std::string& memory) {
  return PodWish().AppWith({{"kunlunxin.com/vxpu", count}, {"kunlunxin.com/vxpu-memory", memory}});
}

// 24576 each: used 2 of 49152 is two parts of that size, used 1 of 49152 another size.
TEST(KunlunTest, PartsOfACardAreOfOneSize) {
  core::NodeUsage node = Offered(Parts(8));
  Use(node, "XPU", "x1", {2, 49152, 50});
  Use(node, "XPU", "x3", {1, 49152, 50});
  Use(node, "XPU", "x5", {1, 24576, 25});
  EXPECT_EQ(FitText(Part("4", "24576"), node),
            "x4,XPU,24576,25:x5,XPU,24576,25:x6,XPU,24576,25:x7,XPU,24576,25:;");
}

// A pod is charged the larger of its init and its app containers: of two sizes others
// would see only one.
TEST(KunlunTest, PartsOfInitAndAppContainersAreOfOneSizeToo) {
  const auto text = [](const std::string& init, const std::string& app, const Offer& offer) {
    const auto part = [](const std::string& memory) -> StringMap {
      return {{"kunlunxin.com/vxpu", "1"}, {"kunlunxin.com/vxpu-memory", memory}};
    };
    return FitText(PodWish().InitWith(part(init)).AppWith(part(app)), Offered(offer));
  };
  EXPECT_EQ(text("24576", "24576", Parts(1)), "x0,XPU,24576,25:;x0,XPU,24576,25:;");
  EXPECT_EQ(text("49152", "24576", Parts(2)), "x0,XPU,49152,50:;x1,XPU,24576,25:;");
  EXPECT_EQ(text("49152", "24576", Parts(1)), "1/1 NumaNotFit");
  // Nobody joins a whole card.
  EXPECT_EQ(text("98304", "24576", Parts(1)), "x0,XPU,98304,100:;x0,XPU,24576,25:;");
}

TEST(KunlunTest, TellsOneWordForTheNode) {
  core::NodeUsage node = Offered(Parts(2));
  EXPECT_EQ(FitText(Part("1", "98304").Annotate("hami.io/use-xpu-uuid", "x9"), node),
            "2/2 CardUuidMismatch");
  EXPECT_EQ(FitText(Part("1", "98304").Annotate("baidu.com/nouse-gpuuuid", "x0,x1"), node),
            "2/2 CardUuidMismatch");
  Use(node, "XPU", "x0", {1, 24576, 25});
  Use(node, "XPU", "x1", {1, 24576, 25});
  EXPECT_EQ(FitText(Part("1", "49152"), node), "1/2 NumaNotFit");
  EXPECT_FALSE(FitOn(Part("1", "49152"), node).refusal->unresolvable());
  EXPECT_EQ(FitText(Part("1", "24576").Annotate("hami.io/gpu-scheduler-policy", "mutex"), node),
            "2/2 ExclusiveDeviceAllocateConflict");
}

TEST(KunlunTest, RefusesARegisterTextWithTwoCardsOfOneIndex) {
  EXPECT_EQ(
      CardsOf("XPU", {.annotations = {{"hami.io/node-register-xpu",
                                       R"([{"id":"a","type":"XPU"},{"id":"b","type":"XPU"}])"}}}),
      "error: index 0 is given twice");
}

// The second half of the cards is the second NUMA node.
TEST(KunlunTest, ReadsCardsFromTheCapacity) {
  EXPECT_EQ(CardsOf("kunlun", {.capacity = {{"kunlunxin.com/xpu", "3"}}}),
            "n-kunlun-0 100/98304/100 0; n-kunlun-1 100/98304/100 1; n-kunlun-2 100/98304/100 1");
  EXPECT_EQ(CardsOf("kunlun", {.capacity = {{"kunlunxin.com/xpu", "1025"}}}),
            "error: kunlunxin.com/xpu: more than 1024 cards");
}

// Idle: 0 -> 1 fragments {0} are 3 against 1 of nothing: two more, 0. With 3..7 in
// use (3 fragments: {3} 2, {4..7} 0 -> 2): {0} is 3, one more: 1000.
TEST(KunlunTest, PrefersNodesThatAreBrokenUpAlready) {
  core::NodeUsage idle = Offered({.name = "a", .capacity = {{"kunlunxin.com/xpu", "8"}}});
  core::NodeUsage used = Offered({.name = "b", .capacity = {{"kunlunxin.com/xpu", "8"}}});
  for (int i = 3; i < 8; ++i) Use(used, "kunlun", "b-kunlun-" + std::to_string(i), {1, 0, 0});
  const core::CandidateNode nodes[] = {{"a", &idle}, {"b", &used}};
  const PodWish pod = PodWish().AppWith({{"kunlunxin.com/xpu", "1"}});
  const core::Decision decision =
      core::Schedule(pod.Request(AllVendors()), {nodes, {}}, {}, AllVendors());
  ASSERT_EQ(decision.feasible.size(), 2U);
  EXPECT_FLOAT_EQ(decision.feasible[0].score, 0.0F);
  // 10 * 5 of 800 slots
  EXPECT_FLOAT_EQ(decision.feasible[1].score, 1000.0625F);
}

}  // namespace
}  // namespace aliquot::testing
