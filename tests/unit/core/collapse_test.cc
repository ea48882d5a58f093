#include "aliquot/core/collapse.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/builders.h"

namespace aliquot::core {
namespace {

constexpr auto kInit = ContainerKind::kInit;
constexpr auto kSidecar = ContainerKind::kSidecar;
constexpr auto kApp = ContainerKind::kApp;

using aliquot::testing::Held;
using aliquot::testing::ShareOf;

Charge ChargeOf(VendorId vendor, std::string id, const DeviceUse& use) {
  Charge charge;
  charge.vendor = vendor;
  charge.device_id = std::move(id);
  charge.use = use;
  return charge;
}

// One share on the one card.
struct On {
  size_t container;
  int64_t memory;
  int64_t cores;
};

struct Row {
  std::string name;
  std::vector<ContainerKind> kinds;
  std::vector<On> shares;
  DeviceUse running;         // while init containers may still come
  DeviceUse init_done = {};  // and once they have succeeded
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class CollapseTest : public ::testing::TestWithParam<Row> {};

// As placed, and as it is written on the pod.
TEST_P(CollapseTest, TakesThePeakOfACard) {
  const Row& row = GetParam();
  std::vector<Placed> placed;
  VendorAllocation held = Held({});
  held.containers.resize(row.kinds.size());
  for (const On& on : row.shares) {
    Placed& share = placed.emplace_back();
    share.container = on.container;
    share.memory = on.memory;
    share.cores = on.cores;
    held.containers[on.container].push_back(ShareOf("gpu0", on.memory, on.cores));
  }
  const auto charges = [](const DeviceUse& use) {
    return use == DeviceUse{} ? std::vector<Charge>{} : std::vector{ChargeOf(0, "gpu0", use)};
  };
  EXPECT_EQ(CollapsePlaced(placed, row.kinds, 1), std::vector{row.running});
  EXPECT_EQ(CollapsePlaced(placed, row.kinds, 1, true), std::vector{row.init_done});
  EXPECT_EQ(Collapse({held}, row.kinds, false), charges(row.running));
  EXPECT_EQ(Collapse({held}, row.kinds, true), charges(row.init_done));
}

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

const Row kRows[] = {
    {"AppsAddUp", {kApp, kApp}, {{0, 100, 10}, {1, 200, 20}}, {2, 300, 30}, {2, 300, 30}},
    {"ThreeAppsTakeThreeSlots",
     {kApp, kApp, kApp},
     {{0, 100, 10}, {1, 100, 10}, {2, 100, 10}},
     {3, 300, 30},
     {3, 300, 30}},
    // The larger one: 200 and 30 come from the second.
    {"InitsTakeTurns", {kInit, kInit}, {{0, 100, 10}, {1, 200, 30}}, {1, 200, 30}, {}},
    // Memory of the first, cores of the second.
    {"DimensionsPeakForThemselves", {kInit, kInit}, {{0, 500, 10}, {1, 200, 30}}, {1, 500, 30}, {}},
    {"AppsAboveTheInit",
     {kInit, kApp, kApp},
     {{0, 100, 10}, {1, 200, 20}, {2, 300, 30}},
     {2, 500, 50},
     {2, 500, 50}},
    {"InitAboveTheApp", {kInit, kApp}, {{0, 500, 50}, {1, 100, 10}}, {1, 500, 50}, {1, 100, 10}},
    {"TheLargestOfThreeInits",
     {kInit, kInit, kInit, kApp},
     {{0, 100, 10}, {1, 300, 30}, {2, 200, 20}, {3, 50, 5}},
     {1, 300, 30},
     {1, 50, 5}},
    // Memory of the init container, slots of the apps: max(1, 2).
    {"AppsAfterALargeInit",
     {kInit, kApp, kApp},
     {{0, 999, 99}, {1, 100, 10}, {2, 200, 20}},
     {2, 999, 99},
     {2, 300, 30}},
    {"TwoSharesOfOneInitAddUp",
     {kInit, kApp},
     {{0, 10240, 28}, {0, 10240, 28}, {1, 5120, 14}},
     {2, 20480, 56},
     {1, 5120, 14}},
    {"SharesOfOneInitAreNotKeptForTheNext",
     {kInit, kInit},
     {{0, 100, 10}, {0, 100, 10}, {1, 150, 15}},
     {2, 200, 20},
     {}},
    // 4000 + 4000: the sidecar lives as long as the app.
    {"SidecarBesideTheApp",
     {kSidecar, kApp},
     {{0, 4000, 10}, {1, 4000, 20}},
     {2, 8000, 30},
     {2, 8000, 30}},
    {"SidecarsAddUp",
     {kSidecar, kSidecar, kApp},
     {{0, 100, 1}, {1, 200, 2}, {2, 400, 4}},
     {3, 700, 7},
     {3, 700, 7}},
    // max(init 500 + sidecar 100, app 300 + sidecar 100)
    {"InitAfterASidecar",
     {kSidecar, kInit, kApp},
     {{0, 100, 10}, {1, 500, 50}, {2, 300, 30}},
     {2, 600, 60},
     {2, 400, 40}},
    // The sidecar starts after it: max(init 500, app 300 + sidecar 100)
    {"InitBeforeASidecar",
     {kInit, kSidecar, kApp},
     {{0, 500, 50}, {1, 100, 10}, {2, 300, 30}},
     {2, 500, 50},
     {2, 400, 40}},
    // max(init 100, init 100 + sidecar 50, app 10 + sidecar 50)
    {"SidecarBetweenInits",
     {kInit, kSidecar, kInit, kApp},
     {{0, 100, 10}, {1, 50, 5}, {2, 100, 10}, {3, 10, 1}},
     {2, 150, 15},
     {2, 60, 6}},
    {"NegativeAmountsCountAsNothing",
     {kApp, kApp},
     {{0, -100, -10}, {1, 50, 5}},
     {2, 50, 5},
     {2, 50, 5}},
    {"SumsStayAtTheLimit",
     {kApp, kApp},
     {{0, kMax, kMax}, {1, 1, 1}},
     {2, kMax, kMax},
     {2, kMax, kMax}},
    {"NothingPlaced", {kInit, kApp}, {}, {}, {}},
};

INSTANTIATE_TEST_SUITE_P(Rows, CollapseTest, ::testing::ValuesIn(kRows),
                         [](const auto& row) { return row.param.name; });

TEST(CollapseTest, KeepsCardsAndVendorsApartAndSortsThem) {
  const Allocation allocation = {
      Held({{ShareOf("b", 500, 50)}, {ShareOf("b", 100, 10), ShareOf("a", 7, 1)}}),
      Held({{ShareOf("b", 200, 20)}, {ShareOf("b", 300, 30)}}, 1),
  };
  const ContainerKind kinds[] = {kInit, kApp};
  EXPECT_EQ(Collapse(allocation, kinds, false),
            (std::vector{ChargeOf(0, "a", {1, 7, 1}), ChargeOf(0, "b", {1, 500, 50}),
                         ChargeOf(1, "b", {1, 300, 30})}));
}

TEST(CollapseTest, ContainersBeyondThePodsCountAsApps) {
  const Allocation allocation = {Held({{}, {ShareOf("a", 1, 1)}, {ShareOf("a", 2, 2)}})};
  const ContainerKind kinds[] = {kInit};
  EXPECT_EQ(Collapse(allocation, kinds, true), std::vector{ChargeOf(0, "a", {2, 3, 3})});
}

TEST(CollapseTest, NothingGivesNothing) {
  EXPECT_TRUE(Collapse({}, {}, false).empty());
  EXPECT_TRUE(Collapse({Held({{}, {}, {}, {}})}, {}, false).empty());
  EXPECT_TRUE(CollapsePlaced({}, {}, 0).empty());
}

TEST(SaturatingAddTest, StaysAtTheLimits) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(SaturatingAdd(kMax, 1), kMax);
  EXPECT_EQ(SaturatingAdd(kMin, -1), kMin);
  EXPECT_EQ(SaturatingAdd(kMax, kMin), -1);
  EXPECT_EQ(SaturatingAdd(2, 3), 5);
}

}  // namespace
}  // namespace aliquot::core
