#include "aliquot/server/debug_server.h"

#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "aliquot/base/fake_clock.h"
#include "aliquot/base/log.h"
#include "client.h"
#include "support/fake_api.h"
#include "support/kube_builders.h"

namespace aliquot::server {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::Ask;
using testing::ChartRegistry;
using testing::FakeApi;
using testing::KubeNode;
using testing::KubePod;

const Ask kAsk{.gpu = "1", .mem = "3000", .cores = "30"};

class DebugServerTest : public ::testing::Test {
 protected:
  explicit DebugServerTest(bool shadow = false) : shadow_(shadow) {
    api_.on_pod = [this](const auto& before, const auto& now) {
      scheduler_.pods().Put(now);
      scheduler_.pod_events().OnUpsert(before, now);
    };
    api_.on_node = [this](const auto& before, const auto& now) {
      scheduler_.nodes().Put(now);
      scheduler_.node_events().OnUpsert(before, now);
    };
    scheduler_.node_events().OnSynced();
    scheduler_.quota_events().OnSynced();
    api_.Put(KubeNode("n1", {{.id = "G0"}, {.id = "G1", .healthy = false}}));
    api_.Put(KubeNode("n2", {{.id = "G0"}}));
  }
  void SetUp() override {
    const Result<void> started = server_.Start();
    ASSERT_TRUE(started.ok()) << started.error().message;
  }

  HttpAnswer Ask(std::string_view bytes) {
    Client client(server_.port());
    return client.Ask(bytes).value_or(HttpAnswer{});
  }
  json AskJson(std::string_view target) {
    const HttpAnswer answer = Ask(Get(target));
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.Field("Content-Type"), "application/json");
    return json::parse(answer.body);
  }
  HttpAnswer Put(std::string_view body) {
    return Ask("PUT /debug/flags/v HTTP/1.1\r\nHost: x\r\nContent-Length: " +
               std::to_string(body.size()) + "\r\n\r\n" + std::string(body));
  }
  // A pod with a reservation on the node.
  void Reserve(const std::string& name, std::string_view node) {
    const kube::Pod pod = KubePod(name).App(kAsk);
    api_.Put(pod);
    scheduler::FilterRequest request;
    request.pod = pod;
    request.node_names = {node};
    scheduler_.Filter(request, {std::chrono::steady_clock::now(), nullptr});
  }

  static scheduler::Options Options(bool shadow) {
    scheduler::Options options;
    options.shadow = shadow;
    return options;
  }

  const bool shadow_;
  FakeClock clock_;
  FakeApi api_;
  scheduler::Scheduler scheduler_{
      api_,
      ChartRegistry(),
      Options(shadow_),
      clock_,
      [](const ObjectRef&, bool, std::string_view, const std::string&) {},
      nullptr};
  DebugServer server_{scheduler_, {.bind = "127.0.0.1:0"}};
};

TEST_F(DebugServerTest, TellsWhoHoldsWhat) {
  scheduler_.pod_events().OnSynced();
  api_.Put(KubePod("bound").App().App(kAsk).On("n1", ";G0,NVIDIA,3000,30:;"));
  clock_.Advance(90s);
  Reserve("reserved", "n2");
  const json ledger = AskJson("/debug/ledger");
  EXPECT_EQ(ledger["hash"], scheduler_.ledger().HoldingsHash());
  const auto amount = [](int used, int of) { return json{{"used", used}, {"of", of}}; };
  const auto card = [&](const char* id, bool healthy, int slots, int memory, int cores) {
    return json{{"vendor", "NVIDIA"},
                {"id", id},
                {"type", "NVIDIA A100-SXM4-40GB"},
                {"healthy", healthy},
                {"slots", amount(slots, 10)},
                {"memory", amount(memory, 40960)},
                {"cores", amount(cores, 100)}};
  };
  EXPECT_EQ(ledger["counts"], (json{{"nodes", 2}, {"boundPods", 1}, {"reservations", 1}}));
  EXPECT_EQ(ledger["nodes"],
            (json{{{"name", "n1"},
                   {"closedTo", json::array()},
                   {"cards", {card("G0", true, 1, 3000, 30), card("G1", false, 0, 0, 0)}}},
                  {{"name", "n2"},
                   {"closedTo", json::array()},
                   {"cards", json::array({card("G0", true, 1, 3000, 30)})}}}));
  const auto pod = [](const char* name, const char* node, const char* state, int age,
                      int container) {
    return json{{"namespace", "team"},
                {"name", name},
                {"uid", std::string("uid-") + name},
                {"node", node},
                {"state", state},
                {"ageSeconds", age},
                {"shares", json::array({{{"container", container},
                                         {"vendor", "NVIDIA"},
                                         {"card", "G0"},
                                         {"memory", 3000},
                                         {"cores", 30}}})}};
  };
  EXPECT_EQ(ledger["pods"],
            (json{pod("bound", "n1", "bound", 90, 1), pod("reserved", "n2", "reserved", 0, 0)}));
  EXPECT_EQ(ledger["foreignPods"], json::array());
}

TEST_F(DebugServerTest, OneNodeCanBeAskedFor) {
  scheduler_.pod_events().OnSynced();
  Reserve("reserved", "n2");
  api_.Put(KubePod("unreadable").App(kAsk).On("n1", "nonsense,"));
  json ledger = AskJson("/debug/ledger?node=n1");
  EXPECT_EQ(ledger["counts"]["nodes"], 2);
  ASSERT_EQ(ledger["nodes"].size(), 1U);
  EXPECT_EQ(ledger["nodes"][0]["closedTo"], json{"NVIDIA"});
  EXPECT_EQ(ledger["pods"].size(), 1U);
  EXPECT_EQ(ledger["pods"][0]["shares"], json::array());
  ledger = AskJson("/debug/ledger?node=n2");
  EXPECT_EQ(ledger["pods"][0]["name"], "reserved");
  EXPECT_EQ(Ask(Get("/debug/ledger?node=typo")).status, 404);
  EXPECT_EQ(Ask(Get("/debug/ledger/diff?node=typo")).status, 404);
}

TEST_F(DebugServerTest, NamesForeignPods) {
  scheduler_.pod_events().OnSynced();
  kube::Pod pod = KubePod("p").App(kAsk);
  pod.node_name = "n1";
  api_.Put(pod);
  scheduler_.auditor().Pass();
  const json named = {{{"namespace", "team"},
                       {"name", "p"},
                       {"uid", "uid-p"},
                       {"node", "n1"},
                       {"vendors", {"NVIDIA"}}}};
  EXPECT_EQ(AskJson("/debug/ledger")["foreignPods"], named);
  EXPECT_EQ(AskJson("/debug/ledger?node=n1")["foreignPods"], named);
  EXPECT_EQ(AskJson("/debug/ledger?node=n2")["foreignPods"], json::array());
}

TEST_F(DebugServerTest, TellsWhereTheLedgerDiffersFromTheApiObjects) {
  scheduler_.pod_events().OnSynced();
  EXPECT_EQ(AskJson("/debug/ledger/diff"), (json{{"differences", json::array()}}));
  api_.Put(KubePod("edited").App(kAsk).On("n1", "G0,NVIDIA,3000,30:;"));
  api_.Put(KubePod("edited").App(kAsk).On("n1", "G0,NVIDIA,1,1:;"));
  scheduler_.nodes().Remove("", "n2");
  EXPECT_EQ(
      AskJson("/debug/ledger/diff"),
      (json{{"differences",
             {{{"kind", "shares"},
               {"node", "n1"},
               {"pod", {{"namespace", "team"}, {"name", "edited"}, {"uid", "uid-edited"}}},
               {"detail", "it holds NVIDIA/0: G0,3000,30, its annotations say NVIDIA/0: G0,1,1"}},
              {{"kind", "registration"}, {"node", "n2"}}}}}));
  EXPECT_EQ(AskJson("/debug/ledger/diff?node=n2")["differences"].size(), 1U);
}

TEST_F(DebugServerTest, SaysNothingOfALedgerThatIsNotComplete) {
  const HttpAnswer answer = Ask(Get("/debug/ledger"));
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.body, "waiting for the first complete list of pods");
  EXPECT_EQ(Ask(Get("/debug/ledger/diff")).status, 503);
}

TEST_F(DebugServerTest, TextsOfAnyBytesBecomeJson) {
  scheduler_.pod_events().OnSynced();
  api_.Put(KubePod("p").App(kAsk).On("n1", "\xff\"\x01\\,NVIDIA,1,1:;"));
  EXPECT_EQ(AskJson("/debug/ledger")["pods"][0]["shares"][0]["card"], "\xEF\xBF\xBD\"\x01\\");
}

TEST_F(DebugServerTest, AnswersForMorePodsThanAreCopiedAtATime) {
  scheduler_.pod_events().OnSynced();
  for (int i = 0; i < 200; ++i)
    api_.Put(KubePod("p" + std::to_string(i)).App(kAsk).On("n1", "G0,NVIDIA,1,1:;"));
  const json ledger = AskJson("/debug/ledger");
  EXPECT_EQ(ledger["pods"].size(), 200U);
  EXPECT_EQ(ledger["counts"]["boundPods"], 200);
  EXPECT_EQ(ledger["nodes"][0]["cards"][0]["slots"]["used"], 200);
}

// ---- a shadow

class DebugShadowTest : public DebugServerTest {
 protected:
  DebugShadowTest() : DebugServerTest(/*shadow=*/true) {}
};

TEST_F(DebugShadowTest, TellsHowOftenItAgreesAndWhereItDoesNot) {
  scheduler_.pod_events().OnSynced();
  api_.Put(KubePod("agree").App(kAsk).On("n1", "G0,NVIDIA,3000,30:;"));
  api_.Put(KubePod("node").App(kAsk).On("n2", "G0,NVIDIA,3000,30:;"));
  api_.Put(KubePod("lost").App(kAsk).On("n2", "\xff,NVIDIA,3000,30:;"));
  json shadow = AskJson("/v1/shadow");
  EXPECT_EQ(shadow["candidates"], "all registered nodes");
  EXPECT_EQ(shadow["decisions"], (json{{"agree", 1},
                                       {"tie", 0},
                                       {"cards", 0},
                                       {"node", 1},
                                       {"refused", 0},
                                       {"overcommitted", 1},
                                       {"unreadable", 0}}));
  ASSERT_EQ(shadow["differences"].size(), 2U);
  // n1: 10 * (slots 1/20 + memory 3000/81920 + cores 30/200) = 2.37
  EXPECT_EQ(
      shadow["differences"][0],
      (json{{"time", shadow["since"]},
            {"namespace", "team"},
            {"name", "node"},
            {"uid", "uid-node"},
            {"outcome", "node"},
            {"reason", "n2 scores 0.00, n1 2.37"},
            {"theirs", {{"node", "n2"}, {"score", 0}, {"shares", "NVIDIA/0: G0,3000,30"}}},
            {"ours", {{"node", "n1"}, {"score", 2.37}, {"shares", "NVIDIA/0: G0,3000,30"}}}}));
  EXPECT_EQ(shadow["differences"][1]["reason"], "\xEF\xBF\xBD is not there");
}

TEST_F(DebugShadowTest, WhatItCannotPlaceHasNoNodeOfOurs) {
  scheduler_.pod_events().OnSynced();
  api_.Put(KubePod("p").App({.gpu = "1", .mem = "50000"}).On("n3", "G0,NVIDIA,50000,0:;"));
  const json difference = AskJson("/v1/shadow")["differences"][0];
  EXPECT_EQ(difference["ours"], nullptr);
  EXPECT_EQ(difference["theirs"]["score"], nullptr);
}

TEST_F(DebugServerTest, WithoutTheFlagThereIsNoShadow) {
  const HttpAnswer answer = Ask(Get("/v1/shadow"));
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.body, "this process runs without --shadow");
}

// ---- verbosity

class DebugVerbosityTest : public DebugServerTest {
 protected:
  DebugVerbosityTest() { log::SetUp({}); }
  ~DebugVerbosityTest() override { log::SetUp({}); }
};

TEST_F(DebugVerbosityTest, ChangesWhileTheProcessRuns) {
  EXPECT_EQ(Ask(Get("/debug/flags/v")).body, "0");
  EXPECT_FALSE(log::IsDebug(5));
  const HttpAnswer answer = Put("5");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "successfully set klog.logging.verbosity to 5");
  EXPECT_TRUE(log::IsDebug(5));
  EXPECT_FALSE(log::IsDebug(6));
  EXPECT_EQ(Ask(Get("/debug/flags/v")).body, "5");
  EXPECT_EQ(Put("0\n").status, 200);
  EXPECT_FALSE(log::IsDebug(1));
}

TEST_F(DebugVerbosityTest, RefusesWhatIsNoVerbosity) {
  for (const char* body : {"", "five", "-1", "5 5", "2147483648", "1e1"}) {
    const HttpAnswer answer = Put(body);
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_EQ(answer.body, std::string("failed set klog.logging.verbosity ") + body +
                               ": the body is not a whole number from 0 on");
  }
  EXPECT_EQ(Put(std::string(5000, '1')).status, 413);
  EXPECT_EQ(log::Verbosity(), 0);
}

// ---- the listener

TEST_F(DebugServerTest, HasNothingElse) {
  for (const std::string_view target :
       {"/", "/debug", "/debug/pprof", "/metrics", "/filter", "/healthz", "/debug/ledger/x"})
    EXPECT_EQ(Ask(Get(target)).status, 404) << target;
  for (const auto& [target, allow] : {std::pair{"/debug/ledger", "GET"},
                                      {"/debug/ledger/diff", "GET"},
                                      {"/debug/flags/v", "GET, PUT"}}) {
    const HttpAnswer answer = Ask(Get(target, "DELETE"));
    EXPECT_EQ(answer.status, 405) << target;
    EXPECT_EQ(answer.Field("Allow"), allow);
  }
}

TEST_F(DebugServerTest, NamesAnAddressThatIsTaken) {
  const std::string taken = "127.0.0.1:" + std::to_string(server_.port());
  DebugServer second(scheduler_, {.bind = taken});
  const Result<void> started = second.Start();
  ASSERT_FALSE(started.ok());
  EXPECT_NE(started.error().message.find(taken), std::string::npos) << started.error().message;
}

}  // namespace
}  // namespace aliquot::server
