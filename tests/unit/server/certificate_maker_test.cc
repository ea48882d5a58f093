#include "server/certificate_maker.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <string>
#include <vector>

#include "aliquot/base/fake_clock.h"
#include "server/openssl.h"

namespace aliquot::server {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

const std::vector<std::string> kHosts = {"aliquot-scheduler-webhook.kube-system.svc", "10.0.0.7",
                                         "fd00::7"};
constexpr hours kYear{365 * 24};

// Whether a client that knows the host, the authority and the time lets the certificate pass.
std::string Verify(const std::string& authority, const std::string& certificate,
                   const std::string& host, WallTime now) {
  const OpenSslPtr<X509_STORE, X509_STORE_free> trusted(X509_STORE_new());
  const OpenSslPtr<X509_STORE_CTX, X509_STORE_CTX_free> context(X509_STORE_CTX_new());
  X509_STORE_add_cert(trusted.get(), ReadCertificate(authority).get());
  const Certificate shown = ReadCertificate(certificate);
  X509_STORE_CTX_init(context.get(), trusted.get(), shown.get(), nullptr);
  X509_STORE_CTX_set_default(context.get(), "ssl_server");
  X509_VERIFY_PARAM* wanted = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_flags(wanted, X509_V_FLAG_X509_STRICT);
  X509_VERIFY_PARAM_set_time(wanted, std::chrono::system_clock::to_time_t(now));
  if (X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) != 1)
    X509_VERIFY_PARAM_set1_host(wanted, host.data(), host.size());
  if (X509_verify_cert(context.get()) == 1) return "passes";
  return X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()));
}

class CertificateMakerTest : public ::testing::Test {
 protected:
  CertificateSet Make(const CertificateSet& old = {}) const {
    const Result<CertificateSet> made = MakeCertificates(old, kHosts, now_);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return *made;
  }
  std::string Reason(const CertificateSet& certificates) const {
    return ReasonToRenew(certificates, kHosts, now_);
  }

  WallTime now_ = FakeClock().Now();  // 2026-01-01 00:00:00
};

TEST_F(CertificateMakerTest, PassesAtClientsThatCheckEverything) {
  const CertificateSet made = Make();
  for (const std::string& host : kHosts)
    EXPECT_EQ(Verify(made.authority, made.certificate, host, now_), "passes") << host;
  EXPECT_EQ(Verify(made.authority, made.certificate, "other.kube-system.svc", now_),
            "hostname mismatch");
  EXPECT_EQ(Verify(made.authority, made.certificate, "10.0.0.8", now_), "IP address mismatch");
  EXPECT_EQ(Verify(Make().authority, made.certificate, kHosts[0], now_),
            "unable to get local issuer certificate");
  EXPECT_EQ(
      X509_check_private_key(ReadCertificate(made.certificate).get(), ReadKey(made.key).get()), 1);
}

TEST_F(CertificateMakerTest, SaysWhatItIsFor) {
  const CertificateSet made = Make();
  const Certificate certificate = ReadCertificate(made.certificate);
  EXPECT_EQ(X509_get_key_usage(certificate.get()), static_cast<uint32_t>(KU_DIGITAL_SIGNATURE));
  EXPECT_EQ(X509_get_extended_key_usage(certificate.get()), static_cast<uint32_t>(XKU_SSL_SERVER));
  EXPECT_EQ(X509_check_ca(certificate.get()), 0);
  const Certificate authority = ReadCertificate(made.authority);
  EXPECT_EQ(X509_get_key_usage(authority.get()),
            static_cast<uint32_t>(KU_KEY_CERT_SIGN | KU_CRL_SIGN));
  EXPECT_EQ(X509_check_ca(authority.get()), 1);
  EXPECT_EQ(X509_get_pathlen(authority.get()), 0);
}

TEST_F(CertificateMakerTest, LastsAYearAndItsAuthorityTen) {
  const CertificateSet made = Make();
  EXPECT_EQ(ExpiryOf(made), now_ + kYear);
  const auto at = [&](WallTime when) {
    return Verify(made.authority, made.certificate, kHosts[0], when);
  };
  EXPECT_EQ(at(now_ - hours(1)), "passes");  // for whoever's clock is behind
  EXPECT_EQ(at(now_ - hours(1) - seconds(1)), "certificate is not yet valid");
  EXPECT_EQ(at(now_ + kYear - seconds(1)), "passes");
  EXPECT_EQ(at(now_ + kYear), "certificate has expired");
  const Certificate authority = ReadCertificate(made.authority);
  std::time_t end = std::chrono::system_clock::to_time_t(now_ + 10 * kYear);
  EXPECT_EQ(X509_cmp_time(X509_get0_notAfter(authority.get()), &end), -1);  // not later than `end`
  end -= 1;
  EXPECT_EQ(X509_cmp_time(X509_get0_notAfter(authority.get()), &end), 1);
}

TEST_F(CertificateMakerTest, IsToBeRenewedAfterTwoThirdsOfItsLife) {
  const CertificateSet made = Make();
  EXPECT_EQ(Reason(made), "");
  // It begins an hour before now: (8760 h + 1 h) * 2 / 3 - 1 h = 5839 h 40 min.
  now_ += hours(5839) + std::chrono::minutes(40) - seconds(1);
  EXPECT_EQ(Reason(made), "");
  now_ += seconds(1);
  EXPECT_EQ(Reason(made), "it ends at 2027-01-01T00:00:00Z");
}

TEST_F(CertificateMakerTest, TheSameAuthoritySignsTheNextOne) {
  const CertificateSet first = Make();
  now_ += kYear;
  const CertificateSet second = Make(first);
  EXPECT_EQ(second.authority, first.authority);
  EXPECT_EQ(second.authority_key, first.authority_key);
  EXPECT_NE(second.certificate, first.certificate);
  EXPECT_NE(second.key, first.key);
  EXPECT_EQ(Reason(second), "");
  EXPECT_EQ(Verify(first.authority, second.certificate, kHosts[0], now_), "passes");
}

TEST_F(CertificateMakerTest, WhoTrustsTheOldAuthorityTrustsARenewedOne) {
  const CertificateSet first = Make();
  now_ += 7 * kYear;
  const CertificateSet second = Make(first);
  EXPECT_NE(second.authority, first.authority);
  EXPECT_EQ(second.authority_key, first.authority_key);
  EXPECT_EQ(Reason(second), "");
  EXPECT_EQ(Verify(first.authority, second.certificate, kHosts[0], now_), "passes");
  const WallTime later = now_ + 4 * kYear;  // the first one has ended
  EXPECT_EQ(Verify(second.authority, Make(second).certificate, kHosts[0], now_), "passes");
  now_ = later;
  const CertificateSet third = Make(second);
  EXPECT_EQ(third.authority, second.authority);
  EXPECT_EQ(Verify(second.authority, third.certificate, kHosts[0], now_), "passes");
}

TEST_F(CertificateMakerTest, AnAuthorityWithoutItsKeyIsReplaced) {
  const CertificateSet first = Make();
  CertificateSet keyless = first, mixed = first;
  keyless.authority_key.clear();
  mixed.authority_key = Make().authority_key;
  for (const CertificateSet& old : {keyless, mixed}) {
    const CertificateSet made = Make(old);
    EXPECT_NE(made.authority, first.authority);
    EXPECT_EQ(Reason(made), "");
  }
}

TEST_F(CertificateMakerTest, TellsWhatIsWrong) {
  const CertificateSet good = Make(), other = Make();
  const auto with = [&](std::string CertificateSet::*field, const std::string& text) {
    CertificateSet changed = good;
    changed.*field = text;
    return Reason(changed);
  };
  using W = CertificateSet;
  EXPECT_EQ(Reason({}), "there is none");
  EXPECT_EQ(with(&W::certificate, "x"), "there is none");
  EXPECT_EQ(with(&W::key, ""), "its key is not there");
  EXPECT_EQ(with(&W::key, other.key), "its key is not there");
  EXPECT_EQ(with(&W::authority, ""), "its authority is not there");
  EXPECT_EQ(with(&W::authority, other.authority), "unable to get local issuer certificate");
  EXPECT_EQ(with(&W::authority_key, ""), "");  // until it has to sign
  EXPECT_EQ(ReasonToRenew(good, {"a.svc", kHosts[0]}, now_), "it is not for a.svc");
  EXPECT_EQ(ReasonToRenew(good, {"10.0.0.8"}, now_), "it is not for 10.0.0.8");
  EXPECT_EQ(ReasonToRenew(good, {kHosts[0]}, now_), "");
  EXPECT_EQ(ERR_peek_error(), 0UL);  // the next connection would take it for its own
}

TEST_F(CertificateMakerTest, AHostIsANameOrAnAddress) {
  const std::string longest = std::string(60, 'a') + "." + std::string(60, 'b') + ".svc";
  ASSERT_TRUE(MakeCertificates({}, {longest}, now_).ok());
  for (const std::string host : {"", "a b", "a,DNS:b", "https://a"}) {
    const auto made = MakeCertificates({}, {host}, now_);
    ASSERT_FALSE(made.ok()) << host;
    EXPECT_EQ(made.error().message, "\"" + host + "\" is no DNS name and no IP address");
  }
}

}  // namespace
}  // namespace aliquot::server
