#include "load/run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "load/constant_server.h"
#include "unit/kube/test_server.h"

namespace aliquot::load {
namespace {

using kube::TestServer;

std::string AnswerWith(const std::string& names) {
  return R"({"NodeNames":)" + names + R"(,"Error":""})";
}

FilterRequests TwoPods() {
  const Limits limits = {{"nvidia.com/gpu", "1"}};
  return FilterRequests({PodJson(0, limits), PodJson(1, limits)}, NodeNames(3));
}

Figures RunAgainst(const TestServer& server, const Plan& plan) {
  const Url url = *ParseUrl(server.url() + "/filter");
  FilterRequests requests = TwoPods();
  requests.Address(url);
  return Run(plan, url, requests);
}

TEST(RunTest, SendsWhatKubeSchedulerSends) {
  TestServer server([](const TestServer::Request&, TestServer::Peer& peer) {
    peer.Reply(200, AnswerWith(R"(["node-00000"])"));
  });
  const Figures figures = RunAgainst(server, {.warmup = 0, .requests = 2});
  EXPECT_EQ(figures.fits, 2u);
  EXPECT_EQ(figures.failed(), 0u);
  const std::vector<TestServer::Request> requests = server.requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].method, "POST");
  EXPECT_EQ(requests[0].target, "/filter");
  std::set<std::string> uids;
  for (const TestServer::Request& request : requests) {
    const auto body = nlohmann::json::parse(request.body);
    EXPECT_EQ(body["NodeNames"], nlohmann::json({"node-00000", "node-00001", "node-00002"}));
    EXPECT_TRUE(body["Nodes"].is_null());
    EXPECT_EQ(body["Pod"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"], "1");
    uids.insert(body["Pod"]["metadata"]["uid"]);
  }
  EXPECT_EQ(uids.size(), 2u);
}

TEST(RunTest, WarmUpIsNotCounted) {
  TestServer server([](const TestServer::Request&, TestServer::Peer& peer) {
    peer.Reply(200, AnswerWith("null"));
  });
  const Figures figures = RunAgainst(server, {.connections = 2, .warmup = 3, .requests = 5});
  EXPECT_EQ(figures.times.size(), 5u);
  EXPECT_EQ(figures.refused, 5u);
  EXPECT_EQ(figures.answer_bytes, AnswerWith("null").size());
  EXPECT_EQ(server.requests().size(), 11u);
}

TEST(RunTest, ErrorsAreCountedAndNotTimed) {
  TestServer server([](const TestServer::Request& request, TestServer::Peer& peer) {
    const bool first = request.body.find("load-0") != std::string::npos;
    peer.Reply(first ? 200 : 500, AnswerWith("null"));
  });
  const Figures figures = RunAgainst(server, {.warmup = 0, .requests = 4});
  EXPECT_EQ(figures.times.size(), 2u);
  EXPECT_EQ(figures.errors, (std::map<std::string, size_t>{{"HTTP status 500", 2}}));
}

TEST(RunTest, AnUnexpectedVerdictIsAnError) {
  TestServer server([](const TestServer::Request&, TestServer::Peer& peer) {
    peer.Reply(200, AnswerWith("null"));
  });
  const Figures figures =
      RunAgainst(server, {.warmup = 0, .requests = 3, .expected = Verdict::kFits});
  EXPECT_EQ(figures.failed(), 3u);
  EXPECT_TRUE(figures.times.empty());
}

TEST(RunTest, AtARateTheTimeBeginsWhenARequestWasDue) {
  // The first answer takes 50 ms, so the four requests due within 4 ms of it wait for it.
  std::atomic<int> seen = 0;
  TestServer server([&](const TestServer::Request&, TestServer::Peer& peer) {
    if (seen++ == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    peer.Reply(200, AnswerWith("null"));
  });
  const Figures figures = RunAgainst(server, {.warmup = 0, .requests = 5, .rate = 1000});
  ASSERT_EQ(figures.times.size(), 5u);
  EXPECT_GE(figures.times.front(), std::chrono::milliseconds(46));
}

TEST(RunTest, ConstantServerAnswersWithTheLengthItWasGiven) {
  ConstantServer server(100'000);
  ASSERT_TRUE(server.Start().ok());
  FilterRequests requests = TwoPods();
  requests.Address(server.url());
  const Plan plan = {.connections = 3, .warmup = 1, .requests = 20, .reads_answers = false};
  const Figures figures = load::Run(plan, server.url(), requests);
  EXPECT_EQ(figures.times.size(), 20u);
  EXPECT_EQ(figures.failed(), 0u);
  EXPECT_EQ(figures.answer_bytes, 100'000u);
}

TEST(FiguresTest, QuantilesAreOfTheTimesThatWereSeen) {
  Figures figures;
  EXPECT_EQ(figures.Quantile(0.5), Duration(0));
  for (int i = 1; i <= 10; ++i) figures.times.push_back(Duration(i));
  EXPECT_EQ(figures.Quantile(0.01), Duration(1));
  EXPECT_EQ(figures.Quantile(0.5), Duration(5));  // 5 of 10 do not exceed it
  EXPECT_EQ(figures.Quantile(0.51), Duration(6));
  EXPECT_EQ(figures.Quantile(0.99), Duration(10));
  EXPECT_EQ(figures.Quantile(1), Duration(10));
}

}  // namespace
}  // namespace aliquot::load
