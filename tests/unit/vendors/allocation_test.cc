#include "aliquot/vendors/allocation.h"

#include <gtest/gtest.h>

#include "support/builders.h"

namespace aliquot::vendors {
namespace {

using aliquot::testing::Ask;
using aliquot::testing::ChartRegistry;
using aliquot::testing::Held;
using aliquot::testing::PodWish;
using aliquot::testing::ShareOf;

constexpr const char* kAllocated = "hami.io/vgpu-devices-allocated";
constexpr const char* kToAllocate = "hami.io/vgpu-devices-to-allocate";

// A second vendor that is told by one annotation only.
const core::Registry& TwoVendors() {
  static const core::Registry registry = [] {
    core::VendorSpec other;
    other.key = "Other";
    other.allocated = "other/allocated";
    other.parse_request =
        [](const core::Vendor&, const core::ResourceReader&,
           std::optional<core::InvalidRequest>&) -> std::optional<core::ContainerRequest> {
      return std::nullopt;
    };
    static const core::VendorSpec kept = other;
    return core::Registry({ChartRegistry()[0], {kept, {}}});
  }();
  return registry;
}

TEST(WriteAllocationTest, WritesTheVendorsKeys) {
  const core::Allocation allocation = {
      Held({{ShareOf("GPU-0", 3000, 30)}, {}}),
      Held({{}, {ShareOf("7-0", 1, 2, "Other")}}, 1),
  };
  EXPECT_EQ(WriteAllocation(allocation, TwoVendors()),
            (StringMap{{kToAllocate, "GPU-0,NVIDIA,3000,30:;;"},
                       {kAllocated, "GPU-0,NVIDIA,3000,30:;;"},
                       {"other/allocated", ";7-0,Other,1,2:;"}}));
  EXPECT_TRUE(WriteAllocation({}, TwoVendors()).empty());
}

ReadAllocationResult Read(const StringMap& annotations, const PodWish& pod) {
  return ReadAllocation(annotations, pod.Spec(), TwoVendors());
}

TEST(ReadAllocationTest, ReadsBackWhatWasWritten) {
  const core::Allocation allocation = {
      Held({{}, {ShareOf("GPU-0", 3000, 30), ShareOf("GPU-1", 3000, 30)}, {}})};
  const PodWish pod = PodWish().Init().App({.gpu = "2"}).App();
  const auto read = Read(WriteAllocation(allocation, TwoVendors()), pod);
  EXPECT_EQ(read.allocation, allocation);
  EXPECT_TRUE(read.unreadable.empty());
}

TEST(ReadAllocationTest, LooksAtTheAllocatedKeyOnly) {
  EXPECT_TRUE(Read({{kToAllocate, "GPU-0,NVIDIA,1,1:;"}}, PodWish().App()).allocation.empty());
}

TEST(ReadAllocationTest, AnUnreadableTextDoesNotHideTheOtherVendors) {
  const auto read =
      Read({{kAllocated, "GPU-0,NVIDIA,100:;"}, {"other/allocated", "7-0,Other,1,2:;"}},
           PodWish().App());
  ASSERT_EQ(read.unreadable.size(), 1U);
  EXPECT_EQ(read.unreadable[0].vendor, 0);
  EXPECT_EQ(read.unreadable[0].problem,
            std::string(kAllocated) +
                ": pod annotation format error, missing fields, do not use nodeName in task spec");
  ASSERT_EQ(read.allocation.size(), 1U);
  EXPECT_EQ(read.allocation[0].vendor, 1);
}

TEST(ReadAllocationTest, NegativeAmountsAreNothing) {
  const auto read = Read({{kAllocated, "GPU-0,NVIDIA,-5,-7:;"}}, PodWish().App({.gpu = "1"}));
  EXPECT_EQ(read.allocation, core::Allocation{Held({{ShareOf("GPU-0", 0)}})});
}

TEST(ReadAllocationTest, TextsWithoutSharesHoldNothing) {
  for (const char* text : {"", ";", ";;;"})
    EXPECT_TRUE(Read({{kAllocated, text}}, PodWish().App()).allocation.empty()) << text;
}

TEST(ReadAllocationTest, TextsThatLeaveContainersOutBelongToThoseThatAsk) {
  // v2.10 wrote one element for two containers: it is the app's.
  const PodWish pod = PodWish().Init().App({.gpu = "1"});
  const auto read = Read({{kAllocated, "A,NVIDIA,5,1:;"}}, pod);
  EXPECT_EQ(read.allocation, (core::Allocation{Held({{}, {ShareOf("A", 5, 1)}})}));
}

TEST(AllocationKeysTest, AreAllThatAVendorMayWrite) {
  EXPECT_EQ(AllocationKeys(TwoVendors()),
            (std::vector<std::string_view>{kAllocated, kToAllocate, "hami.io/vgpu-mig-allocations",
                                           "other/allocated"}));
}

}  // namespace
}  // namespace aliquot::vendors
