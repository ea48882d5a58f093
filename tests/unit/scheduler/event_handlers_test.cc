// What the caches see, as it arrives in the ledger.
#include "aliquot/scheduler/event_handlers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "aliquot/base/fake_clock.h"
#include "aliquot/scheduler/scheduler.h"
#include "support/fake_api.h"
#include "support/kube_builders.h"

namespace aliquot::scheduler {
namespace {

using namespace std::chrono_literals;
using core::DeviceUse;
using testing::Ask;
using testing::ChartRegistry;
using testing::FakeApi;
using testing::kAllocatedKey;
using testing::kNodeKey;
using testing::kToAllocateKey;
using testing::KubeNode;
using testing::KubePod;

constexpr DeviceUse kIdle{};
const Ask kAsk{.gpu = "1", .mem = "3000", .cores = "30"};

class EventHandlersTest : public ::testing::Test {
 protected:
  EventHandlersTest() {
    api_.on_pod = [this](const auto& before, const auto& now) {
      if (now)
        scheduler_.pods().Put(now);
      else
        scheduler_.pods().Remove(before->meta.ns, before->meta.name);
      if (now)
        scheduler_.pod_events().OnUpsert(before, now);
      else
        scheduler_.pod_events().OnDelete(before);
    };
    api_.on_node = [this](const auto& before, const auto& now) {
      if (now)
        scheduler_.node_events().OnUpsert(before, now);
      else
        scheduler_.node_events().OnDelete(before);
    };
    scheduler_.node_events().OnSynced();
    scheduler_.pod_events().OnSynced();
    scheduler_.quota_events().OnSynced();
    api_.Put(KubeNode("n1", {{.id = "G0"}, {.id = "G1"}}));
    api_.Put(KubeNode("n2", {{.id = "G0"}}));
  }

  // What is kept is what would be computed afresh.
  void TearDown() override {
    EXPECT_EQ(scheduler_.ledger().Usage(), scheduler_.ledger().RebuildUsage());
  }

  DeviceUse Use(const std::string& node = "n1", const std::string& id = "G0") {
    const std::optional<core::NodeUsage> usage = scheduler_.ledger().Node(node);
    return usage->use()[static_cast<size_t>(usage->FindDevice(0, id))];
  }
  // Through /filter; the node that was chosen, or what it says.
  std::string Filter(const kube::Pod& pod, std::string_view node = "n1") {
    FilterRequest request;
    request.pod = pod;
    request.node_names = {node};
    const FilterAnswer answer =
        scheduler_.Filter(request, {std::chrono::steady_clock::now(), nullptr});
    if (answer.node_names) return std::string(answer.node_names->at(0));
    for (const auto* failed : {&answer.failed, &answer.unresolvable})
      if (!failed->empty()) return std::string(failed->at(0).reason);
    return answer.error;
  }

  FakeClock clock_;
  FakeApi api_;
  std::vector<std::string> events_;  // "team/p AllocationUnreadable: ..."
  Scheduler scheduler_{
      api_,
      ChartRegistry(),
      {},
      clock_,
      [this](const ObjectRef& pod, bool, std::string_view reason, const std::string& message) {
        events_.push_back(Display(pod) + " " + std::string(reason) + ": " + message);
      },
      nullptr};
};

// ---- bound pods

TEST_F(EventHandlersTest, ABoundPodHoldsWhatItsAnnotationsSay) {
  api_.Put(KubePod("p").App(kAsk).App(kAsk).On("n1", "G0,NVIDIA,3000,30:;G0,NVIDIA,500,5:;"));
  EXPECT_EQ(Use(), (DeviceUse{2, 3500, 35}));
}

TEST_F(EventHandlersTest, ABoundPodWithoutAnAllocationHoldsNothing) {
  kube::Pod pod = KubePod("p").App(kAsk);
  pod.node_name = "n1";
  api_.Put(pod);
  EXPECT_EQ(scheduler_.ledger().Count().bound, 0U);
}

TEST_F(EventHandlersTest, LaterEditsMoveNothing) {
  const auto pod = [] { return KubePod("p").App(kAsk).On("n1", "G0,NVIDIA,3000,30:;"); };
  api_.Put(pod());
  for (const char* text : {"G1,NVIDIA,1,1:;", "G0,NVIDIA,9000,90:;", "nonsense,", ";"})
    api_.Put(pod().Annotate(kAllocatedKey, text));
  api_.Put(pod().Annotate(kNodeKey, "n2"));
  kube::Pod stripped = pod();
  stripped.meta.annotations.clear();
  api_.Put(stripped);
  EXPECT_EQ(Use(), (DeviceUse{1, 3000, 30}));
  EXPECT_EQ(Use("n1", "G1"), kIdle);
  EXPECT_EQ(Use("n2"), kIdle);
}

TEST_F(EventHandlersTest, CountsAPodWhereItRuns) {
  api_.Put(KubePod("p").App(kAsk).On("n1", "G0,NVIDIA,3000,30:;").Annotate(kNodeKey, "n2"));
  EXPECT_EQ(Use("n1"), (DeviceUse{1, 3000, 30}));
  EXPECT_EQ(Use("n2"), kIdle);
}

TEST_F(EventHandlersTest, ATerminalPodGivesEverythingBack) {
  for (const auto phase : {kube::PodPhase::kSucceeded, kube::PodPhase::kFailed}) {
    const auto pod = [] { return KubePod("p").App(kAsk).On("n1", "G0,NVIDIA,3000,30:;"); };
    api_.Put(pod());
    EXPECT_EQ(Use().slots, 1);
    api_.Put(pod().Phase(phase));
    EXPECT_EQ(Use(), kIdle);
    api_.Put(pod().Phase(phase).Annotate("later", "edit"));
    EXPECT_EQ(Use(), kIdle);
  }
}

TEST_F(EventHandlersTest, ATerminatingPodHoldsItsCardsUntilItIsGone) {
  const auto pod = [] { return KubePod("p").App(kAsk).On("n1", "G0,NVIDIA,3000,30:;"); };
  api_.Put(pod().Terminating());  // as seen first after a restart
  EXPECT_EQ(Use(), (DeviceUse{1, 3000, 30}));
  api_.RemovePod("team", "p");
  EXPECT_EQ(Use(), kIdle);
}

TEST_F(EventHandlersTest, ADeletedPodIsKnownByItsUidAlone) {
  api_.Put(KubePod("p").App(kAsk).On("n1", "G0,NVIDIA,3000,30:;"));
  // What was last known of it has lost its annotations.
  const kube::Pod last = KubePod("p").App(kAsk);
  scheduler_.pod_events().OnDelete(std::make_shared<const kube::Pod>(last));
  EXPECT_EQ(Use(), kIdle);
}

TEST_F(EventHandlersTest, AReCreatedPodIsAnotherOne) {
  api_.Put(KubePod("p").App(kAsk).On("n1", "G0,NVIDIA,3000,30:;"));
  api_.RemovePod("team", "p");
  api_.Put(KubePod("p").Uid("uid-2").App(kAsk).On("n1", "G1,NVIDIA,100,0:;"));
  EXPECT_EQ(Use("n1", "G0"), kIdle);
  EXPECT_EQ(Use("n1", "G1"), (DeviceUse{1, 100, 0}));
}

// Created, filtered, bound and gone: the cache has never seen it.
TEST_F(EventHandlersTest, APodThatCameAndWentBetweenTwoListsHoldsNothing) {
  const kube::Pod pod = KubePod("p").App(kAsk);
  const auto follow = std::exchange(api_.on_pod, nullptr);
  api_.Put(pod);
  EXPECT_EQ(Filter(pod), "n1");
  EXPECT_EQ(
      scheduler_.Bind({"p", "team", "uid-p", "n1"}, {std::chrono::steady_clock::now(), nullptr})
          .error,
      "");
  api_.RemovePod("team", "p");
  api_.on_pod = follow;
  const SteadyTime bound = clock_.Steady();
  clock_.Advance(1s);
  scheduler_.pod_events().OnListed(bound);  // may have been answered before the pod was there
  EXPECT_EQ(scheduler_.ledger().Count().bound, 1U);
  scheduler_.pod_events().OnListed(clock_.Steady());
  EXPECT_EQ(scheduler_.ledger().Count().bound, 0U);
}

TEST_F(EventHandlersTest, APodThatIsNotListedIsPromisedNothing) {
  const kube::Pod pod = KubePod("p").App(kAsk);
  const auto follow = std::exchange(api_.on_pod, nullptr);
  api_.Put(pod);
  EXPECT_EQ(Filter(pod), "n1");
  api_.RemovePod("team", "p");
  api_.on_pod = follow;
  const SteadyTime promised = clock_.Steady();
  clock_.Advance(1s);
  scheduler_.pod_events().OnListed(promised);  // may have been answered before the pod was there
  EXPECT_EQ(scheduler_.ledger().Count().reservations, 1U);
  scheduler_.pod_events().OnListed(clock_.Steady());
  EXPECT_EQ(scheduler_.ledger().Count().reservations, 0U);
}

TEST_F(EventHandlersTest, AListLeavesAloneWhatIsInTheCache) {
  api_.Put(KubePod("p").App(kAsk).On("n1", "G0,NVIDIA,3000,30:;"));
  clock_.Advance(1s);
  scheduler_.pod_events().OnListed(clock_.Steady());
  EXPECT_EQ(Use(), (DeviceUse{1, 3000, 30}));
}

TEST_F(EventHandlersTest, PodsCountBeforeTheirNodeIsKnown) {
  api_.Put(KubePod("p").App(kAsk).On("n3", "G0,NVIDIA,3000,30:;"));
  api_.Put(KubeNode("n3", {{.id = "G0"}}));
  EXPECT_EQ(Use("n3"), (DeviceUse{1, 3000, 30}));
  api_.RemoveNode("n3");
  EXPECT_FALSE(scheduler_.ledger().Node("n3").has_value());
}

// ---- unbound pods

TEST_F(EventHandlersTest, WhatAnUnboundPodCarriesHoldsNothing) {
  api_.Put(KubePod("p")
               .App(kAsk)
               .Annotate(kNodeKey, "n1")
               .Annotate(kAllocatedKey, "G0,NVIDIA,40000,100:;")
               .Annotate(kToAllocateKey, "G0,NVIDIA,40000,100:;"));
  EXPECT_EQ(Use(), kIdle);
}

TEST_F(EventHandlersTest, NegativeAmountsHoldNothing) {
  api_.Put(KubePod("p").App(kAsk).App(kAsk).On("n1", "G0,NVIDIA,-3000,-30:;G0,NVIDIA,100,1:;"));
  EXPECT_EQ(Use(), (DeviceUse{2, 100, 1}));
}

TEST_F(EventHandlersTest, AReservationIsNotTouchedByThePodsEvents) {
  const kube::Pod pod = KubePod("p").App(kAsk);
  api_.Put(pod);
  EXPECT_EQ(Filter(pod), "n1");  // patches the pod, which is an event
  const DeviceUse reserved = Use("n1", "G1");
  EXPECT_EQ(reserved, (DeviceUse{1, 3000, 30}));
  api_.Put(KubePod("p").App(kAsk).Annotate(kAllocatedKey, "G0,NVIDIA,1,1:;"));
  EXPECT_EQ(Use("n1", "G1"), reserved);
  EXPECT_EQ(Use("n1", "G0"), kIdle);
}

TEST_F(EventHandlersTest, BindingTurnsTheReservationIntoWhatIsWritten) {
  const kube::Pod pod = KubePod("p").App(kAsk);
  api_.Put(pod);
  EXPECT_EQ(Filter(pod), "n1");
  kube::Pod bound = *api_.pod("team", "p");
  bound.node_name = "n1";
  api_.Put(bound);
  EXPECT_EQ(Use("n1", "G1"), (DeviceUse{1, 3000, 30}));
  EXPECT_EQ(scheduler_.ledger().Count().bound, 1U);
  EXPECT_EQ(scheduler_.ledger().Count().reservations, 0U);
}

TEST_F(EventHandlersTest, AReservationEndsWhenSomebodyElseBindsThePodWithoutDevices) {
  api_.on_pod = nullptr;  // our own patch is not seen
  const kube::Pod pod = KubePod("p").App(kAsk);
  api_.Put(pod);
  EXPECT_EQ(Filter(pod), "n1");
  kube::Pod bound = pod;
  bound.node_name = "n2";
  scheduler_.pod_events().OnUpsert(nullptr, std::make_shared<const kube::Pod>(bound));
  EXPECT_EQ(Use("n1", "G1"), kIdle);
}

TEST_F(EventHandlersTest, AReservationEndsWithItsPod) {
  const kube::Pod pod = KubePod("p").App(kAsk);
  api_.Put(pod);
  EXPECT_EQ(Filter(pod), "n1");
  api_.RemovePod("team", "p");
  EXPECT_EQ(Use("n1", "G1"), kIdle);
}

// ---- init containers

TEST_F(EventHandlersTest, ThePeakEndsWhenTheInitContainersHaveSucceeded) {
  const auto pod = [] {
    return KubePod("p")
        .Init({.gpu = "1", .mem = "8000"})
        .App({.gpu = "1", .mem = "3000"})
        .On("n1", "G0,NVIDIA,8000,10:;G0,NVIDIA,3000,5:;");
  };
  api_.Put(pod().InitStatus(0, {}));
  EXPECT_EQ(Use(), (DeviceUse{1, 8000, 10}));
  api_.Put(pod().InitStatus(0, 1));  // failed: it will run again
  EXPECT_EQ(Use(), (DeviceUse{1, 8000, 10}));
  api_.Put(pod().InitStatus(0, 0));
  EXPECT_EQ(Use(), (DeviceUse{1, 3000, 5}));
  api_.Put(pod().InitStatus(0, {}));  // the sandbox was made anew
  EXPECT_EQ(Use(), (DeviceUse{1, 3000, 5}));
}

TEST_F(EventHandlersTest, APodThatIsPastItsInitContainersIsAddedWithoutThem) {
  api_.Put(KubePod("p")
               .Init({.gpu = "1", .mem = "8000"})
               .App({.gpu = "1", .mem = "3000"})
               .InitStatus(0, 0)
               .On("n1", "G0,NVIDIA,8000,10:;G0,NVIDIA,3000,5:;"));
  EXPECT_EQ(Use(), (DeviceUse{1, 3000, 5}));
}

TEST_F(EventHandlersTest, SidecarsStayWhenTheInitContainersAreDone) {
  api_.Put(KubePod("p")
               .Sidecar({.gpu = "1", .mem = "4000"})
               .Init({.gpu = "1", .mem = "8000"})
               .App({.gpu = "1", .mem = "3000"})
               .InitStatus(0, {})
               .InitStatus(1, 0)
               .On("n1", "G0,NVIDIA,4000,1:;G0,NVIDIA,8000,1:;G0,NVIDIA,3000,1:;"));
  EXPECT_EQ(Use(), (DeviceUse{2, 7000, 2}));
}

TEST_F(EventHandlersTest, AnInitContainerWithoutACardTakesNoAppsPlace) {
  // Two shares of 2500 stay when the init container is done: 5000 of 15360.
  api_.Put(KubeNode("n3", {{.id = "GA", .memory = 15360, .type = "NVIDIA-Tesla T4"}}));
  const Ask share{.gpu = "1", .mem = "2500", .cores = "25"};
  for (const char* text : {";GA,NVIDIA,2500,25:;GA,NVIDIA,2500,25:;",    // as we write it
                           "GA,NVIDIA,2500,25:;GA,NVIDIA,2500,25:;"}) {  // as v2.10 did
    api_.Put(KubePod("p").Init().App(share).App(share).InitStatus(0, 0).On("n3", text));
    EXPECT_EQ(Use("n3", "GA"), (DeviceUse{2, 5000, 50})) << text;
    EXPECT_EQ(Filter(KubePod("q").App({.gpu = "1", .mem = "10361"}), "n3"),
              "1/1 CardInsufficientMemory");
    api_.Put(KubePod("q").App({.gpu = "1", .mem = "10360"}));
    EXPECT_EQ(Filter(KubePod("q").App({.gpu = "1", .mem = "10360"}), "n3"), "n3");
    api_.RemovePod("team", "q");
    api_.RemovePod("team", "p");
  }
}

// ---- texts that cannot be read

TEST_F(EventHandlersTest, AnUnreadableAllocationClosesTheNodeAndSaysSo) {
  const auto pod = [] { return KubePod("p").App(kAsk).On("n1", "G0,NVIDIA,3000:;"); };
  api_.Put(pod());
  EXPECT_EQ(events_,
            std::vector<std::string>{
                "team/p AllocationUnreadable: node n1 takes no further pods of this vendor: "
                "NVIDIA: hami.io/vgpu-devices-allocated: pod annotation format error, missing "
                "fields, do not use nodeName in task spec"});
  EXPECT_EQ(Filter(KubePod("q").App(kAsk)), "2/2 CardAllocationUnreadable");
  // Put right, it counts; gone, it does not close the node any more.
  api_.Put(pod().Annotate(kAllocatedKey, "G0,NVIDIA,3000,30:;"));
  EXPECT_EQ(Use(), (DeviceUse{1, 3000, 30}));
  api_.Put(KubePod("q").App(kAsk));
  EXPECT_EQ(Filter(KubePod("q").App(kAsk)), "n1");
}

TEST_F(EventHandlersTest, TheNodeOpensWhenTheUnreadablePodIsGone) {
  api_.Put(KubePod("p").App(kAsk).On("n1", "nonsense,"));
  EXPECT_EQ(Filter(KubePod("q").App(kAsk)), "2/2 CardAllocationUnreadable");
  api_.RemovePod("team", "p");
  api_.Put(KubePod("q").App(kAsk));
  EXPECT_EQ(Filter(KubePod("q").App(kAsk)), "n1");
}

// ---- quotas

std::shared_ptr<const kube::ResourceQuota> Quota(const std::string& memory, bool scoped = false) {
  kube::ResourceQuota quota;
  quota.meta.ns = "team";
  quota.meta.name = "q";
  quota.hard["limits.nvidia.com/gpumem"] = memory;
  quota.scoped = scoped;
  return std::make_shared<const kube::ResourceQuota>(quota);
}

TEST_F(EventHandlersTest, QuotasLimitTheirNamespaceWhileTheyAreThere) {
  const auto room = [&] {
    const auto of_team = scheduler_.ledger().QuotaRoom("team");
    return of_team.empty() ? std::nullopt : of_team[0].memory;
  };
  scheduler_.quota_events().OnUpsert(nullptr, Quota("5k"));
  EXPECT_EQ(room(), 5000);
  api_.Put(KubePod("p").App(kAsk).On("n1", "G0,NVIDIA,3000,30:;"));
  EXPECT_EQ(room(), 2000);
  scheduler_.quota_events().OnUpsert(Quota("5k"), Quota("4000"));
  EXPECT_EQ(room(), 1000);
  scheduler_.quota_events().OnDelete(Quota("4000"));
  EXPECT_EQ(room(), std::nullopt);
}

TEST_F(EventHandlersTest, QuotasWithScopesAreNotForEveryPod) {
  scheduler_.quota_events().OnUpsert(nullptr, Quota("5k", /*scoped=*/true));
  EXPECT_TRUE(scheduler_.ledger().QuotaRoom("team").empty());
  // One that gets a scope stops to limit.
  scheduler_.quota_events().OnUpsert(nullptr, Quota("5k"));
  EXPECT_FALSE(scheduler_.ledger().QuotaRoom("team").empty());
  scheduler_.quota_events().OnUpsert(Quota("5k"), Quota("5k", /*scoped=*/true));
  EXPECT_TRUE(scheduler_.ledger().QuotaRoom("team").empty());
}

TEST_F(EventHandlersTest, AQuotaThatIsWrittenAnewIsNeverHalfRead) {
  kube::SubmittedPod pod;
  pod.containers.emplace_back();
  pod.containers[0].limits = testing::Resources({.gpu = "1", .mem = "5000"});
  QuotaEvents& quotas = scheduler_.quota_events();
  quotas.OnUpsert(nullptr, Quota("4096"));
  std::atomic<int> writes{0};
  std::atomic<bool> done{false};
  std::thread writer([&] {
    while (!done) {
      quotas.OnUpsert(Quota("4096"), Quota("4000"));
      quotas.OnUpsert(Quota("4000"), Quota("4096"));
      ++writes;
    }
  });
  int allowed = 0;
  for (int calls = 0; calls < 1000 || writes < 1000; ++calls)
    allowed += scheduler_.Admit({"team", "CREATE", pod}).allowed ? 1 : 0;
  done = true;
  writer.join();
  EXPECT_EQ(allowed, 0);
}

TEST(SyncEventsTest, EachCacheReportsItsFirstList) {
  FakeApi api;
  FakeClock clock;
  Scheduler scheduler(
      api, ChartRegistry(), {}, clock,
      [](const ObjectRef&, bool, std::string_view, const std::string&) {}, nullptr);
  scheduler.node_events().OnSynced();
  scheduler.quota_events().OnSynced();
  EXPECT_EQ(scheduler.sync().Missing(), "waiting for the first complete list of pods");
  scheduler.pod_events().OnSynced();
  EXPECT_TRUE(scheduler.sync().synced());
}

}  // namespace
}  // namespace aliquot::scheduler
