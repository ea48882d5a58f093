// Events that got lost, and what the audit makes of them.
#include "aliquot/scheduler/audit.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "aliquot/base/fake_clock.h"
#include "aliquot/base/log.h"
#include "aliquot/core/gates.h"
#include "aliquot/scheduler/scheduler.h"
#include "support/fake_api.h"
#include "support/kube_builders.h"
#include "support/scrape.h"

namespace aliquot::scheduler {
namespace {

using namespace std::chrono_literals;
using core::DeviceUse;
using testing::Ask;
using testing::ChartRegistry;
using testing::FakeApi;
using testing::kAllocatedKey;
using testing::kRegisterKey;
using testing::KubeNode;
using testing::KubePod;
using testing::Samples;

using Lines = std::vector<std::string>;

constexpr DeviceUse kIdle{};
const Ask kAsk{.gpu = "1", .mem = "3000", .cores = "30"};

// Two vendors; of the second one's pods a share takes as many slots as the test says.
int64_t slots_of_a_share = 1;
constexpr core::Gate kFreeSlot[] = {core::gates::FreeSlot};
constexpr core::VendorSpec kFickle = [] {
  core::VendorSpec spec;
  spec.key = "Fickle";
  spec.allocated = "example.com/fickle-allocated";
  spec.gates = kFreeSlot;
  spec.parse_request = [](const core::Vendor&, const core::ResourceReader&,
                          std::optional<core::InvalidRequest>&) {
    return std::optional<core::ContainerRequest>();
  };
  spec.read_node = [](const core::Vendor& vendor,
                      const core::NodeSpec& node) -> Result<std::vector<core::Device>> {
    if (!node.annotations->contains("example.com/fickle")) return std::vector<core::Device>();
    core::Device card;
    card.vendor = vendor.id();
    card.id = "F0";
    card.slots = 10;
    card.healthy = true;
    return std::vector{card};
  };
  spec.slots_of = [](const core::Device&, const core::Share&) { return slots_of_a_share; };
  return spec;
}();

core::Registry TwoVendors() {
  return core::Registry({*ChartRegistry().Find("NVIDIA"), core::Vendor(kFickle, {})});
}

class AuditTest : public ::testing::Test {
 protected:
  AuditTest() {
    slots_of_a_share = 1;
    scheduler_.node_events().OnSynced();
    scheduler_.pod_events().OnSynced();
    scheduler_.quota_events().OnSynced();
    Show(KubeNode("n1", {{.id = "G0"}, {.id = "G1"}}));
    Show(KubeNode("n2", {{.id = "G0"}}));
  }

  // However it came about, what is kept is what would be computed afresh.
  void TearDown() override {
    EXPECT_EQ(scheduler_.ledger().Usage(), scheduler_.ledger().RebuildUsage());
  }

  // As the reflectors do it; if the event is lost, only the cache knows.
  enum class Event { kHandled, kLost };
  void Show(const kube::Pod& pod, Event event = Event::kHandled) {
    const auto now = std::make_shared<const kube::Pod>(pod);
    const auto before = scheduler_.pods().Put(now);
    if (event == Event::kHandled) scheduler_.pod_events().OnUpsert(before, now);
  }
  void Show(const kube::Node& node, Event event = Event::kHandled) {
    const auto now = std::make_shared<const kube::Node>(node);
    const auto before = scheduler_.nodes().Put(now);
    if (event == Event::kHandled) scheduler_.node_events().OnUpsert(before, now);
  }

  // The caches hear that nothing has changed, and a minute later there is a pass.
  void Pass() {
    scheduler_.pods().SetTold(clock_.Steady());
    scheduler_.nodes().SetTold(clock_.Steady());
    scheduler_.auditor().Pass();
    clock_.Advance(1min);
  }

  Lines Told(std::string_view name) const { return Samples(testing::Scrape(scheduler_), name); }
  // Of a metric by kind, those above zero.
  Lines Counted(std::string_view name) const {
    Lines lines = Told(name);
    std::erase_if(lines, [](const std::string& line) { return line.ends_with(" 0"); });
    return lines;
  }
  Lines Drift() const { return Counted("aliquot_ledger_drift"); }
  Lines Repairs() const { return Counted("aliquot_ledger_repairs_total"); }

  DeviceUse Use(const std::string& node = "n1", core::VendorId vendor = 1,
                const std::string& id = "G0") {
    const std::optional<core::NodeUsage> usage = scheduler_.ledger().Node(node);
    return usage->use()[static_cast<size_t>(usage->FindDevice(vendor, id))];
  }
  std::vector<ForeignPod> Foreign() {
    Pass();
    return scheduler_.auditor().foreign();
  }

  FakeClock clock_;
  FakeApi api_;
  const core::Registry registry_ = TwoVendors();  // Fickle is 0, NVIDIA 1
  Scheduler scheduler_{api_,
                       registry_,
                       {},
                       clock_,
                       [](const ObjectRef&, bool, std::string_view, const std::string&) {},
                       nullptr};
};

KubePod Bound(const std::string& name = "p") {
  return KubePod(name).App(kAsk).On("n1", "G0,NVIDIA,3000,30:;");
}

// ---- what counts

TEST_F(AuditTest, ADifferenceCountsAtASecondLook) {
  Show(Bound(), Event::kLost);
  Pass();
  EXPECT_EQ(Drift(), Lines{});
  EXPECT_EQ(Use(), kIdle);
  Pass();
  EXPECT_EQ(Drift(), Lines{R"({kind="missing"} 1)"});
  EXPECT_EQ(Repairs(), Lines{R"({kind="missing"} 1)"});
  EXPECT_EQ(Use(), (DeviceUse{1, 3000, 30}));
  Pass();
  EXPECT_EQ(Drift(), Lines{});
  EXPECT_EQ(Repairs(), Lines{R"({kind="missing"} 1)"});
}

TEST_F(AuditTest, AnEventThatWasOnItsWayCountsForNothing) {
  Show(Bound(), Event::kLost);
  Pass();
  scheduler_.pod_events().OnUpsert(nullptr, scheduler_.pods().Get("team", "p"));
  Pass();
  Pass();
  EXPECT_EQ(Drift(), Lines{});
  EXPECT_EQ(Repairs(), Lines{});
}

TEST_F(AuditTest, NothingCountsWhileACacheHearsNothing) {
  Show(Bound(), Event::kLost);
  Pass();
  for (int i = 0; i < 5; ++i) {
    scheduler_.pods().SetTold(clock_.Steady());  // and the nodes' cache is cut off
    scheduler_.auditor().Pass();
    clock_.Advance(1min);
  }
  EXPECT_EQ(Drift(), Lines{});
  EXPECT_EQ(Use(), kIdle);
  Pass();
  EXPECT_EQ(Drift(), Lines{R"({kind="missing"} 1)"});
}

TEST_F(AuditTest, NothingIsLookedAtBeforeTheCachesAreComplete) {
  Scheduler starting(
      api_, registry_, {}, clock_,
      [](const ObjectRef&, bool, std::string_view, const std::string&) {}, nullptr);
  starting.pods().Put(std::make_shared<const kube::Pod>(Bound()));
  for (int i = 0; i < 3; ++i) {
    starting.pods().SetTold(clock_.Steady());
    starting.nodes().SetTold(clock_.Steady());
    starting.auditor().Pass();
    clock_.Advance(1min);
  }
  EXPECT_EQ(starting.ledger().Count().bound, 0U);
}

// ---- kinds

TEST_F(AuditTest, APodHeldOnAnotherNodeIsMovedToWhereItRuns) {
  Show(Bound());
  kube::Pod moved = Bound();
  moved.node_name = "n2";
  Show(moved, Event::kLost);
  Pass();
  Pass();
  EXPECT_EQ(Repairs(), Lines{R"({kind="missing"} 1)"});
  EXPECT_EQ(Use("n1"), kIdle);
  EXPECT_EQ(Use("n2"), (DeviceUse{1, 3000, 30}));
}

TEST_F(AuditTest, APodWhoseEndWasMissedGivesEverythingBack) {
  Show(Bound("gone"));
  Show(Bound("finished"));
  Show(Bound("re-created"));
  EXPECT_EQ(Use().slots, 3);
  clock_.Advance(10min);
  scheduler_.pods().Remove("team", "gone");
  Show(Bound("finished").Phase(kube::PodPhase::kSucceeded), Event::kLost);
  Show(KubePod("re-created").Uid("uid-2").App(kAsk), Event::kLost);
  Pass();
  EXPECT_EQ(Use().slots, 3);
  Pass();
  EXPECT_EQ(Repairs(), Lines{R"({kind="unknown"} 3)"});
  EXPECT_EQ(Use(), kIdle);
}

TEST_F(AuditTest, ABindMayKnowOfItsSuccessBeforeTheCacheDoes) {
  const kube::Pod pod = KubePod("p").App(kAsk);
  api_.Put(KubeNode("n2", {}));
  api_.Put(pod);  // of which no more events come
  Show(pod);
  FilterRequest request;
  request.pod = pod;
  request.node_names = {"n2"};
  scheduler_.Filter(request, {std::chrono::steady_clock::now(), nullptr});
  ASSERT_EQ(
      scheduler_.Bind({"p", "team", "uid-p", "n2"}, {std::chrono::steady_clock::now(), nullptr})
          .error,
      "");
  EXPECT_TRUE(scheduler_.auditor().Look().differences.empty());
  Pass();
  Pass();
  EXPECT_EQ(Use("n2").slots, 1);
  Pass();
  EXPECT_EQ(Drift(), Lines{});
  Pass();
  Pass();  // the API server has never heard of that binding
  EXPECT_EQ(Repairs(), Lines{R"({kind="unknown"} 1)"});
  EXPECT_EQ(Use("n2"), kIdle);
}

TEST_F(AuditTest, AReservationIsNotTheAuditsBusiness) {
  const kube::Pod pod = KubePod("p").App(kAsk);
  api_.Put(pod);
  FilterRequest request;
  request.pod = pod;
  request.node_names = {"n2"};
  scheduler_.Filter(request, {std::chrono::steady_clock::now(), nullptr});
  for (int i = 0; i < 5; ++i) Pass();
  EXPECT_EQ(Drift(), Lines{});
  EXPECT_EQ(Use("n2").slots, 1);
}

TEST_F(AuditTest, EditedSharesAreToldAndMoveNothing) {
  Show(Bound());
  Show(Bound().Annotate(kAllocatedKey, "G1,NVIDIA,1,1:;"));
  EXPECT_EQ(scheduler_.auditor().Look().differences,
            (std::vector<Difference>{{Drift::kShares,
                                      {"team", "p", "uid-p"},
                                      "n1",
                                      "it holds NVIDIA/0: G0,3000,30, its annotations say "
                                      "NVIDIA/0: G1,1,1"}}));
  for (int i = 0; i < 3; ++i) Pass();
  EXPECT_EQ(Drift(), Lines{R"({kind="shares"} 1)"});
  EXPECT_EQ(Repairs(), Lines{});
  EXPECT_EQ(Use(), (DeviceUse{1, 3000, 30}));
}

TEST_F(AuditTest, ATextThatCannotBeReadIsNoEdit) {
  Show(Bound());
  Show(Bound().Annotate(kAllocatedKey, "nonsense,"));
  Show(KubePod("q").App(kAsk).On("n2", "nonsense,"));
  EXPECT_TRUE(scheduler_.auditor().Look().differences.empty());
}

TEST_F(AuditTest, ANodeIsRegisteredAsItsAnnotationsSay) {
  Show(KubeNode("new", {{.id = "G0"}}), Event::kLost);
  Show(KubeNode("n1", {{.id = "G0"}, {.id = "G1"}, {.id = "G2"}}), Event::kLost);
  scheduler_.nodes().Remove("", "n2");
  Pass();
  Pass();
  EXPECT_EQ(Repairs(), Lines{R"({kind="registration"} 3)"});
  EXPECT_EQ(scheduler_.ledger().Node("n1")->devices().size(), 3U);
  EXPECT_EQ(scheduler_.ledger().NodeNames(), (std::vector<std::string>{"n1", "new"}));
}

TEST_F(AuditTest, CardsKnownBeforeAndCardsOfADeadPluginAreNoDifference) {
  Show(KubeNode("n1", {}), Event::kHandled);
  kube::Node node = KubeNode("n2", {{.id = "G0"}});
  node.meta.annotations[kRegisterKey] = "nonsense";
  Show(node);
  node = KubeNode("dead", {{.id = "G0"}});
  node.allocatable.clear();
  node.meta.annotations[testing::kHandshakeKey] = "Requesting_2025-12-31 23:00:00";
  Show(node);
  ASSERT_EQ(scheduler_.ledger().NodeNames(), std::vector<std::string>{"n2"});
  EXPECT_TRUE(scheduler_.auditor().Look().differences.empty());
}

TEST_F(AuditTest, UsageThatIsNotWhatPodsHoldIsComputedAnewAtOnce) {
  kube::Node node = KubeNode("n1", {{.id = "G0"}});
  node.meta.annotations["example.com/fickle"] = "";
  Show(node);
  Show(KubePod("p").App().On("n1", "").Annotate("example.com/fickle-allocated", "F0,Fickle,0,0:;"));
  ASSERT_EQ(Use("n1", 0, "F0").slots, 1);
  slots_of_a_share = 3;
  Pass();
  EXPECT_EQ(Drift(), Lines{R"({kind="usage"} 1)"});
  EXPECT_EQ(Repairs(), Lines{R"({kind="usage"} 1)"});
  EXPECT_EQ(Use("n1", 0, "F0").slots, 3);
  Pass();
  EXPECT_EQ(Drift(), Lines{});
}

TEST_F(AuditTest, OneNodeCanBeLookedAtAlone) {
  Show(Bound(), Event::kLost);
  Show(KubePod("q").App(kAsk).On("n2", "G0,NVIDIA,3000,30:;"), Event::kLost);
  Show(KubeNode("new", {{.id = "G0"}}), Event::kLost);
  EXPECT_EQ(scheduler_.auditor().Look().differences.size(), 3U);
  EXPECT_EQ(scheduler_.auditor().Look("n2").differences,
            (std::vector<Difference>{{Drift::kMissing, {"team", "q", "uid-q"}, "n2", ""}}));
}

TEST_F(AuditTest, LooksAtAllOfALargeCluster) {
  constexpr int kMany = 300;  // more than are taken at a time
  for (int i = 0; i < kMany; ++i) {
    const std::string name = "x" + std::to_string(i);
    Show(KubeNode(name, {{.id = "G0"}}), i % 2 == 0 ? Event::kHandled : Event::kLost);
    Show(KubePod("a" + name).App(kAsk).On(name, "G0,NVIDIA,1,1:;"), Event::kLost);
    Show(KubePod("b" + name).App(kAsk).On(name, "G0,NVIDIA,1,1:;"));
  }
  clock_.Advance(10min);
  for (int i = 0; i < kMany; ++i) scheduler_.pods().Remove("team", "bx" + std::to_string(i));
  Pass();
  Pass();
  EXPECT_EQ(Repairs(), (Lines{R"({kind="missing"} 300)", R"({kind="unknown"} 300)",
                              R"({kind="registration"} 150)"}));
  EXPECT_TRUE(scheduler_.auditor().Look().differences.empty());
}

// ---- foreign pods

kube::Pod Foreigner(const std::string& name, const std::string& node = "n1") {
  kube::Pod pod = KubePod(name).App(kAsk);
  pod.node_name = node;
  return pod;
}

TEST_F(AuditTest, PodsThatOthersHavePutOnOurCardsAreTold) {
  Show(Foreigner("p"));
  Show(Bound("ours"));
  EXPECT_EQ(Foreign(), (std::vector<ForeignPod>{{{"team", "p", "uid-p"}, "n1", {1}}}));
  EXPECT_EQ(Told("aliquot_foreign_pods"), Lines{R"({vendor="NVIDIA"} 1)"});
  EXPECT_EQ(Drift(), Lines{});
  scheduler_.pods().Remove("team", "p");
  EXPECT_EQ(Foreign(), std::vector<ForeignPod>{});
  EXPECT_EQ(Told("aliquot_foreign_pods"), Lines{});
}

TEST_F(AuditTest, OtherPodsAreNotForeign) {
  kube::Pod nothing = KubePod("asks-nothing").App();
  nothing.node_name = "n1";
  Show(nothing);
  Show(KubePod("waits").App(kAsk));
  Show(KubePod("unreadable").App(kAsk).On("n1", "nonsense,"));
  kube::Pod finished = Foreigner("finished");
  finished.phase = kube::PodPhase::kFailed;
  Show(finished);
  Show(Foreigner("elsewhere", "no-node-of-ours"));
  kube::Node node = KubeNode("other-vendor", {});
  node.meta.annotations["example.com/fickle"] = "";
  Show(node);
  Show(Foreigner("no-such-cards", "other-vendor"));
  Show(Bound("stripped"));
  kube::Pod stripped = Bound("stripped");
  stripped.meta.annotations.clear();
  Show(stripped);
  EXPECT_EQ(Foreign(), std::vector<ForeignPod>{});
}

TEST_F(AuditTest, EachForeignPodIsLoggedOnceAndNotTooManyOfThem) {
  log::SetUp({});
  const auto lines_of_a_pass = [&] {
    ::testing::internal::CaptureStderr();
    Pass();
    const std::string text = ::testing::internal::GetCapturedStderr();
    return std::count(text.begin(), text.end(), '\n');
  };
  Show(Foreigner("p"));
  EXPECT_EQ(lines_of_a_pass(), 1);
  EXPECT_EQ(lines_of_a_pass(), 0);
  for (int i = 0; i < 100; ++i) Show(Foreigner("many-" + std::to_string(i)));
  EXPECT_EQ(lines_of_a_pass(), 21);
  EXPECT_EQ(lines_of_a_pass(), 0);
}

// ---- the thread

TEST_F(AuditTest, TheThreadLooksAsSoonAsTheCachesAreComplete) {
  Scheduler starting(
      api_, registry_, {}, clock_,
      [](const ObjectRef&, bool, std::string_view, const std::string&) {}, nullptr);
  const auto node = std::make_shared<const kube::Node>(KubeNode("n1", {{.id = "G0"}}));
  starting.nodes().Put(node);
  starting.node_events().OnUpsert(nullptr, node);
  starting.pods().Put(std::make_shared<const kube::Pod>(Foreigner("p")));
  starting.Start();
  starting.node_events().OnSynced();
  starting.quota_events().OnSynced();
  EXPECT_TRUE(starting.auditor().foreign().empty());
  starting.pod_events().OnSynced();
  const auto patience = std::chrono::steady_clock::now() + 30s;
  while (starting.auditor().foreign().empty() && std::chrono::steady_clock::now() < patience)
    std::this_thread::yield();
  EXPECT_EQ(starting.auditor().foreign().size(), 1U);
}

TEST_F(AuditTest, AThreadThatWaitsForTheCachesCanBeStopped) {
  Scheduler starting(
      api_, registry_, {}, clock_,
      [](const ObjectRef&, bool, std::string_view, const std::string&) {}, nullptr);
  starting.Start();
  starting.Stop();
}

}  // namespace
}  // namespace aliquot::scheduler
