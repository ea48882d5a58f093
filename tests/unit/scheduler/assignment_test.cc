#include "aliquot/scheduler/assignment.h"

#include <gtest/gtest.h>

#include "aliquot/base/fake_clock.h"
#include "support/kube_builders.h"

namespace aliquot::scheduler {
namespace {

using core::ContainerKind;
using testing::Ask;
using testing::ChartRegistry;
using testing::Held;
using testing::KubePod;
using testing::ShareOf;

const Ask kAsk{.gpu = "1", .mem = "1000"};

TEST(SpecOfTest, PutsInitContainersFirst) {
  const kube::Pod pod = KubePod("p").App(kAsk).Init().Sidecar(kAsk).App();
  const ObjectRef ref = pod.meta.Ref();
  const core::PodSpec spec = SpecOf(pod, ref);
  ASSERT_EQ(spec.containers.size(), 4U);
  EXPECT_EQ(spec.containers[0].name, "i0");
  EXPECT_EQ(spec.containers[2].limits, &pod.containers[0].limits);
  std::vector<ContainerKind> kinds;
  for (const core::ContainerSpec& container : spec.containers) kinds.push_back(container.kind);
  EXPECT_EQ(kinds, (std::vector{ContainerKind::kInit, ContainerKind::kSidecar, ContainerKind::kApp,
                                ContainerKind::kApp}));
  EXPECT_EQ(KindsOf(pod), kinds);
}

// ---- init containers

TEST(InitDoneTest, NeedsEveryOrdinaryInitContainerToSucceed) {
  const auto pod = [] { return KubePod("p").Init().Init().App(); };
  EXPECT_FALSE(InitDone(pod()));  // no statuses yet
  EXPECT_FALSE(InitDone(pod().InitStatus(0, 0).InitStatus(1, {})));
  EXPECT_FALSE(InitDone(pod().InitStatus(0, 0).InitStatus(1, 1)));
  EXPECT_TRUE(InitDone(pod().InitStatus(0, 0).InitStatus(1, 0)));
  EXPECT_FALSE(InitDone(KubePod("p").App()));
}

TEST(InitDoneTest, DoesNotWaitForSidecars) {
  const auto pod = [] { return KubePod("p").Sidecar().Init().App(); };
  EXPECT_TRUE(InitDone(pod().InitStatus(0, {}).InitStatus(1, 0)));
  EXPECT_FALSE(InitDone(pod().InitStatus(0, {}).InitStatus(1, {})));
  EXPECT_TRUE(InitDone(pod().InitStatus(0, 137).InitStatus(1, 0)));  // it may be restarted
}

// ---- what a pod holds

TEST(HoldingOfTest, ReadsTheAllocationByPosition) {
  const kube::Pod pod =
      KubePod("p").Init().Init(kAsk).App(kAsk).InitStatus(0, 0).InitStatus(1, 0).On(
          "n1", ";G0,NVIDIA,1000,5:;G1,NVIDIA,1000,7:;");
  const WrittenHolding written = HoldingOf(pod, "n1", ChartRegistry());
  EXPECT_EQ(written.holding.pod, (ObjectRef{"team", "p", "uid-p"}));
  EXPECT_EQ(written.holding.node, "n1");
  EXPECT_TRUE(written.holding.init_done);
  EXPECT_EQ(written.holding.allocation,
            (core::Allocation{Held({{}, {ShareOf("G0", 1000, 5)}, {ShareOf("G1", 1000, 7)}})}));
  EXPECT_TRUE(written.problems.empty());
}

TEST(HoldingOfTest, NamesWhatCannotBeRead) {
  const kube::Pod pod = KubePod("p").App(kAsk).On("n1", "G0,NVIDIA,many,5:;");
  const WrittenHolding written = HoldingOf(pod, "n1", ChartRegistry());
  EXPECT_TRUE(written.holding.allocation.empty());
  EXPECT_EQ(written.holding.unreadable, std::vector<core::VendorId>{0});
  EXPECT_EQ(written.problems, std::vector<std::string>{
                                  "NVIDIA: hami.io/vgpu-devices-allocated: invalid memory field: "
                                  "strconv.ParseInt: parsing \"many\": invalid syntax"});
}

TEST(HoldingOfTest, APodWithoutAnAllocationHoldsNothing) {
  const WrittenHolding written = HoldingOf(KubePod("p").App(kAsk), "n1", ChartRegistry());
  EXPECT_TRUE(written.holding.allocation.empty());
  EXPECT_TRUE(written.holding.unreadable.empty());
}

// ---- the patch

TEST(AssignmentAnnotationsTest, SayWhichDevicesWhereAndWhen) {
  EXPECT_EQ(AssignmentAnnotations(KubePod("p"), {Held({{ShareOf("G0", 3000, 30)}, {}})}, "n1",
                                  FakeClock().Now(), ChartRegistry()),
            (StringMap{{"hami.io/vgpu-devices-allocated", "G0,NVIDIA,3000,30:;;"},
                       {"hami.io/vgpu-devices-to-allocate", "G0,NVIDIA,3000,30:;;"},
                       {"hami.io/vgpu-node", "n1"},
                       {"hami.io/vgpu-time", "1767225600"}}));
}

TEST(StaleKeysTest, AreOursAndNotWrittenAgain) {
  const StringMap carried = {{"hami.io/vgpu-node", "n1"},
                             {"hami.io/vgpu-time", "1"},
                             {"hami.io/vgpu-devices-allocated", ";"},
                             {"hami.io/vgpu-devices-to-allocate", ";"},
                             {"hami.io/vgpu-mig-allocations", "[]"},
                             {"hami.io/bind-phase", "failed"},
                             {"hami.io/bind-time", "1"},
                             {"hami.io/gpu-scheduler-policy", "binpack"},  // the user's
                             {"nvidia.com/use-gpuuuid", "G0"},
                             {"app", "x"}};
  EXPECT_EQ(StaleKeys(carried, {{"hami.io/vgpu-node", "n2"}, {"hami.io/vgpu-time", "2"}},
                      ChartRegistry()),
            (std::vector<std::string>{
                "hami.io/vgpu-devices-allocated", "hami.io/vgpu-devices-to-allocate",
                "hami.io/vgpu-mig-allocations", "hami.io/bind-phase", "hami.io/bind-time"}));
  EXPECT_TRUE(StaleKeys({{"app", "x"}}, {}, ChartRegistry()).empty());
}

const ObjectRef kRef{"team", "p", "uid-p"};

TEST(AssignmentPatchTest, SetsAndDeletesInOneGo) {
  EXPECT_EQ(AssignmentPatch(kRef, {{"hami.io/vgpu-node", "n1"}}, {"hami.io/bind-phase"}).ToJson(),
            R"({"metadata":{"annotations":{"hami.io/bind-phase":null,"hami.io/vgpu-node":"n1"},)"
            R"("labels":{"hami.io/vgpu-node":"n1"},"uid":"uid-p"}})");
}

TEST(AssignmentPatchTest, WithoutAnAssignmentTheLabelGoesToo) {
  EXPECT_EQ(AssignmentPatch(kRef, {}, {"hami.io/vgpu-node"}).ToJson(),
            R"({"metadata":{"annotations":{"hami.io/vgpu-node":null},)"
            R"("labels":{"hami.io/vgpu-node":null},"uid":"uid-p"}})");
}

TEST(AssignmentPatchTest, ANodeNameThatIsNoLabelValueIsNotWrittenAsOne) {
  for (const auto& [node, label] : std::initializer_list<std::pair<std::string, std::string>>{
           {std::string(63, 'n'), "\"" + std::string(63, 'n') + "\""},
           {std::string(64, 'n'), "null"},
           {"node.", "null"}})
    EXPECT_EQ(AssignmentPatch(kRef, {{"hami.io/vgpu-node", node}}, {}).ToJson(),
              R"({"metadata":{"annotations":{"hami.io/vgpu-node":")" + node +
                  R"("},"labels":{"hami.io/vgpu-node":)" + label + R"(},"uid":"uid-p"}})");
}

}  // namespace
}  // namespace aliquot::scheduler
