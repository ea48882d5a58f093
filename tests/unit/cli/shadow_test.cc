// A shadow beside a scheduler of HAMi's contract, which is played, on an API server in memory.
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "aliquot/base/fake_clock.h"
#include "aliquot/base/strings.h"
#include "aliquot/cluster/cluster.h"
#include "aliquot/cluster/local_client.h"
#include "cli/daemon.h"
#include "support/kube_builders.h"
#include "support/scrape.h"

namespace aliquot::cli {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using scheduler::ShadowOutcome;
using Lines = std::vector<std::string>;

constexpr char kPods[] = "/api/v1/namespaces/default/pods";
constexpr size_t kWatches = 3;  // nodes, quotas, pods

class ShadowDaemonTest : public ::testing::Test {
 protected:
  ShadowDaemonTest() {
    Call("POST", "/api/v1/nodes", Node("n1", {{.id = "G0"}, {.id = "G1"}}));
    Call("POST", "/api/v1/nodes", Node("n2", {{.id = "G0"}}));
  }
  ~ShadowDaemonTest() override {
    daemon_.Drain();
    client_.Shutdown();
    daemon_.Stop();
  }
  void SetUp() override {
    daemon_.Start();
    ASSERT_TRUE(CatchesUp());
    ASSERT_TRUE(daemon_.scheduler().sync().Wait(Soon(), nullptr));
  }

  static config::ServeFlags Flags() {
    config::ServeFlags flags;
    flags.shadow = true;
    flags.leader_elect = true;  // of HAMi's own command line
    flags.leader_elect_resource_namespace = "kube-system";
    flags.leader_elect_resource_name = "hami-scheduler";
    return flags;
  }
  static SteadyTime Soon() { return std::chrono::steady_clock::now() + 20s; }
  // Everything that was written so far has been seen.
  bool CatchesUp() { return cluster_.WaitForWatches(kWatches, Soon()); }

  static json Node(const std::string& name, const std::vector<testing::Card>& cards) {
    return {{"metadata",
             {{"name", name},
              {"annotations", {{testing::kRegisterKey, testing::RegisterText(cards)}}}}},
            {"status", {{"allocatable", {{"nvidia.com/gpu", "10"}}}}}};
  }
  // A write of HAMi's. Every change since the one before would be ours.
  void Call(const std::string& method, const std::string& target, const json& body) {
    ExpectNoWrites();
    const Result<std::string> done = hami_.Call(method, target, body.dump());
    EXPECT_TRUE(done) << done.error().message;
    version_ = cluster_.resource_version();
  }
  void ExpectNoWrites() { EXPECT_EQ(cluster_.resource_version(), version_); }
  // HAMi's filter: the allocation, as one patch of the pod.
  void Place(const std::string& name, const std::string& node, const std::string& allocated) {
    Call("POST", kPods,
         {{"metadata", {{"name", name}}},
          {"spec",
           {{"schedulerName", "hami-scheduler"},
            {"containers",
             {{{"name", "c"},
               {"image", "i"},
               {"resources",
                {{"limits", {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "3000"}}}}}}}}}}});
    Call("PATCH", Target(name),
         {{"metadata",
           {{"labels", {{testing::kNodeKey, node}}},
            {"annotations",
             {{testing::kNodeKey, node},
              {testing::kTimeKey, "1785542400"},
              {testing::kAllocatedKey, allocated},
              {testing::kToAllocateKey, allocated}}}}}});
  }
  // HAMi's bind, and its device plugin.
  void Bind(const std::string& name, const std::string& node) {
    const auto phase = [&](const char* word) {
      Call("PATCH", Target(name),
           {{"metadata", {{"annotations", {{"hami.io/bind-phase", word}}}}}});
    };
    const auto lock = [&](const json& owner) {
      Call("PATCH", "/api/v1/nodes/" + node,
           {{"metadata", {{"annotations", {{"hami.io/mutex.lock", owner}}}}}});
    };
    lock("2026-08-01T00:00:00Z,default," + name);
    phase("allocating");
    Call("POST", Target(name) + "/binding",
         {{"metadata", {{"name", name}}}, {"target", {{"kind", "Node"}, {"name", node}}}});
    phase("success");
    lock(nullptr);
  }
  static std::string Target(const std::string& name) { return std::string(kPods) + "/" + name; }

  uint64_t Count(ShadowOutcome outcome) { return daemon_.scheduler().shadow()->count(outcome); }
  Lines Verbs() {
    Lines calls = testing::Samples(testing::Scrape(daemon_), "aliquot_api_calls_total");
    for (std::string& call : calls) {
      call.erase(0, call.find("verb=\"") + 6);
      call.resize(call.find('"'));
    }
    std::ranges::sort(calls);
    calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
    return calls;
  }

  FakeClock clock_;
  cluster::Cluster cluster_{{}};
  uint64_t version_ = cluster_.resource_version();  // of HAMi's latest write
  cluster::LocalClient hami_{cluster_};
  cluster::LocalClient client_{cluster_};
  const core::Registry& registry_ = testing::ChartRegistry();
  Daemon daemon_{ApiServer{client_, client_},
                 registry_,
                 Flags(),
                 nullptr,
                 clock_,
                 Identity{"us", {"kube-system", "us", ""}}};
};

TEST_F(ShadowDaemonTest, JudgesAsPodsComeAndWritesNothing) {
  const auto in_turn = [&](const std::string& name, const std::string& node,
                           const std::string& allocated) {
    Place(name, node, allocated);
    ASSERT_TRUE(CatchesUp());
    Bind(name, node);
    ASSERT_TRUE(CatchesUp());
  };
  in_turn("agree", "n1", "G1,NVIDIA,3000,0:;");
  in_turn("agree-too", "n1", "G0,NVIDIA,3000,0:;");  // only beside the first one
  in_turn("node", "n2", "G0,NVIDIA,3000,0:;");
  in_turn("full", "n2", "G0,NVIDIA,40000,0:;");
  Call("DELETE", Target("node"), json::object());
  ASSERT_TRUE(CatchesUp());
  in_turn("unreadable", "n1", "nonsense,");
  // A handshake is due, and nobody may be asked for one.
  clock_.Advance(10min);
  Call("PATCH", "/api/v1/nodes/n1",
       {{"metadata",
         {{"annotations", {{testing::kHandshakeKey, "Reported_2026-08-01 00:00:00"}}}}}});
  ASSERT_TRUE(CatchesUp());

  EXPECT_EQ(Count(ShadowOutcome::kAgree), 2U);
  EXPECT_EQ(Count(ShadowOutcome::kNode), 1U);
  EXPECT_EQ(Count(ShadowOutcome::kOvercommitted), 1U);
  EXPECT_EQ(Count(ShadowOutcome::kUnreadable), 1U);
  const auto differences = daemon_.scheduler().shadow()->differences();
  ASSERT_EQ(differences.size(), 3U);
  EXPECT_EQ(differences[0].pod.name, "node");
  EXPECT_EQ(differences[1].pod.name, "full");
  EXPECT_EQ(differences[2].pod.name, "unreadable");
  EXPECT_EQ(daemon_.scheduler().ledger().Count().nodes, 2U);

  daemon_.Drain();
  daemon_.FlushEvents(Soon());
  ExpectNoWrites();
  EXPECT_EQ(Verbs(), Lines{"list"});  // a watch counts when it ends
}

TEST_F(ShadowDaemonTest, AnswersNoCallOfTheExtender) {
  scheduler::FilterRequest request;
  request.node_names = {"n1"};
  const auto answer = daemon_.scheduler().Filter(request, {clock_.Steady(), nullptr});
  EXPECT_TRUE(Contains(answer.error, "--shadow"));
  EXPECT_EQ(daemon_.scheduler().leader().Obstacle(), "it runs with --shadow");
}

}  // namespace
}  // namespace aliquot::cli
