// What a container's resources ask of NVIDIA cards.
#include <gtest/gtest.h>

#include "support/builders.h"

namespace aliquot::vendors {
namespace {

using aliquot::testing::Ask;
using aliquot::testing::ChartConfig;
using aliquot::testing::ChartRegistry;
using aliquot::testing::NvidiaOnly;
using aliquot::testing::Pod;
using aliquot::testing::PodWish;
using core::kNoPercent;

core::ContainerRequest Request(int64_t count, int64_t memory, int64_t percent, int64_t cores) {
  return {core::VendorId{0}, count, memory, percent, cores};
}

struct Row {
  Ask ask;
  core::ContainerRequest request;
};

// As the pod is told, or what it asks.
std::string Read(const PodWish& pod, const core::Registry& registry = ChartRegistry()) {
  const auto parsed = pod.Parse(registry);
  if (const auto* invalid = std::get_if<core::InvalidRequest>(&parsed)) return invalid->ToString();
  const auto& requests = std::get<core::PodRequest>(parsed).containers.at(0).requests;
  return requests.empty() ? "nothing" : ::testing::PrintToString(requests[0]);
}

void ExpectRows(std::initializer_list<Row> rows, const core::Registry& registry) {
  for (const Row& row : rows)
    EXPECT_EQ(Read(Pod(row.ask), registry), ::testing::PrintToString(row.request))
        << row.ask.gpu << " gpu, mem " << row.ask.mem << ", percent " << row.ask.percent
        << ", cores " << row.ask.cores;
}

TEST(NvidiaRequestTest, ReadsCountMemoryPercentageAndCores) {
  ExpectRows(
      {
          // Neither memory nor percentage: the whole card.
          {{.gpu = "1"}, Request(1, 0, 100, 0)},
          {{.gpu = "1", .cores = "100"}, Request(1, 0, 100, 100)},
          {{.gpu = "2", .mem = "4096"}, Request(2, 4096, kNoPercent, 0)},
          {{.gpu = "1", .mem = "3000", .cores = "30"}, Request(1, 3000, kNoPercent, 30)},
          {{.gpu = "1", .mem = "3k"}, Request(1, 3000, kNoPercent, 0)},
          {{.gpu = "1", .percent = "50"}, Request(1, 0, 50, 0)},
          {{.gpu = "1", .mem = "2000", .percent = "50"}, Request(1, 2000, 50, 0)},
          // Above 100 percent is 100, however much.
          {{.gpu = "1", .percent = "150"}, Request(1, 0, 100, 0)},
          {{.gpu = "1", .percent = "4294967346"}, Request(1, 0, 100, 0)},
          // 0 is not given.
          {{.gpu = "1", .percent = "0"}, Request(1, 0, 100, 0)},
          {{.gpu = "1", .mem = "2000", .percent = "0"}, Request(1, 2000, kNoPercent, 0)},
          {{.gpu = "1", .mem = "0"}, Request(1, 0, 100, 0)},
          {{.gpu = "1", .mem = "0", .percent = "30"}, Request(1, 0, 30, 0)},
          {{.gpu = "1", .mem = "1Gi"}, Request(1, 1073741824, kNoPercent, 0)},
          {{.gpu = "1", .cores = "120"}, Request(1, 0, 100, 120)},
          {{.gpu = "1", .cores = "0"}, Request(1, 0, 100, 0)},
          // The webhook's default count, for a pod that it has not seen.
          {{.mem = "3000"}, Request(1, 3000, kNoPercent, 0)},
          {{.percent = "50"}, Request(1, 0, 50, 0)},
          {{.cores = "30"}, Request(1, 0, 100, 30)},
      },
      ChartRegistry());
}

TEST(NvidiaRequestTest, LooksIntoRequestsWhereLimitsAreSilent) {
  EXPECT_EQ(Read(PodWish().AppWith({}, {{"nvidia.com/gpu", "1"}})),
            ::testing::PrintToString(Request(1, 0, 100, 0)));
  EXPECT_EQ(Read(PodWish().AppWith({{"nvidia.com/gpu", "1"}}, {{"nvidia.com/gpumem", "500"}})),
            ::testing::PrintToString(Request(1, 500, kNoPercent, 0)));
  EXPECT_EQ(Read(PodWish().AppWith({{"nvidia.com/gpu", "1"}}, {{"nvidia.com/gpu", "4"}})),
            ::testing::PrintToString(Request(1, 0, 100, 0)));
}

TEST(NvidiaRequestTest, NoCountAndNoShareIsNoRequest) {
  EXPECT_EQ(Read(PodWish().App()), "nothing");
  EXPECT_EQ(Read(Pod({.gpu = "0"})), "nothing");
  EXPECT_EQ(Read(PodWish().AppWith({{"cpu", "1"}, {"nvidia.com/mig-1g.5gb", "1"}})), "nothing");
}

TEST(NvidiaRequestTest, AMemoryFactorCountsForWhatThePodAsks) {
  core::VendorConfig config = ChartConfig();
  config.memory_factor = 2;
  const core::Registry registry = NvidiaOnly(config);
  ExpectRows({{{.gpu = "1", .mem = "1024"}, Request(1, 2048, kNoPercent, 0)},
              // 2 * 1073741823 is the last that 32 bits hold.
              {{.gpu = "1", .mem = "1073741823"}, Request(1, 2147483646, kNoPercent, 0)}},
             registry);
  EXPECT_EQ(Read(Pod({.gpu = "1", .mem = "1Gi"}), registry),
            "InvalidDeviceRequest: container c0: nvidia.com/gpumem=1Gi: out of range");
}

TEST(NvidiaRequestTest, DefaultsStandInForWhatIsNotAsked) {
  core::VendorConfig config = ChartConfig();
  config.default_memory = 512;
  config.default_cores = 20;
  config.default_count = 3;
  config.memory_factor = 2;  // not for the default
  const core::Registry registry = NvidiaOnly(config);
  ExpectRows({{{.gpu = "1"}, Request(1, 512, kNoPercent, 20)},
              {{.gpu = "1", .percent = "0"}, Request(1, 512, kNoPercent, 20)},
              {{.gpu = "1", .mem = "0"}, Request(1, 512, kNoPercent, 20)},
              {{.gpu = "1", .percent = "50"}, Request(1, 0, 50, 20)},
              {{.gpu = "1", .cores = "0"}, Request(1, 512, kNoPercent, 0)},
              {{.mem = "100"}, Request(3, 200, kNoPercent, 20)}},
             registry);
}

struct Unreadable {
  Ask ask;
  std::string_view what;  // <resource>=<value>: <why>
};

TEST(NvidiaRequestTest, RefusesWhatItCannotRead) {
  const Unreadable rows[] = {
      {{.gpu = "1500m"}, "nvidia.com/gpu=1500m: not a whole number"},
      {{.gpu = "-1"}, "nvidia.com/gpu=-1: negative"},
      {{.gpu = "4294967297"}, "nvidia.com/gpu=4294967297: out of range"},
      {{.gpu = "1", .mem = "16Gi"}, "nvidia.com/gpumem=16Gi: out of range"},
      {{.gpu = "1", .mem = "2Gi"}, "nvidia.com/gpumem=2Gi: out of range"},
      {{.gpu = "1", .mem = "2147483648"}, "nvidia.com/gpumem=2147483648: out of range"},
      {{.gpu = "1", .mem = "16.5"}, "nvidia.com/gpumem=16.5: not a whole number"},
      {{.gpu = "1", .mem = "-1"}, "nvidia.com/gpumem=-1: negative"},
      {{.gpu = "1", .percent = "-1"}, "nvidia.com/gpumem-percentage=-1: negative"},
      {{.gpu = "1", .percent = "50.5"}, "nvidia.com/gpumem-percentage=50.5: not a whole number"},
      {{.gpu = "1", .cores = "-5"}, "nvidia.com/gpucores=-5: negative"},
      {{.gpu = "1", .cores = "4294967346"}, "nvidia.com/gpucores=4294967346: out of range"},
      {{.gpu = "1", .cores = "half"}, "nvidia.com/gpucores=half: not a whole number"},
      // Count, memory, percentage, cores: the first one found.
      {{.gpu = "x", .mem = "-1", .percent = "-1", .cores = "-1"},
       "nvidia.com/gpu=x: not a whole number"},
      {{.gpu = "1", .mem = "x", .percent = "-1", .cores = "-1"},
       "nvidia.com/gpumem=x: not a whole number"},
      {{.gpu = "1", .percent = "-1", .cores = "x"}, "nvidia.com/gpumem-percentage=-1: negative"},
      // A share of no cards.
      {{.gpu = "0", .mem = "3000"}, "nvidia.com/gpumem=3000: needs nvidia.com/gpu"},
      {{.gpu = "0", .percent = "50"}, "nvidia.com/gpumem-percentage=50: needs nvidia.com/gpu"},
      {{.gpu = "0", .cores = "30"}, "nvidia.com/gpucores=30: needs nvidia.com/gpu"},
  };
  for (const Unreadable& row : rows)
    EXPECT_EQ(Read(Pod(row.ask)), "InvalidDeviceRequest: container c0: " + std::string(row.what));
}

TEST(NvidiaRequestTest, AShareWithoutACountIsRefusedWhereNoneIsAdded) {
  core::VendorConfig config = ChartConfig();
  config.default_count = 0;
  const core::Registry registry = NvidiaOnly(config);
  EXPECT_EQ(Read(Pod({.mem = "3k"}), registry),
            "InvalidDeviceRequest: container c0: nvidia.com/gpumem=3k: needs nvidia.com/gpu");
  EXPECT_EQ(Read(Pod({.cores = "30"}), registry),
            "InvalidDeviceRequest: container c0: nvidia.com/gpucores=30: needs nvidia.com/gpu");
}

}  // namespace
}  // namespace aliquot::vendors
