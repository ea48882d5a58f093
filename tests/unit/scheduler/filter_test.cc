#include "aliquot/scheduler/filter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <thread>

#include "aliquot/base/fake_clock.h"
#include "scheduler/node_reader.h"
#include "support/fake_api.h"
#include "support/kube_builders.h"

namespace aliquot::scheduler {
namespace {

using namespace std::chrono_literals;
using testing::Ask;
using testing::Card;
using testing::ChartRegistry;
using testing::FakeApi;
using testing::kAllocatedKey;
using testing::kNodeKey;
using testing::kTimeKey;
using testing::kToAllocateKey;
using testing::KubeNode;
using testing::KubePod;

using Names = std::vector<std::string>;
using Reasons = std::map<std::string, std::string>;

// An answer of plain values.
struct Answer {
  std::optional<Names> node_names = {};
  std::optional<Names> nodes = {};  // names of those that are echoed
  Reasons failed = {};
  Reasons unresolvable = {};
  std::string error = {};

  bool operator==(const Answer&) const = default;
};
Answer Chose(const std::string& node) { return {.node_names = Names{node}}; }
Answer Refused(Reasons failed, Reasons unresolvable = {}) {
  return {.failed = std::move(failed), .unresolvable = std::move(unresolvable)};
}
Answer Failed(const std::string& error) { return {.error = error}; }
void PrintTo(const Answer& answer, std::ostream* out) {
  *out << "names " << ::testing::PrintToString(answer.node_names) << ", nodes "
       << ::testing::PrintToString(answer.nodes) << ", failed "
       << ::testing::PrintToString(answer.failed) << ", unresolvable "
       << ::testing::PrintToString(answer.unresolvable) << ", error \"" << answer.error << '"';
}

struct Event {
  std::string pod;
  bool warning;
  std::string reason;
  std::string message;

  bool operator==(const Event&) const = default;
};
void PrintTo(const Event& event, std::ostream* out) {
  *out << event.pod << (event.warning ? " Warning " : " Normal ") << event.reason << ": "
       << event.message;
}

const Ask kAsk{.gpu = "1", .mem = "3000", .cores = "30"};
constexpr char kWritten[] =  // for kAsk on n1
    R"({"metadata":{"annotations":{"hami.io/vgpu-devices-allocated":"G0,NVIDIA,3000,30:;",)"
    R"("hami.io/vgpu-devices-to-allocate":"G0,NVIDIA,3000,30:;","hami.io/vgpu-node":"n1",)"
    R"("hami.io/vgpu-time":"1767225600"},"labels":{"hami.io/vgpu-node":"n1"},"uid":"uid-p"}})";
constexpr char kRemoved[] =
    R"({"metadata":{"annotations":{"hami.io/vgpu-devices-allocated":null,)"
    R"("hami.io/vgpu-devices-to-allocate":null,"hami.io/vgpu-node":null,)"
    R"("hami.io/vgpu-time":null},"labels":{"hami.io/vgpu-node":null},"uid":"uid-p"}})";

class FilterTest : public ::testing::Test {
 protected:
  FilterTest() {
    for (const auto cache : {SyncState::kNodes, SyncState::kPods, SyncState::kQuotas})
      sync_.SetSynced(cache);
  }

  // What is kept is what would be computed afresh.
  void TearDown() override { EXPECT_EQ(ledger_.Usage(), ledger_.RebuildUsage()); }

  void AddNode(const std::string& name, const std::vector<Card>& cards) {
    ledger_.SetNode(ReadNode(KubeNode(name, cards), ChartRegistry()).inventory);
  }
  // Another pod that runs there.
  void Occupy(const std::string& node, const std::string& allocated,
              const std::string& name = "other") {
    ledger_.Observe(HoldingOfRunning(node, allocated, name));
  }
  static ledger::Holding HoldingOfRunning(const std::string& node, const std::string& allocated,
                                          const std::string& name) {
    ledger::Holding holding;
    holding.pod = {"team", name, "uid-" + name};
    holding.node = node;
    auto containers = codec::ParsePodDevices(allocated);
    if (containers)
      holding.allocation.push_back(testing::Held(*std::move(containers)));
    else
      holding.unreadable.push_back(0);
    holding.kinds.resize(2, core::ContainerKind::kApp);
    return holding;
  }

  // The pod is known to the API server as it is sent, unless it is there.
  Answer Filter(const kube::Pod& pod, const Names& names, std::function<bool()> gone = nullptr) {
    if (!api_.pod(pod.meta.ns, pod.meta.name)) api_.Put(pod);
    FilterRequest request;
    request.pod = pod;
    for (const std::string& name : names) request.node_names.push_back(name);
    return Send(request, std::move(gone));
  }
  Answer Simulate(const kube::Pod& pod, const std::vector<kube::Node>& nodes) {
    FilterRequest request;
    request.pod = pod;
    request.simulation = true;
    for (const kube::Node& node : nodes) request.nodes.push_back({node, "{}"});
    return Send(request, nullptr);
  }
  Answer Send(const FilterRequest& request, std::function<bool()> gone) {
    const FilterAnswer answer =
        filter_.Filter(request, {std::chrono::steady_clock::now(), std::move(gone)});
    Answer plain;
    if (answer.node_names)
      plain.node_names.emplace(answer.node_names->begin(), answer.node_names->end());
    if (answer.nodes) {
      plain.nodes.emplace();
      for (const size_t at : *answer.nodes)
        plain.nodes->push_back(request.nodes.at(at).node.meta.name);
    }
    for (const auto& [list, map] : {std::pair(&answer.failed, &plain.failed),
                                    std::pair(&answer.unresolvable, &plain.unresolvable)}) {
      for (const FailedNode& failed : *list)
        EXPECT_TRUE(map->emplace(failed.node, failed.reason).second) << failed.node;
    }
    plain.error = answer.error;
    return plain;
  }

  core::DeviceUse Use(const std::string& node, const std::string& id) {
    const std::optional<core::NodeUsage> usage = ledger_.Node(node);
    return usage->use()[static_cast<size_t>(usage->FindDevice(0, id))];
  }
  bool Holds(const std::string& uid) { return ledger_.Find(uid).has_value(); }
  Names Patches() {
    Names bodies;
    for (const FakeApi::Call& call : api_.calls())
      if (call.method == "PatchPod") bodies.push_back(call.body);
    return bodies;
  }
  StringMap Annotations(const std::string& name = "p") {
    return api_.pod("team", name)->meta.annotations;
  }
  std::vector<Event> TakeEvents() { return std::exchange(events_, {}); }

  FakeClock clock_;
  FakeApi api_;
  kube::Store<kube::Pod> pods_;
  SyncState sync_;
  const Leader leader_{std::nullopt, clock_};
  ledger::Ledger ledger_{ChartRegistry(), clock_};
  InFlight in_flight_;
  Options options_;
  std::vector<Event> events_;
  Metrics metrics_{clock_};
  FilterService filter_{
      api_,
      pods_,
      sync_,
      leader_,
      ChartRegistry(),
      ledger_,
      in_flight_,
      options_,
      clock_,
      [this](const ObjectRef& pod, bool warning, std::string_view reason, std::string message) {
        events_.push_back({Display(pod), warning, std::string(reason), std::move(message)});
      },
      metrics_};
};

// ---- a pod that fits

TEST_F(FilterTest, AnswersTheOneNodeAndWritesItsDevicesOntoThePod) {
  AddNode("n1", {{.id = "G0"}});
  AddNode("n2", {{.id = "H0", .memory = 100}});
  EXPECT_EQ(Filter(KubePod("p").App(kAsk), {"n2", "n1", "cpu"}), Chose("n1"));
  EXPECT_EQ(Patches(), Names{kWritten});
  EXPECT_EQ(Use("n1", "G0"), (core::DeviceUse{1, 3000, 30}));
  EXPECT_EQ(TakeEvents(),
            (std::vector<Event>{{"team/p", false, "FilteringSucceed",
                                 "find fit node(n1), 2 nodes not fit, 1 nodes fit(n1:0.00)"}}));
}

TEST_F(FilterTest, WritesWithinTheDeadlineOfTheDecisionsLane) {
  AddNode("n1", {{.id = "G0"}});
  const auto before = std::chrono::steady_clock::now();
  Filter(KubePod("p").App(kAsk), {"n1"});
  const FakeApi::Call call = api_.calls().at(0);
  EXPECT_EQ(call.options.lane, kube::Lane::kScheduling);
  EXPECT_GE(call.options.deadline, before + options_.filter_deadline);
  EXPECT_LE(call.options.deadline, std::chrono::steady_clock::now() + options_.filter_deadline);
}

TEST_F(FilterTest, TheNextPodSeesTheReservationAtOnce) {
  AddNode("n1", {{.id = "G0", .slots = 1}});
  EXPECT_EQ(Filter(KubePod("p").App(kAsk), {"n1"}), Chose("n1"));
  EXPECT_EQ(Filter(KubePod("q").App(kAsk), {"n1"}),
            Refused({{"n1", "1/1 CardTimeSlicingExhausted"}}));
}

TEST_F(FilterTest, AskingAgainReplacesTheReservation) {
  AddNode("n1", {{.id = "G0", .slots = 1}});
  AddNode("n2", {{.id = "H0", .slots = 1}});
  const kube::Pod pod = KubePod("p").App(kAsk);
  EXPECT_EQ(Filter(pod, {"n1"}), Chose("n1"));
  EXPECT_EQ(Filter(pod, {"n1"}), Chose("n1"));
  EXPECT_EQ(Filter(pod, {"n2"}), Chose("n2"));
  EXPECT_EQ(Use("n1", "G0"), core::DeviceUse{});
  EXPECT_EQ(Use("n2", "H0").slots, 1);
  EXPECT_EQ(Annotations().at(kNodeKey), "n2");
}

TEST_F(FilterTest, FollowsThePoliciesOfFlagsAndPod) {
  AddNode("n1", {{.id = "G0"}});
  AddNode("n2", {{.id = "H0"}});
  Occupy("n2", "H0,NVIDIA,100,10:;");
  options_.policy.node = "spread";
  EXPECT_EQ(Filter(KubePod("p").App(kAsk), {"n1", "n2"}), Chose("n1"));
  EXPECT_EQ(Filter(KubePod("p").App(kAsk).Annotate("hami.io/node-scheduler-policy", "binpack"),
                   {"n1", "n2"}),
            Chose("n2"));
}

TEST_F(FilterTest, KeepsThePlacesOfAllContainers) {
  AddNode("n1", {{.id = "G0"}});
  EXPECT_EQ(Filter(KubePod("p").Init().App(kAsk).App(), {"n1"}), Chose("n1"));
  EXPECT_EQ(Annotations().at(kAllocatedKey), ";G0,NVIDIA,3000,30:;;");
}

TEST_F(FilterTest, ANameThatIsNoLabelValueIsLeftOutOfTheLabels) {
  const std::string name(64, 'n');
  AddNode(name, {{.id = "G0"}});
  kube::Pod pod = KubePod("p").App(kAsk);
  pod.meta.labels[kNodeKey] = "old";
  EXPECT_EQ(Filter(pod, {name}), Chose(name));
  EXPECT_EQ(Annotations().at(kNodeKey), name);
  EXPECT_FALSE(api_.pod("team", "p")->meta.labels.contains(kNodeKey));
}

TEST_F(FilterTest, DeletesWhatAnEarlierAttemptHasLeft) {
  AddNode("n1", {{.id = "G0"}});
  EXPECT_EQ(Filter(KubePod("p")
                       .App(kAsk)
                       .Annotate("hami.io/vgpu-mig-allocations", "[]")
                       .Annotate("hami.io/bind-phase", "failed")
                       .Annotate("hami.io/bind-time", "1767000000")
                       .Annotate(kNodeKey, "n9"),
                   {"n1"}),
            Chose("n1"));
  EXPECT_EQ(
      Patches(),
      Names{R"({"metadata":{"annotations":{"hami.io/bind-phase":null,"hami.io/bind-time":null,)"
            R"("hami.io/vgpu-devices-allocated":"G0,NVIDIA,3000,30:;",)"
            R"("hami.io/vgpu-devices-to-allocate":"G0,NVIDIA,3000,30:;",)"
            R"("hami.io/vgpu-mig-allocations":null,"hami.io/vgpu-node":"n1",)"
            R"("hami.io/vgpu-time":"1767225600"},)"
            R"("labels":{"hami.io/vgpu-node":"n1"},"uid":"uid-p"}})"});
}

TEST_F(FilterTest, InBindModeNothingIsWrittenYet) {
  options_.assignment_write = AssignmentWrite::kBind;
  AddNode("n1", {{.id = "G0"}});
  EXPECT_EQ(Filter(KubePod("p").App(kAsk), {"n1"}), Chose("n1"));
  EXPECT_TRUE(api_.calls().empty());
  EXPECT_EQ(Use("n1", "G0").slots, 1);
  EXPECT_EQ(TakeEvents().at(0).reason, "FilteringSucceed");
}

// ---- a pod that asks for nothing

TEST_F(FilterTest, APodWithoutDeviceRequestsKeepsItsNodes) {
  SyncState never;
  FilterService unsynced(api_, pods_, never, leader_, ChartRegistry(), ledger_, in_flight_,
                         options_, clock_, nullptr, metrics_);
  FilterRequest request;
  request.pod = KubePod("p").App();
  request.node_names = {"n9", "n1"};
  const FilterAnswer answer = unsynced.Filter(request, {std::chrono::steady_clock::now(), nullptr});
  EXPECT_EQ(answer.node_names, request.node_names);
  EXPECT_TRUE(answer.error.empty());
  EXPECT_TRUE(api_.calls().empty());

  EXPECT_EQ(Filter(KubePod("q").App({.gpu = "0"}), {}).node_names, Names{});
  EXPECT_TRUE(TakeEvents().empty());
}

// ---- a pod that does not fit

TEST_F(FilterTest, SaysOfEveryNodeWhyNotInTheMapThatItsWordsAskFor) {
  AddNode("a", {{.id = "G0", .memory = 50}});
  AddNode("b", {{.id = "G0", .type = "NVIDIA T4"}, {.id = "G1", .memory = 50}});
  AddNode("c", {{.id = "G0", .type = "NVIDIA T4"}, {.id = "G1", .healthy = false}});
  EXPECT_EQ(
      Filter(KubePod("p").App(kAsk).Annotate("nvidia.com/use-gputype", "A100"),
             {"cpu", "c", "b", "a"}),
      Refused({{"a", "1/1 CardInsufficientMemory"},
               {"b", "1/2 CardInsufficientMemory, 1/2 CardTypeMismatch"}},
              {{"c", "1/2 CardNotHealth, 1/2 CardTypeMismatch"}, {"cpu", "node unregistered"}}));
  EXPECT_TRUE(api_.calls().empty());  // it carries nothing of ours
  EXPECT_EQ(
      TakeEvents(),
      (std::vector<Event>{{"team/p", true, "FilteringFailed",
                           "no available node, 4 nodes do not meet: "
                           "2 nodes CardInsufficientMemory(a,b); 1 nodes CardNotHealth(c); "
                           "2 nodes CardTypeMismatch(b,c); 1 nodes node unregistered(cpu)"}}));
}

TEST_F(FilterTest, TooFewCardsCannotBeHelpedByPreemption) {
  AddNode("n1", {{.id = "G0"}});
  EXPECT_EQ(Filter(KubePod("p").App({.gpu = "2"}), {"n1"}),
            Refused({}, {{"n1", "NodeInsufficientDevice"}}));
}

TEST_F(FilterTest, ANodeWithAnUnreadablePodIsClosed) {
  AddNode("n1", {{.id = "G0"}, {.id = "G1"}});
  Occupy("n1", "G0,NVIDIA,many,1:;");
  EXPECT_EQ(Filter(KubePod("p").App(kAsk), {"n1"}),
            Refused({{"n1", "2/2 CardAllocationUnreadable"}}));
}

TEST_F(FilterTest, AnUnschedulablePodHoldsNothingAndCarriesNothing) {
  AddNode("n1", {{.id = "G0"}});
  const kube::Pod pod = KubePod("p").App(kAsk);
  Filter(pod, {"n1"});
  TakeEvents();
  // kube-scheduler sends the pod as it knows it, without what we wrote.
  EXPECT_EQ(Filter(pod, {}), Refused({}));
  EXPECT_FALSE(Holds("uid-p"));
  EXPECT_EQ(Patches(), (Names{kWritten, kRemoved}));
  EXPECT_TRUE(Annotations().empty());
  EXPECT_FALSE(api_.pod("team", "p")->meta.labels.contains(kNodeKey));
  EXPECT_EQ(TakeEvents().at(0).message, "no available node, 0 nodes do not meet");

  Filter(pod, {});
  EXPECT_EQ(Patches().size(), 2U);  // there is nothing left to remove
}

TEST_F(FilterTest, RemovesWhatTheCachesKnow) {
  kube::Pod cached = KubePod("p").App(kAsk).Annotate(kNodeKey, "n1");
  pods_.Put(api_.Put(cached));
  Filter(KubePod("p").App(kAsk), {});
  EXPECT_EQ(Patches(), Names{R"({"metadata":{"annotations":{"hami.io/vgpu-node":null},)"
                             R"("labels":{"hami.io/vgpu-node":null},"uid":"uid-p"}})"});
}

TEST_F(FilterTest, DoesNotTakeAnotherPodsAnnotationsForThisOnes) {
  pods_.Put(api_.Put(KubePod("p").Uid("uid-before").App(kAsk).Annotate(kNodeKey, "n1")));
  Filter(KubePod("p").App(kAsk), {});
  EXPECT_TRUE(Patches().empty());
}

TEST_F(FilterTest, AFailedRemovalChangesNoAnswerAndIsTriedAgain) {
  AddNode("n1", {{.id = "G0", .memory = 100}});
  const kube::Pod pod = KubePod("p").App(kAsk).Annotate(kNodeKey, "n1");
  api_.FailNext("PatchPod", {ErrorCode::kUnavailable, "connection refused"});
  const Answer refused = Refused({{"n1", "1/1 CardInsufficientMemory"}});
  EXPECT_EQ(Filter(pod, {"n1"}), refused);
  EXPECT_TRUE(Annotations().contains(kNodeKey));
  EXPECT_EQ(Filter(pod, {"n1"}), refused);
  EXPECT_FALSE(Annotations().contains(kNodeKey));
}

TEST_F(FilterTest, APodThatIsGoneIsForgotten) {
  AddNode("n1", {{.id = "G0"}});
  Filter(KubePod("p").App(kAsk), {"n1"});
  filter_.ForgetPod("uid-p");
  Filter(KubePod("p").App(kAsk), {});
  EXPECT_EQ(Patches(), Names{kWritten});
}

// ---- the write goes wrong

TEST_F(FilterTest, ForgetsTheDevicesWhenThePatchFails) {
  AddNode("n1", {{.id = "G0"}});
  api_.FailNext("PatchPod", {ErrorCode::kConflict, "the object has been modified"});
  EXPECT_EQ(Filter(KubePod("p").App(kAsk), {"n1"}), Failed("the object has been modified"));
  EXPECT_EQ(Use("n1", "G0"), core::DeviceUse{});
  EXPECT_FALSE(Holds("uid-p"));
  EXPECT_EQ(
      TakeEvents(),
      (std::vector<Event>{{"team/p", true, "FilteringFailed", "the object has been modified"}}));
}

TEST_F(FilterTest, AFailedPatchEndsAnEarlierReservationToo) {
  AddNode("n1", {{.id = "G0"}});
  Filter(KubePod("p").App(kAsk), {"n1"});
  api_.FailNext("PatchPod", {ErrorCode::kUnavailable, "connection refused"});
  EXPECT_EQ(Filter(KubePod("p").App(kAsk), {"n1"}), Failed("connection refused"));
  EXPECT_EQ(Use("n1", "G0"), core::DeviceUse{});
}

TEST_F(FilterTest, ALostAnswerIsNoFailureIfThePatchArrived) {
  AddNode("n1", {{.id = "G0"}});
  api_.LoseNextAnswer("PatchPod");
  EXPECT_EQ(Filter(KubePod("p").App(kAsk), {"n1"}), Chose("n1"));
  EXPECT_EQ(Use("n1", "G0").slots, 1);
  EXPECT_EQ(api_.CountCalls("PatchPod"), 1U);
  EXPECT_EQ(api_.CountCalls("GetPod"), 1U);
}

TEST_F(FilterTest, ALostPatchIsAFailure) {
  AddNode("n1", {{.id = "G0"}});
  api_.FailNext("PatchPod", {ErrorCode::kUnknownOutcome, "timed out"});
  EXPECT_EQ(Filter(KubePod("p").App(kAsk), {"n1"}), Failed("timed out"));
  EXPECT_EQ(Use("n1", "G0"), core::DeviceUse{});
}

TEST_F(FilterTest, ALostAnswerOnAPodThatCannotBeReadIsAFailureThatIsCleanedUp) {
  AddNode("n1", {{.id = "G0"}});
  api_.LoseNextAnswer("PatchPod");
  api_.FailNext("GetPod", {ErrorCode::kUnavailable, "connection refused"});
  const kube::Pod pod = KubePod("p").App(kAsk);
  EXPECT_EQ(Filter(pod, {"n1"}), Failed("the answer was lost"));
  EXPECT_FALSE(Holds("uid-p"));
  // The next attempt knows what may stand on the pod, before any cache does.
  Filter(pod, {});
  EXPECT_TRUE(Annotations().empty());
}

TEST_F(FilterTest, ALostAnswerOnAReCreatedPodIsAFailure) {
  AddNode("n1", {{.id = "G0"}});
  api_.Put(KubePod("p").App(kAsk));
  api_.FailNext("PatchPod", {ErrorCode::kUnknownOutcome, "timed out"});
  api_.on_call = [this](const FakeApi::Call& call) {
    if (call.method != "GetPod") return;
    api_.Put(KubePod("p")
                 .Uid("uid-new")
                 .App(kAsk)
                 .Annotate(kAllocatedKey, "G0,NVIDIA,3000,30:;")
                 .Annotate(kToAllocateKey, "G0,NVIDIA,3000,30:;")
                 .Annotate(kNodeKey, "n1")
                 .Annotate(kTimeKey, "1767225600"));
  };
  EXPECT_EQ(Filter(KubePod("p").App(kAsk), {"n1"}), Failed("timed out"));
  EXPECT_FALSE(Holds("uid-p"));
}

TEST_F(FilterTest, ReCreatedPodsDoNotGetTheDevicesOfTheOldOne) {
  AddNode("n1", {{.id = "G0"}});
  api_.Put(KubePod("p").Uid("uid-new").App(kAsk));
  EXPECT_EQ(Filter(KubePod("p").App(kAsk), {"n1"}),
            Failed("pod team/p was re-created: it no longer has UID uid-p"));
  EXPECT_TRUE(Annotations().empty());
  EXPECT_EQ(Use("n1", "G0"), core::DeviceUse{});
}

TEST_F(FilterTest, APodThatIsGoneIsAnError) {
  AddNode("n1", {{.id = "G0"}});
  api_.on_call = [this](const FakeApi::Call&) { api_.RemovePod("team", "p"); };
  EXPECT_EQ(Filter(KubePod("p").App(kAsk), {"n1"}), Failed("pods \"p\" not found"));
  EXPECT_FALSE(Holds("uid-p"));
}

// ---- annotations and requests that cannot be read

TEST_F(FilterTest, BadWeightsRefuseEveryRegisteredNode) {
  AddNode("n1", {{.id = "G0"}});
  const std::string why =
      "invalid hami.io/device-scoring-weights annotation \"slot=1,core=-1,memory=3\": "
      "\"core\" weight must not be negative";
  Filter(KubePod("p").App(kAsk), {"n1"});
  TakeEvents();
  EXPECT_EQ(Filter(KubePod("p").App(kAsk).Annotate("hami.io/device-scoring-weights",
                                                   "slot=1,core=-1,memory=3"),
                   {"n1", "cpu"}),
            Refused({}, {{"n1", why}, {"cpu", "node unregistered"}}));
  EXPECT_FALSE(Holds("uid-p"));
  EXPECT_EQ(Patches().back(), kRemoved);
  EXPECT_EQ(TakeEvents(), (std::vector<Event>{{"team/p", true, "FilteringFailed",
                                               "no available node, 2 nodes do not meet: " + why}}));
}

TEST_F(FilterTest, AnUnreadableRequestRefusesEveryNode) {
  AddNode("n1", {{.id = "G0"}});
  const std::string why =
      "InvalidDeviceRequest: container c0: nvidia.com/gpumem=16Gi: out of range";
  Filter(KubePod("p").App(kAsk), {"n1"});
  TakeEvents();
  EXPECT_EQ(Filter(KubePod("p").App({.gpu = "1", .mem = "16Gi"}), {"n1", "cpu"}),
            Refused({}, {{"n1", why}, {"cpu", why}}));
  EXPECT_FALSE(Holds("uid-p"));
  EXPECT_EQ(Patches().back(), kRemoved);
  EXPECT_EQ(TakeEvents(), (std::vector<Event>{{"team/p", true, "FilteringFailed",
                                               "no available node, 2 nodes do not meet: " + why}}));
}

TEST_F(FilterTest, TellsOfPoliciesThatAreNone) {
  AddNode("n1", {{.id = "G0"}});
  const auto pod = [] {
    return KubePod("p")
        .App(kAsk)
        .Annotate("hami.io/node-scheduler-policy", "spreed")
        .Annotate("hami.io/gpu-scheduler-policy", "binpak");
  };
  const std::string told =
      "; unknown hami.io/node-scheduler-policy \"spreed\""
      "; unknown hami.io/gpu-scheduler-policy \"binpak\"";
  Filter(pod(), {"n1"});
  EXPECT_EQ(TakeEvents().at(0).message,
            "find fit node(n1), 0 nodes not fit, 1 nodes fit(n1:0.00)" + told);
  Filter(pod(), {"cpu"});
  EXPECT_EQ(TakeEvents().at(0).message,
            "no available node, 1 nodes do not meet: 1 nodes node unregistered(cpu)" + told);
}

TEST_F(FilterTest, APolicyThatIsNoneIsTheFlags) {
  options_.policy.card = "binpack";
  AddNode("n1", {{.id = "Ga"}, {.id = "Gb"}});
  Occupy("n1", "Ga,NVIDIA,20000,0:;");
  Filter(KubePod("p").App(kAsk).Annotate("hami.io/gpu-scheduler-policy", "binpak"), {"n1"});
  EXPECT_EQ(Annotations().at(kAllocatedKey), "Ga,NVIDIA,3000,30:;");
}

// ---- quota

TEST_F(FilterTest, AUsedUpQuotaRefusesWithoutAPatch) {
  ledger_.SetQuota("team", "q", {{"limits.nvidia.com/gpumem", "24000"}});
  AddNode("n1", {{.id = "G0", .memory = 40000}});
  const Ask forty{.gpu = "1", .percent = "40"};
  const Answer refused = Refused({{"n1", "1/1 ResourceQuotaNotFit"}});
  EXPECT_EQ(Filter(KubePod("p").App(forty).App(forty), {"n1"}), refused);
  EXPECT_EQ(Filter(KubePod("p").Init().App(forty).App(forty), {"n1"}), refused);
  EXPECT_TRUE(Patches().empty());
  // What was reserved counts for the next pod: 3000 are left of 24000.
  EXPECT_EQ(Filter(KubePod("q").App({.gpu = "1", .mem = "21k"}), {"n1"}), Chose("n1"));
  EXPECT_EQ(Filter(KubePod("r").App({.gpu = "1", .mem = "3001"}), {"n1"}), refused);
}

// ---- one pod, several calls

TEST_F(FilterTest, ABoundPodIsNotPlacedAgain) {
  AddNode("n1", {{.id = "G0"}});
  AddNode("n2", {{.id = "H0"}});
  Occupy("n1", "G0,NVIDIA,3000,30:;", "p");
  EXPECT_EQ(Filter(KubePod("p").App(kAsk), {"n2"}),
            Failed("pod team/p is already assigned to node n1"));
  EXPECT_EQ(Use("n1", "G0"), (core::DeviceUse{1, 3000, 30}));
  EXPECT_TRUE(api_.calls().empty());
}

TEST_F(FilterTest, WhatIsWrittenOnABoundPodStays) {
  AddNode("n1", {{.id = "G0"}});
  const Answer bound = Failed("pod team/p is already assigned to node n9");
  const auto with = [](const Ask& ask, const std::string& node) {
    KubePod pod = KubePod("p").App(ask).On("n9", "X,NVIDIA,1,1:;");
    pod->node_name = node;
    return kube::Pod(pod);
  };
  for (const Ask& ask : {kAsk, Ask{.gpu = "99"}, Ask{.gpu = "1", .mem = "1m"}}) {
    EXPECT_EQ(Filter(with(ask, "n9"), {"n1"}), bound) << "as the request says: it has finished";
    pods_.Put(std::make_shared<kube::Pod>(with(ask, "n9")));
    EXPECT_EQ(Filter(with(ask, ""), {"n1"}), bound) << "as the cache says";
    pods_.Remove("team", "p");
  }
  EXPECT_TRUE(api_.calls().empty());
}

TEST_F(FilterTest, APodIsPlacedByOneCallAtATime) {
  options_.filter_deadline = 20ms;
  AddNode("n1", {{.id = "G0"}});
  std::optional<Answer> second;
  api_.on_call = [&](const FakeApi::Call&) {
    if (!second) {
      second.emplace();  // for the call below
      second = Filter(KubePod("p").App(kAsk), {"n1"});
    }
  };
  EXPECT_EQ(Filter(KubePod("p").App(kAsk), {"n1"}), Chose("n1"));
  EXPECT_EQ(second, Failed("pod team/p is being scheduled by another call"));
  EXPECT_EQ(Use("n1", "G0").slots, 1);
}

TEST_F(FilterTest, APodWithoutAUidIsRefusedBeforeAnythingChanges) {
  AddNode("n1", {{.id = "G0"}});
  EXPECT_EQ(Filter(KubePod("p").Uid("").App(kAsk), {"n1"}),
            Failed("pod team/p has no metadata.uid"));
  EXPECT_EQ(Use("n1", "G0"), core::DeviceUse{});
  EXPECT_TRUE(api_.calls().empty());
}

// ---- caches that are not complete

class UnsyncedFilterTest : public FilterTest {
 protected:
  Answer AskUnsynced(std::function<bool()> gone) {
    FilterRequest request;
    request.pod = KubePod("p").App(kAsk);
    request.node_names = {"n1"};
    const FilterAnswer answer =
        unsynced_.Filter(request, {std::chrono::steady_clock::now(), std::move(gone)});
    Answer plain = Failed(answer.error);
    if (answer.node_names)
      plain.node_names.emplace(answer.node_names->begin(), answer.node_names->end());
    return plain;
  }

  SyncState fresh_;
  FilterService unsynced_{api_,
                          pods_,
                          fresh_,
                          leader_,
                          ChartRegistry(),
                          ledger_,
                          in_flight_,
                          options_,
                          clock_,
                          [](const ObjectRef&, bool, std::string_view, const std::string&) {},
                          metrics_};
};

TEST_F(UnsyncedFilterTest, AreWaitedForAMoment) {
  options_.sync_wait = 10ms;
  EXPECT_EQ(AskUnsynced(nullptr), Failed("scheduler caches are not synced"));
  EXPECT_TRUE(api_.calls().empty());
}

TEST_F(UnsyncedFilterTest, AreNotWaitedForWhenTheCallerIsGone) {
  options_.sync_wait = 60s;
  EXPECT_EQ(AskUnsynced([] { return true; }), Failed("context cancelled"));
}

TEST_F(UnsyncedFilterTest, CompleteInTimeTheyAnswer) {
  options_.sync_wait = 60s;
  AddNode("n1", {{.id = "G0"}});
  api_.Put(KubePod("p").App(kAsk));
  std::atomic<bool> waiting = false;
  std::thread lists([&] {
    while (!waiting) std::this_thread::yield();
    for (const auto cache : {SyncState::kNodes, SyncState::kPods, SyncState::kQuotas})
      fresh_.SetSynced(cache);
  });
  EXPECT_EQ(AskUnsynced([&] {
              waiting = true;
              return false;
            }),
            Chose("n1"));
  lists.join();
}

// ---- replicas, of which one leads

class ElectedFilterTest : public FilterTest {
 protected:
  ElectedFilterTest() {
    options_.election = election_;
    options_.sync_wait = 10ms;
    AddNode("n1", {{.id = "G0"}});
  }

  FilterAnswer Ask(std::function<bool()> gone = nullptr) {
    FilterRequest request;
    request.pod = *api_.pod("team", "p");
    request.node_names = {"n1"};
    return Ask(request, std::move(gone));
  }
  FilterAnswer Ask(const FilterRequest& request, std::function<bool()> gone = nullptr) {
    return elected_.Filter(request, {std::chrono::steady_clock::now(), std::move(gone)});
  }
  void HeldBy(const std::string& holder) { elector_.OnUpsert(nullptr, testing::KubeLease(holder)); }

  const Election election_{"kube-system", "hami-scheduler", "us"};
  Leader elector_{election_, clock_};
  FilterService elected_{api_,
                         pods_,
                         sync_,
                         elector_,
                         ChartRegistry(),
                         ledger_,
                         in_flight_,
                         options_,
                         clock_,
                         [](const ObjectRef&, bool, std::string_view, const std::string&) {},
                         metrics_};
};

TEST_F(ElectedFilterTest, AFollowerPlacesNothing) {
  HeldBy("other_1");
  api_.Put(KubePod("p").App(kAsk).Annotate(kNodeKey, "n1"));
  EXPECT_EQ(Ask().error,
            "scheduler caches are not synced (this replica does not lead: lease "
            "kube-system/hami-scheduler is held by \"other_1\")");
  api_.Put(KubePod("p").App({.gpu = "-1"}).Annotate(kNodeKey, "n1"));
  EXPECT_NE(Ask().error, "");
  EXPECT_TRUE(api_.calls().empty());
  EXPECT_FALSE(Holds("uid-p"));
}

TEST_F(ElectedFilterTest, AFollowerAnswersWhatNeedsNoDecision) {
  HeldBy("other_1");
  api_.Put(KubePod("p").App());
  EXPECT_EQ(Ask().node_names, std::vector<std::string_view>{"n1"});
  FilterRequest simulation;
  simulation.pod = KubePod("p").App(kAsk);
  simulation.simulation = true;
  simulation.nodes.push_back({KubeNode("n1", {{.id = "G0"}}), "{}"});
  EXPECT_EQ(Ask(simulation).nodes, std::vector<size_t>{0});
}

TEST_F(ElectedFilterTest, LeadershipIsWaitedForAMoment) {
  options_.sync_wait = 60s;
  api_.Put(KubePod("p").App(kAsk));
  std::atomic<bool> waiting = false;
  std::thread lease([&] {
    while (!waiting) std::this_thread::yield();
    HeldBy("us_1");
  });
  const FilterAnswer answer = Ask([&] {
    waiting = true;
    return false;
  });
  lease.join();
  EXPECT_EQ(answer.node_names, std::vector<std::string_view>{"n1"});
}

TEST_F(ElectedFilterTest, ALeaseThatHasRunOutCountsForNothing) {
  HeldBy("us_1");
  clock_.Advance(15s);
  api_.Put(KubePod("p").App(kAsk));
  EXPECT_NE(Ask().error, "");
  EXPECT_TRUE(api_.calls().empty());
}

TEST_F(ElectedFilterTest, WhatAnotherReplicaHasWrittenSinceStays) {
  HeldBy("us_1");
  api_.Put(KubePod("p").App(kAsk));
  api_.on_call = [&](const FakeApi::Call& call) {
    api_.on_call = nullptr;
    EXPECT_EQ(call.method, "PatchPod");
    api_.Put(KubePod("p").App(kAsk).Annotate(kNodeKey, "n9"));
  };
  EXPECT_EQ(Ask().error, "the object has been modified");
  EXPECT_EQ(Annotations().at(kNodeKey), "n9");
  EXPECT_FALSE(Holds("uid-p"));
}

TEST_F(ElectedFilterTest, OurOwnWritesAreNoObstacleToTheNext) {
  HeldBy("us_1");
  api_.Put(KubePod("p").App(kAsk));
  FilterRequest request;  // always the same copy of the pod, as within one attempt
  request.pod = *api_.pod("team", "p");
  request.node_names = {"n1"};
  EXPECT_EQ(Ask(request).error, "");
  EXPECT_EQ(Ask(request).error, "");
  request.node_names = {"n9"};
  EXPECT_EQ(Ask(request).unresolvable.size(), 1U);
  EXPECT_FALSE(Annotations().contains(kNodeKey));
  request.node_names = {"n1"};
  EXPECT_EQ(Ask(request).error, "");
  EXPECT_EQ(Annotations().at(kNodeKey), "n1");
}

// ---- simulation

TEST_F(FilterTest, ASimulationAnswersAllNodesThatFitInTheOrderGiven) {
  EXPECT_EQ(Simulate(KubePod("p").App(kAsk),
                     {KubeNode("n3", {{.id = "G0"}}), KubeNode("n2", {{.id = "G0", .memory = 100}}),
                      KubeNode("n1", {{.id = "G0"}}), KubeNode("cpu", {})}),
            (Answer{.nodes = Names{"n3", "n1"},
                    .failed = {{"n2", "1/1 CardInsufficientMemory"}},
                    .unresolvable = {{"cpu", "node unregistered"}}}));
}

TEST_F(FilterTest, ASimulationLeavesNoTrace) {
  AddNode("n1", {{.id = "G0"}});
  api_.Put(KubePod("p").App(kAsk).Annotate(kNodeKey, "n9"));
  const ledger::UsageTable before = ledger_.Usage();
  for (int i = 0; i < 100; ++i)
    Simulate(KubePod("p").App(kAsk).Annotate(kNodeKey, "n9"), {KubeNode("n1", {{.id = "G0"}})});
  Simulate(KubePod("p").App({.gpu = "1", .mem = "99k"}), {KubeNode("n1", {{.id = "G0"}})});
  EXPECT_EQ(ledger_.Usage(), before);
  EXPECT_TRUE(api_.calls().empty());
  EXPECT_TRUE(TakeEvents().empty());
  EXPECT_FALSE(Holds("uid-p"));
}

TEST_F(FilterTest, ASimulationCountsWhatPodsUseOfANodeWeKnow) {
  AddNode("n1", {{.id = "G0"}});
  Occupy("n1", "G0,NVIDIA,40000,0:;");
  EXPECT_EQ(Simulate(KubePod("p").App(kAsk),
                     {KubeNode("n1", {{.id = "G0"}}), KubeNode("template", {{.id = "G0"}})}),
            (Answer{.nodes = Names{"template"}, .failed = {{"n1", "1/1 CardInsufficientMemory"}}}));
}

TEST_F(FilterTest, APodsOwnReservationDoesNotCountAgainstItInASimulation) {
  AddNode("n1", {{.id = "G0", .slots = 1}});
  Filter(KubePod("p").App(kAsk), {"n1"});
  EXPECT_EQ(Simulate(KubePod("p").App(kAsk), {KubeNode("n1", {{.id = "G0", .slots = 1}})}).nodes,
            Names{"n1"});
  EXPECT_TRUE(Holds("uid-p"));
}

TEST_F(FilterTest, ASimulationSaysWhatItCouldNotRead) {
  kube::Node broken = KubeNode("n1", {});
  broken.meta.annotations[testing::kRegisterKey] = "[null]";
  const Answer answer = Simulate(KubePod("p").App(kAsk), {broken});
  EXPECT_EQ(answer.nodes, std::nullopt);
  ASSERT_EQ(answer.unresolvable.size(), 1U);
  EXPECT_TRUE(answer.unresolvable.at("n1").starts_with("node unregistered (NVIDIA: "))
      << answer.unresolvable.at("n1");
}

TEST_F(FilterTest, ASimulationOfAPodWithoutRequestsGivesTheNodesBack) {
  EXPECT_EQ(
      Simulate(KubePod("p").App(), {KubeNode("cpu", {}), KubeNode("n1", {{.id = "G0"}})}).nodes,
      (Names{"cpu", "n1"}));
}

TEST_F(FilterTest, ASimulationWithoutNodesIsOneAllTheSame) {
  EXPECT_EQ(Simulate(KubePod("p").App(kAsk), {}), Refused({}));
  EXPECT_EQ(Simulate(KubePod("p").App(), {}).nodes, Names{});
  EXPECT_TRUE(TakeEvents().empty());
}

TEST_F(FilterTest, ASimulationRefusesWhatCannotBeRead) {
  const std::string why = "InvalidDeviceRequest: container c0: nvidia.com/gpu=-1: negative";
  EXPECT_EQ(Simulate(KubePod("p").App({.gpu = "-1"}),
                     {KubeNode("n1", {{.id = "G0"}}), KubeNode("cpu", {})}),
            Refused({}, {{"n1", why}, {"cpu", why}}));
  const std::string weights =
      "invalid hami.io/device-scoring-weights annotation \"\": "
      "expected slot, core, and memory weights";
  EXPECT_EQ(Simulate(KubePod("p").App(kAsk).Annotate("hami.io/device-scoring-weights", ""),
                     {KubeNode("n1", {{.id = "G0"}}), KubeNode("cpu", {})}),
            Refused({}, {{"n1", weights}, {"cpu", "node unregistered"}}));
  EXPECT_TRUE(TakeEvents().empty());
}

TEST_F(UnsyncedFilterTest, ASimulationDoesNotWaitForThem) {
  options_.sync_wait = 60s;
  FilterRequest request;
  request.pod = KubePod("p").App(kAsk);
  request.simulation = true;
  request.nodes.push_back({KubeNode("n1", {{.id = "G0"}}), "{}"});
  const FilterAnswer answer =
      unsynced_.Filter(request, {std::chrono::steady_clock::now(), nullptr});
  EXPECT_EQ(answer.nodes, std::vector<size_t>{0});
}

TEST_F(FilterTest, ASimulationCountsTheQuota) {
  ledger_.SetQuota("team", "q", {{"limits.nvidia.com/gpumem", "100"}});
  EXPECT_EQ(Simulate(KubePod("p").App(kAsk), {KubeNode("n1", {{.id = "G0"}})}),
            Refused({{"n1", "1/1 ResourceQuotaNotFit"}}));
}

}  // namespace
}  // namespace aliquot::scheduler
