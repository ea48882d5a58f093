#include "aliquot/scheduler/bind.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "aliquot/base/fake_clock.h"
#include "aliquot/scheduler/assignment.h"
#include "aliquot/scheduler/filter.h"
#include "aliquot/vendors/registry.h"
#include "scheduler/keys.h"
#include "scheduler/node_reader.h"
#include "support/fake_api.h"
#include "support/kube_builders.h"

namespace aliquot::scheduler {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using testing::FakeApi;

constexpr char kToAllocate[] = "hami.io/vgpu-devices-to-allocate";
constexpr char kAllocated[] = "hami.io/vgpu-devices-allocated";
constexpr char kShares[] = "GPU-n1,NVIDIA,2000,0:;";
constexpr char kLockOfP[] = "2026-01-01T00:00:00Z,default,p";
constexpr char kLockOfX[] = "2026-01-01T00:00:00Z,default,x";

core::Registry NvidiaOnly() {
  vendors::Configs configs;
  configs.nvidia.count_name = "nvidia.com/gpu";
  configs.nvidia.memory_name = "nvidia.com/gpumem";
  configs.nvidia.memory_percentage_name = "nvidia.com/gpumem-percentage";
  configs.nvidia.cores_name = "nvidia.com/gpucores";
  return vendors::MakeRegistry(configs);
}

kube::Pod MakePod(const std::string& name, StringMap limits) {
  kube::Pod pod;
  pod.meta.ns = "default";
  pod.meta.name = name;
  pod.containers.emplace_back();
  pod.containers[0].name = "main";
  pod.containers[0].limits = std::move(limits);
  return pod;
}
kube::Pod GpuPod(const std::string& name) {
  return MakePod(name, {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "2000"}});
}

class BindTest : public ::testing::Test {
 protected:
  struct Event {
    std::string pod;
    bool warning;
    std::string reason;
    std::string message;
    bool operator==(const Event&) const = default;
  };
  friend void PrintTo(const Event& e, std::ostream* out) {
    *out << e.pod << ' ' << e.warning << ' ' << e.reason << ' ' << e.message;
  }

  BindTest() {
    api_.on_node = [this](const auto& before, const auto& now) {
      if (!feed_) return;
      if (now == nullptr) {
        nodes_.Remove("", before->meta.name);
      } else {
        nodes_.Put(now);
        locks_.OnNode(*now);
      }
    };
    api_.on_pod = [this](const auto& before, const auto& now) {
      if (!feed_) return;
      if (now == nullptr) {
        pods_.Remove(before->meta.ns, before->meta.name);
      } else {
        pods_.Put(now);
      }
      locks_.OnPod(now == nullptr ? *before : *now);
    };
    for (const auto cache : {SyncState::kNodes, SyncState::kPods}) sync_.SetSynced(cache);
    sync_.SetSynced(SyncState::kQuotas);
    AddNode("n1");
    AddNode("n2");
  }

  // What is kept is what would be computed afresh.
  void TearDown() override { EXPECT_EQ(ledger_.Usage(), ledger_.RebuildUsage()); }

  // One card of two slots.
  void AddNode(const std::string& name, std::optional<std::string> lock = std::nullopt) {
    kube::Node node;
    node.meta.name = name;
    node.meta.annotations["hami.io/node-nvidia-register"] =
        R"([{"id":"GPU-)" + name +
        R"(","index":0,"count":2,"devmem":40960,"devcore":100,"type":"NVIDIA A100-SXM4-40GB",)"
        R"("numa":0,"mode":"hami-core","health":true}])";
    if (lock) node.meta.annotations[std::string(kNodeLockKey)] = *lock;
    ledger_.SetNode(ReadNode(*api_.Put(node), registry_).inventory);
  }
  std::optional<std::string> Lock(const std::string& node = "n1") {
    const auto object = api_.node(node);
    const std::string* text = Find(object->meta.annotations, kNodeLockKey);
    return text == nullptr ? std::nullopt : std::optional(*text);
  }

  ObjectRef Add(const kube::Pod& pod) {
    const ObjectRef ref = api_.Put(pod)->meta.Ref();
    api_.ForgetCalls();
    return ref;
  }
  // A pod that /filter has put on the node.
  ObjectRef AddFiltered(const kube::Pod& pod, const std::string& node = "n1") {
    const ObjectRef ref = Add(pod);
    core::Allocation allocation = Reserve(ref, node);
    if (options_.assignment_write == AssignmentWrite::kFilter) Annotate(ref, allocation, node);
    api_.ForgetCalls();
    return ref;
  }
  core::Allocation Reserve(const ObjectRef& ref, std::string_view node) {
    const auto request = core::ParseRequests(SpecOf(*api_.pod(ref.ns, ref.name), ref), registry_);
    const std::string_view nodes[] = {node};
    ledger::Ledger::Outcome outcome =
        ledger_.Schedule(std::get<core::PodRequest>(request), nodes, {});
    EXPECT_TRUE(outcome.reservation.armed());
    outcome.reservation.Commit();
    return outcome.decision.allocation;
  }
  void Annotate(const ObjectRef& ref, const core::Allocation& allocation, const std::string& node) {
    const StringMap written = AssignmentAnnotations(*api_.pod(ref.ns, ref.name), allocation, node,
                                                    clock_.Now(), registry_);
    ASSERT_TRUE(api_.PatchPod(ref, AssignmentPatch(ref, written, {}).ToJson(), {}));
  }

  RequestContext Context(std::function<bool()> caller_gone = nullptr) {
    return {steady_clock::now(), std::move(caller_gone)};
  }
  std::string Bind(const ObjectRef& ref, const std::string& node = "n1") {
    return service_.Bind({ref.name, ref.ns, ref.uid, node}, Context()).error;
  }

  // Another pod has the lock of n1; once the bind waits for it `meanwhile` happens, and then the
  // other pod goes.
  std::string BindThatWaits(const ObjectRef& ref, const std::function<void()>& meanwhile) {
    AddNode("n1", kLockOfX);
    Add(GpuPod("x"));
    std::atomic<bool> waits{false};
    std::string error;
    std::thread bind([&] {
      error = service_
                  .Bind({ref.name, ref.ns, ref.uid, "n1"}, Context([&] {
                          waits = true;
                          waits.notify_all();
                          return false;
                        }))
                  .error;
    });
    waits.wait(false);
    meanwhile();
    api_.RemovePod("default", "x");
    bind.join();
    return error;
  }
  // Somebody has bound the pod to n1 with these shares.
  void ObserveBound(kube::Pod pod, const std::string& shares) {
    pod.meta.uid = pod.meta.name;
    pod.meta.annotations[kAllocated] = shares;
    ledger_.Observe(HoldingOf(pod, "n1", registry_).holding);
  }

  std::string BoundTo(const ObjectRef& ref) { return api_.pod(ref.ns, ref.name)->node_name; }
  std::string Annotation(const ObjectRef& ref, std::string_view key) {
    const auto pod = api_.pod(ref.ns, ref.name);
    const std::string* text = Find(pod->meta.annotations, key);
    return text == nullptr ? "-" : *text;
  }
  // Where the ledger holds devices for the pod: "n1", "n1 bound", or "".
  std::string Held(const ObjectRef& ref) {
    const auto held = ledger_.Find(ref.uid);
    return !held ? "" : held->node + (held->bound ? " bound" : "");
  }
  static Event Warning(std::string message) {
    return {"default/p", true, "BindingFailed", std::move(message)};
  }

  FakeApi api_;
  kube::Store<kube::Pod> pods_;
  kube::Store<kube::Node> nodes_;
  const core::Registry registry_ = NvidiaOnly();
  FakeClock clock_;
  ledger::Ledger ledger_{registry_, clock_};
  Options options_;
  NodeLocks locks_{api_, pods_, nodes_, options_, clock_, nullptr};
  InFlight in_flight_;
  std::vector<Event> events_;
  Metrics metrics_{clock_};
  const Leader leader_{std::nullopt, clock_};
  SyncState sync_;
  BindService service_{
      api_,
      pods_,
      nodes_,
      sync_,
      leader_,
      registry_,
      ledger_,
      locks_,
      in_flight_,
      options_,
      clock_,
      [this](const ObjectRef& pod, bool warning, std::string_view reason, std::string message) {
        events_.push_back({Display(pod), warning, std::string(reason), std::move(message)});
      },
      metrics_};
  std::atomic<bool> feed_{true};  // the caches follow the API server
};

// ---- success

TEST_F(BindTest, LocksTheNodeAndBindsWithTwoCalls) {
  const ObjectRef p = AddFiltered(GpuPod("p"));
  EXPECT_EQ(Bind(p), "");
  EXPECT_EQ(BoundTo(p), "n1");
  EXPECT_EQ(Lock(), kLockOfP);
  EXPECT_EQ(Annotation(p, kBindPhaseKey), "allocating");
  EXPECT_EQ(Annotation(p, kBindTimeKey), "1767225600");
  EXPECT_EQ(Annotation(p, kToAllocate), kShares);
  EXPECT_EQ(Held(p), "n1 bound");
  EXPECT_EQ(events_, (std::vector<Event>{{"default/p", false, "BindingSucceed",
                                          "Successfully binding node [n1] to default/p"}}));
  ASSERT_EQ(api_.calls().size(), 2U);
  EXPECT_EQ(api_.calls()[0].method, "PatchNode");
  EXPECT_EQ(api_.calls()[1].method, "Bind");
}

TEST_F(BindTest, CallsCarryTheDeadline) {
  const ObjectRef p = AddFiltered(GpuPod("p"));
  const RequestContext context = Context();
  EXPECT_EQ(service_.Bind({"p", "default", p.uid, "n1"}, context).error, "");
  for (const FakeApi::Call& call : api_.calls()) {
    EXPECT_EQ(call.options.lane, kube::Lane::kScheduling);
    EXPECT_EQ(call.options.deadline, context.received + options_.bind_deadline);
  }
}

TEST_F(BindTest, PodThatAsksForNothingTakesNoLock) {
  AddNode("n1", "a,b");
  for (const StringMap& limits : {StringMap{}, StringMap{{"nvidia.com/gpu", "0"}}}) {
    const ObjectRef p = Add(MakePod("p", limits));
    EXPECT_EQ(Bind(p), "");
    EXPECT_EQ(BoundTo(p), "n1");
    EXPECT_EQ(Annotation(p, kBindPhaseKey), "allocating");
    EXPECT_EQ(Lock(), "a,b");
    EXPECT_EQ(Held(p), "");
    EXPECT_EQ(api_.calls().size(), 1U);
  }
}

TEST_F(BindTest, InitContainerAloneTakesTheLock) {
  kube::Pod pod = MakePod("p", {});
  pod.init_containers = GpuPod("p").containers;
  const ObjectRef p = AddFiltered(pod);
  EXPECT_EQ(Bind(p), "");
  EXPECT_EQ(Lock(), kLockOfP);
  EXPECT_EQ(Annotation(p, kToAllocate), "GPU-n1,NVIDIA,2000,0:;;");
}

TEST_F(BindTest, RepeatedCallSucceedsAndWritesNothing) {
  const ObjectRef p = AddFiltered(GpuPod("p"));
  EXPECT_EQ(Bind(p), "");
  AddNode("n1");  // the device plugin has given the lock back
  api_.ForgetCalls();
  events_.clear();
  EXPECT_EQ(Bind(p), "");
  EXPECT_EQ(api_.calls().size(), 0U);
  EXPECT_EQ(Lock(), std::nullopt);
  EXPECT_EQ(events_, std::vector<Event>{});
}

TEST_F(BindTest, RepeatedCallSucceedsWhileTheCacheIsBehind) {
  const ObjectRef p = AddFiltered(GpuPod("p"));
  feed_ = false;
  EXPECT_EQ(Bind(p), "");
  api_.ForgetCalls();
  EXPECT_EQ(Bind(p), "");
  EXPECT_EQ(api_.CountCalls("GetPod"), 1U);
  EXPECT_EQ(api_.calls().size(), 1U);
  EXPECT_EQ(Held(p), "n1 bound");
}

// A filter of an old copy of the pod has come in between.
TEST_F(BindTest, RepeatedCallForAPodThatHasFinishedKeepsNothing) {
  const ObjectRef p = AddFiltered(GpuPod("p"));
  kube::Pod finished = *api_.pod("default", "p");
  finished.node_name = "n1";
  finished.phase = kube::PodPhase::kSucceeded;
  api_.Put(finished);
  pods_.Remove("default", "p");
  EXPECT_EQ(Bind(p), "");
  EXPECT_EQ(Held(p), "");
}

TEST_F(BindTest, RequestWithoutUidMeansThePodOfThatName) {
  const ObjectRef p = AddFiltered(GpuPod("p"));
  EXPECT_EQ(Bind({p.ns, p.name, ""}), "");
  EXPECT_EQ(BoundTo(p), "n1");
  EXPECT_EQ(Bind({p.ns, "none", ""}), "pod \"none\" not found");
}

// ---- the pod cannot be bound

TEST_F(BindTest, MissingPodGivesItsReservationBack) {
  const ObjectRef p = AddFiltered(GpuPod("p"));
  api_.RemovePod("default", "p");
  EXPECT_EQ(Bind(p), "pod \"p\" not found");
  EXPECT_EQ(Held(p), "");
  EXPECT_EQ(Lock(), std::nullopt);
  EXPECT_EQ(events_, std::vector<Event>{});
}

TEST_F(BindTest, PodThatTheCacheDoesNotKnowYetIsRead) {
  const ObjectRef p = AddFiltered(GpuPod("p"));
  pods_.Remove("default", "p");
  EXPECT_EQ(Bind(p), "");
  EXPECT_EQ(BoundTo(p), "n1");
}

TEST_F(BindTest, PodThatTheCacheKnowsUnderItsOldUidIsRead) {
  Add(GpuPod("p"));
  feed_ = false;
  kube::Pod again = GpuPod("p");
  const ObjectRef p = AddFiltered(again);
  EXPECT_EQ(Bind(p), "");
  EXPECT_EQ(BoundTo(p), "n1");
}

TEST_F(BindTest, PodOfAnotherUidIsRefused) {
  const ObjectRef p = AddFiltered(GpuPod("p"));
  const ObjectRef asked{p.ns, p.name, "other"};
  const std::string error = "pod default/p has UID " + p.uid + ", not other";
  EXPECT_EQ(Bind(asked), error);
  EXPECT_EQ(BoundTo(p), "");
  EXPECT_EQ(Lock(), std::nullopt);
  EXPECT_EQ(Held(p), "n1");
  EXPECT_EQ(events_, std::vector<Event>{Warning(error)});
}

TEST_F(BindTest, PodBeingDeletedIsRefused) {
  kube::Pod pod = GpuPod("p");
  pod.meta.terminating = true;
  const ObjectRef p = AddFiltered(pod);
  EXPECT_EQ(Bind(p), "pod default/p is being deleted");
  EXPECT_EQ(Held(p), "");
  EXPECT_EQ(Lock(), std::nullopt);
  EXPECT_EQ(events_, std::vector<Event>{Warning("pod default/p is being deleted")});
}

TEST_F(BindTest, PodBoundElsewhereIsRefused) {
  const ObjectRef p = AddFiltered(GpuPod("p"));
  ASSERT_TRUE(api_.Bind({p, "n2", {}}, {}));
  EXPECT_EQ(Bind(p), "pod default/p is already assigned to node n2");
  EXPECT_EQ(Held(p), "");
  EXPECT_EQ(Lock(), std::nullopt);
}

TEST_F(BindTest, MissingNodeGivesTheReservationBack) {
  const ObjectRef p = AddFiltered(GpuPod("p"));
  EXPECT_EQ(Bind(p, "n9"), "node \"n9\" not found");
  EXPECT_EQ(Held(p), "");
  EXPECT_EQ(events_, std::vector<Event>{Warning("failed to get node n9")});
}

TEST_F(BindTest, NodeThatIsNotCachedIsRead) {
  const ObjectRef p = AddFiltered(GpuPod("p"));
  nodes_.Remove("", "n1");
  EXPECT_EQ(Bind(p), "");
}

TEST_F(BindTest, ReadThatFailsKeepsTheReservation) {
  const ObjectRef p = AddFiltered(GpuPod("p"));
  pods_.Remove("default", "p");
  api_.FailNext("GetPod", {ErrorCode::kUnavailable, "down"});
  EXPECT_EQ(Bind(p), "down");
  nodes_.Remove("", "n1");
  api_.FailNext("GetNode", {ErrorCode::kUnavailable, "also down"});
  EXPECT_EQ(Bind(p), "also down");
  EXPECT_EQ(Held(p), "n1");
}

TEST_F(BindTest, UnreadableRequestIsRefusedAndNothingWritten) {
  const ObjectRef p = Add(MakePod("p", {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "16Gi5"}}));
  const std::string error = Bind(p);
  EXPECT_EQ(error.find("n1: InvalidDeviceRequest: container main: nvidia.com/gpumem=16Gi5: "), 0U)
      << error;
  EXPECT_EQ(BoundTo(p), "");
  EXPECT_EQ(api_.calls().size(), 0U);
}

// ---- the reservation

TEST_F(BindTest, OtherNodeThanTheReservedOneIsRefused) {
  const ObjectRef p = AddFiltered(GpuPod("p"));
  const std::string error = "pod default/p is reserved on node n1, not n2";
  EXPECT_EQ(Bind(p, "n2"), error);
  EXPECT_EQ(Held(p), "");
  EXPECT_EQ(Lock("n2"), std::nullopt);
  EXPECT_EQ(events_, std::vector<Event>{Warning(error)});
}

TEST_F(BindTest, PodThatWasNeverFilteredGetsDevicesOnTheNamedNode) {
  const ObjectRef p = Add(GpuPod("p"));
  EXPECT_EQ(Bind(p), "");
  EXPECT_EQ(BoundTo(p), "n1");
  EXPECT_EQ(Annotation(p, kToAllocate), kShares);
  EXPECT_EQ(Annotation(p, kAllocated), kShares);
  EXPECT_EQ(Annotation(p, kAssignedNodeKey), "n1");
  EXPECT_EQ(api_.pod("default", "p")->meta.labels.at(std::string(kAssignedNodeKey)), "n1");
  EXPECT_EQ(Lock(), kLockOfP);
  EXPECT_EQ(Held(p), "n1 bound");
}

TEST_F(BindTest, PodThatWasNeverFilteredLosesWhatAnEarlierAttemptHasWritten) {
  kube::Pod pod = GpuPod("p");
  pod.meta.annotations = {{std::string(kAssignedNodeKey), "n2"},
                          {"hami.io/vgpu-mig-allocations", "{}"},
                          {std::string(kBindPhaseKey), "failed"}};
  const ObjectRef p = Add(pod);
  EXPECT_EQ(Bind(p), "");
  EXPECT_EQ(Annotation(p, "hami.io/vgpu-mig-allocations"), "-");
  EXPECT_EQ(Annotation(p, kAssignedNodeKey), "n1");
}

TEST_F(BindTest, NoRoomOnTheNamedNodeIsRefusedWithTheReason) {
  AddFiltered(GpuPod("a"));
  AddFiltered(GpuPod("b"));
  const ObjectRef p = Add(GpuPod("p"));
  EXPECT_EQ(Bind(p), "n1: 1/1 CardTimeSlicingExhausted");
  EXPECT_EQ(Bind(p, "n2"), "");
  const ObjectRef q = Add(GpuPod("q"));
  kube::Node bare;
  bare.meta.name = "bare";
  api_.Put(bare);
  EXPECT_EQ(Bind(q, "bare"), "bare: node unregistered");
  EXPECT_EQ(Held(q), "");
}

TEST_F(BindTest, UnreadableWeightsAreRefused) {
  kube::Pod pod = GpuPod("p");
  pod.meta.annotations["hami.io/device-scoring-weights"] = "slot=1";
  const ObjectRef p = Add(pod);
  EXPECT_EQ(Bind(p).find("n1: invalid hami.io/device-scoring-weights annotation"), 0U);
  EXPECT_EQ(Lock(), std::nullopt);
}

TEST_F(BindTest, AfterARestartThePodKeepsWhatIsWrittenOnIt) {
  kube::Pod pod = GpuPod("p");
  pod.meta.annotations = {{std::string(kAssignedNodeKey), "n1"},
                          {kToAllocate, "GPU-n1,NVIDIA,3000,7:;"},
                          {kAllocated, "GPU-n1,NVIDIA,3000,7:;"}};
  const ObjectRef p = Add(pod);
  EXPECT_EQ(Bind(p), "");
  EXPECT_EQ(Annotation(p, kToAllocate), "GPU-n1,NVIDIA,3000,7:;");
  EXPECT_EQ(api_.CountCalls("PatchPod"), 0U);
  const auto node = ledger_.Node("n1");
  EXPECT_EQ(node->use()[0], (core::DeviceUse{1, 3000, 7}));
}

TEST_F(BindTest, WhatIsWrittenForAnotherNodeOrDoesNotFitIsReplaced) {
  for (const auto& [node, shares] : std::initializer_list<std::pair<const char*, const char*>>{
           {"n2", "GPU-n1,NVIDIA,3000,0:;"},
           {"n1", "GPU-n1,NVIDIA,99999,0:;"},
           {"n1", "GPU-gone,NVIDIA,3000,0:;"},
           {"n1", "GPU-n1,NVIDIA:;"},
           {"n1", ""}}) {
    kube::Pod pod = GpuPod("p");
    pod.meta.annotations = {{std::string(kAssignedNodeKey), node}, {kAllocated, shares}};
    const ObjectRef p = Add(pod);
    EXPECT_EQ(Bind(p), "") << node << ' ' << shares;
    EXPECT_EQ(Annotation(p, kAllocated), kShares) << node << ' ' << shares;
    ledger_.Remove(p.uid);
    AddNode("n1");
  }
}

TEST_F(BindTest, WhatIsWrittenIsNotTakenOverBesideAPodThatHasTheWholeCard) {
  ObserveBound(GpuPod("whole"), "GPU-n1,NVIDIA,2000,100:;");
  kube::Pod pod = GpuPod("p");
  pod.meta.annotations = {{std::string(kAssignedNodeKey), "n1"}, {kAllocated, kShares}};
  const ObjectRef p = Add(pod);
  EXPECT_EQ(Bind(p), "n1: 1/1 CardComputeUnitsExhausted");
  EXPECT_EQ(Held(p), "");
}

TEST_F(BindTest, TheWholeCardIsNotTakenOverBesideAnotherPod) {
  ObserveBound(GpuPod("other"), kShares);
  kube::Pod pod = MakePod("p", {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpucores", "100"}});
  pod.meta.annotations = {{std::string(kAssignedNodeKey), "n1"},
                          {kAllocated, "GPU-n1,NVIDIA,2000,100:;"}};
  const ObjectRef p = Add(pod);
  EXPECT_NE(Bind(p), "");
  EXPECT_EQ(BoundTo(p), "");
}

TEST_F(BindTest, TheBindingCarriesTheReservationWhateverIsWrittenOnThePod) {
  const ObjectRef p = AddFiltered(GpuPod("p"));
  kube::MetadataPatch others;  // another scheduler's
  others.annotations = {{kToAllocate, "GPU-n2,NVIDIA,1,1:;"},
                        {kAllocated, "GPU-n2,NVIDIA,1,1:;"},
                        {std::string(kAssignedNodeKey), "n2"}};
  ASSERT_TRUE(api_.PatchPod(p, others.ToJson(), {}));
  api_.ForgetCalls();
  EXPECT_EQ(Bind(p), "");
  EXPECT_EQ(Annotation(p, kToAllocate), kShares);
  EXPECT_EQ(Annotation(p, kAllocated), kShares);
  EXPECT_EQ(Annotation(p, kAssignedNodeKey), "n1");
  EXPECT_EQ(api_.calls().size(), 2U);
}

TEST_F(BindTest, WhatIsWrittenIsReadFromTheApiServer) {
  const ObjectRef p = Add(GpuPod("p"));
  feed_ = false;
  kube::Pod pod = *api_.pod("default", "p");
  pod.meta.annotations = {{std::string(kAssignedNodeKey), "n1"},
                          {kAllocated, "GPU-n1,NVIDIA,3000,0:;"}};
  api_.Put(pod);
  EXPECT_EQ(Bind(p), "");
  EXPECT_EQ(Annotation(p, kAllocated), "GPU-n1,NVIDIA,3000,0:;");
}

TEST_F(BindTest, ReservationThatNoLongerFitsIsMadeAnew) {
  const ObjectRef p = AddFiltered(GpuPod("p"));
  core::NodeInventory inventory = ledger_.Node("n1")->inventory();
  inventory.devices[0].id = "GPU-new";
  ledger_.SetNode(inventory);
  EXPECT_EQ(Bind(p), "");
  EXPECT_EQ(Annotation(p, kAllocated), "GPU-new,NVIDIA,2000,0:;");
}

TEST_F(BindTest, AssignmentThatCannotBeWrittenIsNotKept) {
  const ObjectRef p = Add(GpuPod("p"));
  api_.FailNext("PatchPod", {ErrorCode::kUnavailable, "down"});
  EXPECT_EQ(Bind(p), "down");
  EXPECT_EQ(Held(p), "");
  EXPECT_EQ(Lock(), std::nullopt);
  EXPECT_EQ(Bind(p), "");
}

TEST_F(BindTest, AssignmentWhoseAnswerWasLostIsTakenOverByTheNextAttempt) {
  const ObjectRef p = Add(GpuPod("p"));
  api_.LoseNextAnswer("PatchPod");
  EXPECT_NE(Bind(p), "");
  EXPECT_EQ(Bind(p), "");
  EXPECT_EQ(api_.CountCalls("PatchPod"), 1U);
  EXPECT_EQ(Annotation(p, kAllocated), kShares);
}

TEST_F(BindTest, PodReCreatedBeforeTheAssignmentIsWrittenIsNamed) {
  const ObjectRef p = Add(GpuPod("p"));
  api_.on_call = [&](const FakeApi::Call& call) {
    if (call.method == "PatchPod") api_.Put(GpuPod("p"));
  };
  const std::string error = Bind(p);
  EXPECT_EQ(error.find("pod default/p has UID "), 0U) << error;
  EXPECT_EQ(Held(p), "");
}

// ---- the lock

TEST_F(BindTest, LockThatIsHeldKeepsTheReservation) {
  options_.bind_wait = BindWait::kNone;
  AddNode("n1", kLockOfX);
  Add(GpuPod("x"));
  const ObjectRef p = AddFiltered(GpuPod("p"));
  const std::string error = "node n1 has been locked within 5m0s: node lock contention";
  EXPECT_EQ(Bind(p), error);
  EXPECT_EQ(Held(p), "n1");
  EXPECT_EQ(Lock(), kLockOfX);
  EXPECT_EQ(BoundTo(p), "");
  EXPECT_EQ(events_, std::vector<Event>{Warning(error)});
}

TEST_F(BindTest, ReservationMadeAtBindIsKeptWhileTheLockIsHeld) {
  options_.bind_wait = BindWait::kNone;
  AddNode("n1", kLockOfX);
  Add(GpuPod("x"));
  const ObjectRef p = Add(GpuPod("p"));
  EXPECT_NE(Bind(p), "");
  EXPECT_EQ(Held(p), "n1");
  AddNode("n1");
  api_.ForgetCalls();
  EXPECT_EQ(Bind(p), "");
  EXPECT_EQ(Annotation(p, kAllocated), kShares);
  EXPECT_EQ(api_.CountCalls("PatchPod"), 0U);
}

TEST_F(BindTest, ReservationThatExpiresWhileWaitingIsNotBound) {
  const ObjectRef p = AddFiltered(GpuPod("p"));
  const std::string error = BindThatWaits(p, [&] {
    clock_.Advance(1s);
    EXPECT_EQ(ledger_.ExpireReservations(0s).size(), 1U);
  });
  EXPECT_EQ(error, "reservation of pod default/p expired while it waited for node n1");
  EXPECT_EQ(Lock(), std::nullopt);
  EXPECT_EQ(BoundTo(p), "");
}

TEST_F(BindTest, ReservationWhoseCardIsTakenWhileWaitingIsNotBound) {
  const ObjectRef p = AddFiltered(GpuPod("p"));
  const std::string error = BindThatWaits(p, [&] {
    for (const char* other : {"a", "b"}) ObserveBound(GpuPod(other), kShares);
  });
  EXPECT_EQ(error, "devices of pod default/p were taken while it waited for node n1");
  EXPECT_EQ(Lock(), std::nullopt);
  EXPECT_EQ(BoundTo(p), "");
  EXPECT_EQ(Held(p), "");
}

TEST_F(BindTest, OthersGoOnWhileABindWaits) {
  const ObjectRef p = AddFiltered(GpuPod("p"));
  const std::string error = BindThatWaits(p, [&] {
    const ObjectRef q = AddFiltered(GpuPod("q"), "n2");
    EXPECT_EQ(Bind(q, "n2"), "");
    SyncState sync;
    for (const auto cache : {SyncState::kNodes, SyncState::kPods, SyncState::kQuotas})
      sync.SetSynced(cache);
    FilterService filter(
        api_, pods_, sync, leader_, registry_, ledger_, in_flight_, options_, clock_,
        [](const ObjectRef&, bool, std::string_view, const std::string&) {}, metrics_);
    FilterRequest request;
    request.pod = *api_.Put(GpuPod("r"));
    request.node_names = {"n1"};
    EXPECT_EQ(filter.Filter(request, Context()).node_names, request.node_names);
    EXPECT_EQ(BoundTo(p), "");

    AddNode("n1");  // the lock is given back
  });
  EXPECT_EQ(error, "");
  EXPECT_EQ(BoundTo(p), "n1");
}

TEST_F(BindTest, DevicesThatWereTakenWhileItWaitedAreNotBound) {
  const ObjectRef p = AddFiltered(GpuPod("p"));
  api_.on_call = [&](const FakeApi::Call& call) {
    if (call.method != "PatchNode") return;
    ledger::Holding holding;  // bound by another replica
    holding.pod = {"default", "other", "uid-other"};
    holding.node = "n1";
    holding.allocation.push_back(testing::Held(*codec::ParsePodDevices("GPU-n1,NVIDIA,40000,0:;"),
                                               registry_.Find("NVIDIA")->id()));
    holding.kinds = {core::ContainerKind::kApp};
    ledger_.Observe(std::move(holding));
  };
  EXPECT_EQ(Bind(p), "devices of pod default/p were taken while it waited for node n1");
  EXPECT_EQ(BoundTo(p), "");
  EXPECT_EQ(Lock(), std::nullopt);
}

TEST_F(BindTest, SecondCallForThePodWaitsForTheFirst) {
  options_.bind_deadline = 20ms;
  const ObjectRef p = AddFiltered(GpuPod("p"));
  const InFlight::Turn turn = in_flight_.Enter(p.uid, steady_clock::now() + 1s);
  EXPECT_EQ(Bind(p), "pod default/p is being scheduled by another call");
  EXPECT_EQ(Held(p), "n1");
}

// ---- the binding

TEST_F(BindTest, RefusedBindingIsFinal) {
  for (const ErrorCode code : {ErrorCode::kInvalid, ErrorCode::kForbidden, ErrorCode::kUnauthorized,
                               ErrorCode::kTooLarge}) {
    const ObjectRef p = AddFiltered(GpuPod("p"));
    api_.FailNext("Bind", {code, "refused"});
    EXPECT_EQ(Bind(p), "refused");
    EXPECT_EQ(Held(p), "") << ErrorCodeName(code);
    EXPECT_EQ(Lock(), std::nullopt) << ErrorCodeName(code);
  }
}

TEST_F(BindTest, FailureThatMayPassKeepsTheReservationAndReturnsTheLock) {
  const ObjectRef p = AddFiltered(GpuPod("p"));
  for (const ErrorCode code :
       {ErrorCode::kUnavailable, ErrorCode::kTooManyRequests, ErrorCode::kDeadline,
        ErrorCode::kConflict, ErrorCode::kUnknownOutcome}) {
    events_.clear();
    api_.FailNext("Bind", {code, "not now"});
    EXPECT_EQ(Bind(p), "not now") << ErrorCodeName(code);
    EXPECT_EQ(Held(p), "n1") << ErrorCodeName(code);
    EXPECT_EQ(Lock(), std::nullopt) << ErrorCodeName(code);
    EXPECT_EQ(events_, std::vector<Event>{Warning("not now")});
  }
  EXPECT_EQ(Bind(p), "");
}

TEST_F(BindTest, LostAnswerOfABindingIsASuccessIfThePodIsBound) {
  const ObjectRef p = AddFiltered(GpuPod("p"));
  api_.LoseNextAnswer("Bind");
  EXPECT_EQ(Bind(p), "");
  EXPECT_EQ(Held(p), "n1 bound");
  EXPECT_EQ(Lock(), kLockOfP);
  EXPECT_EQ(events_.at(0).reason, "BindingSucceed");
}

TEST_F(BindTest, LostAnswerWithoutNewsKeepsReservationAndLock) {
  const ObjectRef p = AddFiltered(GpuPod("p"));
  api_.LoseNextAnswer("Bind");
  api_.FailNext("GetPod", {ErrorCode::kUnavailable, "down"});
  EXPECT_EQ(Bind(p), "the answer was lost");
  EXPECT_EQ(Held(p), "n1");
  EXPECT_EQ(Lock(), kLockOfP);
  EXPECT_EQ(Bind(p), "");
  EXPECT_EQ(Held(p), "n1 bound");
}

TEST_F(BindTest, ConflictIsExplainedByThePodItself) {
  const ObjectRef p = AddFiltered(GpuPod("p"));
  api_.on_call = [&](const FakeApi::Call& call) {
    if (call.method != "Bind") return;
    kube::Pod pod = *api_.pod("default", "p");
    pod.meta.terminating = true;
    api_.Put(pod);
  };
  EXPECT_EQ(Bind(p), "pod default/p is being deleted");
  EXPECT_EQ(Held(p), "");
  EXPECT_EQ(Lock(), std::nullopt);
}

TEST_F(BindTest, APodThatAnotherHasBoundHereHoldsWhatThatOneGaveIt) {
  const ObjectRef p = AddFiltered(GpuPod("p"));
  ASSERT_EQ(ledger_.Find(p.uid)->allocation.front().containers.front().front().memory, 2000);
  feed_ = false;  // our cache lags behind
  api_.on_call = [&](const FakeApi::Call& call) {
    if (call.method != "Bind") return;
    kube::Pod pod = *api_.pod("default", "p");
    pod.node_name = "n1";
    pod.meta.annotations["hami.io/vgpu-devices-allocated"] = "GPU-n1,NVIDIA,77,7:;";
    api_.Put(pod);
  };
  EXPECT_EQ(Bind(p), "");
  EXPECT_EQ(Held(p), "n1 bound");
  EXPECT_EQ(ledger_.Find(p.uid)->allocation.front().containers.front().front().memory, 77);
}

TEST_F(BindTest, PodThatGoesBeforeTheBindingIsFinal) {
  const ObjectRef p = AddFiltered(GpuPod("p"));
  api_.on_call = [&](const FakeApi::Call& call) {
    if (call.method == "Bind") api_.RemovePod("default", "p");
  };
  EXPECT_EQ(Bind(p), "pod \"p\" not found");
  EXPECT_EQ(Held(p), "");
  EXPECT_EQ(Lock(), std::nullopt);
}

TEST_F(BindTest, ReleaseThatFailsDoesNotHideTheReason) {
  options_.bind_deadline = 0s;
  const ObjectRef p = AddFiltered(GpuPod("p"));
  api_.FailNext("Bind", {ErrorCode::kForbidden, "refused"});
  api_.FailNext("GetNode", {ErrorCode::kForbidden, "no"}, 9);
  EXPECT_EQ(Bind(p), "refused");
  EXPECT_EQ(Lock(), kLockOfP);
}

TEST_F(BindTest, OnlyPodsWithDevicesWaitForTheCaches) {
  options_.sync_wait = 0s;
  const SyncState never;
  BindService unsynced(
      api_, pods_, nodes_, never, leader_, registry_, ledger_, locks_, in_flight_, options_, clock_,
      [](const ObjectRef&, bool, std::string_view, const std::string&) {}, metrics_);
  const auto bind = [&](const ObjectRef& pod) {
    return unsynced.Bind({pod.name, pod.ns, pod.uid, "n1"}, Context()).error;
  };
  const ObjectRef p = AddFiltered(GpuPod("p"));
  EXPECT_EQ(bind(p), "scheduler caches are not synced");
  EXPECT_EQ(Held(p), "n1") << "as it was";
  EXPECT_EQ(Lock(), std::nullopt);
  EXPECT_EQ(bind(Add(MakePod("plain", {}))), "");
}

// ---- replicas, of which one leads

class ElectedBindTest : public BindTest {
 protected:
  ElectedBindTest() { options_.election = election_; }

  std::string Bind(const ObjectRef& ref) {
    return elected_.Bind({ref.name, ref.ns, ref.uid, "n1"}, Context()).error;
  }
  void HeldBy(const std::string& holder) { elector_.OnUpsert(nullptr, testing::KubeLease(holder)); }

  const Election election_{"kube-system", "hami-scheduler", "us"};
  const std::string refusal_ =
      "this replica does not lead: lease kube-system/hami-scheduler is held by \"other_1\"";
  Leader elector_{election_, clock_};
  BindService elected_{
      api_,     pods_,    nodes_,
      sync_,    elector_, registry_,
      ledger_,  locks_,   in_flight_,
      options_, clock_,   [](const ObjectRef&, bool, std::string_view, const std::string&) {},
      metrics_};
};

TEST_F(ElectedBindTest, AFollowerBindsNothing) {
  HeldBy("other_1");
  const ObjectRef p = AddFiltered(GpuPod("p"));
  EXPECT_EQ(Bind(p), refusal_);
  EXPECT_TRUE(api_.calls().empty());
  EXPECT_EQ(Held(p), "n1");
}

TEST_F(ElectedBindTest, ALeaderOfBeforeDoesNotBindWhatHasWaitedForTheLock) {
  HeldBy("us_1");
  const ObjectRef p = AddFiltered(GpuPod("p"));
  api_.on_call = [&](const FakeApi::Call& call) {
    if (call.method == "PatchNode") HeldBy("other_1");
  };
  EXPECT_EQ(Bind(p), refusal_);
  EXPECT_EQ(BoundTo(p), "");
  EXPECT_EQ(Lock(), std::nullopt);
  EXPECT_EQ(api_.CountCalls("Bind"), 0U);
}

TEST_F(ElectedBindTest, ALeaderOfBeforeLeavesTheLockOfAPodThatTheNextOneHasBound) {
  HeldBy("us_1");
  const ObjectRef p = AddFiltered(GpuPod("p"));
  api_.on_call = [&](const FakeApi::Call& call) {
    if (call.method != "PatchNode") return;
    HeldBy("other_1");
    kube::Pod pod = *api_.pod(p.ns, p.name);
    pod.node_name = "n1";
    api_.Put(pod);
  };
  EXPECT_EQ(Bind(p), refusal_);
  EXPECT_EQ(Lock(), kLockOfP);
}

TEST_F(ElectedBindTest, TheBindingSaysWhatIsBoundWhateverWasWrittenSince) {
  HeldBy("us_1");
  const ObjectRef p = AddFiltered(GpuPod("p"));
  api_.on_call = [&](const FakeApi::Call& call) {
    if (call.method != "Bind") return;
    kube::Pod pod = *api_.pod(p.ns, p.name);
    pod.meta.annotations[kAllocated] = "GPU-n2,NVIDIA,2000,0:;";
    pod.meta.annotations["hami.io/vgpu-node"] = pod.meta.labels["hami.io/vgpu-node"] = "n2";
    api_.Put(pod);
  };
  EXPECT_EQ(Bind(p), "");
  EXPECT_EQ(Annotation(p, kAllocated), kShares);
  EXPECT_EQ(Annotation(p, "hami.io/vgpu-node"), "n1");
  EXPECT_EQ(api_.pod(p.ns, p.name)->meta.labels.at("hami.io/vgpu-node"), "n1");
}

// ---- the assignment travels with the binding

class BindWriteTest : public BindTest {
 protected:
  BindWriteTest() { options_.assignment_write = AssignmentWrite::kBind; }
};

TEST_F(BindWriteTest, AssignmentIsWrittenWithTheBindingAlone) {
  const ObjectRef p = AddFiltered(GpuPod("p"));
  EXPECT_EQ(Annotation(p, kAllocated), "-");
  EXPECT_EQ(Bind(p), "");
  EXPECT_EQ(Annotation(p, kToAllocate), kShares);
  EXPECT_EQ(Annotation(p, kAllocated), kShares);
  EXPECT_EQ(Annotation(p, kAssignedNodeKey), "n1");
  EXPECT_EQ(Annotation(p, kAssignedTimeKey), "1767225600");
  EXPECT_EQ(Annotation(p, kBindPhaseKey), "allocating");
  EXPECT_EQ(api_.CountCalls("PatchPod"), 0U);
  EXPECT_EQ(api_.calls().size(), 2U);
}

TEST_F(BindWriteTest, PodThatWasNeverFilteredNeedsNoPatch) {
  const ObjectRef p = Add(GpuPod("p"));
  EXPECT_EQ(Bind(p), "");
  EXPECT_EQ(Annotation(p, kAllocated), kShares);
  EXPECT_EQ(api_.CountCalls("PatchPod"), 0U);
}

TEST_F(BindWriteTest, RefusedBindingLeavesNothingOnThePod) {
  const ObjectRef p = AddFiltered(GpuPod("p"));
  api_.FailNext("Bind", {ErrorCode::kForbidden, "refused"});
  EXPECT_EQ(Bind(p), "refused");
  EXPECT_EQ(api_.pod("default", "p")->meta.annotations, StringMap{});
}

TEST_F(BindWriteTest, KeysOfAnEarlierAttemptAreRemovedFirst) {
  kube::Pod pod = GpuPod("p");
  pod.meta.annotations = {{"hami.io/vgpu-mig-allocations", "{}"}, {"mine", "stays"}};
  pod.meta.labels = {{std::string(kAssignedNodeKey), "n2"}};
  const ObjectRef p = AddFiltered(pod);
  EXPECT_EQ(Bind(p), "");
  EXPECT_EQ(Annotation(p, "hami.io/vgpu-mig-allocations"), "-");
  EXPECT_EQ(Annotation(p, "mine"), "stays");
  const StringMap label{{std::string(kAssignedNodeKey), "n1"}};  // the Binding's
  EXPECT_EQ(api_.pod("default", "p")->meta.labels, label);
  EXPECT_EQ(api_.CountCalls("PatchPod"), 1U);
}

TEST_F(BindWriteTest, RemovalThatFailsKeepsTheReservation) {
  kube::Pod pod = GpuPod("p");
  pod.meta.annotations = {{"hami.io/vgpu-mig-allocations", "{}"}};
  const ObjectRef p = AddFiltered(pod);
  api_.FailNext("PatchPod", {ErrorCode::kTooManyRequests, "slow down"});
  EXPECT_EQ(Bind(p), "slow down");
  EXPECT_EQ(Held(p), "n1");
  EXPECT_EQ(Lock(), std::nullopt);
}

TEST_F(BindWriteTest, AfterARestartThePodKeepsWhatIsWrittenOnIt) {
  kube::Pod pod = GpuPod("p");
  pod.meta.annotations = {{std::string(kAssignedNodeKey), "n1"},
                          {kAllocated, "GPU-n1,NVIDIA,3000,7:;"}};
  const ObjectRef p = Add(pod);
  EXPECT_EQ(Bind(p), "");
  EXPECT_EQ(Annotation(p, kToAllocate), "GPU-n1,NVIDIA,3000,7:;");
  EXPECT_EQ(Annotation(p, kAllocated), "GPU-n1,NVIDIA,3000,7:;");
}

}  // namespace
}  // namespace aliquot::scheduler
