#include <gtest/gtest.h>

#include "unit/vendors/all_vendors.h"

namespace aliquot::testing {
namespace {

// An A100: 1g.5gb at 0 to 6, 2g.10gb at 0, 2, 4, 3g.20gb at 0, 4.
Offer A100(int slots = 7) {
  return {
      .annotations = {
          {"hami.io/node-nvidia-register",
           R"([{"id":"G","count":)" + std::to_string(slots) +
               R"(,"devmem":40960,"devcore":100,"type":"NVIDIA A100","mode":"mig","health":true,)"
               R"("migProfiles":[)"
               R"({"name":"1g.5gb","memoryMB":5120,"core":14,"sliceCount":1,"placements":[)"
               R"({"start":0,"size":1},{"start":1,"size":1},{"start":2,"size":1},)"
               R"({"start":3,"size":1},{"start":4,"size":1},{"start":5,"size":1},)"
               R"({"start":6,"size":1}]},)"
               R"({"name":"2g.10gb","memoryMB":10240,"core":28,"sliceCount":2,"placements":[)"
               R"({"start":0,"size":2},{"start":2,"size":2},{"start":4,"size":2}]},)"
               R"({"name":"3g.20gb","memoryMB":20480,"core":42,"sliceCount":3,"placements":[)"
               R"({"start":0,"size":4},{"start":4,"size":4}]}]}])"}}};
}

PodWish& Instance(PodWish& pod, core::ContainerKind kind, const std::string& memory,
                  const std::string& count = "1") {
  const Ask ask{.gpu = count, .mem = memory};
  return kind == core::ContainerKind::kInit ? pod.Init(ask) : pod.App(ask);
}

// "2g.10gb@0 ..." in the order of the reservations, or the refusal.
std::string Places(const PodWish& pod, const core::NodeUsage& node) {
  const core::NodeFit fit = FitOn(pod, node);
  if (fit.refusal) return fit.refusal->ToString();
  std::string text;
  for (const core::Instance& instance : fit.allocation.at(0).instances)
    text +=
        (text.empty() ? "" : " ") + instance.profile + "@" + std::to_string(instance.place.start);
  return text;
}

TEST(NvidiaMigTest, PlacesOneContainerAfterTheOther) {
  const auto places = [](const std::vector<std::string>& memories) {
    PodWish pod;
    for (const std::string& memory : memories) Instance(pod, core::ContainerKind::kApp, memory);
    return Places(pod, Offered(A100(10)));
  };
  constexpr const char* kFull = "1/1 CardMigTopologyInfeasible";
  EXPECT_EQ(places({"8000", "8000"}), "2g.10gb@0 2g.10gb@2");
  EXPECT_EQ(places({"10000", "10000", "10000", "10000"}), kFull);
  EXPECT_EQ(places({"5000", "5000", "5000", "5000", "5000", "5000", "5000"}),
            "1g.5gb@6 1g.5gb@5 1g.5gb@4 1g.5gb@3 1g.5gb@2 1g.5gb@1 1g.5gb@0");
  EXPECT_EQ(places({"20000", "10000", "5000", "5000"}), "3g.20gb@4 2g.10gb@0 1g.5gb@3 1g.5gb@2");
  EXPECT_EQ(places({"5000", "20000"}), "1g.5gb@6 3g.20gb@0");
  EXPECT_EQ(places({"5000", "20000", "20000"}), "1/1 CardInsufficientMemory");
  EXPECT_EQ(places({"10000", "5000", "20000"}), kFull);
}

// One after the other in one container: a card gives several instances.
TEST(NvidiaMigTest, OneContainerMayHaveSeveralInstancesOfACard) {
  PodWish pod;
  Instance(pod, core::ContainerKind::kApp, "8000", "2");
  EXPECT_EQ(FitText(pod, Offered(A100())), "G,NVIDIA,10240,28:G,NVIDIA,10240,28:;");
  StringMap written = Written(pod, Offered(A100()));
  EXPECT_EQ(written["hami.io/vgpu-mig-allocations"],
            R"([{"containerIndex":0,"deviceIndex":0,"gpuUUID":"G","profile":"2g.10gb",)"
            R"("placement":{"start":0,"size":2}},)"
            R"({"containerIndex":0,"deviceIndex":1,"gpuUUID":"G","profile":"2g.10gb",)"
            R"("placement":{"start":2,"size":2}}])");
  EXPECT_EQ(Places(pod, Offered(A100(1))),
            "1/1 AllocatedCardsInsufficientRequest, 1/1 CardTimeSlicingExhausted");
}

// The app takes the init container's instance over, or stays clear of it.
TEST(NvidiaMigTest, InitContainersInstancesAreUsedAgain) {
  PodWish same;
  Instance(same, core::ContainerKind::kInit, "10000");
  Instance(same, core::ContainerKind::kApp, "10000");
  Instance(same, core::ContainerKind::kApp, "10000");
  EXPECT_EQ(Places(same, Offered(A100())), "2g.10gb@0 2g.10gb@0 2g.10gb@2");
  PodWish other;
  Instance(other, core::ContainerKind::kInit, "20000");
  Instance(other, core::ContainerKind::kApp, "10000");
  EXPECT_EQ(Places(other, Offered(A100())), "3g.20gb@4 2g.10gb@0");
}

TEST(NvidiaMigTest, OtherPodsInstancesAreInTheWay) {
  core::NodeUsage node = Offered(A100());
  Use(node, "NVIDIA", "G", {1, 20480, 42});
  node.SetTenants(0, {{.uid = "x", .use = {1, 20480, 42}, .instances = {{0, 4}}}});
  PodWish pod;
  Instance(pod, core::ContainerKind::kApp, "10000");
  EXPECT_EQ(Places(pod, node), "2g.10gb@4");
}

TEST(NvidiaMigTest, ACardOnWhichItIsNotKnownWhereAPodIsTakesNobody) {
  PodWish pod;
  Instance(pod, core::ContainerKind::kApp, "10000");
  core::NodeUsage node = Offered(A100());
  node.SetTenants(0, {{.uid = "x", .use = {1, 10240, 28}}});
  EXPECT_EQ(Places(pod, node), "1/1 CardNotHealth");
  core::NodeUsage other = Offered(A100());
  other.SetLostInstance(VendorOf("NVIDIA").id(), true);
  EXPECT_EQ(Places(pod, other), "1/1 CardNotHealth");
}

TEST(NvidiaMigTest, ModeListsChooseBetweenCardsAndInstances) {
  PodWish pod;
  Instance(pod, core::ContainerKind::kApp, "8000", "2")
      .Annotate("nvidia.com/vgpu-mode", "hami-core");
  EXPECT_EQ(Places(pod, Offered(A100())), "NodeInsufficientDevice");
}

// 7 * 14 = 98 cores: the places are the limit, not the sum.
TEST(NvidiaMigTest, QuotaCountsWhatTheInstanceTakes) {
  std::vector<core::QuotaRoom> room(AllVendors().size());
  room[VendorOf("NVIDIA").id()].memory = 10239;
  PodWish pod;
  Instance(pod, core::ContainerKind::kApp, "8000");
  EXPECT_EQ(ToText(FitOn(pod, Offered(A100()), room)), "1/1 ResourceQuotaNotFit");
  room[VendorOf("NVIDIA").id()].memory = 10240;
  EXPECT_EQ(ToText(FitOn(pod, Offered(A100()), room)), "G,NVIDIA,10240,28:;");
}

}  // namespace
}  // namespace aliquot::testing
