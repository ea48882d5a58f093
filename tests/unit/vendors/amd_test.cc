#include <gtest/gtest.h>

#include "unit/vendors/all_vendors.h"

namespace aliquot::testing {
namespace {

TEST(AmdTest, ReadsLimitsOnly) {
  const auto wish = [](StringMap limits, StringMap requests = {}) {
    return Wish("AMD", std::move(limits), std::move(requests));
  };
  EXPECT_EQ(wish({{"amd.com/gpu", "1"}}), "1: 0, -, 100");
  EXPECT_EQ(wish({{"amd.com/gpu", "2"}, {"amd.com/gpumem", "4096"}, {"amd.com/gpucores", "33"}},
                 {{"amd.com/gpu", "9"}, {"amd.com/gpumem", "9"}}),
            "2: 4096, -, 33");
  EXPECT_EQ(wish({}, {{"amd.com/gpu", "1"}}), "nothing");
  EXPECT_EQ(wish({{"amd.com/gpu", "0"}}), "nothing");
  EXPECT_EQ(wish({{"amd.com/gpu", "1"}, {"amd.com/gpucores", "0"}}), "0: out of range");
  EXPECT_EQ(wish({{"amd.com/gpu", "1"}, {"amd.com/gpucores", "101"}}), "101: out of range");
  EXPECT_EQ(wish({{"amd.com/gpumem", "16"}}), "16: needs amd.com/gpu");
}

Offer Mi300(int64_t units, std::string capacity = "1") {
  return {.annotations = {{"hami.io/node-amd-register",
                           R"([{"id":"A","count":10,"devmem":1000,"devcore":)" +
                               std::to_string(units) + R"(,"type":"AMD MI300X","health":true}])"}},
          .capacity = {{"amd.com/gpu", std::move(capacity)}}};
}

// Compute units: floor(units * percent / 100), at least one.
TEST(AmdTest, PercentBecomesComputeUnits) {
  const auto units_of = [](int64_t units, const std::string& percent) {
    return FitText(
        PodWish().AppWith(
            {{"amd.com/gpu", "1"}, {"amd.com/gpumem", "1"}, {"amd.com/gpucores", percent}}),
        Offered(Mi300(units)));
  };
  EXPECT_EQ(units_of(304, "1"), "A,AMD MI300X,1,3:;");
  EXPECT_EQ(units_of(304, "67"), "A,AMD MI300X,1,203:;");
  EXPECT_EQ(units_of(64, "1"), "A,AMD MI300X,1,1:;");
  EXPECT_EQ(units_of(10, "50"), "A,AMD MI300X,1,5:;");
  EXPECT_EQ(units_of(0, "50"), "1/1 CardInsufficientCore");
}

TEST(AmdTest, WithoutMemoryTheWholeCardMustBeFree) {
  core::NodeUsage node = Offered(Mi300(304));
  EXPECT_EQ(FitText(PodWish().AppWith({{"amd.com/gpu", "1"}}), node), "A,AMD MI300X,1000,304:;");
  Use(node, "AMD", "A", {1, 1, 1});
  EXPECT_EQ(FitText(PodWish().AppWith({{"amd.com/gpu", "1"}}), node), "1/1 CardInsufficientMemory");
}

TEST(AmdTest, CapacityDecidesWhetherTheCardsAreThere) {
  EXPECT_EQ(CardsOf("AMD", Mi300(304)), "A 10/1000/304 0");
  EXPECT_EQ(CardsOf("AMD", Mi300(304, "0")), "");
}

// 152 of 304 units are half of a card, and half of a unit counts whole.
TEST(AmdTest, QuotaCountsPercent) {
  const auto percent = VendorOf("AMD").spec().quota_cores;
  core::Device card;
  card.cores = 304;
  EXPECT_EQ(percent(card, 152), 50);
  EXPECT_EQ(percent(card, 1), 1);
  EXPECT_EQ(percent(card, 304), 100);
}

}  // namespace
}  // namespace aliquot::testing
