#include "aliquot/codec/vendor_texts.h"

#include <gtest/gtest.h>

namespace aliquot::codec {
namespace {

std::string ReservationProblem(std::string_view text) {
  const auto parsed = ParseMigReservations(text);
  return parsed ? "" : parsed.error().message;
}

constexpr std::string_view kOne =
    R"({"containerIndex":1,"deviceIndex":2,"gpuUUID":"G","profile":"1g","placement":{"start":3,"size":1})";

TEST(MigReservationsTest, ReadsWhatItWrites) {
  const std::vector<core::Instance> instances = {{0, 0, "GPU-a", "2g.10gb", {0, 2}},
                                                 {1, 3, "GPU-\"b\"", "1g.5gb", {6, 1}}};
  const auto parsed = ParseMigReservations(FormatMigReservations(instances));
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(*parsed, instances);
  EXPECT_EQ(FormatMigReservations({}), "[]");
  EXPECT_TRUE(ParseMigReservations("")->empty());
}

TEST(MigReservationsTest, TakesTheRuntimeFieldsTogetherOrNotAtAll) {
  const std::string one(kOne);
  const auto made = ParseMigReservations(
      "[" + one + R"(,"migUUID":"M","gpuInstanceID":4,"computeInstanceID":0}])");
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->at(0).identity, (core::InstanceIdentity{"M", 4, 0}));
  EXPECT_EQ(ParseMigReservations("[" + one + "}]")->at(0).identity, std::nullopt);
  EXPECT_EQ(ReservationProblem("[" + one + R"(,"migUUID":"","gpuInstanceID":null}])"), "");
  EXPECT_EQ(ReservationProblem("[" + one + R"(,"migUUID":"M"}])"),
            "MIG allocations: MIG allocation 0 has partial runtime identity");
}

TEST(MigReservationsTest, RefusesTheWholeText) {
  const std::string one = std::string(kOne) + "}";
  EXPECT_EQ(ReservationProblem("[" + one + "," + one + "]"),
            "MIG allocations: duplicate MIG allocation for container 1 device 2");
  EXPECT_EQ(ReservationProblem(R"([{"gpuUUID":"G","profile":"1g","placement":{"start":0}}])"),
            "MIG allocations: MIG allocation 0 is incomplete");
  EXPECT_EQ(ReservationProblem(R"([{"containerIndex":-1,"gpuUUID":"G","profile":"1g",)"
                               R"("placement":{"start":0,"size":1}}])"),
            "MIG allocations: MIG allocation 0 is incomplete");
  EXPECT_NE(ReservationProblem("nonsense"), "");
  EXPECT_NE(ReservationProblem(R"([{"containerIndex":"1"}])"), "");
}

TEST(DrsCapacityTest, ReadsLeniently) {
  const auto parsed = ParseDrsCapacity(
      R"({"devices":[{"index":"3","minor":" 7 ","capacity":6.9},{"index":"x","capacity":" 5 "},)"
      R"({"index":"2","capacity":null},{"index":"4","capacity":"2147483648"}],)"
      R"("profiles":{"1g.6gb":"0"},"other":1})");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->devices,
            (std::vector<DrsDevice>{{3, "7", 6}, {1, "1", 5}, {2, "2", 0}, {4, "4", 2147483647}}));
  EXPECT_EQ(parsed->profiles, (std::map<std::string, std::string>{{"1g.6gb", "0"}}));
  EXPECT_FALSE(ParseDrsCapacity(R"({"devices":[{"index":0}]})").ok());
  EXPECT_FALSE(ParseDrsCapacity(R"({"devices":[null]})").ok());
  EXPECT_FALSE(ParseDrsCapacity(R"({"profiles":{"1g.6gb":0}})").ok());
}

TEST(DrsCapacityTest, ACardHasAFewProfiles) {
  std::string profiles = R"("1g.1gb":"")";
  for (int i = 2; i <= 64; ++i) profiles += ",\"1g." + std::to_string(i) + "gb\":\"\"";
  EXPECT_TRUE(ParseDrsCapacity("{\"profiles\":{" + profiles + "}}").ok());
  EXPECT_EQ(ParseDrsCapacity("{\"profiles\":{" + profiles + R"(,"1g.65gb":""}})").error().message,
            "slices.profiles.1g.65gb: more than 64 profiles");
}

TEST(MetaxDevicesTest, PositionIsTheIndex) {
  const auto parsed = ParseMetaxDevices(
      R"([{"uuid":"a","totalDevCount":16,"totalCompute":100,"totalVRam":65536,"numa":-1,)"
      R"("healthy":true,"qosPolicy":"fixed-share","linkZone":2},{"uuid":"b"}])");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  ASSERT_EQ(parsed->size(), 2U);
  const core::Device& a = (*parsed)[0];
  EXPECT_EQ(a.slots, 16);
  EXPECT_EQ(a.memory, 65536);
  EXPECT_EQ(a.numa, -1);
  EXPECT_TRUE(a.healthy);
  EXPECT_EQ(core::TextOf(a.facts, "QosPolicy"), "fixed-share");
  EXPECT_EQ(core::NumberOf(a.facts, "LinkZone"), 2);
  EXPECT_EQ((*parsed)[1].index, 1U);
  EXPECT_FALSE((*parsed)[1].healthy);
  EXPECT_FALSE(ParseMetaxDevices("[null]").ok());
  EXPECT_FALSE(ParseMetaxDevices("").ok());
}

TEST(CountTableTest, ReadsNumbersOnly) {
  EXPECT_EQ(*ParseCountTable(R"({"1":0,"8":1240})"),
            (std::map<int64_t, int64_t>{{1, 0}, {8, 1240}}));
  EXPECT_FALSE(ParseCountTable(R"({"one":0})").ok());
  EXPECT_FALSE(ParseCountTable(R"({"1":"0"})").ok());
}

}  // namespace
}  // namespace aliquot::codec
