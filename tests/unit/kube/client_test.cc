#include "aliquot/kube/client.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>

#include "aliquot/base/fake_clock.h"
#include "unit/kube/test_server.h"

namespace aliquot::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Peer = TestServer::Peer;
using Request = TestServer::Request;

constexpr const char* kPod = R"({"metadata":{"name":"w-3","namespace":"lab","uid":"u-1"}})";

std::string StatusBody(int code, const std::string& reason, const std::string& message) {
  return nlohmann::json{{"kind", "Status"},
                        {"status", "Failure"},
                        {"code", code},
                        {"reason", reason},
                        {"message", message}}
      .dump();
}

ClientConfig ConfigOf(const TestServer& server) {
  ClientConfig config;
  config.server = server.url();
  return config;
}

CallOptions Within(Duration time) {
  return {.lane = Lane::kScheduling, .deadline = SystemClock().Steady() + time};
}

ErrorCode CodeOfGet(Client& client) { return client.GetPod("lab", "w-3", {}).error().code; }

const ObjectRef kRef{"lab", "w-3", "u-1"};
const std::string kPatch = R"({"metadata":{"uid":"u-1"}})";

TEST(ClientTest, SendsEachCallAsTheApiServerExpectsIt) {
  TestServer server([](const Request& request, Peer& peer) {
    const bool node = request.target.find("/nodes/") != std::string::npos;
    peer.Reply(request.method == "POST" ? 201 : 200,
               node ? R"({"metadata":{"name":"n-02"}})" : kPod);
  });
  ClientConfig config = ConfigOf(server);
  config.server += "/prefix";
  Client client(config, {.user_agent = "aliquot/1.2"});

  EXPECT_EQ(client.GetPod("lab", "w-3", {})->meta.Ref(), kRef);
  EXPECT_EQ(client.GetNode("n-02", {})->meta.name, "n-02");
  EXPECT_EQ(client.PatchPod(kRef, kPatch, {})->meta.uid, "u-1");
  EXPECT_EQ(client.PatchNode("n-02", kPatch, {})->meta.name, "n-02");
  EXPECT_TRUE(client.Bind({kRef, "n-02", {{"a", "1"}}}, {}));
  EXPECT_EQ(client.CreateEvent("lab", "{}", {}).value(), "w-3");
  EXPECT_TRUE(client.PatchEvent("lab", "e.1", "{}", {}));
  EXPECT_TRUE(client.GetPod("lab", "a/b?c", {}));

  const std::vector<Request> seen = server.requests();
  ASSERT_EQ(seen.size(), 8U);
  const std::string pod = "/prefix/api/v1/namespaces/lab/pods/w-3";
  EXPECT_EQ(seen[0].method + " " + seen[0].target, "GET " + pod);
  EXPECT_EQ(seen[0].Header("User-Agent"), "aliquot/1.2");
  EXPECT_EQ(seen[0].Header("Accept"), "application/json");
  EXPECT_EQ(seen[1].target, "/prefix/api/v1/nodes/n-02");
  EXPECT_EQ(seen[2].method + " " + seen[2].target, "PATCH " + pod);
  EXPECT_EQ(seen[2].Header("Content-Type"), "application/merge-patch+json");
  EXPECT_EQ(seen[2].body, kPatch);
  EXPECT_EQ(seen[4].method + " " + seen[4].target, "POST " + pod + "/binding");
  EXPECT_EQ(nlohmann::json::parse(seen[4].body), nlohmann::json::parse(R"({
      "apiVersion":"v1","kind":"Binding",
      "metadata":{"name":"w-3","namespace":"lab","uid":"u-1","annotations":{"a":"1"}},
      "target":{"apiVersion":"v1","kind":"Node","name":"n-02"}})"));
  EXPECT_EQ(seen[5].method + " " + seen[5].target, "POST /prefix/api/v1/namespaces/lab/events");
  EXPECT_EQ(seen[6].Header("Content-Type"), "application/strategic-merge-patch+json");
  EXPECT_EQ(seen[7].target, "/prefix/api/v1/namespaces/lab/pods/a%2Fb%3Fc");
  EXPECT_EQ(seen[7].connection, 1) << "the connection is kept";
}

TEST(ClientTest, SendsOtherCallsAsTheyAre) {
  TestServer server([](const Request& request, Peer& peer) {
    if (request.method == "POST") return peer.Reply(409, StatusBody(409, "Conflict", "taken"));
    peer.Reply(200, "answer");
  });
  Client client(ConfigOf(server), {});
  EXPECT_EQ(client.Call("GET", "/api/v1/namespaces/lab/secrets/s", "", "", {}).value(), "answer");
  EXPECT_TRUE(client.Call("PATCH", "/apis/a/v1/b", "{}", "application/x", {}));
  const auto refused = client.Call("POST", "/apis/a/v1/b", "{}", "application/json", {});
  EXPECT_EQ(refused.error(), (Error{ErrorCode::kConflict, "taken"}));
  EXPECT_EQ(client.Call("GET", "/apis/a/v1/b/", "", "", {}).error().code, ErrorCode::kInvalid);

  const std::vector<Request> seen = server.requests();
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0].method + " " + seen[0].target, "GET /api/v1/namespaces/lab/secrets/s");
  EXPECT_EQ(seen[1].method + " " + seen[1].target, "PATCH /apis/a/v1/b");
  EXPECT_EQ(seen[1].Header("Content-Type"), "application/x");
  EXPECT_EQ(seen[1].body, "{}");
}

TEST(ClientTest, RefusesAnEmptyName) {
  TestServer server([](const Request&, Peer& peer) { peer.Reply(200, R"({"items":[]})"); });
  Client client(ConfigOf(server), {});
  EXPECT_EQ(client.GetPod("lab", "", {}).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(client.GetPod("", "w-3", {}).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(client.Bind({{"lab", "", ""}, "n", {}}, {}).error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(server.requests().empty());
}

TEST(ClientTest, TypesErrorsByTheHttpCode) {
  int code = 0;
  std::string body;
  TestServer server([&](const Request&, Peer& peer) { peer.Reply(code, body); });
  Client client(ConfigOf(server), {});
  const auto get = [&](int c, std::string b) {
    code = c;
    body = std::move(b);
    return client.GetPod("lab", "w-3", {}).error();
  };
  const auto patch = [&](int c, std::string b) {
    code = c;
    body = std::move(b);
    return client.PatchPod(kRef, kPatch, {}).error();
  };
  EXPECT_EQ(get(404, StatusBody(404, "NotFound", "pods \"w-3\" not found")),
            (Error{ErrorCode::kNotFound, "pods \"w-3\" not found"}));
  EXPECT_EQ(get(403, StatusBody(403, "Forbidden", "no")).code, ErrorCode::kForbidden);
  EXPECT_EQ(get(410, "").code, ErrorCode::kGone);
  EXPECT_EQ(get(400, "").code, ErrorCode::kInvalid);
  EXPECT_EQ(get(413, "").code, ErrorCode::kTooLarge);
  EXPECT_EQ(get(429, "Too many requests"),
            (Error{ErrorCode::kTooManyRequests, "HTTP 429: Too many requests"}));
  EXPECT_EQ(get(502, "<html>Bad gateway</html>"),
            (Error{ErrorCode::kUnavailable, "HTTP 502: <html>Bad gateway</html>"}));
  EXPECT_EQ(get(504, "").code, ErrorCode::kUnavailable);
  EXPECT_EQ(get(302, "").code, ErrorCode::kUnavailable);
  EXPECT_EQ(get(200, "no json").code, ErrorCode::kInvalid);

  EXPECT_EQ(patch(409, "").code, ErrorCode::kConflict);
  EXPECT_EQ(patch(422, StatusBody(422, "Invalid", "metadata.name: Invalid value")).code,
            ErrorCode::kInvalid);
  EXPECT_EQ(patch(422, StatusBody(422, "Invalid",
                                  "Pod \"w-3\" is invalid: metadata.uid: Invalid value: \"x\": "
                                  "field is immutable"))
                .code,
            ErrorCode::kOtherObject);
  EXPECT_EQ(patch(503, "").code, ErrorCode::kUnavailable);
  for (int lost : {500, 502, 504}) {
    EXPECT_EQ(patch(lost, "").code, ErrorCode::kUnknownOutcome) << lost;
  }
  EXPECT_EQ(patch(200, "no json").code, ErrorCode::kUnknownOutcome);
}

TEST(ClientTest, RepeatsAfterRetryAfter) {
  for (int code : {429, 503}) {
    std::atomic<int> calls = 0;
    TestServer server([&](const Request&, Peer& peer) {
      if (++calls == 1) return peer.Reply(code, "Too many requests", "Retry-After: 1\r\n");
      peer.Reply(200, kPod);
    });
    Client client(ConfigOf(server), {});
    EXPECT_TRUE(client.PatchPod(kRef, kPatch, {}));
    EXPECT_EQ(calls, 2);
  }
}

TEST(ClientTest, DoesNotWaitLongerThanTheDeadlineAllows) {
  TestServer server(
      [](const Request&, Peer& peer) { peer.Reply(429, "later", "Retry-After: 32\r\n"); });
  Client client(ConfigOf(server), {});
  EXPECT_EQ(client.GetPod("lab", "w-3", Within(seconds(5))).error().code,
            ErrorCode::kTooManyRequests);
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST(ClientTest, NeverRepeatsAWriteOfUnknownOutcome) {
  TestServer server(
      [](const Request&, Peer& peer) { peer.Reply(500, "oops", "Retry-After: 1\r\n"); });
  Client client(ConfigOf(server), {});
  EXPECT_EQ(client.PatchPod(kRef, kPatch, {}).error().code, ErrorCode::kUnknownOutcome);
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST(ClientTest, RepeatsAGetWhoseConnectionBroke) {
  std::atomic<int> calls = 0;
  TestServer server([&](const Request&, Peer& peer) {
    if (++calls > 2) return peer.Reply(200, kPod);
    if (calls == 2) peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{");
    peer.Close();
  });
  Client client(ConfigOf(server), {});
  EXPECT_TRUE(client.GetPod("lab", "w-3", {}));
  EXPECT_EQ(calls, 3);
}

// Also on a connection that was used before, where libcurl by itself would try
// again.
TEST(ClientTest, AWriteWhoseAnswerIsLostHasAnUnknownOutcome) {
  for (bool reused : {false, true}) {
    TestServer server([&](const Request& request, Peer& peer) {
      if (request.method == "GET") return peer.Reply(200, kPod);
      peer.Close();
    });
    Client client(ConfigOf(server), {});
    if (reused) {
      ASSERT_TRUE(client.GetPod("lab", "w-3", {}));
    }
    EXPECT_EQ(client.PatchPod(kRef, kPatch, {}).error().code, ErrorCode::kUnknownOutcome);
    EXPECT_EQ(client.Bind({kRef, "n-02", {}}, {}).error().code, ErrorCode::kUnknownOutcome);
    EXPECT_EQ(server.requests().size(), reused ? 3U : 2U) << "each write was sent once";
  }
}

TEST(ClientTest, AKeptConnectionThatWasClosedIsReplaced) {
  TestServer server([](const Request&, Peer& peer) {
    peer.Reply(200, kPod);
    peer.Close();
  });
  Client client(ConfigOf(server), {});
  ASSERT_TRUE(client.GetPod("lab", "w-3", {}));
  // GETs are repeated if the close is noticed late.
  ASSERT_TRUE(client.GetPod("lab", "w-3", {}));
  EXPECT_EQ(server.requests().back().connection, 2);
}

TEST(ClientTest, ARefusedConnectionIsUnavailable) {
  TestServer server([](const Request&, Peer&) {});
  Client client(ConfigOf(server), {});
  server.Stop();
  EXPECT_EQ(CodeOfGet(client), ErrorCode::kUnavailable);
  EXPECT_EQ(client.PatchPod(kRef, kPatch, {}).error().code, ErrorCode::kUnavailable);
}

TEST(ClientTest, GivesUpAtTheDeadline) {
  TestServer server([](const Request&, Peer& peer) { peer.Hold(); });
  Client client(ConfigOf(server), {});
  EXPECT_EQ(client.GetPod("lab", "w-3", Within(milliseconds(50))).error().code,
            ErrorCode::kDeadline);
  EXPECT_EQ(client.PatchPod(kRef, kPatch, Within(milliseconds(500))).error().code,
            ErrorCode::kUnknownOutcome);
  const size_t sent = server.requests().size();
  EXPECT_EQ(client.PatchPod(kRef, kPatch, Within(seconds(-1))).error().code, ErrorCode::kDeadline);
  EXPECT_EQ(server.requests().size(), sent) << "nothing was sent after the deadline";
}

TEST(ClientTest, TheGlobalTimeoutCutsCalls) {
  TestServer server([](const Request&, Peer& peer) { peer.Hold(); });
  Client client(ConfigOf(server), {.timeout = milliseconds(50)});
  EXPECT_EQ(CodeOfGet(client), ErrorCode::kDeadline);
}

TEST(ClientTest, ShutdownEndsCallsAndWatchesPromptly) {
  std::promise<void> both_hang;
  std::atomic<int> hanging = 0;
  TestServer server([&](const Request&, Peer& peer) {
    if (++hanging == 2) both_hang.set_value();
    peer.Hold();
  });
  Client client(ConfigOf(server), {});
  auto call = std::async(std::launch::async, [&] { return CodeOfGet(client); });
  auto watch = std::async(std::launch::async, [&] {
    return client.Watch("/w", seconds(300), [](std::string_view) { return true; }, {}).error().code;
  });
  both_hang.get_future().wait();
  const SteadyTime before = SystemClock().Steady();
  client.Shutdown();
  EXPECT_EQ(call.get(), ErrorCode::kCancelled);
  EXPECT_EQ(watch.get(), ErrorCode::kCancelled);
  EXPECT_LT(SystemClock().Steady() - before, seconds(5));
  EXPECT_EQ(CodeOfGet(client), ErrorCode::kCancelled);
}

// A list from afar, here through a proxy: compressed, but not when told otherwise.
TEST(ClientTest, ListsMayBeCompressedAndGoThroughTheProxy) {
  const std::string gzipped(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xab\x56\xca\x2c\x49\xcd\x2d\x56\xb2\x8a\x8e\xad\x05"
      "\x00\x1d\x1f\x43\xea\x0c\x00\x00\x00",
      32);
  TestServer proxy([&](const Request& request, Peer& peer) {
    if (request.Header("Accept-Encoding") != "gzip") return peer.Reply(200, "plain");
    peer.Reply(200, gzipped, "Content-Encoding: gzip\r\n");
  });
  ClientConfig config;
  config.server = "http://kube.lab";
  config.proxy_url = proxy.url();
  Client client(config, {});
  EXPECT_EQ(client.List("/api/v1/pods?limit=500", {}).value(), R"({"items":[]})");
  EXPECT_EQ(proxy.requests()[0].target, "http://kube.lab/api/v1/pods?limit=500");
  config.compress = false;
  Client uncompressed(config, {});
  EXPECT_EQ(uncompressed.List("/api/v1/pods", {}).value(), "plain");
}

TEST(ClientTest, ALaneIsNotHeldUpByTheOther) {
  std::promise<void> hangs;
  TestServer server([&](const Request& request, Peer& peer) {
    if (request.method == "GET") return peer.Reply(200, kPod);
    hangs.set_value();
    peer.Hold();
  });
  Client client(ConfigOf(server), {});
  auto background = std::async(std::launch::async, [&] {
    return client.PatchNode("n", kPatch,
                            {.lane = Lane::kBackground, .deadline = SteadyTime::max()});
  });
  hangs.get_future().wait();
  EXPECT_TRUE(client.GetPod("lab", "w-3", {}));
  client.Shutdown();
  EXPECT_FALSE(background.get());
}

// --- TLS and credentials ---

class ClientTlsTest : public ::testing::Test {
 protected:
  ClientTlsTest() {
    char name[] = "/tmp/aliquot-client-XXXXXX";
    folder_ = mkdtemp(name);
    token_file_ = folder_ + "/token";
    config_.server = server_.url();
    config_.ca.text = certificate_.certificate;
  }
  ~ClientTlsTest() override {
    server_.Stop();
    std::filesystem::remove_all(folder_);
  }

  void WriteToken(const std::string& token) { std::ofstream(token_file_) << token << "\n"; }
  std::string LastHeader(const std::string& name) { return server_.requests().back().Header(name); }
  std::string WritePlugin(const std::string& script) {
    const std::string path = folder_ + "/plugin";
    std::ofstream(path) << "#!/bin/sh\n" << script;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }

  const TestCertificate certificate_{"kube.lab"};
  std::string accepted_;  // the only Authorization that is good; empty: any
  TestServer server_{[this](const Request& request, Peer& peer) {
                       if (!accepted_.empty() && request.Header("Authorization") != accepted_) {
                         return peer.Reply(401, StatusBody(401, "Unauthorized", "Unauthorized"));
                       }
                       peer.Reply(200, kPod);
                     },
                     &certificate_};
  std::string folder_, token_file_;
  FakeClock clock_;
  ClientConfig config_;
};

TEST_F(ClientTlsTest, VerifiesTheServerByTheGivenCa) {
  config_.ca.text = TestCertificate("kube.lab").certificate;
  Client other(config_, {});
  const Error error = other.GetPod("lab", "w-3", {}).error();
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_NE(error.message.find("certificate"), std::string::npos) << error.message;

  config_.ca.text = certificate_.certificate;
  Client client(config_, {});
  EXPECT_TRUE(client.GetPod("lab", "w-3", {}));
}

TEST_F(ClientTlsTest, VerifiesTheNameThatTheConfigGives) {
  config_.tls_server_name = "kube.lab";
  Client right(config_, {});
  EXPECT_TRUE(right.GetPod("lab", "w-3", {}));
  config_.tls_server_name = "kube.other";
  Client wrong(config_, {});
  EXPECT_EQ(CodeOfGet(wrong), ErrorCode::kUnavailable);
}

TEST_F(ClientTlsTest, DoesNotVerifyWhenInsecure) {
  config_.ca = {};
  config_.insecure = true;
  Client client(config_, {});
  EXPECT_TRUE(client.GetPod("lab", "w-3", {}));
}

TEST_F(ClientTlsTest, ShowsItsCertificate) {
  const TestCertificate ours("scheduler");
  config_.certificate.text = ours.certificate;
  config_.key.text = ours.key;
  Client client(config_, {});
  ASSERT_TRUE(client.GetPod("lab", "w-3", {}));
  EXPECT_EQ(LastHeader("Client-Certificate"), "scheduler");
}

TEST_F(ClientTlsTest, SendsTokenPasswordAndImpersonation) {
  config_.username = "me";
  config_.password = "pw";
  config_.impersonation = {{"Impersonate-User", "boss"}};
  Client basic(config_, {});
  ASSERT_TRUE(basic.GetPod("lab", "w-3", {}));
  EXPECT_EQ(LastHeader("Authorization"), "Basic bWU6cHc=");
  EXPECT_EQ(LastHeader("Impersonate-User"), "boss");

  config_.token.text = "t-1\n";
  Client token(config_, {});
  ASSERT_TRUE(token.GetPod("lab", "w-3", {}));
  EXPECT_EQ(LastHeader("Authorization"), "Bearer t-1");
}

TEST_F(ClientTlsTest, FollowsARotatingTokenEveryMinute) {
  WriteToken("t-1");
  config_.token.file = token_file_;
  Client client(config_, {}, clock_);
  ASSERT_TRUE(client.GetPod("lab", "w-3", {}));
  EXPECT_EQ(LastHeader("Authorization"), "Bearer t-1");

  WriteToken("t-2");
  ASSERT_TRUE(client.GetPod("lab", "w-3", {}));
  EXPECT_EQ(LastHeader("Authorization"), "Bearer t-1");
  clock_.Advance(seconds(59));
  ASSERT_TRUE(client.GetPod("lab", "w-3", {}));
  EXPECT_EQ(LastHeader("Authorization"), "Bearer t-2");

  // A file that vanishes leaves the last good token.
  std::filesystem::remove(token_file_);
  clock_.Advance(seconds(59));
  ASSERT_TRUE(client.GetPod("lab", "w-3", {}));
  EXPECT_EQ(LastHeader("Authorization"), "Bearer t-2");
}

TEST_F(ClientTlsTest, FollowsARotatingCa) {
  const std::string file = folder_ + "/ca.crt";
  std::ofstream(file) << TestCertificate("kube.lab").certificate;
  config_.ca = {"", file};
  Client client(config_, {}, clock_);
  EXPECT_EQ(CodeOfGet(client), ErrorCode::kUnavailable);
  std::ofstream(file) << certificate_.certificate;
  clock_.Advance(seconds(59));
  EXPECT_TRUE(client.GetPod("lab", "w-3", {}));
}

TEST_F(ClientTlsTest, ReadsTheTokenAtOnceAfterARefusalAndTriesOnceMore) {
  WriteToken("t-1");
  config_.token.file = token_file_;
  accepted_ = "Bearer t-1";
  Client client(config_, {}, clock_);
  ASSERT_TRUE(client.GetPod("lab", "w-3", {}));

  WriteToken("t-2");
  accepted_ = "Bearer t-2";
  EXPECT_TRUE(client.PatchPod(kRef, kPatch, {}));
  EXPECT_EQ(server_.requests().size(), 3U);

  accepted_ = "Bearer t-3";
  EXPECT_EQ(CodeOfGet(client), ErrorCode::kUnauthorized);
  EXPECT_EQ(server_.requests().size(), 5U);
}

TEST_F(ClientTlsTest, SendsNoCredentialsOverAPlainLine) {
  TestServer plain([](const Request&, Peer& peer) { peer.Reply(200, kPod); });
  config_.server = plain.url();
  config_.token.text = "secret";
  Client client(config_, {});
  ASSERT_TRUE(client.GetPod("lab", "w-3", {}));
  EXPECT_EQ(plain.requests()[0].Header("Authorization"), "");
}

TEST_F(ClientTlsTest, AsksThePluginAndCachesUntilExpiryOrRefusal) {
  // Hands out t-1, t-2, ... each for an hour of the fake clock.
  config_.exec =
      ExecPlugin{"client.authentication.k8s.io/v1",
                 WritePlugin("n=$(cat $COUNT 2>/dev/null || echo 0); n=$((n+1))\n"
                             "echo $n > $COUNT\n"
                             "case $KUBERNETES_EXEC_INFO in *'\"server\"'*) ;; *) exit 3;; "
                             "esac\n"
                             "echo '{\"kind\":\"ExecCredential\",'\\\n"
                             "'\"apiVersion\":\"client.authentication.k8s.io/v1\",'\\\n"
                             "'\"status\":{\"token\":\"t-'$n'\",'\\\n"
                             "'\"expirationTimestamp\":\"2026-01-01T0'$n':00:00Z\"}}'\n"),
                 {},
                 {{"COUNT", folder_ + "/count"}},
                 true};
  Client client(config_, {}, clock_);
  ASSERT_TRUE(client.GetPod("lab", "w-3", {}));
  ASSERT_TRUE(client.GetPod("lab", "w-3", {}));
  EXPECT_EQ(LastHeader("Authorization"), "Bearer t-1");
  clock_.Advance(std::chrono::hours(1));
  ASSERT_TRUE(client.GetPod("lab", "w-3", {}));
  EXPECT_EQ(LastHeader("Authorization"), "Bearer t-2");
  accepted_ = "Bearer t-3";
  EXPECT_TRUE(client.GetPod("lab", "w-3", {}));
}

TEST_F(ClientTlsTest, SaysWhyThePluginFailed) {
  const auto message = [&](const std::string& script) {
    config_.exec =
        ExecPlugin{"client.authentication.k8s.io/v1", WritePlugin(script), {}, {}, false};
    Client client(config_, {}, clock_);
    const Result<Pod> pod = client.GetPod("lab", "w-3", {});
    return pod ? "no error" : pod.error().message;
  };
  EXPECT_NE(message("exit 7").find("exited with status 7"), std::string::npos);
  EXPECT_NE(message("echo nonsense").find("credential plugin"), std::string::npos);
  EXPECT_NE(message("echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"v2\",\"status\":{}}'")
                .find("apiVersion: \"v2\" instead of"),
            std::string::npos);
  config_.exec->command = "/nowhere/plugin";
  Client client(config_, {}, clock_);
  EXPECT_NE(client.GetPod("lab", "w-3", {}).error().message.find("No such file"),
            std::string::npos);
}

// --- Watches ---

struct Watched {
  std::vector<std::string> lines;
  Result<void> end;
};

Watched WatchAll(Client& client, Duration longest = seconds(60)) {
  Watched watched;
  watched.end = client.Watch("/watch", longest,
                             [&](std::string_view line) {
                               watched.lines.emplace_back(line);
                               return line != "stop";
                             },
                             {});
  return watched;
}

TEST(ClientWatchTest, JoinsLinesAcrossPiecesAndDropsAnIncompleteOne) {
  TestServer server([](const Request&, Peer& peer) {
    peer.BeginChunks();
    for (const char* piece : {"o", "ne\ntwo\n\nth", "", "ree\nfour\nhalf a li"}) {
      if (*piece != '\0') peer.Chunk(piece);
    }
    peer.EndChunks();
  });
  Client client(ConfigOf(server), {});
  const Watched watched = WatchAll(client);
  EXPECT_TRUE(watched.end);
  EXPECT_EQ(watched.lines, (std::vector<std::string>{"one", "two", "three", "four"}));
  EXPECT_EQ(server.requests()[0].Header("Accept-Encoding"), "") << "no gzip on a watch";
}

TEST(ClientWatchTest, TakesLinesOfMegabytes) {
  const std::string big(size_t{2} << 20, 'x');
  TestServer server([&](const Request&, Peer& peer) {
    peer.BeginChunks();
    peer.Chunk(big + "\nsmall\n");
    peer.EndChunks();
  });
  Client client(ConfigOf(server), {});
  const Watched watched = WatchAll(client);
  ASSERT_EQ(watched.lines.size(), 2U);
  EXPECT_EQ(watched.lines[0], big);
}

TEST(ClientWatchTest, GivesUpOnALineWithoutEnd) {
  const std::string piece(size_t{1} << 20, 'x');
  TestServer server([&](const Request&, Peer& peer) {
    peer.BeginChunks();
    while (peer.open()) peer.Chunk(piece);
  });
  Client client(ConfigOf(server), {});
  EXPECT_EQ(WatchAll(client).end.error().code, ErrorCode::kTooLarge);
}

TEST(ClientWatchTest, EndsWhenTheReaderHasEnough) {
  TestServer server([](const Request&, Peer& peer) {
    peer.BeginChunks();
    peer.Chunk("go\nstop\nnever\n");
    peer.Hold();
  });
  Client client(ConfigOf(server), {});
  const Watched watched = WatchAll(client);
  EXPECT_TRUE(watched.end);
  EXPECT_EQ(watched.lines, (std::vector<std::string>{"go", "stop"}));
}

TEST(ClientWatchTest, ReportsABrokenStreamAndAnErrorAnswer) {
  int mode = 0;
  TestServer server([&](const Request&, Peer& peer) {
    if (mode == 1) return peer.Reply(410, StatusBody(410, "Expired", "too old"));
    peer.BeginChunks();
    peer.Chunk("one\n");
    peer.Close();
  });
  Client client(ConfigOf(server), {});
  const Watched watched = WatchAll(client);
  EXPECT_EQ(watched.end.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(watched.lines.size(), 1U);
  mode = 1;
  EXPECT_EQ(WatchAll(client).end.error(), (Error{ErrorCode::kGone, "too old"}));
}

TEST(ClientWatchTest, GivesUpASilentConnectionAfterItsTime) {
  TestServer server([](const Request&, Peer& peer) {
    peer.BeginChunks();
    peer.Hold();
  });
  Client client(ConfigOf(server), {});
  EXPECT_EQ(WatchAll(client, milliseconds(50)).end.error().code, ErrorCode::kUnavailable);
}

TEST(ClientWatchTest, TheGlobalTimeoutEndsAWatchInGoodOrder) {
  TestServer server([](const Request&, Peer& peer) {
    peer.BeginChunks();
    peer.Chunk("one\n");
    peer.Hold();
  });
  Client client(ConfigOf(server), {.timeout = milliseconds(500)});
  const Watched watched = WatchAll(client);
  EXPECT_TRUE(watched.end);
  EXPECT_EQ(watched.lines.size(), 1U);
}

TEST(ClientWatchTest, ItsOwnTokenStopsOneWatchOnly) {
  std::promise<void> begun;
  TestServer server([&](const Request& request, Peer& peer) {
    if (request.target != "/w") return peer.Reply(200, kPod);
    begun.set_value();
    peer.Hold();
  });
  Client client(ConfigOf(server), {});
  std::stop_source stop;
  auto watch = std::async(std::launch::async, [&] {
    return client.Watch(
        "/w", seconds(60), [](std::string_view) { return true; }, stop.get_token());
  });
  begun.get_future().wait();
  stop.request_stop();
  EXPECT_EQ(watch.get().error().code, ErrorCode::kCancelled);
  EXPECT_TRUE(client.GetPod("lab", "w-3", {}));
}

}  // namespace
}  // namespace aliquot::kube
