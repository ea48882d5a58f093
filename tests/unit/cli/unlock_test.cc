#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <utility>

#include "aliquot/base/fake_clock.h"
#include "aliquot/base/strings.h"
#include "aliquot/cluster/cluster.h"
#include "aliquot/cluster/http_front.h"
#include "aliquot/cluster/local_client.h"
#include "cli/unlock_command.h"

namespace aliquot::cli {
namespace {

constexpr char kPods[] = "/api/v1/namespaces/ml/pods";
constexpr char kShared[] = "hami.io/mutex.lock";
constexpr char kCambricon[] = "cambricon.com/dsmlu.lock";
constexpr char kLock[] = "2025-12-31T23:47:57Z,ml,train-0";  // 12m3s ago

// Does something just before the first patch of a node.
class RacingClient : public cluster::LocalClient {
 public:
  using LocalClient::LocalClient;
  std::function<void()> before_patch;

  Result<kube::Node> PatchNode(std::string_view name, const std::string& patch,
                               const kube::CallOptions& call) override {
    if (before_patch) std::exchange(before_patch, nullptr)();
    return LocalClient::PatchNode(name, patch, call);
  }
};

class UnlockTest : public ::testing::Test {
 protected:
  struct Outcome {
    int status;
    std::string out, err;
  };

  UnlockTest() {
    Call("POST", "/api/v1/namespaces", R"({"metadata":{"name":"ml"}})");
    Call("POST", "/api/v1/nodes", R"({"metadata":{"name":"gpu-17"}})");
  }

  void Call(const std::string& method, const std::string& target, const std::string& body) {
    const Result<std::string> done = admin_.Call(method, target, body);
    ASSERT_TRUE(done) << done.error().message;
  }
  // Sets an annotation, or removes it.
  void Annotate(const std::string& key, const char* text) {
    kube::MetadataPatch patch;
    patch.annotations[key] = text == nullptr ? std::nullopt : std::optional<std::string>(text);
    ASSERT_TRUE(admin_.PatchNode("gpu-17", patch.ToJson(), {}));
  }
  void CreatePod(const std::string& node = "") {
    Call("POST", kPods,
         R"({"metadata":{"name":"train-0"},"spec":{"nodeName":")" + node +
             R"(","containers":[{"name":"c","image":"i"}]}})");
  }
  std::string Annotation(const std::string& key) {
    const kube::Node node = *admin_.GetNode("gpu-17", {});
    const std::string* text = Find(node.meta.annotations, key);
    return text == nullptr ? "-" : *text;
  }
  Outcome Unlock(const std::string& node = "gpu-17") { return Run(node, nullptr); }
  Outcome Answer(const std::string& answer) {
    std::istringstream answers(answer);
    return Run("gpu-17", &answers);
  }
  Outcome Run(const std::string& node, std::istream* answers) {
    std::ostringstream out, err;
    const int status = cli::Unlock(client_, node, answers, clock_, {out, err});
    return {status, out.str(), err.str()};
  }

  FakeClock clock_;  // 2026-01-01 00:00:00
  cluster::Cluster cluster_{{}, clock_};
  cluster::LocalClient admin_{cluster_};
  RacingClient client_{cluster_};
};

TEST_F(UnlockTest, RemovesTheLockThatItShows) {
  Annotate(kShared, kLock);
  const Outcome outcome = Unlock();
  EXPECT_EQ(outcome.status, kExitOk) << outcome.err;
  EXPECT_EQ(outcome.out,
            "hami.io/mutex.lock: since 2025-12-31T23:47:57Z (12m3s), of pod ml/train-0, which does "
            "not exist\nRemoved.\n");
  EXPECT_EQ(Annotation(kShared), "-");
}

TEST_F(UnlockTest, TellsWhatHasBecomeOfThePod) {
  Annotate(kShared, kLock);
  CreatePod();
  EXPECT_TRUE(Contains(Answer("n").out, "of pod ml/train-0, which is Pending, on no node\n"));
  Call("DELETE", std::string(kPods) + "/train-0?gracePeriodSeconds=0", "");
  CreatePod("gpu-3");
  Call("PATCH", std::string(kPods) + "/train-0/status", R"({"status":{"phase":"Running"}})");
  EXPECT_TRUE(Contains(Answer("n").out, "which is Running, on node gpu-3\n"));
  cluster_.AddFault({.verb = "get",
                     .resource = "pods",
                     .effect = cluster::Fault::Effect::kAnswer,
                     .status = 403,
                     .message = "pods is forbidden"});
  EXPECT_TRUE(Contains(Answer("n").out, "which could not be read: pods is forbidden\n"));
}

TEST_F(UnlockTest, ShowsAndRemovesBothKindsOfLock) {
  Annotate(kShared, "nonsense,x");
  Annotate(kCambricon, "2025-12-31T23:59:00Z");
  const Outcome outcome = Unlock();
  EXPECT_EQ(outcome.status, kExitOk) << outcome.err;
  EXPECT_EQ(outcome.out,
            "cambricon.com/dsmlu.lock: since 2025-12-31T23:59:00Z (1m0s), of a pod that it does "
            "not name\n"
            "hami.io/mutex.lock: \"nonsense,x\", which is no lock that anybody can read\n"
            "Removed.\n");
  EXPECT_EQ(Annotation(kShared), "-");
  EXPECT_EQ(Annotation(kCambricon), "-");
}

TEST_F(UnlockTest, OnlyAYesRemovesIt) {
  Annotate(kShared, kLock);
  for (const char* answer : {"", "\n", "n\n", "no\n", "x\n"}) {
    const Outcome outcome = Answer(answer);
    EXPECT_EQ(outcome.status, kExitFailure) << answer;
    EXPECT_TRUE(outcome.out.ends_with("Remove? [y/N] Nothing was removed.\n")) << outcome.out;
    EXPECT_EQ(Annotation(kShared), kLock);
  }
  EXPECT_EQ(Answer("y\n").status, kExitOk);
  EXPECT_EQ(Annotation(kShared), "-");
}

TEST_F(UnlockTest, ANodeWithoutALockIsLeftAlone) {
  const uint64_t before = cluster_.resource_version();
  const Outcome outcome = Unlock();
  EXPECT_EQ(outcome.status, kExitOk);
  EXPECT_EQ(outcome.out, "Node gpu-17 is not locked.\n");
  EXPECT_EQ(cluster_.resource_version(), before);
}

TEST_F(UnlockTest, AnUnknownNodeIsAnError) {
  const Outcome outcome = Unlock("gpu-99");
  EXPECT_EQ(outcome.status, kExitFailure);
  EXPECT_EQ(outcome.err, "error: nodes \"gpu-99\" not found\n");
}

TEST_F(UnlockTest, ALockThatWasTakenMeanwhileStays) {
  Annotate(kShared, kLock);
  client_.before_patch = [&] { Annotate(kShared, "2026-01-01T00:00:00Z,ml,train-1"); };
  const Outcome outcome = Unlock();
  EXPECT_EQ(outcome.status, kExitFailure);
  EXPECT_EQ(outcome.err, "error: the lock has changed meanwhile; nothing was removed\n");
  EXPECT_EQ(Annotation(kShared), "2026-01-01T00:00:00Z,ml,train-1");
}

TEST_F(UnlockTest, ALockThatWasGivenBackMeanwhileIsNoFailure) {
  Annotate(kShared, kLock);
  client_.before_patch = [&] { Annotate(kShared, nullptr); };
  const Outcome outcome = Unlock();
  EXPECT_EQ(outcome.status, kExitOk) << outcome.err;
  EXPECT_TRUE(outcome.out.ends_with("Node gpu-17 is no longer locked.\n")) << outcome.out;
}

TEST_F(UnlockTest, OtherWritesOfTheNodeAreNoObstacle) {
  Annotate(kShared, kLock);
  client_.before_patch = [&] { Annotate("other", "1"); };
  EXPECT_EQ(Unlock().status, kExitOk);
  EXPECT_EQ(Annotation(kShared), "-");
  EXPECT_EQ(Annotation("other"), "1");
}

TEST_F(UnlockTest, ALostAnswerIsLookedUp) {
  Annotate(kShared, kLock);
  cluster_.AddFault({.verb = "patch", .effect = cluster::Fault::Effect::kLoseAnswer});
  EXPECT_EQ(Unlock().status, kExitOk);
  EXPECT_EQ(Annotation(kShared), "-");
}

TEST_F(UnlockTest, GivesUpWhenItMayNotWrite) {
  Annotate(kShared, kLock);
  cluster_.AddFault({.verb = "patch",
                     .effect = cluster::Fault::Effect::kAnswer,
                     .status = 403,
                     .message = "nodes is forbidden"});
  const Outcome outcome = Unlock();
  EXPECT_EQ(outcome.status, kExitFailure);
  EXPECT_EQ(outcome.err, "error: nodes is forbidden\n");
}

// ---- the command

TEST_F(UnlockTest, TheCommandFindsItsClusterByTheKubeconfig) {
  Annotate(kShared, kLock);
  cluster::HttpFront front(cluster_, {});
  ASSERT_TRUE(front.Start());
  const std::string file = ::testing::TempDir() + "/unlock-kubeconfig";
  std::ofstream(file) << cluster::Kubeconfig(front.url());
  setenv("KUBECONFIG", file.c_str(), 1);
  std::ostringstream out, err;
  const std::vector<std::string> args{"gpu-17", "--yes"};
  EXPECT_EQ(UnlockCommand().run({"aliquot unlock", args, {out, err}}), kExitOk) << err.str();
  unsetenv("KUBECONFIG");
  std::filesystem::remove(file);
  EXPECT_EQ(Annotation(kShared), "-");
}

TEST(UnlockCommandTest, RefusesBadArguments) {
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{}, {"--yes"}, {"a", "b"}, {"a", "--nonsense"}}) {
    std::ostringstream out, err;
    EXPECT_EQ(UnlockCommand().run({"aliquot unlock", args, {out, err}}), kExitUsage);
    EXPECT_FALSE(err.str().empty());
  }
}

TEST(UnlockCommandTest, DoesNotAskWhereNobodyCanAnswer) {
  const int terminal = dup(STDIN_FILENO);
  const int nobody = open("/dev/null", O_RDONLY);
  dup2(nobody, STDIN_FILENO);
  std::ostringstream out, err;
  const std::vector<std::string> args{"gpu-17"};
  EXPECT_EQ(UnlockCommand().run({"aliquot unlock", args, {out, err}}), kExitUsage);
  EXPECT_TRUE(Contains(err.str(), "there is nobody to ask: say --yes")) << err.str();
  dup2(terminal, STDIN_FILENO);
  close(nobody);
  close(terminal);
}

}  // namespace
}  // namespace aliquot::cli
