#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <iostream>
#include <latch>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "aliquot/base/strings.h"
#include "server_fixture.h"
#include "support/scrape.h"

namespace aliquot::server {
namespace {

using std::chrono::milliseconds;

TEST_F(ServerTest, AnswersFilterAndBindAsKubeSchedulerWantsIt) {
  extender_.on_bind = [](const BindRequest& request, const RequestContext&) {
    return BindAnswer{request.pod_namespace + "/" + request.pod_name + " " + request.pod_uid + " " +
                      request.node};
  };
  Start();
  Client client = Connect();
  auto filtered = client.Ask(Post("/filter", FilterBody(3)));
  ASSERT_TRUE(filtered);
  EXPECT_EQ(filtered->status, 200);
  EXPECT_EQ(filtered->Field("Content-Type"), "application/json");
  EXPECT_EQ(filtered->Field("Content-Length"), std::to_string(kFiltered.size()));
  EXPECT_EQ(filtered->body, kFiltered);
  auto bound = client.Ask(Post("/bind", kBind));
  ASSERT_TRUE(bound);
  EXPECT_EQ(bound->status, 200);
  EXPECT_EQ(bound->Field("Content-Type"), "application/json");
  EXPECT_EQ(bound->body, R"({"Error":"ns/p u gpu-1"})");
}

TEST_F(ServerTest, IgnoresWhatTheRequestSaysAboutTypesAndRanges) {
  Start();
  const auto answer =
      Ask("POST /filter HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
          "Accept-Encoding: gzip, br\r\nAccept: text/html\r\nRange: bytes=0-3\r\nContent-Length: " +
          std::to_string(FilterBody(1000).size()) + "\r\n\r\n" + FilterBody(1000));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, kFiltered);
  EXPECT_EQ(answer.Field("Content-Encoding"), "");
}

TEST_F(ServerTest, AnswersUndecodableBodiesWith200AndTheError) {
  Start();
  const auto error = [&](std::string_view path, std::string_view body) {
    const HttpAnswer answer = Ask(Post(path, body));
    EXPECT_EQ(answer.status, 200);
    const auto json = nlohmann::json::parse(answer.body, nullptr, false);
    return json.is_object() ? json.value("Error", "none") : "not JSON";
  };
  EXPECT_TRUE(Contains(error("/filter", ""), "EOF"));
  EXPECT_TRUE(Contains(error("/filter", R"({"Pod":)"), "unexpected EOF"));
  EXPECT_EQ(error("/filter", "{}"), "extender args missing pod");
  EXPECT_TRUE(Contains(error("/bind", ""), "EOF"));
  EXPECT_EQ(error("/bind", R"({"Node":1})"), "Node: expected a string, found a number");
  EXPECT_EQ(extender_.filters, 0);
  EXPECT_EQ(extender_.binds, 0);

  const HttpAnswer no_length = Ask("POST /filter HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(no_length.status, 200);
  EXPECT_TRUE(Contains(no_length.body, "EOF"));
}

TEST_F(ServerTest, TurnsExceptionsIntoErrors) {
  extender_.on_filter = [](const auto&, const auto&) -> FilterAnswer {
    throw std::runtime_error("<bug>");
  };
  extender_.on_bind = [](const auto&, const auto&) -> BindAnswer {
    throw std::runtime_error("bug");
  };
  options_.ready = []() -> std::optional<std::string> { throw std::runtime_error("bug"); };
  Start();
  const HttpAnswer filtered = Ask(Post("/filter", FilterBody(1)));
  EXPECT_EQ(filtered.status, 200);
  EXPECT_TRUE(Contains(filtered.body, R"("Error":"internal error: \u003cbug\u003e")"));
  EXPECT_EQ(Ask(Post("/bind", kBind)).body, R"({"Error":"internal error: bug"})");
  EXPECT_EQ(Ask(Get("/readyz")).status, 500);
}

TEST_F(ServerTest, ProbesSayWhyNot) {
  std::atomic<bool> well = true;
  std::atomic<bool> synced = false;
  options_.live = [&]() -> std::optional<std::string> {
    if (well) return std::nullopt;
    return "a loop is stuck";
  };
  options_.ready = [&]() -> std::optional<std::string> {
    if (synced) return std::nullopt;
    return "caches are not synced";
  };
  options_.version_json = R"({"version":"1.2.3"})";
  Start();
  EXPECT_EQ(Ask(Get("/healthz")).status, 200);
  EXPECT_EQ(Ask(Get("/healthz")).body, "");
  EXPECT_EQ(Ask(Get("/livez?verbose")).status, 200);
  EXPECT_EQ(Ask(Get("/readyz")).status, 503);
  EXPECT_EQ(Ask(Get("/readyz")).body, "caches are not synced");
  well = false;
  synced = true;
  EXPECT_EQ(Ask(Get("/healthz")).status, 503);
  EXPECT_EQ(Ask(Get("/livez")).body, "a loop is stuck");
  EXPECT_EQ(Ask(Get("/readyz")).status, 200);
  const HttpAnswer version = Ask(Get("/version"));
  EXPECT_EQ(version.Field("Content-Type"), "application/json");
  EXPECT_EQ(version.body, R"({"version":"1.2.3"})");
}

TEST_F(ServerTest, RefusesOtherMethodsAndPaths) {
  Start();
  Client client = Connect();
  const auto ask = [&](const std::string& bytes) {
    return client.Ask(bytes).value_or(HttpAnswer{});
  };
  EXPECT_EQ(ask(Get("/filter")).status, 405);
  EXPECT_EQ(ask(Get("/filter")).Field("Allow"), "POST");
  EXPECT_EQ(ask(Post("/healthz", "x")).status, 405);
  EXPECT_EQ(ask(Get("/nothing")).status, 404);
  EXPECT_EQ(ask(Get("/")).status, 404);
  EXPECT_EQ(ask(Get("/filterx")).status, 404);
  EXPECT_EQ(ask(Get("/%66ilter")).status, 404);
  EXPECT_EQ(ask(Get("/" + std::string(9'000, 'x'))).status, 414);

  EXPECT_EQ(ask(Get("/healthz/")).status, 301);
  EXPECT_EQ(ask(Get("/HealthZ/?a=b")).Field("Location"), "/healthz?a=b");
  EXPECT_EQ(ask(Post("/filter/", FilterBody(1))).status, 307);
  EXPECT_EQ(ask(Post("/FILTER", FilterBody(1))).Field("Location"), "/filter");
  EXPECT_EQ(ask(Get("/filter/")).status, 404);  // not with this method
  EXPECT_EQ(extender_.filters, 0);
  EXPECT_EQ(ask(Post("/filter", FilterBody(1))).body, kFiltered);
}

TEST_F(ServerTest, AnswersHeadWithoutABody) {
  Start();
  Client client = Connect();
  ASSERT_TRUE(client.Send(Get("/healthz", "HEAD")));
  ASSERT_TRUE(client.Send("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  std::string all;
  char bytes[4096];
  for (ssize_t got; (got = ::recv(client.fd(), bytes, sizeof(bytes), 0)) > 0;) {
    all.append(bytes, static_cast<size_t>(got));
  }
  EXPECT_TRUE(all.starts_with("HTTP/1.1 405 ")) << all;
  EXPECT_TRUE(Contains(all, "\r\n\r\nHTTP/1.1 200 ")) << all;
}

TEST_F(ServerTest, ServesManyRequestsOverOneConnection) {
  Start();
  Client client = Connect();
  const std::string filter = Post("/filter", FilterBody(1));
  const std::string bind = Post("/bind", kBind);
  for (int i = 0; i < 1'000; ++i) {
    const auto answer = client.Ask(i % 2 == 0 ? filter : bind);
    ASSERT_TRUE(answer) << i;
    ASSERT_EQ(answer->body, i % 2 == 0 ? kFiltered : R"({"Error":""})") << i;
    ASSERT_EQ(answer->Field("Connection"), "");
  }
}

TEST_F(ServerTest, AnswersPipelinedRequestsInOrder) {
  extender_.on_bind = [](const BindRequest& request, const RequestContext&) {
    return BindAnswer{request.node};
  };
  Start();
  Client client = Connect();
  std::string requests;
  for (int i = 0; i < 200; ++i) {
    requests += Post("/bind", R"({"Node":")" + std::to_string(i) + R"("})");
    if (i % 7 == 0) requests += "\r\n" + Get("/healthz");
  }
  ASSERT_TRUE(client.Send(requests));
  for (int i = 0; i < 200; ++i) {
    const auto answer = client.Read();
    ASSERT_TRUE(answer);
    ASSERT_EQ(answer->body, R"({"Error":")" + std::to_string(i) + R"("})");
    if (i % 7 == 0) {
      ASSERT_EQ(client.Read().value_or(HttpAnswer{}).status, 200);
    }
  }
}

TEST_F(ServerTest, ReadsRequestsThatComeByteByByte) {
  Start();
  Client client = Connect();
  for (char c : Post("/filter", FilterBody(2))) {
    ASSERT_TRUE(client.Send(std::string_view(&c, 1)));
  }
  EXPECT_EQ(client.Read().value_or(HttpAnswer{}).body, kFiltered);
}

TEST_F(ServerTest, AsksForTheBodyOnlyIfItWillTakeIt) {
  options_.body_bytes = 1000;
  Start();
  const auto head = [](int length) {
    return "POST /bind HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: " +
           std::to_string(length) + "\r\n\r\n";
  };
  Client client = Connect();
  EXPECT_EQ(client.Ask(head(2)).value_or(HttpAnswer{}).status, 100);
  EXPECT_EQ(client.Ask("{}").value_or(HttpAnswer{}).body, R"({"Error":""})");
  EXPECT_EQ(client.Ask(head(2) + "{}").value_or(HttpAnswer{}).status, 200);
  EXPECT_EQ(client.Ask(head(2000)).value_or(HttpAnswer{}).status, 413);
  EXPECT_TRUE(client.Closed());
}

TEST_F(ServerTest, RefusesBodiesOverTheLimitAndNamesIt) {
  options_.filter_body_bytes = 300'000;
  Start();
  EXPECT_EQ(Ask(Post("/filter", FilterBody(5'000))).status, 200);
  Client client = Connect();
  // All of it is sent although it will not be read: the answer must still come.
  const auto answer = client.Ask(Post("/filter", std::string(4'000'000, ' ')));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 413);
  EXPECT_TRUE(Contains(answer->body, "limit of 300000 bytes")) << answer->body;
  EXPECT_EQ(answer->Field("Connection"), "close");
  EXPECT_TRUE(client.Closed());
  EXPECT_EQ(Ask(Post("/bind", std::string((1 << 20) + 1, ' '))).status, 413);
  EXPECT_EQ(Ask(Post("/bind", std::string(1 << 20, ' '))).status, 200);
  EXPECT_EQ(Ask(Post("/healthz", std::string((1 << 20) + 1, ' '))).status, 413);
}

TEST_F(ServerTest, TakesSixtyFourMebibytesForAFilter) {
  Start();
  const std::string body = FilterBody(10) + std::string((64 << 20) - FilterBody(10).size(), ' ');
  EXPECT_EQ(Ask(Post("/filter", body)).body, kFiltered);
  EXPECT_EQ(Ask(Post("/filter", body + " ")).status, 413);
}

TEST_F(ServerTest, BoundsTheMemoryOfAllRequestsTogether) {
  options_.max_buffered_bytes = 10 << 20;
  Start();
  const std::string part = "POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 60000000\r\n\r\n" +
                           std::string(3 << 20, ' ');
  std::vector<Client> senders;
  for (int i = 0; i < 8; ++i) {
    senders.push_back(Connect());
    ASSERT_TRUE(senders.back().Send(part)) << i;
  }
  pollfd refused[8];
  for (size_t i = 0; i < 8; ++i) refused[i] = {senders[i].fd(), POLLIN, 0};
  ASSERT_GT(::poll(refused, 8, 30'000), 0);
  for (size_t i = 0; i < 8; ++i) {
    if (refused[i].revents == 0) continue;
    EXPECT_EQ(senders[i].Read().value_or(HttpAnswer{}).status, 503);
  }
  EXPECT_EQ(Ask(Post("/filter", FilterBody(5'000))).body, kFiltered);
}

TEST_F(ServerTest, RefusesRequestsItCannotFrame) {
  Start();
  const std::pair<std::string, int> cases[] = {
      {"POST /filter HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
       411},
      {Post("/filter", "{}", "Content-Encoding: gzip\r\n"), 415},
      {Post("/filter", "{}", "Content-Length: 7\r\n"), 400},
      {"GET /healthz HTTP/1.1\nHost: x\n\n", 400},
      {"GET /healthz HTTP/1.1\r\n\r\n", 400},
      {"GET /healthz HTTP/3\r\nHost: x\r\n\r\n", 505},
      {"\x16\x03\x01\x02", 400},
      {"GET /healthz HTTP/1.1\r\nX: " + std::string(17'000, 'x'), 431},
      {"GET /healthz HTTP/1.1\r\nX: " + std::string(17'000, 'x') + "\r\n\r\n", 431},
      {"GET /" + std::string(17'000, 'x'), 431},
  };
  for (const auto& [bytes, status] : cases) {
    Client client = Connect();
    const auto answer = client.Ask(bytes);
    ASSERT_TRUE(answer) << bytes.substr(0, 80);
    EXPECT_EQ(answer->status, status) << bytes.substr(0, 80);
    EXPECT_EQ(answer->Field("Connection"), "close");
    EXPECT_TRUE(client.Closed()) << bytes.substr(0, 80);
  }
  // A long head within the limit is fine, also where cpp-httplib has its own.
  EXPECT_EQ(
      Ask("GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + std::string(16'000, 'x') + "\r\n\r\n").status,
      200);
}

TEST_F(ServerTest, ClosesWhenTheClientAsks) {
  Start();
  for (std::string_view request : {"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                                   "GET /healthz HTTP/1.0\r\n\r\n"}) {
    Client client = Connect();
    const auto answer = client.Ask(request);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->Field("Connection"), "close");
    EXPECT_TRUE(client.Closed());
  }
}

TEST_F(ServerTest, AnswersAClientThatHasShutDownItsSide) {
  Start();
  Client whole = Connect();
  ASSERT_TRUE(whole.Send(Post("/filter", FilterBody(1))));
  whole.ShutDownWrites();
  EXPECT_EQ(whole.Read().value_or(HttpAnswer{}).body, kFiltered);
  Client part = Connect();
  ASSERT_TRUE(part.Send("POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"));
  part.ShutDownWrites();
  EXPECT_EQ(part.Read().value_or(HttpAnswer{}).status, 400);
}

TEST_F(ServerTest, TimesOutSlowSendersAndIdleConnections) {
  options_.head_timeout = milliseconds(50);
  options_.request_timeout = milliseconds(100);
  options_.idle_timeout = milliseconds(150);
  Start();
  Client head = Connect();
  Client body = Connect();
  Client idle = Connect();
  Client used = Connect();
  ASSERT_TRUE(head.Send("GET /heal"));
  ASSERT_TRUE(body.Send("POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"));
  EXPECT_EQ(used.Ask(Get("/healthz")).value_or(HttpAnswer{}).status, 200);
  EXPECT_EQ(head.Read().value_or(HttpAnswer{}).status, 408);
  EXPECT_TRUE(head.Closed());
  EXPECT_EQ(body.Read().value_or(HttpAnswer{}).status, 408);
  EXPECT_TRUE(idle.Closed());
  EXPECT_TRUE(used.Closed());
}

TEST_F(ServerTest, SlowSendersDoNotDelayOthers) {
  Start();
  std::vector<Client> slow;
  for (int i = 0; i < 50; ++i) {
    slow.push_back(Connect());
    ASSERT_TRUE(
        slow.back().Send("POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{"));
    slow.push_back(Connect());
    ASSERT_TRUE(slow.back().Send("GET /heal"));
  }
  EXPECT_EQ(Ask(Post("/filter", FilterBody(1))).body, kFiltered);
  EXPECT_EQ(Ask(Get("/healthz")).status, 200);
}

TEST_F(ServerTest, SlowReadersDoNotDelayOthers) {
  options_.write_timeout = milliseconds(100);
  options_.idle_timeout = milliseconds(500);
  extender_.on_bind = [](const BindRequest& request, const auto&) {
    return BindAnswer{std::string(request.pod_name == "slow" ? 20 << 20 : 0, 'x')};
  };
  options_.bind_threads = 1;
  Start();
  Client slow = Connect();
  ASSERT_TRUE(slow.Send(Post("/bind", R"({"PodName":"slow"})")));
  Client next = Connect();
  EXPECT_EQ(next.Ask(Post("/bind", kBind)).value_or(HttpAnswer{}).status, 200);
  // By the time that a connection which came later is closed for idleness, the
  // first was given up: not all of its answer comes.
  EXPECT_TRUE(Connect().Closed());
  EXPECT_FALSE(slow.Read());
}

TEST_F(ServerTest, IdleConnectionsCostNoThreadsAndLittleMemory) {
  Start();
  Client beside = Connect();
  const std::string filter = Post("/filter", FilterBody(5'000));
  ASSERT_TRUE(beside.Ask(filter));
  const int64_t threads = OfThisProcess("Threads");
  const int64_t rss = OfThisProcess("VmRSS");
  std::vector<Client> idle;
  for (int i = 0; i < 1'000; ++i) {
    idle.push_back(Connect());
    ASSERT_TRUE(idle.back().connected()) << i;
  }
  // All have been used, with bodies of 100 KB.
  for (Client& client : idle) {
    ASSERT_EQ(client.Ask(filter).value_or(HttpAnswer{}).body, kFiltered);
  }
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(beside.Ask(filter).value_or(HttpAnswer{}).body, kFiltered);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  const int64_t more_threads = OfThisProcess("Threads") - threads;
  const int64_t more_kb = OfThisProcess("VmRSS") - rss;
  std::cout << "1000 idle connections: threads +" << more_threads << ", RSS +" << more_kb
            << " kB, /filter beside them " << took.count() << " ms\n";
  EXPECT_LE(more_threads, 4);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(more_kb, 8'000);
#endif
}

TEST_F(ServerTest, WaitingBindsDelayNeitherFiltersNorProbes) {
  std::latch running(256);
  std::latch release(1);
  std::atomic<int> most = 0;
  std::atomic<int> now = 0;
  extender_.on_bind = [&](const auto&, const auto&) {
    const int mine = ++now;
    for (int seen = most; seen < mine && !most.compare_exchange_weak(seen, mine);) {
    }
    if (mine <= 256) running.count_down();
    release.wait();
    --now;
    return BindAnswer{};
  };
  Start();
  std::vector<Client> binds;
  for (int i = 0; i < 300; ++i) {
    binds.push_back(Connect());
    ASSERT_TRUE(binds.back().Send(Post("/bind", kBind)));
  }
  running.wait();
  EXPECT_EQ(Ask(Post("/filter", FilterBody(1))).body, kFiltered);
  EXPECT_EQ(Ask(Get("/healthz")).status, 200);
  const std::string page = testing::Scrape(*server_);
  EXPECT_EQ(testing::Samples(page, "aliquot_worker_threads").at(1), "{pool=\"bind\"} 256");
  EXPECT_EQ(testing::Samples(page, "aliquot_queued_requests").at(0), "{pool=\"filter\"} 0");
  release.count_down();
  for (Client& client : binds) {
    ASSERT_EQ(client.Read().value_or(HttpAnswer{}).body, R"({"Error":""})");
  }
  EXPECT_EQ(extender_.binds, 300);
  EXPECT_LE(most, 256);
}

TEST_F(ServerTest, CallerGoneFollowsTheConnection) {
  std::promise<bool> before;
  std::promise<void> after;
  extender_.on_bind = [&](const auto&, const RequestContext& context) {
    before.set_value(context.caller_gone());
    while (!context.caller_gone()) std::this_thread::yield();
    after.set_value();
    return BindAnswer{};
  };
  Start();
  {
    Client client = Connect();
    ASSERT_TRUE(client.Send(Post("/bind", kBind) + Get("/healthz")));
    EXPECT_FALSE(before.get_future().get());
  }
  after.get_future().wait();
  EXPECT_EQ(Ask(Get("/healthz")).status, 200);
}

TEST_F(ServerTest, StampsRequestsWhenTheyAreComplete) {
  SteadyTime received;
  extender_.on_filter = [&](const auto&, const RequestContext& context) {
    received = context.received;
    return FilterAnswer{};
  };
  Start();
  const SteadyTime before = SystemClock().Steady();
  Ask(Post("/filter", FilterBody(1)));
  EXPECT_GE(received, before);
  EXPECT_LE(received, SystemClock().Steady());
}

TEST_F(ServerTest, StopLetsARunningRequestFinish) {
  std::latch started(1);
  std::latch release(1);
  extender_.on_bind = [&](const auto&, const auto&) {
    started.count_down();
    release.wait();
    return BindAnswer{};
  };
  Start();
  Client idle = Connect();
  ASSERT_TRUE(idle.Ask(Get("/healthz")));
  Client client = Connect();
  ASSERT_TRUE(client.Send(Post("/bind", kBind)));
  started.wait();
  auto stopped =
      std::async(std::launch::async, [&] { return server_->Stop(std::chrono::seconds(30)); });
  EXPECT_TRUE(idle.Closed());
  EXPECT_FALSE(Connect().connected());
  release.count_down();
  const auto answer = client.Read();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, R"({"Error":""})");
  EXPECT_EQ(answer->Field("Connection"), "close");
  EXPECT_TRUE(client.Closed());
  EXPECT_TRUE(stopped.get());
}

TEST_F(ServerTest, StopCutsOffWhatOutlivesTheGrace) {
  std::latch started(1);
  extender_.on_bind = [&](const auto&, const RequestContext& context) {
    started.count_down();
    while (!context.caller_gone()) std::this_thread::yield();
    return BindAnswer{};
  };
  Start();
  Client client = Connect();
  ASSERT_TRUE(client.Send(Post("/bind", kBind)));
  started.wait();
  EXPECT_FALSE(server_->Stop(milliseconds(20)));
  EXPECT_FALSE(client.Read());
}

// ---- the webhook

constexpr std::string_view kReview =
    R"({"request":{"uid":"u","object":{"spec":{"containers":[{"name":"c"}]}}}})";
const std::string kAdmitted =
    R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"u",)"
    R"("allowed":true,"status":{"code":200}}})";

std::string Denied(const std::string& uid, int code, const std::string& message) {
  return R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":")" +
         uid + R"(","allowed":false,"status":{"message":")" + message + R"(","code":)" +
         std::to_string(code) + "}}}";
}

TEST_F(ServerTest, AnswersReviewsOnTheListenerOfTheOthers) {
  Start();
  EXPECT_EQ(server_->webhook_port(), server_->port());
  const HttpAnswer answer = Ask(Post("/webhook?timeout=10s", kReview));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.Field("Content-Type"), "application/json");
  EXPECT_EQ(answer.body, kAdmitted);
  EXPECT_EQ(Ask(Get("/webhook")).status, 405);
}

TEST_F(ServerTest, ReadsTheContentTypeOfReviews) {
  Start();
  const HttpAnswer answer =
      Ask("POST /webhook HTTP/1.1\r\nHost: x\r\ncontent-type: text/plain\r\n"
          "Content-Length: 2\r\n\r\n{}");
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(Contains(answer.body, "contentType=text/plain, expected application/json"));
}

TEST_F(ServerTest, AReviewOverTheLimitIsDeniedInsteadOfRejected) {
  options_.webhook_body_bytes = kReview.size();
  Start();
  EXPECT_EQ(Ask(Post("/webhook", kReview)).body, kAdmitted);
  Client client = Connect();
  const auto answer = client.Ask(Post("/webhook", std::string(kReview) + " "));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->Field("Content-Type"), "application/json");
  EXPECT_EQ(answer->body, Denied("u", 413,
                                 "request entity is too large; limit is " +
                                     std::to_string(kReview.size()) + " bytes"));
  EXPECT_TRUE(client.Closed());
}

TEST_F(ServerTest, TheOwnerOfALongReviewIsWaitedFor) {
  Start();
  Client client = Connect();
  ASSERT_TRUE(client.Send("POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\n\r\n"));
  EXPECT_EQ(Ask(Post("/webhook", kReview)).body, kAdmitted);  // the head has been read by now
  ASSERT_TRUE(client.Send(std::string(kReview) + std::string(4096, ' ')));
  EXPECT_EQ(client.Read().value_or(HttpAnswer{}).body,
            Denied("u", 413, "request entity is too large; limit is 7340032 bytes"));
}

TEST_F(ServerTest, EveryRejectionOfAReviewIsADenial) {
  options_.max_buffered_bytes = 2 << 20;
  options_.request_timeout = milliseconds(50);
  Start();
  const auto denial = [&](const std::string& fields, const std::string& body) {
    return Ask("POST /webhook HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n" + body);
  };
  const std::string review(kReview);
  const HttpAnswer chunked = denial("Transfer-Encoding: chunked\r\n", "46\r\n" + review);
  EXPECT_EQ(chunked.status, 200);
  EXPECT_EQ(chunked.Field("Content-Type"), "application/json");
  EXPECT_TRUE(Contains(chunked.body, R"("code":411)")) << chunked.body;
  EXPECT_TRUE(Contains(denial("Content-Encoding: gzip\r\n", "").body, R"("code":415)"));
  EXPECT_TRUE(Contains(denial("Content-Length: x\r\n", "").body, R"("code":400)"));
  // Half of it, too slowly; and more than all requests together may have.
  EXPECT_EQ(denial("Content-Length: 100\r\n", review).body,
            Denied("u", 408, "the request did not arrive in time"));
  EXPECT_EQ(denial("Content-Length: 7000000\r\n", review + std::string(3 << 20, ' ')).body,
            Denied("u", 503, "too many requests are being received"));
  // The next request of the connection is another one.
  Client client = Connect();
  EXPECT_EQ(client.Ask(Post("/webhook", kReview)).value_or(HttpAnswer{}).body, kAdmitted);
  EXPECT_EQ(client.Ask("nonsense\r\n\r\n").value_or(HttpAnswer{}).status, 400);
}

TEST_F(ServerTest, TheWebhookMayHaveAListenerOfItsOwn) {
  options_.webhook_bind = "127.0.0.1:0";
  Start();
  Client own(server_->webhook_port());
  EXPECT_EQ(own.Ask(Post("/webhook", kReview)).value_or(HttpAnswer{}).body, kAdmitted);
  EXPECT_EQ(own.Ask(Post("/bind", kBind)).value_or(HttpAnswer{}).status, 404);
  EXPECT_EQ(own.Ask(Get("/readyz")).value_or(HttpAnswer{}).status, 200);
  Client other = Connect();
  EXPECT_EQ(other.Ask(Post("/webhook", kReview)).value_or(HttpAnswer{}).status, 404);
  EXPECT_EQ(other.Ask(Post("/bind", kBind)).value_or(HttpAnswer{}).status, 200);
  EXPECT_EQ(other.Ask(Get("/readyz")).value_or(HttpAnswer{}).status, 200);
}

TEST_F(ServerTest, ReviewsDoNotWaitForFilters) {
  options_.filter_threads = 1;
  std::latch release(1);
  extender_.on_filter = [&](const FilterRequest&, const RequestContext&) {
    release.wait();
    return FilterAnswer{};
  };
  Start();
  Client filter = Connect();
  ASSERT_TRUE(filter.Send(Post("/filter", FilterBody(1))));
  EXPECT_EQ(Ask(Post("/webhook", kReview)).body, kAdmitted);
  release.count_down();
  EXPECT_TRUE(filter.Read());
}

TEST_F(ServerTest, RefusesConnectionsOverTheLimit) {
  options_.max_connections = 3;
  Start();
  {
    std::vector<Client> open;
    for (int i = 0; i < 3; ++i) {
      open.push_back(Connect());
      ASSERT_TRUE(open.back().Ask(Get("/healthz")));
    }
    Client fourth = Connect();
    EXPECT_EQ(fourth.Read().value_or(HttpAnswer{}).status, 503);
    EXPECT_TRUE(fourth.Closed());
    EXPECT_EQ(open[0].Ask(Get("/healthz")).value_or(HttpAnswer{}).status, 200);
  }
  while (Ask(Get("/healthz")).status != 200) std::this_thread::yield();
}

TEST_F(ServerTest, GoesOnWhenFileDescriptorsRunOut) {
  Start();
  Client client = Connect();
  ASSERT_TRUE(client.Ask(Get("/healthz")));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::dup(client.fd());
  ::close(next);
  rlimit low = before;
  low.rlim_cur = static_cast<rlim_t>(next + 1);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  Client starved = Connect();  // has the last descriptor: none is left to accept it with
  EXPECT_EQ(starved.fd(), next);
  EXPECT_EQ(client.Ask(Get("/healthz")).value_or(HttpAnswer{}).status, 200);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(starved.Ask(Get("/healthz")).value_or(HttpAnswer{}).status, 200);
}

TEST_F(ServerTest, ListensOnEveryKindOfAddress) {
  for (std::string_view address : {":0", "127.0.0.1:0", "localhost:0", "0.0.0.0:0"}) {
    options_.bind = address;
    Start();
    EXPECT_EQ(Ask(Get("/healthz")).status, 200) << address;
  }
}

TEST_F(ServerTest, NamesTheAddressItCannotListenOn) {
  Start();
  const auto error = [&](const std::string& address) {
    options_.bind = address;
    Server other(extender_, options_);
    const Result<void> started = other.Start();
    return started.ok() ? "" : started.error().message;
  };
  const std::string taken = "127.0.0.1:" + std::to_string(server_->port());
  EXPECT_TRUE(Contains(error(taken), taken)) << error(taken);
  EXPECT_TRUE(Contains(error(taken), "in use")) << error(taken);
  for (std::string_view bad : {"", "8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x",
                               "127.0.0.1:70000", "127.0.0.1:-1", "::1:80", "[]:80"}) {
    EXPECT_TRUE(Contains(error(std::string(bad)), "host:port")) << bad;
  }
  EXPECT_TRUE(Contains(error("192.0.2.1:0"), "192.0.2.1:0")) << error("192.0.2.1:0");
}

TEST_F(ServerTest, ServesManyClientsAtOnce) {
  Start();
  const std::string filter = Post("/filter", FilterBody(100));
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      Client client = Connect();
      for (int i = 0; i < 100; ++i) {
        const auto answer = client.Ask((i + t) % 3 == 0 ? Post("/bind", kBind) : filter);
        if (answer && answer->status == 200) ++good;
        if (i % 25 == 24) client = Connect();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 1'600);
}

TEST_F(ServerTest, MeasuresAFilterOfFiveThousandNames) {
  Start();
  Client client = Connect();
  const std::string filter = Post("/filter", FilterBody(5'000));
  const std::vector<double> micros = MicrosOfAThousand(client, filter);
  ASSERT_EQ(micros.size(), 1'000U);
  std::cout << filter.size() << " bytes: p50 " << micros[500] << " us, p99 " << micros[990]
            << " us\n";
  RecordProperty("p50_us", std::to_string(micros[500]));
}

}  // namespace
}  // namespace aliquot::server
