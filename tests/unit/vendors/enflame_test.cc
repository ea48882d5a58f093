#include <gtest/gtest.h>

#include "unit/vendors/all_vendors.h"

namespace aliquot::testing {
namespace {

TEST(EnflameTest, ReadsASizeOrAmounts) {
  const auto wish = [](StringMap limits) { return Wish("Enflame", std::move(limits)); };
  EXPECT_EQ(wish({{"enflame.com/drs-gcu", "3"}, {"enflame.com/gcu-memory", "9"}}), "1: 3, 0%, 0");
  EXPECT_EQ(wish({{"enflame.com/gcu-memory", "20480"}, {"enflame.com/gcu-core", "40"}}),
            "1: 20480, -1%, 40");
  EXPECT_EQ(wish({{"enflame.com/drs-gcu", "0"}, {"enflame.com/gcu-core", "40"}}), "1: 0, -1%, 40");
  EXPECT_EQ(wish({{"enflame.com/gcu-memory", "20Gi"}}), "1: 20480, -2%, 0");
  EXPECT_EQ(wish({{"enflame.com/drs-gcu", "0"}}), "nothing");
  EXPECT_EQ(wish({{"enflame.com/drs-gcu", "1500m"}}), "1500m: not a whole number");
  EXPECT_EQ(wish({{"enflame.com/gcu-memory", "2147483648"}}), "2147483648: out of range");
}

Offer Slices(const std::string& profiles = R"("1g.6gb":"0","3g.20gb":"1","6g.40gb":"2")",
             const std::string& devices = R"({"index":"0","minor":"0","capacity":6})") {
  return {.annotations = {{"enflame.com/gcu-drs-capacity",
                           R"({"devices":[)" + devices + R"(],"profiles":{)" + profiles + "}}"}}};
}

std::string FitAmounts(const std::string& memory, const std::string& cores) {
  StringMap limits;
  if (!memory.empty()) limits.emplace("enflame.com/gcu-memory", memory);
  if (!cores.empty()) limits.emplace("enflame.com/gcu-core", cores);
  return FitText(PodWish().AppWith(limits), Offered(Slices()));
}

TEST(EnflameTest, TakesTheSmallestProfileThatDoes) {
  const std::string one = "n-enflame-drs-0,Enflame,6144,17:;";
  const std::string three = "n-enflame-drs-0,Enflame,20480,50:;";
  const std::string six = "n-enflame-drs-0,Enflame,40960,100:;";
  EXPECT_EQ(FitAmounts("20480", "40"), three);
  EXPECT_EQ(FitAmounts("20", ""), three);
  EXPECT_EQ(FitAmounts("6144", ""), one);
  EXPECT_EQ(FitAmounts("6145", ""), three);
  EXPECT_EQ(FitAmounts("80", ""), "1/1 ModeNotFit");  // GB: at most twice the card's 40
  EXPECT_EQ(FitAmounts("81", ""), one);               // MiB
  EXPECT_EQ(FitAmounts("20Mi", ""), one);             // MiB, as it is written
  EXPECT_EQ(FitAmounts("", "17"), one);
  EXPECT_EQ(FitAmounts("", "18"), three);
  EXPECT_EQ(FitAmounts("", "51"), six);
  EXPECT_EQ(FitText(PodWish().AppWith({{"enflame.com/drs-gcu", "2"}}), Offered(Slices())),
            "1/1 ModeNotFit");
}

// 6 * ceil(100 / 6) is more than 100, but six slices of six fit.
TEST(EnflameTest, SlicesAreCountedNotPercents) {
  const PodWish pod = PodWish().AppWith({{"enflame.com/drs-gcu", "1"}});
  core::NodeUsage node = Offered(Slices());
  Use(node, "Enflame", "n-enflame-drs-0", {5, 5 * 6144, 5 * 17});
  EXPECT_EQ(FitText(pod, node), "n-enflame-drs-0,Enflame,6144,17:;");
  Use(node, "Enflame", "n-enflame-drs-0", {6, 6 * 6144, 6 * 17});
  EXPECT_EQ(FitText(pod, node), "1/1 CardTimeSlicingExhausted");
  const auto slices = VendorOf("Enflame").spec().slots_of;
  EXPECT_EQ(slices(node.devices()[0], ShareOf("", 6144, 17)), 1);
  EXPECT_EQ(slices(node.devices()[0], ShareOf("", 20480, 50)), 3);
  EXPECT_EQ(slices(node.devices()[0], ShareOf("", 40960, 100)), 6);
}

TEST(EnflameTest, ReadsWhatItCan) {
  EXPECT_EQ(CardsOf("Enflame", Slices(R"("3g.20gb.x":"1","2g.abc":"9","6g":"8")",
                                      R"({"index":"7","capacity":"6"},{"index":"1","capacity":0},)"
                                      R"({"index":"7","capacity":6})")),
            "n-enflame-drs-7 6/20480/100 0");
  EXPECT_EQ(CardsOf("Enflame", Slices(R"("big":"0")")),
            "error: no valid drs profiles found on node n");
  EXPECT_EQ(CardsOf("Enflame", {}), "");
}

TEST(EnflameTest, ACardInSlicesIsNotGivenWhole) {
  Offer offer = Slices();
  offer.capacity = {{"enflame.com/gcu", "1"}};
  core::NodeUsage node = Offered(offer);
  const PodWish card = PodWish().AppWith({{"enflame.com/gcu", "1"}});
  const PodWish slice = PodWish().AppWith({{"enflame.com/drs-gcu", "1"}});
  EXPECT_EQ(FitText(card, node), "n-GCU-0,GCU,100,100:;");
  Use(node, "Enflame", "n-enflame-drs-0", {1, 6144, 17});
  EXPECT_EQ(FitText(card, node), "1/1 ExclusiveDeviceAllocateConflict");
  Use(node, "Enflame", "n-enflame-drs-0", {});
  Use(node, "GCU", "n-GCU-0", {1, 100, 100});
  EXPECT_EQ(FitText(slice, node), "1/1 ExclusiveDeviceAllocateConflict");
}

TEST(EnflameTest, TellsThePluginWhatToMake) {
  StringMap written = Written(PodWish()
                                  .AppWith({})
                                  .AppWith({{"enflame.com/drs-gcu", "3"}})
                                  .AppWith({{"enflame.com/drs-gcu", "1"}}),
                              Offered(Slices()));
  EXPECT_EQ(written["enflame.com/gcu-request-size"], "3");
  EXPECT_EQ(written["enflame.com/gcu-assigned-minor"], "0");
  EXPECT_EQ(written["enflame.com/gcu-assigned-time"], "1700000000000000000");
  EXPECT_EQ(written["assigned-containers"],
            R"({"c1":{"allocated":false,"request":3,"profileID":"1","profileName":"3g.20gb"},)"
            R"("c2":{"allocated":false,"request":1,"profileID":"0","profileName":"1g.6gb"}})");
}

}  // namespace
}  // namespace aliquot::testing
