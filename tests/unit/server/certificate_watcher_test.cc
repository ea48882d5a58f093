#include "server/certificate_watcher.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "aliquot/base/fake_clock.h"
#include "aliquot/base/log.h"
#include "aliquot/base/strings.h"
#include "tls_files.h"

namespace aliquot::server {
namespace {

using std::chrono::hours;
using testing::TestCertificate;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

class CertificateWatcherTest : public ::testing::Test {
 protected:
  CertificateWatcherTest() { log::SetUp({}); }

  // With this number, valid for two hours from an hour ago.
  TestCertificate Numbered(long serial) const {
    return TestCertificate("scheduler", serial, clock_.Now() + hours(1));
  }

  void Load() {
    auto loaded = CertificateWatcher::Load(FromFiles(volume_.files()), clock_);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    watcher_ = *std::move(loaded);
  }

  std::string LoadError() const {
    const auto loaded = CertificateWatcher::Load(FromFiles(volume_.files()), clock_);
    return loaded.ok() ? "" : loaded.error().message;
  }

  // Of a reload; "changed" and "same" if there is none.
  std::string Reload() {
    const Result<bool> reloaded = watcher_->Reload();
    if (!reloaded) return reloaded.error().message;
    return *reloaded ? "changed" : "same";
  }

  long Serial() const {
    return ASN1_INTEGER_get(
        X509_get0_serialNumber(SSL_CTX_get0_certificate(watcher_->context().get())));
  }

  FakeClock clock_;
  const TestCertificate first_ = Numbered(1);
  const TestCertificate second_ = Numbered(2);
  SecretVolume volume_{first_};
  const std::string crt_ = volume_.files().certificate;
  const std::string key_ = volume_.files().key;
  const std::string unreadable_key_ =
      "private key " + key_ + ": there is none in it that can be read (PEM, without a pass phrase)";
  std::unique_ptr<CertificateWatcher> watcher_;
};

TEST_F(CertificateWatcherTest, NamesTheFileItCannotStartWith) {
  volume_.Write(first_.certificate, second_.key);
  EXPECT_EQ(LoadError(), "private key " + key_ + ": does not belong to the certificate " + crt_);
  volume_.Write("", first_.key);
  EXPECT_EQ(LoadError(), "certificate " + crt_ + ": there is none in it (PEM)");
  volume_.Write(first_.key, first_.key);
  EXPECT_EQ(LoadError(), "certificate " + crt_ + ": there is none in it (PEM)");
  volume_.Write(first_.certificate, first_.certificate);
  EXPECT_EQ(LoadError(), unreadable_key_);
  volume_.Write(first_.certificate.substr(0, 200), first_.key);
  EXPECT_TRUE(LoadError().starts_with("certificate " + crt_ + ": ")) << LoadError();
  volume_.Write(first_.certificate + second_.certificate.substr(0, 200), first_.key);
  EXPECT_TRUE(LoadError().starts_with("certificate chain " + crt_ + ": ")) << LoadError();
  volume_.Write(first_.certificate, first_.key);
  std::filesystem::remove(key_);
  EXPECT_EQ(LoadError(), "private key " + key_ + ": No such file or directory");
  std::filesystem::remove(crt_);
  EXPECT_EQ(LoadError(), "certificate " + crt_ + ": No such file or directory");
  std::filesystem::create_directory(crt_);
  EXPECT_EQ(LoadError(), "certificate " + crt_ + ": Is a directory");
}

TEST_F(CertificateWatcherTest, DoesNotAskForAPassPhrase) {
  const OpenSslPtr<EVP_PKEY, EVP_PKEY_free> key(EVP_EC_gen("P-256"));
  const OpenSslPtr<BIO, BIO_free> text(BIO_new(BIO_s_mem()));
  const unsigned char secret[] = "secret";
  PEM_write_bio_PrivateKey(text.get(), key.get(), EVP_aes_128_cbc(), secret, 6, nullptr, nullptr);
  std::string locked(10'000, '\0');
  locked.resize(static_cast<size_t>(BIO_read(text.get(), locked.data(), 10'000)));
  volume_.Write(first_.certificate, locked);
  EXPECT_EQ(LoadError(), unreadable_key_);
}

TEST_F(CertificateWatcherTest, SendsTheChainThatFollowsTheCertificate) {
  volume_.Write(first_.certificate + second_.certificate, first_.key);
  Load();
  STACK_OF(X509)* chain = nullptr;
  SSL_CTX_get0_chain_certs(watcher_->context().get(), &chain);
  EXPECT_EQ(sk_X509_num(chain), 1);
  EXPECT_EQ(Serial(), 1);
}

TEST_F(CertificateWatcherTest, TakesUpANewPair) {
  Load();
  EXPECT_EQ(Serial(), 1);
  const TlsContext before = watcher_->context();
  EXPECT_EQ(Reload(), "same");
  EXPECT_EQ(watcher_->context(), before);
  volume_.Write(second_);
  CaptureStderr();
  EXPECT_EQ(Reload(), "changed");
  const std::string log = GetCapturedStderr();
  EXPECT_TRUE(Contains(log, "Replaced the certificate file=" + crt_)) << log;
  EXPECT_TRUE(Contains(log, "expires=2026-01-01T01:00:00Z")) << log;
  EXPECT_EQ(Serial(), 2);
  EXPECT_EQ(Reload(), "same");
  EXPECT_EQ(before.use_count(), 1);
}

TEST_F(CertificateWatcherTest, KeepsTheOldPairUntilThereIsAGoodOne) {
  Load();
  const TlsContext before = watcher_->context();
  const std::string mismatch =
      "private key " + key_ + ": does not belong to the certificate " + crt_;
  CaptureStderr();
  volume_.Write(second_.certificate, first_.key);
  EXPECT_EQ(Reload(), mismatch);
  EXPECT_EQ(Reload(), mismatch);
  std::filesystem::remove(crt_);
  EXPECT_EQ(Reload(), "certificate " + crt_ + ": No such file or directory");
  EXPECT_EQ(watcher_->context(), before);
  const std::string log = GetCapturedStderr();
  // Once for each reason.
  const size_t warned = log.find("Kept the old certificate");
  EXPECT_EQ(log.find("belong", log.find("belong") + 1), std::string::npos) << log;
  EXPECT_NE(log.find("Kept the old certificate", warned + 1), std::string::npos) << log;

  volume_.Write(second_);
  EXPECT_EQ(Reload(), "changed");
  EXPECT_EQ(Serial(), 2);
}

TEST_F(CertificateWatcherTest, GoesBackToThePairInUse) {
  Load();
  volume_.Write("", "");
  EXPECT_NE(Reload(), "same");
  volume_.Write(first_);
  EXPECT_EQ(Reload(), "same");
  CaptureStderr();
  volume_.Write("", "");
  EXPECT_NE(Reload(), "same");
  EXPECT_TRUE(Contains(GetCapturedStderr(), "Kept the old certificate"));
}

TEST_F(CertificateWatcherTest, UsesAnExpiredCertificateWithAWarning) {
  Load();
  CaptureStderr();
  EXPECT_EQ(Reload(), "same");
  EXPECT_FALSE(Contains(GetCapturedStderr(), "expired"));
  clock_.Advance(hours(1));
  CaptureStderr();
  EXPECT_EQ(Reload(), "same");
  EXPECT_EQ(Reload(), "same");
  const std::string log = GetCapturedStderr();
  const size_t warned = log.find("The certificate has expired");
  EXPECT_NE(warned, std::string::npos) << log;
  EXPECT_EQ(log.find("has expired", warned + 20), std::string::npos) << log;
  EXPECT_EQ(Serial(), 1);

  CaptureStderr();
  Load();  // also from the start
  EXPECT_TRUE(Contains(GetCapturedStderr(), "expired=2026-01-01T01:00:00Z"));
  volume_.Write(Numbered(3));
  EXPECT_EQ(Reload(), "changed");
  EXPECT_EQ(Serial(), 3);
}

}  // namespace
}  // namespace aliquot::server
