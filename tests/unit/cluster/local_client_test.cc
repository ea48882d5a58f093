// The cluster as the scheduler's own code sees it, and what faults do to it.
#include "aliquot/cluster/local_client.h"

#include <gtest/gtest.h>

#include <future>

#include "aliquot/kube/reflector.h"
#include "unit/cluster/client.h"

namespace aliquot::cluster {
namespace {

class LocalClientTest : public ::testing::Test, protected TestCluster {
 protected:
  LocalClient client{cluster};
  const kube::CallOptions call;

  ErrorCode CodeOfGet() {
    const Result<kube::Pod> pod = client.GetPod("default", "p", call);
    return pod ? ErrorCode::kInvalid : pod.error().code;
  }
};

TEST_F(LocalClientTest, CarriesOutWhatTheSchedulerAsks) {
  Create(kNodes, {{"metadata", {{"name", "n"}}}});
  const std::string uid = Create(kPods, PodJson("p")).uid();
  kube::MetadataPatch patch;
  patch.uid = uid;
  patch.annotations["a"] = "1";
  const Result<kube::Pod> patched = client.PatchPod({"default", "p", uid}, patch.ToJson(), call);
  ASSERT_TRUE(patched) << patched.error().message;
  EXPECT_EQ(patched->meta.annotations.at("a"), "1");
  EXPECT_TRUE(client.PatchNode("n", patch.ToJson(), call).error().code == ErrorCode::kOtherObject);
  EXPECT_TRUE(client.GetNode("n", call));

  EXPECT_TRUE(client.Bind({{"default", "p", uid}, "n", {{"b", "2"}}}, call));
  const Result<kube::Pod> bound = client.GetPod("default", "p", call);
  EXPECT_EQ(bound->node_name, "n");
  EXPECT_EQ(bound->meta.annotations.at("b"), "2");
  EXPECT_EQ(client.Bind({{"default", "p", uid}, "n", {}}, call).error().code, ErrorCode::kConflict);

  const Result<std::string> event = client.CreateEvent(
      "default", R"({"metadata":{"name":"e"},"involvedObject":{"namespace":"default"}})", call);
  ASSERT_TRUE(event);
  EXPECT_TRUE(client.PatchEvent("default", *event, R"({"count":2})", call));
  EXPECT_EQ(client.PatchEvent("default", "nope", "{}", call).error().code, ErrorCode::kNotFound);
}

TEST_F(LocalClientTest, AnAnswerOrderedComesWithItsCode) {
  Create(kPods, PodJson("p"));
  const std::pair<int, ErrorCode> rows[] = {{401, ErrorCode::kUnauthorized},
                                            {403, ErrorCode::kForbidden},
                                            {410, ErrorCode::kGone},
                                            {429, ErrorCode::kTooManyRequests},
                                            {500, ErrorCode::kUnavailable}};
  for (const auto& [status, code] : rows) {
    cluster.AddFault({.verb = "get", .effect = Fault::Effect::kAnswer, .status = status});
    EXPECT_EQ(CodeOfGet(), code);
  }
  EXPECT_TRUE(client.GetPod("default", "p", call));  // each was for one request
}

TEST_F(LocalClientTest, FaultsConcernWhatTheyName) {
  Create(kPods, PodJson("p"));
  Create(kPods, PodJson("q"));
  cluster.AddFault({.verb = "get",
                    .resource = "pods",
                    .name = "q",
                    .skip = 1,
                    .times = 2,
                    .effect = Fault::Effect::kAnswer});
  std::string seen;
  for (const char* name : {"p", "q", "p", "q", "q", "q"})
    seen += client.GetPod("default", name, call) ? '.' : 'x';
  EXPECT_EQ(seen, "...xx.");
}

TEST_F(LocalClientTest, ALostAnswerLeavesTheChange) {
  Create(kPods, PodJson("p"));
  const std::string patch = R"({"metadata":{"annotations":{"a":"1"}}})";
  const auto send = [&] { return client.PatchPod({"default", "p", ""}, patch, call).error().code; };
  cluster.AddFault({.verb = "patch", .effect = Fault::Effect::kRefuse});
  EXPECT_EQ(send(), ErrorCode::kUnknownOutcome);
  EXPECT_TRUE(client.GetPod("default", "p", call)->meta.annotations.empty());
  cluster.AddFault({.verb = "patch", .effect = Fault::Effect::kLoseAnswer});
  EXPECT_EQ(send(), ErrorCode::kUnknownOutcome);
  EXPECT_EQ(client.GetPod("default", "p", call)->meta.annotations.size(), 1U);
}

TEST_F(LocalClientTest, ABlockedCallGoesOnWhenItIsReleased) {
  Create(kPods, PodJson("p"));
  const auto fault = cluster.AddFault({.verb = "get", .block = true});
  auto blocked =
      std::async(std::launch::async, [this] { return client.GetPod("default", "p", call); });
  ASSERT_TRUE(cluster.WaitForHits(fault, 1, Soon()));
  EXPECT_TRUE(client.List(kPods, {}));  // nobody else waits
  cluster.RemoveFault(fault);
  EXPECT_TRUE(blocked.get());
}

TEST_F(LocalClientTest, ABlockedCallEndsAtItsDeadlineAndAtShutdown) {
  Create(kPods, PodJson("p"));
  cluster.AddFault({.verb = "get", .times = 1, .block = true});
  const kube::CallOptions brief{.deadline = std::chrono::steady_clock::now()};
  EXPECT_EQ(client.GetPod("default", "p", brief).error().code, ErrorCode::kDeadline);

  const auto fault = cluster.AddFault({.verb = "get", .block = true});
  auto blocked = std::async(std::launch::async, [this] { return CodeOfGet(); });
  ASSERT_TRUE(cluster.WaitForHits(fault, 1, Soon()));
  client.Shutdown();
  EXPECT_EQ(blocked.get(), ErrorCode::kCancelled);
}

TEST_F(LocalClientTest, ADelayIsByTheClustersClock) {
  Create(kPods, PodJson("p"));
  const auto fault = cluster.AddFault({.verb = "get", .delay = std::chrono::hours(1)});
  auto delayed =
      std::async(std::launch::async, [this] { return client.GetPod("default", "p", call); });
  ASSERT_TRUE(cluster.WaitForHits(fault, 1, Soon()));
  clock.Advance(std::chrono::hours(1));
  cluster.Tick();
  EXPECT_TRUE(delayed.get());
}

TEST_F(LocalClientTest, AWatchCanBreakInTheMiddleOfALine) {
  Create(kPods, PodJson("a"));
  Create(kPods, PodJson("b"));
  cluster.AddFault({.verb = "watch", .effect = Fault::Effect::kCutAnswer, .whole_lines = 1});
  int lines = 0;
  const Result<void> ended = client.Watch(kPods + "?watch=true", std::chrono::hours(1),
                                          [&](std::string_view) { return ++lines > 0; }, {});
  EXPECT_EQ(ended.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(lines, 1);
}

class Ignore : public kube::Observer<kube::Pod> {
  void OnUpsert(const std::shared_ptr<const kube::Pod>&,
                const std::shared_ptr<const kube::Pod>&) override {}
  void OnDelete(const std::shared_ptr<const kube::Pod>&) override {}
};

TEST_F(LocalClientTest, ReflectorsFollowAndStandStillAtWaitForWatches) {
  for (int i = 0; i < 3; ++i) Create(kPods, PodJson("p" + std::to_string(i)));
  kube::Store<kube::Pod> store;
  Ignore observer;
  kube::ReflectorOptions options;
  options.seed = 1;
  kube::Reflector<kube::Pod> reflector(client, store, observer, options, clock);
  reflector.Start();
  ASSERT_TRUE(cluster.WaitForWatches(1, Soon()));
  EXPECT_EQ(store.size(), 3U);
  for (int i = 0; i < 50; ++i) {
    Patch(kPods + "/p0", {{"metadata", {{"labels", {{"i", std::to_string(i)}}}}}});
    ASSERT_TRUE(cluster.WaitForWatches(1, Soon()));
    EXPECT_EQ(store.Get("default", "p0")->meta.labels.at("i"), std::to_string(i));
  }
  Delete(kPods + "/p1");
  ASSERT_TRUE(cluster.WaitForWatches(1, Soon()));
  EXPECT_EQ(store.size(), 2U);
  reflector.Stop();
  EXPECT_FALSE(cluster.WaitForWatches(1, std::chrono::steady_clock::now()));
}

}  // namespace
}  // namespace aliquot::cluster
