// On the embedded API server.
#include "aliquot/server/webhook_certificate.h"

#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "aliquot/base/base64.h"
#include "aliquot/base/fake_clock.h"
#include "aliquot/base/log.h"
#include "aliquot/base/strings.h"
#include "aliquot/cluster/cluster.h"
#include "aliquot/cluster/local_client.h"
#include "aliquot/kube/certificates.h"
#include "server/certificate_maker.h"
#include "server_fixture.h"
#include "tls_files.h"

namespace aliquot::server {
namespace {

using Json = nlohmann::json;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

constexpr char kConfigurations[] =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
constexpr char kSecrets[] = "/api/v1/namespaces/kube-system/secrets";
constexpr char kHost[] = "aliquot-webhook.kube-system.svc";
constexpr hours kYear{365 * 24};

// Does something just before the first write.
class RacingClient : public cluster::LocalClient {
 public:
  using LocalClient::LocalClient;
  std::function<void()> before_write;

  Result<std::string> Call(const std::string& method, const std::string& target,
                           const std::string& body, const std::string& content_type,
                           const kube::CallOptions& call) override {
    if (method != "GET" && before_write) std::exchange(before_write, nullptr)();
    return LocalClient::Call(method, target, body, content_type, call);
  }
};

class WebhookCertificateTest : public ::testing::Test {
 protected:
  WebhookCertificateTest() {
    log::SetUp({});
    const Json webhooks = {{{"name", "a.hami.io"}, {"clientConfig", {{"url", "https://a/"}}}},
                           {{"name", "b.hami.io"}, {"clientConfig", {{"url", "https://b/"}}}}};
    Call("POST", kConfigurations, {{"metadata", {{"name", "aliquot"}}}, {"webhooks", webhooks}});
  }

  void Call(const std::string& method, const std::string& target, const Json& body = "") {
    const Result<std::string> done =
        admin_.LocalClient::Call(method, target, body.is_string() ? "" : body.dump(), "", {});
    ASSERT_TRUE(done) << done.error().message;
  }

  WebhookCertificate Replica(std::function<bool()> may_write = {}) {
    return WebhookCertificate(client_, {secret_, {kHost}, "aliquot", std::move(may_write)}, clock_);
  }

  // What it was made for; "kept", or the error.
  static std::string Keep(WebhookCertificate& certificate) {
    const auto kept = certificate.Keep();
    if (!kept) return kept.error().message;
    return kept->made_because.empty() ? "kept" : kept->made_because;
  }
  // The webhooks that were told, or the error.
  static std::string Tell(WebhookCertificate& certificate) {
    const Result<size_t> told = certificate.TellAuthority();
    return told ? std::to_string(*told) : told.error().message;
  }
  static std::string Shown(WebhookCertificate& certificate) {
    const Result<TlsPair> pair = certificate.Current();
    return pair ? pair->certificate.text : pair.error().message;
  }

  StringMap Stored() {
    const Result<kube::Secret> secret = kube::GetSecret(admin_, secret_);
    return secret ? secret->data : StringMap{};
  }
  // Each webhook's, decoded.
  std::vector<std::string> Bundles() {
    std::vector<std::string> bundles;
    const auto configuration = kube::GetMutatingWebhookConfiguration(admin_, "aliquot");
    for (const auto& webhook : configuration->webhooks)
      bundles.push_back(*DecodeBase64(webhook.ca_bundle));
    return bundles;
  }
  void Answer(const std::string& verb, const std::string& resource, int status,
              const std::string& message, int times = 1) {
    cluster_.AddFault({.verb = verb,
                       .resource = resource,
                       .times = times,
                       .effect = cluster::Fault::Effect::kAnswer,
                       .status = status,
                       .message = message});
  }

  const ObjectRef secret_{"kube-system", "webhook-tls", ""};
  FakeClock clock_;
  cluster::Cluster cluster_{{}, clock_};
  RacingClient admin_{cluster_}, client_{cluster_};
};

TEST_F(WebhookCertificateTest, IsMadeIntoASecretAndItsAuthorityIsTold) {
  WebhookCertificate certificate = Replica();
  EXPECT_EQ(Keep(certificate), "there is none");
  EXPECT_TRUE(certificate.found());
  const StringMap data = Stored();
  EXPECT_EQ(ReasonToRenew({data.at("ca.crt"), "", data.at("tls.crt"), data.at("tls.key")}, {kHost},
                          clock_.Now()),
            "");
  EXPECT_TRUE(data.contains("ca.key"));
  const Json secret = Json::parse(
      *admin_.LocalClient::Call("GET", std::string(kSecrets) + "/webhook-tls", "", "", {}));
  EXPECT_EQ(secret["type"], "kubernetes.io/tls");
  EXPECT_EQ(Tell(certificate), "2");
  EXPECT_EQ(Bundles(), std::vector<std::string>(2, data.at("ca.crt")));
  EXPECT_EQ(Tell(certificate), "0");
}

TEST_F(WebhookCertificateTest, OtherReplicasTakeWhatIsThere) {
  WebhookCertificate first = Replica(), second = Replica();
  Keep(first);
  const StringMap data = Stored();
  const uint64_t version = cluster_.resource_version();
  EXPECT_EQ(Keep(second), "kept");
  EXPECT_EQ(cluster_.resource_version(), version);
  EXPECT_EQ(Stored(), data);
}

TEST_F(WebhookCertificateTest, WhoLosesTheRaceTakesTheWinners) {
  WebhookCertificate winner(admin_, {secret_, {kHost}}, clock_);
  for (const char* round : {"there is none", "it ends at 2027-01-01T00:00:00Z"}) {  // POST, PATCH
    WebhookCertificate loser = Replica();
    client_.before_write = [&] { EXPECT_EQ(Keep(winner), round); };
    EXPECT_EQ(Keep(loser), "kept");
    EXPECT_FALSE(client_.before_write);
    EXPECT_EQ(Stored().at("tls.crt"), winner.Current()->certificate.text);
    EXPECT_EQ(Stored().at("tls.crt"), loser.Current()->certificate.text);
    clock_.Advance(kYear * 3 / 4);
  }
}

TEST_F(WebhookCertificateTest, ALostAnswerIsSettledByReading) {
  cluster_.AddFault(
      {.verb = "create", .resource = "secrets", .effect = cluster::Fault::Effect::kLoseAnswer});
  WebhookCertificate certificate = Replica();
  EXPECT_EQ(Keep(certificate), "kept");
  cluster_.AddFault({.verb = "patch",
                     .resource = "mutatingwebhookconfigurations",
                     .effect = cluster::Fault::Effect::kLoseAnswer});
  EXPECT_EQ(Tell(certificate), "0");
  EXPECT_EQ(Bundles(), std::vector<std::string>(2, Stored().at("ca.crt")));
}

TEST_F(WebhookCertificateTest, IsNotWrittenWithoutEnd) {
  Answer("create", "secrets", 409, "exists", 0);
  WebhookCertificate certificate = Replica();
  EXPECT_EQ(Keep(certificate), "Secret kube-system/webhook-tls is written too often by others");
}

TEST_F(WebhookCertificateTest, IsRenewedByTheSameAuthority) {
  WebhookCertificate certificate = Replica();
  Keep(certificate);
  const StringMap before = Stored();
  clock_.Advance(kYear / 2);
  EXPECT_EQ(Keep(certificate), "kept");
  clock_.Advance(kYear / 4);
  EXPECT_EQ(Keep(certificate), "it ends at 2027-01-01T00:00:00Z");
  const StringMap after = Stored();
  EXPECT_NE(after.at("tls.crt"), before.at("tls.crt"));
  EXPECT_EQ(after.at("ca.crt"), before.at("ca.crt"));
  EXPECT_EQ(certificate.Current()->certificate.text, after.at("tls.crt"));
  EXPECT_EQ(certificate.Current()->key.text, after.at("tls.key"));
}

TEST_F(WebhookCertificateTest, IsMadeAnewForAnotherHost) {
  WebhookCertificate first = Replica();
  Keep(first);
  WebhookCertificate second(client_, {secret_, {kHost, "10.0.0.7"}}, clock_);
  EXPECT_EQ(Keep(second), "it is not for 10.0.0.7");
  EXPECT_EQ(Keep(first), "kept");
}

TEST_F(WebhookCertificateTest, FillsASecretThatIsThereAndKeepsItsOtherKeys) {
  Call("POST", kSecrets, {{"metadata", {{"name", "webhook-tls"}}}, {"data", {{"x", "MQ=="}}}});
  WebhookCertificate certificate = Replica();
  EXPECT_EQ(Keep(certificate), "there is none");
  EXPECT_EQ(Stored().at("x"), "1");
  EXPECT_TRUE(Stored().contains("tls.crt"));
}

TEST_F(WebhookCertificateTest, AFollowerReadsAndWritesNothing) {
  bool leads = false;
  WebhookCertificate follower = Replica([&] { return leads; });
  EXPECT_EQ(Keep(follower),
            "Secret kube-system/webhook-tls has no certificate yet; the replica that leads makes "
            "it");
  EXPECT_FALSE(follower.found());
  WebhookCertificate leader = Replica();
  Keep(leader);
  EXPECT_EQ(Keep(follower), "kept");
  EXPECT_TRUE(follower.found());
  clock_.Advance(kYear * 3 / 4);
  const uint64_t version = cluster_.resource_version();
  Shown(follower);
  EXPECT_EQ(Keep(follower), "kept");  // also what should be renewed
  EXPECT_EQ(cluster_.resource_version(), version);
  leads = true;
  EXPECT_EQ(Keep(follower), "it ends at 2027-01-01T00:00:00Z");
}

TEST_F(WebhookCertificateTest, WhatCannotBeRenewedIsUsedOn) {
  WebhookCertificate first = Replica(), second = Replica();
  Keep(first);
  clock_.Advance(kYear * 3 / 4);
  Answer("patch", "secrets", 403, "secrets is forbidden", 0);
  EXPECT_EQ(Keep(second), "secrets is forbidden");
  EXPECT_TRUE(second.found());
  EXPECT_EQ(second.Current()->certificate.text, Stored().at("tls.crt"));
}

// ------------------------------------------------------------ as the listener asks

TEST_F(WebhookCertificateTest, TheFirstPairNeedsNoApiServer) {
  WebhookCertificate certificate = Replica();
  const std::string temporary = Shown(certificate);
  EXPECT_EQ(ExpiryOf({"", "", temporary, ""}), clock_.Now() + hours(24));
  EXPECT_FALSE(certificate.found());
  EXPECT_TRUE(Stored().empty());
  CaptureStderr();
  EXPECT_NE(Shown(certificate), temporary);
  const std::string log = GetCapturedStderr();
  EXPECT_TRUE(certificate.found());
  EXPECT_EQ(Bundles(), std::vector<std::string>(2, Stored().at("ca.crt")));
  EXPECT_TRUE(Contains(log,
                       "Made a certificate for the webhook secret=kube-system/webhook-tls "
                       "hosts=aliquot-webhook.kube-system.svc because=\"there is none\" "
                       "expires=2027-01-01T00:00:00Z"))
      << log;
  EXPECT_TRUE(Contains(log, "into the webhooks configuration=aliquot webhooks=2")) << log;
}

TEST_F(WebhookCertificateTest, AnApiServerThatIsNotThereIsAskedEveryFiveSeconds) {
  WebhookCertificate certificate = Replica();
  const std::string temporary = Shown(certificate);
  Answer("get", "secrets", 503, "etcd is not there", 2);
  CaptureStderr();
  EXPECT_EQ(Shown(certificate), temporary);
  clock_.Advance(seconds(4));
  EXPECT_EQ(Shown(certificate), temporary);  // does not ask
  clock_.Advance(seconds(1));
  EXPECT_EQ(Shown(certificate), temporary);  // in vain
  const std::string log = GetCapturedStderr();
  const std::string warning = "is not as it should be, will try again error=\"etcd is not there\"";
  EXPECT_TRUE(Contains(log, warning)) << log;
  EXPECT_EQ(log.find(warning), log.rfind(warning)) << log;
  clock_.Advance(seconds(5));
  EXPECT_NE(Shown(certificate), temporary);
}

TEST_F(WebhookCertificateTest, LooksEveryMinuteWhetherAllIsAsItShouldBe) {
  WebhookCertificate certificate = Replica();
  Shown(certificate);
  const std::string first = Shown(certificate);
  Call("PATCH", std::string(kConfigurations) + "/aliquot",
       {{"webhooks", {{{"name", "c.hami.io"}, {"clientConfig", {{"url", "https://c/"}}}}}}});
  Call("DELETE", std::string(kSecrets) + "/webhook-tls");
  clock_.Advance(seconds(59));
  EXPECT_EQ(Shown(certificate), first);
  EXPECT_EQ(Bundles(), std::vector<std::string>{""});
  clock_.Advance(seconds(1));
  const std::string second = Shown(certificate);
  EXPECT_EQ(second, Stored().at("tls.crt"));
  EXPECT_EQ(Bundles(), std::vector<std::string>{Stored().at("ca.crt")});
}

TEST_F(WebhookCertificateTest, IsShownBeforeTheWebhooksAreThere) {
  WebhookCertificate certificate = Replica();
  Call("DELETE", std::string(kConfigurations) + "/aliquot");
  Shown(certificate);
  CaptureStderr();
  const std::string shown = Shown(certificate);
  EXPECT_EQ(shown, Stored().at("tls.crt"));
  EXPECT_TRUE(Contains(GetCapturedStderr(), "\\\"aliquot\\\" not found"));
}

// With the server: a listener that waits for nobody, and clients that trust the authority.
class WebhookCertificateServerTest : public ServerTest {
 protected:
  WebhookCertificateServerTest() {
    log::SetUp({});
    std::signal(SIGPIPE, SIG_IGN);  // the clients' sockets are OpenSSL's own
    options_.tls = [this] { return certificate_.Current(); };
    options_.tls_reload_interval = std::chrono::milliseconds(1);
  }
  ~WebhookCertificateServerTest() override {
    client_.Shutdown();
    server_.reset();
  }

  bool Connects(SSL_CTX& settings) { return Client(server_->port(), settings).connected(); }

  const ObjectRef secret_{"kube-system", "webhook-tls", ""};
  cluster::Cluster cluster_{{}};
  cluster::LocalClient client_{cluster_};
  WebhookCertificate certificate_{client_, {secret_, {kHost}}, SystemClock()};
};

TEST_F(WebhookCertificateServerTest, TheListenerTakesUpTheCertificateThatClientsTrust) {
  WebhookCertificate maker(client_, {secret_, {kHost}}, SystemClock());
  ASSERT_TRUE(maker.Keep().ok());
  const std::string authority = kube::GetSecret(client_, secret_)->data.at("ca.crt");
  const cluster::Cluster::FaultId nobody_answers =
      cluster_.AddFault({.verb = "get", .resource = "secrets", .times = 0, .block = true});
  Start();
  ClientTls trusting = MakeClientTls(), checking = MakeClientTls();
  X509_STORE_add_cert(SSL_CTX_get_cert_store(checking.get()), ReadCertificate(authority).get());
  SSL_CTX_set_verify(checking.get(), SSL_VERIFY_PEER, nullptr);
  X509_VERIFY_PARAM_set1_host(SSL_CTX_get0_param(checking.get()), kHost, 0);

  EXPECT_TRUE(Connects(*trusting));
  EXPECT_FALSE(Connects(*checking));
  cluster_.RemoveFault(nobody_answers);
  const SteadyTime deadline = std::chrono::steady_clock::now() + seconds(30);
  bool connected = false;
  while (!connected && std::chrono::steady_clock::now() < deadline) connected = Connects(*checking);
  EXPECT_TRUE(connected);
}

}  // namespace
}  // namespace aliquot::server
