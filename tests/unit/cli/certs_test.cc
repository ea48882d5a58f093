#include <gtest/gtest.h>

#include <sstream>

#include "aliquot/base/fake_clock.h"
#include "aliquot/base/strings.h"
#include "aliquot/cluster/cluster.h"
#include "aliquot/cluster/local_client.h"
#include "cli/certs_command.h"

namespace aliquot::cli {
namespace {

constexpr char kConfigurations[] =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

struct Outcome {
  int status;
  std::string out, err;
};

class CertsTest : public ::testing::Test {
 protected:
  Outcome Keep(const std::string& configuration = "aliquot", bool renew = false) {
    std::ostringstream out, err;
    const int status =
        KeepCertificate(client_, {{"kube-system", "tls", ""}, {"w.kube-system.svc"}, configuration},
                        renew, clock_, {out, err});
    return {status, out.str(), err.str()};
  }

  FakeClock clock_;  // 2026-01-01 00:00:00
  cluster::Cluster cluster_{{}, clock_};
  cluster::LocalClient client_{cluster_};
};

TEST_F(CertsTest, SaysWhatItDid) {
  ASSERT_TRUE(client_.Call("POST", kConfigurations, R"({"metadata":{"name":"aliquot"},"webhooks":[
      {"name":"vgpu.hami.io","clientConfig":{"url":"https://a/"}}]})"));
  const Outcome made = Keep();
  EXPECT_EQ(made.status, kExitOk) << made.err;
  EXPECT_EQ(made.out,
            "Secret kube-system/tls: made a new certificate, because there is none; it ends at "
            "2027-01-01T00:00:00Z\n"
            "MutatingWebhookConfiguration aliquot: wrote the authority into 1 webhook(s)\n");
  clock_.Advance(std::chrono::hours(1));
  EXPECT_EQ(Keep().out,
            "Secret kube-system/tls: kept the certificate; it ends at 2027-01-01T00:00:00Z\n"
            "MutatingWebhookConfiguration aliquot: has the authority\n");
  EXPECT_EQ(Keep("", true).out,
            "Secret kube-system/tls: made a new certificate, because it was asked for; it ends at "
            "2027-01-01T01:00:00Z\n");
}

TEST_F(CertsTest, FailsIfTheWebhooksCannotBeTold) {
  const Outcome outcome = Keep();
  EXPECT_EQ(outcome.status, kExitFailure);
  EXPECT_TRUE(Contains(outcome.out, "made a new certificate")) << outcome.out;
  EXPECT_TRUE(Contains(outcome.err, "\"aliquot\" not found")) << outcome.err;
}

TEST_F(CertsTest, FailsWithoutAnApiServer) {
  cluster_.AddFault({.verb = "get",
                     .effect = cluster::Fault::Effect::kAnswer,
                     .status = 403,
                     .message = "secrets is forbidden"});
  const Outcome outcome = Keep();
  EXPECT_EQ(outcome.status, kExitFailure);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "error: secrets is forbidden\n");
}

TEST(CertsCommandTest, NeedsASecretAndHosts) {
  const auto run = [](std::vector<std::string> args) {
    std::ostringstream out, err;
    EXPECT_EQ(CertsCommand().run({"aliquot certs", args, {out, err}}), kExitUsage);
    return err.str();
  };
  EXPECT_TRUE(Contains(run({"--hosts=a"}), "--secret is required")) << run({"--hosts=a"});
  EXPECT_TRUE(Contains(run({"--secret=a/b"}), "--hosts is required")) << run({"--secret=a/b"});
  EXPECT_TRUE(Contains(run({"--secret=a", "--hosts=a"}), "--secret=\"a\": must be NAMESPACE/NAME"));
}

}  // namespace
}  // namespace aliquot::cli
