// The cluster over HTTP, as kube::Client sees it.
#include "aliquot/cluster/http_front.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "aliquot/kube/client.h"
#include "aliquot/kube/reflector.h"
#include "unit/cluster/client.h"

namespace aliquot::cluster {
namespace {

class HttpFrontTest : public ::testing::Test, protected TestCluster {
 protected:
  HttpFrontTest() {
    const Result<void> started = front.Start();
    EXPECT_TRUE(started) << started.error().message;
    config.server = front.url();
    client = std::make_unique<kube::Client>(config, kube::ClientOptions{});
  }

  HttpFront front{cluster, {}};
  kube::ClientConfig config;
  std::unique_ptr<kube::Client> client;
  const kube::CallOptions call;
};

TEST_F(HttpFrontTest, CarriesCallsAndTheirErrors) {
  const std::string uid = Create(kPods, PodJson("p")).uid();
  kube::MetadataPatch patch;
  patch.uid = uid;
  patch.annotations["a"] = "1";
  const Result<kube::Pod> patched = client->PatchPod({"default", "p", uid}, patch.ToJson(), call);
  ASSERT_TRUE(patched) << patched.error().message;
  EXPECT_EQ(patched->meta.annotations.at("a"), "1");
  EXPECT_EQ(client->GetPod("default", "q", call).error(),
            (Error{ErrorCode::kNotFound, "pods \"q\" not found"}));
  EXPECT_TRUE(client->Bind({{"default", "p", uid}, "n", {}}, call));
  EXPECT_EQ(client->Bind({{"default", "p", uid}, "n", {}}, call).error().code,
            ErrorCode::kConflict);
}

TEST_F(HttpFrontTest, LargeBodiesAndLongNamesArrive) {
  Create(kPods, PodJson("p"));
  kube::MetadataPatch patch;
  patch.annotations["a"] = std::string(200000, 'x');
  EXPECT_TRUE(client->PatchPod({"default", "p", ""}, patch.ToJson(), call));
  EXPECT_EQ(client->GetPod("default", "p", call)->meta.annotations.at("a").size(), 200000U);
  patch.annotations["a"] = std::string(300000, 'x');
  EXPECT_EQ(client->PatchPod({"default", "p", ""}, patch.ToJson(), call).error().code,
            ErrorCode::kInvalid);
  patch.annotations["a"] = std::string(4 << 20, 'x');
  EXPECT_FALSE(client->PatchPod({"default", "p", ""}, patch.ToJson(), call));
}

TEST_F(HttpFrontTest, FaultsReachTheConnection) {
  Create(kPods, PodJson("p"));
  const std::string patch = R"({"metadata":{"annotations":{"a":"1"}}})";
  const auto send = [&] {
    return client->PatchPod({"default", "p", ""}, patch, call).error().code;
  };
  cluster.AddFault({.verb = "patch", .effect = Fault::Effect::kRefuse});
  EXPECT_EQ(send(), ErrorCode::kUnknownOutcome);
  EXPECT_TRUE(client->GetPod("default", "p", call)->meta.annotations.empty());
  cluster.AddFault({.verb = "patch", .effect = Fault::Effect::kLoseAnswer});
  EXPECT_EQ(send(), ErrorCode::kUnknownOutcome);
  EXPECT_FALSE(client->GetPod("default", "p", call)->meta.annotations.empty());
  cluster.AddFault({.verb = "patch", .effect = Fault::Effect::kCutAnswer});
  EXPECT_EQ(send(), ErrorCode::kUnknownOutcome);
  cluster.AddFault({.verb = "patch",
                    .effect = Fault::Effect::kAnswer,
                    .status = 403,
                    .reason = "Forbidden",
                    .message = "not you"});
  EXPECT_EQ(client->PatchPod({"default", "p", ""}, patch, call).error(),
            (Error{ErrorCode::kForbidden, "not you"}));
  // The client repeats a refusal that says when: it is answered the second time.
  cluster.AddFault(
      {.verb = "get", .effect = Fault::Effect::kAnswer, .status = 429, .retry_after = 1});
  EXPECT_TRUE(client->GetPod("default", "p", call));
}

TEST_F(HttpFrontTest, AWatchBreaksWhereItIsTold) {
  Create(kPods, PodJson("a"));
  Create(kPods, PodJson("b"));
  cluster.AddFault({.verb = "watch", .effect = Fault::Effect::kCutAnswer, .whole_lines = 1});
  int lines = 0;
  const Result<void> ended = client->Watch(kPods + "?watch=true", std::chrono::minutes(1),
                                           [&](std::string_view) { return ++lines > 0; }, {});
  EXPECT_EQ(ended.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(lines, 1);
}

TEST_F(HttpFrontTest, AWatchEndsInOrderAtItsTime) {
  std::promise<void> begun;
  int lines = 0;
  auto watch = std::async(std::launch::async, [&] {
    return client->Watch(kPods + "?watch=true&timeoutSeconds=10", std::chrono::minutes(1),
                         [&](std::string_view) {
                           if (++lines == 1) begun.set_value();
                           return true;
                         },
                         {});
  });
  Create(kPods, PodJson("a"));
  begun.get_future().wait();
  clock.Advance(std::chrono::seconds(10));
  cluster.Tick();
  EXPECT_TRUE(watch.get());
  EXPECT_EQ(lines, 1);
}

TEST_F(HttpFrontTest, ManyWatchesAreServedAtOnceAndEndWithTheFront) {
  constexpr int kWatches = 40;
  std::vector<std::future<Result<void>>> watches;
  std::atomic<int> seen = 0;
  for (int i = 0; i < kWatches; ++i) {
    watches.push_back(std::async(std::launch::async, [&] {
      return client->Watch(kPods + "?watch=true", std::chrono::minutes(1),
                           [&](std::string_view) { return ++seen > 0; }, {});
    }));
  }
  ASSERT_TRUE(cluster.WaitForWatches(kWatches, Soon()));
  Create(kPods, PodJson("p"));
  ASSERT_TRUE(cluster.WaitForWatches(kWatches, Soon()));
  front.Stop();
  for (auto& watch : watches) watch.wait();
  EXPECT_EQ(seen, kWatches);
}

TEST_F(HttpFrontTest, AWatchThatNobodyReadsIsForgotten) {
  std::stop_source stop;
  auto watch = std::async(std::launch::async, [&] {
    return client->Watch(
        kPods + "?watch=true", std::chrono::minutes(1), [](std::string_view) { return true; },
        stop.get_token());
  });
  ASSERT_TRUE(cluster.WaitForWatches(1, Soon()));
  stop.request_stop();
  EXPECT_EQ(watch.get().error().code, ErrorCode::kCancelled);
  const SteadyTime deadline = Soon();
  while (cluster.open_watches() > 0 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  EXPECT_EQ(cluster.open_watches(), 0U);
}

TEST(HttpFrontAddressTest, ATakenPortIsAnErrorThatNamesIt) {
  TestCluster cluster;
  HttpFront first(cluster.cluster, {});
  ASSERT_TRUE(first.Start());
  HttpFront second(cluster.cluster, {.port = first.port()});
  const Result<void> started = second.Start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().message, "cannot listen on 127.0.0.1:" + std::to_string(first.port()));
}

}  // namespace
}  // namespace aliquot::cluster
