#include "aliquot/scheduler/registrar.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

#include "aliquot/base/fake_clock.h"
#include "aliquot/base/mutex.h"
#include "support/fake_api.h"
#include "support/kube_builders.h"
#include "support/zone.h"

namespace aliquot::scheduler {
namespace {

using namespace std::chrono_literals;
using testing::Card;
using testing::FakeApi;
using testing::kHandshakeKey;
using testing::kRegisterKey;
using testing::KubeNode;

constexpr char kOtherRegister[] = "other/register";
constexpr char kOtherHandshake[] = "other/handshake";
constexpr char kQuietRegister[] = "quiet/register";

// A vendor that registers one card, named by the text of its annotation.
core::VendorSpec OneCardVendor(std::string_view key, std::string_view register_key) {
  core::VendorSpec spec;
  spec.key = key;
  spec.node_register = register_key;
  spec.parse_request =
      [](const core::Vendor&, const core::ResourceReader&,
         std::optional<core::InvalidRequest>&) -> std::optional<core::ContainerRequest> {
    return std::nullopt;
  };
  spec.read_node = [](const core::Vendor& vendor,
                      const core::NodeSpec& node) -> Result<std::vector<core::Device>> {
    const std::string* text = Find(*node.annotations, vendor.spec().node_register);
    if (text == nullptr) return std::vector<core::Device>{};
    if (*text == "broken") return InvalidError("it is broken");
    core::Device card;
    card.id = *text;
    card.type = vendor.key();
    card.healthy = true;
    vendor.Claim(card);
    return std::vector{card};
  };
  return spec;
}

// NVIDIA; Other, which waits for the handshake's end even without allocatable;
// Quiet, which has no handshake.
const core::Registry& ThreeVendors() {
  static const core::VendorSpec other = [] {
    core::VendorSpec spec = OneCardVendor("Other", kOtherRegister);
    spec.node_handshake = kOtherHandshake;
    return spec;
  }();
  static const core::VendorSpec quiet = OneCardVendor("Quiet", kQuietRegister);
  static const core::Registry registry = [] {
    core::VendorConfig config;
    config.count_name = "other/card";
    return core::Registry({testing::ChartRegistry()[0], {other, config}, {quiet, {}}});
  }();
  return registry;
}

class RegistrarTest : public ::testing::Test {
 protected:
  RegistrarTest() {
    api_.on_node = [this](const auto& before, const auto& now) {
      if (now)
        registrar_.OnNode(before.get(), *now);
      else
        registrar_.OnNodeGone(before->meta.name);
    };
  }

  // The node as a plugin of NVIDIA cards has it, with one card "G0".
  static kube::Node Nvidia(const std::string& allocatable, std::optional<std::string> handshake) {
    kube::Node node = KubeNode("n1", {{.id = "G0"}});
    if (allocatable.empty())
      node.allocatable.clear();
    else
      node.allocatable["nvidia.com/gpu"] = allocatable;
    if (handshake) node.meta.annotations[kHandshakeKey] = *handshake;
    return node;
  }
  void Annotate(const std::string& key, const std::string& value) {
    kube::Node node = *api_.node("n1");
    node.meta.annotations[key] = value;
    api_.Put(node);
  }
  void SetAllocatable(const std::string& count) {
    kube::Node node = *api_.node("n1");
    node.allocatable["nvidia.com/gpu"] = count;
    api_.Put(node);
  }
  void Pass(Duration time) {
    clock_.Advance(time);
    registrar_.ExpireDue();
  }

  // Ids of the cards that can be handed out: "G0 G1"; "": unregistered.
  std::string Cards(const std::string& name = "n1") {
    const std::optional<core::NodeUsage> node = ledger_.Node(name);
    if (!node) return "";
    std::string ids;
    for (const core::Device& card : node->devices()) ids += (ids.empty() ? "" : " ") + card.id;
    return ids;
  }
  // Bodies of the patches that were made since the last time.
  std::vector<std::string> WriteHandshakes() {
    api_.ForgetCalls();
    registrar_.WriteHandshakes();
    std::vector<std::string> bodies;
    for (const FakeApi::Call& call : api_.calls()) bodies.push_back(call.body);
    return bodies;
  }
  std::string Handshake() { return api_.node("n1")->meta.annotations.at(kHandshakeKey); }

  FakeClock clock_;  // 2026-01-01 00:00:00
  FakeApi api_;
  Options options_;
  ledger::Ledger ledger_{ThreeVendors(), clock_};
  Leader leader_{std::nullopt, clock_};
  std::vector<std::string> events_;  // "pod reason: message"
  Registrar registrar_{
      api_,
      ThreeVendors(),
      ledger_,
      leader_,
      options_,
      clock_,
      [this](const ObjectRef& pod, bool, std::string_view reason, std::string message) {
        events_.push_back(pod.name + " " + std::string(reason) + ": " + message);
      }};
};

// ---- the handshake

struct HandshakeRow {
  std::string name;
  std::optional<std::string> text;
  std::string allocatable;  // empty: absent
  bool registered;
  bool asks_again;
};

void PrintTo(const HandshakeRow& row, std::ostream* out) { *out << row.name; }

class HandshakeTest : public RegistrarTest, public ::testing::WithParamInterface<HandshakeRow> {};

TEST_P(HandshakeTest, DecidesOnTheCardsAndAsksWhereItMust) {
  const HandshakeRow& row = GetParam();
  api_.Put(Nvidia(row.allocatable, row.text));
  EXPECT_EQ(Cards(), row.registered ? "G0" : "");
  const auto asked =
      row.asks_again
          ? std::vector<std::string>{R"({"metadata":{"annotations":{"hami.io/node-handshake":)"
                                     R"("Requesting_2026-01-01 00:00:00"}}})"}
          : std::vector<std::string>{};
  EXPECT_EQ(WriteHandshakes(), asked);
  EXPECT_TRUE(WriteHandshakes().empty());
  EXPECT_EQ(Cards(), row.registered ? "G0" : "");
}

INSTANTIATE_TEST_SUITE_P(
    Rows, HandshakeTest,
    ::testing::Values(
        HandshakeRow{"Missing", {}, "8", true, true},
        HandshakeRow{"MissingWithoutAllocatable", {}, "", true, true},
        HandshakeRow{"APluginsWord", "Reported_2026-01-01 00:00:00", "8", true, true},
        HandshakeRow{"LeftByACleanUp", "Deleted_2026-01-01 00:00:00", "8", true, true},
        HandshakeRow{"Empty", "", "0", true, true},
        HandshakeRow{"Unknown", "Unknown", "0", true, true},
        HandshakeRow{"NoTime", "Requesting", "0", true, false},
        HandshakeRow{"NotATime", "Requesting_not-a-timestamp", "0", true, false},
        HandshakeRow{"TimeWithSomethingBehind", "Requesting_2025-12-31 00:00:00 ", "0", true,
                     false},
        HandshakeRow{"AskedJustNow", "Requesting_2026-01-01 00:00:00", "0", true, false},
        HandshakeRow{"AskedBeforeAlmostAMinute", "Requesting_2025-12-31 23:59:01", "0", true,
                     false},
        HandshakeRow{"ExpiredOnANodeWithCards", "Requesting_2024-01-02 00:00:00", "8", true, false},
        HandshakeRow{"ExpiredOnANodeWithoutCards", "Requesting_2025-12-31 23:59:00", "0", false,
                     false},
        HandshakeRow{"ExpiredAndNothingAllocatable", "Requesting_2024-01-02 00:00:00", "", false,
                     false},
        HandshakeRow{"WrittenAnywhereInTheText", "so: Requesting_2024-01-02 00:00:00", "0", false,
                     false},
        // A clock that is ahead by a minute is borne with.
        HandshakeRow{"AskedInAMinute", "Requesting_2026-01-01 00:01:00", "0", true, false},
        HandshakeRow{"AskedInTheFuture", "Requesting_2026-01-01 00:01:01", "0", true, true},
        HandshakeRow{"AskedInTheFarFuture", "Requesting_2128-12-02 00:00:00", "0", true, true}),
    [](const auto& row) { return row.param.name; });

TEST_F(RegistrarTest, HandshakesAreBackgroundWork) {
  api_.Put(Nvidia("8", {}));
  WriteHandshakes();
  EXPECT_EQ(api_.calls().at(0).method, "PatchNode");
  EXPECT_EQ(api_.calls().at(0).target, "n1");
  EXPECT_EQ(api_.calls().at(0).options.lane, kube::Lane::kBackground);
}

class FollowerRegistrarTest : public RegistrarTest {
 protected:
  FollowerRegistrarTest() {
    api_.on_node = [this](const auto& before, const auto& now) {
      follower_.OnNode(before.get(), *now);
    };
  }
  std::vector<std::string> Asked() {
    api_.ForgetCalls();
    follower_.WriteHandshakes();
    std::vector<std::string> nodes;
    for (const FakeApi::Call& call : api_.calls()) nodes.push_back(call.target);
    return nodes;
  }
  void HeldBy(const std::string& holder) { elected_.OnUpsert(nullptr, testing::KubeLease(holder)); }

  Leader elected_{Election{"kube-system", "hami-scheduler", "us"}, clock_};
  Registrar follower_{api_,
                      ThreeVendors(),
                      ledger_,
                      elected_,
                      options_,
                      clock_,
                      [](const ObjectRef&, bool, std::string_view, const std::string&) {}};
};

TEST_F(FollowerRegistrarTest, KnowsTheCardsAndAsksNobody) {
  HeldBy("other_1");
  api_.Put(Nvidia("8", {}));
  EXPECT_EQ(Cards(), "G0");
  EXPECT_TRUE(Asked().empty());
  api_.Put(Nvidia("0", "Requesting_2025-12-31 23:59:00"));  // the leader did, and in vain
  EXPECT_EQ(Cards(), "");
}

TEST_F(FollowerRegistrarTest, ANewLeaderAsksWhereNobodyHas) {
  HeldBy("other_1");
  api_.Put(Nvidia("8", {}));
  kube::Node asked = Nvidia("8", {});
  asked.meta.name = "n2";
  api_.Put(asked);
  asked.meta.annotations[kHandshakeKey] = "Requesting_2026-01-01 00:00:00";
  api_.Put(asked);  // by the leader before us
  HeldBy("us_1");
  EXPECT_EQ(Asked(), std::vector<std::string>{"n1"});
  Annotate(kHandshakeKey, "Reported_2026-01-01 00:00:01");
  clock_.Advance(15s);
  EXPECT_TRUE(Asked().empty()) << "the lease has run out";
}

TEST_F(FollowerRegistrarTest, ItsThreadBeginsToWriteWhenItLeads) {
  api_.Put(Nvidia("8", {}));
  follower_.Start();
  HeldBy("us_1");
  while (api_.CountCalls("PatchNode") == 0) follower_.ExpireDue();
  follower_.Stop();
  EXPECT_EQ(Handshake(), "Requesting_2026-01-01 00:00:00");
}

TEST_F(RegistrarTest, OnePatchAsksAllVendorsOfTheNodeAndNoOthers) {
  kube::Node node = Nvidia("8", {});
  node.meta.annotations[kOtherRegister] = "O0";
  node.meta.annotations[kQuietRegister] = "Q0";
  api_.Put(node);
  EXPECT_EQ(Cards(), "G0 O0 Q0");
  EXPECT_EQ(
      WriteHandshakes(),
      std::vector<std::string>{
          R"({"metadata":{"annotations":{"hami.io/node-handshake":"Requesting_2026-01-01 00:00:00",)"
          R"("other/handshake":"Requesting_2026-01-01 00:00:00"}}})"});
}

TEST_F(RegistrarTest, NodesWithoutCardsAreLeftAlone) {
  kube::Node cpu;
  cpu.meta.name = "cpu";
  api_.Put(cpu);
  kube::Node quiet;
  quiet.meta.name = "quiet";
  quiet.meta.annotations[kQuietRegister] = "Q0";
  api_.Put(quiet);
  EXPECT_TRUE(WriteHandshakes().empty());
  EXPECT_EQ(Cards("quiet"), "Q0");
}

TEST_F(RegistrarTest, AHandshakeKeyAloneIsEnoughToBeAsked) {
  kube::Node node;
  node.meta.name = "n1";
  node.meta.annotations[kOtherHandshake] = "Reported";
  api_.Put(node);
  EXPECT_EQ(WriteHandshakes().size(), 1U);
}

TEST_F(RegistrarTest, AFailedHandshakeIsTriedAgainLater) {
  api_.Put(Nvidia("8", {}));
  api_.FailNext("PatchNode", {ErrorCode::kUnavailable, "connection refused"});
  EXPECT_EQ(WriteHandshakes().size(), 1U);
  EXPECT_EQ(Cards(), "G0");
  Pass(29s);
  EXPECT_TRUE(WriteHandshakes().empty());
  Pass(1s);
  EXPECT_EQ(WriteHandshakes().size(), 1U);
  EXPECT_EQ(Handshake(), "Requesting_2026-01-01 00:00:30");
}

TEST_F(RegistrarTest, ANodeThatIsGoneIsNotAsked) {
  api_.Put(Nvidia("8", {}));
  api_.RemoveNode("n1");
  EXPECT_TRUE(WriteHandshakes().empty());
  EXPECT_EQ(Cards(), "");
}

TEST_F(RegistrarTest, TheThreadWritesWhatIsQueued) {
  Mutex mutex;
  CondVar written;
  std::string text;
  const auto on_node = api_.on_node;
  api_.on_node = [&](const auto& before, const auto& now) {
    on_node(before, now);
    const std::string* handshake = Find(now->meta.annotations, kHandshakeKey);
    MutexLock lock(mutex);
    if (handshake) text = *handshake;
    written.NotifyAll();
  };
  registrar_.Start();
  api_.Put(Nvidia("8", {}));
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  {
    MutexLock lock(mutex);
    while (text.empty() && written.WaitUntil(mutex, deadline)) {
    }
    EXPECT_EQ(text, "Requesting_2026-01-01 00:00:00");
  }
  registrar_.Stop();
  Annotate(kHandshakeKey, "Reported");
  EXPECT_EQ(Handshake(), "Reported");  // nobody is there to ask again
}

// ---- device plugins that die and come back

TEST_F(RegistrarTest, AnUnansweredNodeWithoutAllocatableCardsIsGoneAfterAMinute) {
  api_.Put(Nvidia("", {}));
  WriteHandshakes();
  Pass(59s);
  EXPECT_EQ(Cards(), "G0");
  Pass(1s);
  EXPECT_EQ(Cards(), "");
}

TEST_F(RegistrarTest, AnUnansweredNodeWithAllocatableCardsStays) {
  api_.Put(Nvidia("8", "Requesting_2025-12-31 22:00:00"));
  for (int i = 0; i < 18; ++i) {
    Pass(10s);
    EXPECT_EQ(Cards(), "G0");
  }
}

TEST_F(RegistrarTest, CardsAreGoneAtOnceWhenTheAllocatableCountEnds) {
  api_.Put(Nvidia("8", {}));
  WriteHandshakes();
  SetAllocatable("0");
  EXPECT_EQ(Cards(), "");
}

TEST_F(RegistrarTest, VendorsWithoutThatRuleWaitForTheHandshake) {
  kube::Node node;
  node.meta.name = "n1";
  node.meta.annotations[kOtherRegister] = "O0";
  node.allocatable["other/card"] = "1";
  api_.Put(node);
  WriteHandshakes();
  Pass(90s);
  kube::Node without = *api_.node("n1");
  without.allocatable.clear();
  // Asked 90 s ago and nothing allocatable: now it is gone.
  api_.Put(without);
  EXPECT_EQ(Cards(), "");

  node = *api_.node("n1");
  node.meta.annotations[kOtherHandshake] = "Reported";
  node.allocatable["other/card"] = "1";
  api_.Put(node);
  WriteHandshakes();
  node = *api_.node("n1");
  node.allocatable.clear();
  api_.Put(node);
  EXPECT_EQ(Cards(), "O0");  // asked just now
  Pass(60s);
  EXPECT_EQ(Cards(), "");
}

class GoneNodeTest : public RegistrarTest {
 protected:
  GoneNodeTest() {
    api_.Put(Nvidia("8", {}));
    WriteHandshakes();
    Pass(2h);
    SetAllocatable("0");
    EXPECT_EQ(Cards(), "");
  }
};

TEST_F(GoneNodeTest, StaysGone) {
  for (int i = 0; i < 20; ++i) {
    Pass(15s);
    WriteHandshakes();
    Annotate("unrelated", std::to_string(i));
    EXPECT_EQ(Cards(), "") << i;
  }
  EXPECT_EQ(Handshake(), "Requesting_2026-01-01 00:00:00");
}

TEST_F(GoneNodeTest, StaysGoneWhenTheHandshakeIsRemoved) {
  kube::Node node = *api_.node("n1");
  node.meta.annotations.erase(kHandshakeKey);
  api_.Put(node);
  EXPECT_EQ(Cards(), "");
  EXPECT_EQ(WriteHandshakes().size(), 1U);
  EXPECT_EQ(Cards(), "");
}

TEST_F(GoneNodeTest, ComesBackWithTheAllocatableCount) {
  SetAllocatable("8");
  EXPECT_EQ(Cards(), "G0");
  Pass(5min);
  EXPECT_EQ(Cards(), "G0");
}

TEST_F(GoneNodeTest, ComesBackWithAnotherRegisterTextForAsLongAsARequestLasts) {
  Annotate(kRegisterKey, testing::RegisterText({{.id = "G1"}}));
  EXPECT_EQ(Cards(), "G1");
  EXPECT_EQ(WriteHandshakes().size(), 1U);  // a new request gives it a minute
  EXPECT_EQ(Handshake(), "Requesting_2026-01-01 02:00:00");
  Pass(59s);
  EXPECT_EQ(Cards(), "G1");
  Pass(1s);
  EXPECT_EQ(Cards(), "");
}

TEST_F(GoneNodeTest, ComesBackWhenAPluginAnswers) {
  Annotate(kHandshakeKey, "Reported_2026-01-01 02:00:00");
  EXPECT_EQ(Cards(), "G0");
  EXPECT_EQ(WriteHandshakes().size(), 1U);
  EXPECT_EQ(Cards(), "G0");
  Pass(60s);
  EXPECT_EQ(Cards(), "");
}

TEST_F(GoneNodeTest, LosesItsCardsAgainWhenTheCountEndsAgain) {
  SetAllocatable("8");
  WriteHandshakes();
  SetAllocatable("0");
  EXPECT_EQ(Cards(), "");
}

TEST_F(RegistrarTest, AnOldAnswerIsNoSignOfLife) {
  // The plugin's word stands from before: its end is seen before we could ask.
  api_.Put(Nvidia("8", "Reported_2026-01-01 00:00:00"));
  SetAllocatable("0");
  EXPECT_EQ(Cards(), "");
  Annotate("unrelated", "1");
  kube::Node node = *api_.node("n1");
  node.meta.labels["unrelated"] = "1";
  api_.Put(node);
  EXPECT_EQ(Cards(), "");
}

TEST_F(RegistrarTest, AReCreatedNodeBeginsAnew) {
  api_.Put(Nvidia("8", {}));
  SetAllocatable("0");
  EXPECT_EQ(Cards(), "");
  api_.RemoveNode("n1");
  api_.Put(Nvidia("0", {}));
  EXPECT_EQ(Cards(), "G0");
}

// What a node goes through, wherever the container says it is.
class NodeLifeTest : public RegistrarTest, public ::testing::WithParamInterface<const char*> {
  const testing::Zone zone_{GetParam()};
};

TEST_P(NodeLifeTest, ADeletedHandshakeIsAskedAnew) {
  api_.Put(Nvidia("10", "Deleted_2026-01-01 00:00:00"));
  EXPECT_EQ(Cards(), "G0");
  WriteHandshakes();
  EXPECT_EQ(Handshake(), "Requesting_2026-01-01 00:00:00");
  EXPECT_EQ(Cards(), "G0");
}

TEST_P(NodeLifeTest, AQuestionLastsAMinute) {
  api_.Put(Nvidia("0", "Requesting_2025-12-31 23:59:30"));
  Pass(29s);
  EXPECT_EQ(Cards(), "G0");
  Pass(1s);
  EXPECT_EQ(Cards(), "");
}

TEST_P(NodeLifeTest, CardsStayWhileTheyAreAllocatableAndDoNotComeBackAfterwards) {
  api_.Put(Nvidia("10", "Requesting_2025-12-31 22:00:00"));
  const auto live = [&](Duration time, const std::string& cards) {
    for (int i = 0; i < time / 15s; ++i) {
      Pass(15s);
      WriteHandshakes();
      Annotate("unrelated", std::to_string(i));
      EXPECT_EQ(Cards(), cards) << i;
    }
  };
  live(3min, "G0");
  SetAllocatable("0");
  EXPECT_EQ(Cards(), "");
  live(5min, "");
}

INSTANTIATE_TEST_SUITE_P(Zones, NodeLifeTest, ::testing::Values("UTC", "Asia/Tokyo"),
                         [](const auto& zone) { return zone.index == 0 ? "Utc" : "Tokyo"; });

// ---- register texts

TEST_F(RegistrarTest, ChangesCountAtOnceWhateverTheHandshakeSays) {
  api_.Put(Nvidia("8", "Requesting_2024-01-02 00:00:00"));
  Annotate(kRegisterKey, testing::RegisterText({{.id = "G0", .memory = 20480}, {.id = "G1"}}));
  EXPECT_EQ(Cards(), "G0 G1");
  EXPECT_EQ(ledger_.Node("n1")->devices()[0].memory, 20480);
}

TEST_F(RegistrarTest, ANodeWithoutARegisterTextHasNoCards) {
  for (const char* text : {"", "[]", "null"}) {
    api_.Put(Nvidia("8", {}));
    EXPECT_EQ(Cards(), "G0");
    kube::Node node = *api_.node("n1");
    if (*text == '\0')
      node.meta.annotations.erase(kRegisterKey);
    else
      node.meta.annotations[kRegisterKey] = text;
    api_.Put(node);
    EXPECT_EQ(Cards(), "") << text;
  }
}

TEST_F(RegistrarTest, AnUnreadableTextKeepsTheCardsThatWereThere) {
  api_.Put(Nvidia("8", {}));
  for (const char* text : {"nonsense", "[null]", "[{\"id\":7}]"}) {
    Annotate(kRegisterKey, text);
    EXPECT_EQ(Cards(), "G0") << text;
  }
  Annotate(kRegisterKey, testing::RegisterText({{.id = "G1"}}));
  EXPECT_EQ(Cards(), "G1");
  Annotate("hami.io/node-nvidia-score", "nonsense");
  EXPECT_EQ(Cards(), "G1");
}

TEST_F(RegistrarTest, AnUnreadableTextOfANewNodeIsNoCards) {
  kube::Node node = Nvidia("8", {});
  node.meta.annotations[kRegisterKey] = "[null]";
  api_.Put(node);
  EXPECT_EQ(Cards(), "");
}

TEST_F(RegistrarTest, OneVendorsTextDoesNotHideTheOthers) {
  kube::Node node = Nvidia("8", {});
  node.meta.annotations[kOtherRegister] = "O0";
  node.meta.annotations[kQuietRegister] = "Q0";
  api_.Put(node);
  Annotate(kRegisterKey, "nonsense");
  Annotate(kOtherRegister, "O1");
  Annotate(kQuietRegister, "broken");
  EXPECT_EQ(Cards(), "G0 O1 Q0");
  SetAllocatable("0");
  EXPECT_EQ(Cards(), "O1 Q0");
}

TEST_F(RegistrarTest, CordonTakesEffectAtOnce) {
  api_.Put(Nvidia("8", {}));
  EXPECT_FALSE(ledger_.Node("n1")->devices()[0].cordoned);
  Annotate("hami.io/device-cordon", "G0");
  EXPECT_TRUE(ledger_.Node("n1")->devices()[0].cordoned);
  Annotate("hami.io/device-cordon", "");
  EXPECT_FALSE(ledger_.Node("n1")->devices()[0].cordoned);
}

TEST_F(RegistrarTest, WhatPodsHoldSurvivesANewRegisterText) {
  api_.Put(Nvidia("8", {}));
  ledger::Holding holding;
  holding.pod = {"team", "p", "uid-p"};
  holding.node = "n1";
  holding.allocation = {testing::Held({{testing::ShareOf("G0", 100)}})};
  ledger_.Observe(holding);
  Annotate(kRegisterKey, testing::RegisterText({{.id = "G1"}, {.id = "G0"}}));
  EXPECT_EQ(ledger_.Node("n1")->use()[1].memory, 100);
}

TEST_F(RegistrarTest, PodsAreToldOnceThatTheirCardFailed) {
  using Events = std::vector<std::string>;
  api_.Put(Nvidia("8", {}));
  const auto hold = [&](const std::string& name, const std::string& card) {
    ledger::Holding holding;
    holding.pod = {"team", name, "uid-" + name};
    holding.node = "n1";
    holding.allocation = {testing::Held({{testing::ShareOf(card, 100)}})};
    ledger_.Observe(holding);
  };
  Annotate(kRegisterKey, testing::RegisterText({{.id = "G0"}, {.id = "G1"}, {.id = "G2"}}));
  hold("a", "G0");
  hold("b", "G1");
  hold("c", "G2");
  Annotate(kRegisterKey, testing::RegisterText({{.id = "G0", .healthy = false}, {.id = "G2"}}));
  EXPECT_EQ(events_,
            (Events{"a DeviceFailed: NVIDIA card G0 of node n1 is not healthy",
                    "b DeviceFailed: NVIDIA card G1 of node n1 is not registered any more"}));
  Annotate("hami.io/device-cordon", "G2");
  EXPECT_EQ(events_.size(), 2U);
  EXPECT_EQ(ledger_.FailedCards("n1").size(), 2U);
  EXPECT_TRUE(ledger_.FailedCards("n2").empty());

  // Back, and then away again.
  Annotate(kRegisterKey, testing::RegisterText({{.id = "G0"}, {.id = "G1"}, {.id = "G2"}}));
  EXPECT_TRUE(ledger_.FailedCards("n1").empty());
  Annotate(kRegisterKey, testing::RegisterText({{.id = "G1"}, {.id = "G2"}}));
  EXPECT_EQ(events_.size(), 3U);
  EXPECT_EQ(events_.back(), "a DeviceFailed: NVIDIA card G0 of node n1 is not registered any more");
}

// ---- the selector

TEST_F(RegistrarTest, OnlyNodesWithAllLabelsOfTheSelectorAreRegistered) {
  options_.node_label_selector = {{"gpu", "on"}, {"pool", "a"}};
  kube::Node node = Nvidia("8", {});
  node.meta.labels = {{"gpu", "on"}};
  api_.Put(node);
  EXPECT_EQ(Cards(), "");
  EXPECT_TRUE(WriteHandshakes().empty());
  node.meta.labels["pool"] = "a";
  api_.Put(node);
  EXPECT_EQ(Cards(), "G0");
  node.meta.labels["pool"] = "b";
  api_.Put(node);
  EXPECT_EQ(Cards(), "");
  EXPECT_TRUE(WriteHandshakes().empty());
}

}  // namespace
}  // namespace aliquot::scheduler
