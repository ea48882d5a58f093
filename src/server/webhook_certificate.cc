#include "aliquot/server/webhook_certificate.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "aliquot/base/base64.h"
#include "aliquot/base/log.h"
#include "aliquot/base/strings.h"
#include "aliquot/base/time_text.h"
#include "aliquot/kube/certificates.h"
#include "server/certificate_maker.h"

namespace aliquot::server {
namespace {

constexpr std::chrono::minutes kLookInterval{1};
constexpr std::chrono::seconds kRetryInterval{5};
// Short, so that the expiry metric tells of a Secret that cannot be read.
constexpr std::chrono::hours kTemporaryLife{24};
// Others may write between a look and a write: that often.
constexpr int kTries = 5;

constexpr char kAuthority[] = "ca.crt";
constexpr char kAuthorityKey[] = "ca.key";
constexpr char kCertificate[] = "tls.crt";
constexpr char kKey[] = "tls.key";

CertificateSet CertificatesIn(const StringMap& data) {
  const auto text = [&data](std::string_view key) {
    const std::string* found = Find(data, key);
    return found == nullptr ? std::string() : *found;
  };
  return {text(kAuthority), text(kAuthorityKey), text(kCertificate), text(kKey)};
}

StringMap DataOf(const CertificateSet& certificates) {
  return {{kAuthority, certificates.authority},
          {kAuthorityKey, certificates.authority_key},
          {kCertificate, certificates.certificate},
          {kKey, certificates.key}};
}

// A look at what is there now settles it.
bool SomebodyWrote(const Error& error) {
  return error.code == ErrorCode::kConflict || error.code == ErrorCode::kUnknownOutcome;
}

Error WrittenTooOften(const std::string& what) {
  return {ErrorCode::kConflict, what + " is written too often by others"};
}

}  // namespace

WebhookCertificate::WebhookCertificate(kube::RawApi& api, Options options, const Clock& clock)
    : api_(api), options_(std::move(options)), clock_(clock) {}

Result<WebhookCertificate::Kept> WebhookCertificate::Keep(bool renew) {
  const std::string name = "Secret " + Display(options_.secret);
  for (int tries = 0; tries < kTries; ++tries) {
    const Result<kube::Secret> secret = kube::GetSecret(api_, options_.secret);
    if (!secret && secret.error().code != ErrorCode::kNotFound) return secret.error();
    const CertificateSet old = secret ? CertificatesIn(secret->data) : CertificateSet{};
    // Also one that is to be renewed: it may be that it cannot be.
    if (!old.certificate.empty()) Use(old);

    std::string reason = ReasonToRenew(old, options_.hosts, clock_.Now());
    if (reason.empty() && renew) reason = "it was asked for";
    if (!reason.empty() && !MayWrite()) {
      if (old.certificate.empty())
        return Error{ErrorCode::kUnavailable,
                     name + " has no certificate yet; the replica that leads makes it"};
      reason.clear();
    }
    if (reason.empty()) return Kept{"", ExpiryOf(old)};

    Result<CertificateSet> made = MakeCertificates(old, options_.hosts, clock_.Now());
    if (!made) return made.error();
    const Result<void> written = secret
                                     ? kube::PatchSecret(api_, *secret, DataOf(*made))
                                     : kube::CreateTlsSecret(api_, options_.secret, DataOf(*made));
    if (written) {
      Use(*made);
      return Kept{reason, ExpiryOf(*made)};
    }
    if (!SomebodyWrote(written.error())) return written.error();
  }
  return WrittenTooOften(name);
}

void WebhookCertificate::Use(const CertificateSet& certificates) {
  const std::string secret = Display(options_.secret) + "/";
  pair_ = {{secret + kCertificate, certificates.certificate}, {secret + kKey, certificates.key}};
  authority_ = certificates.authority;
  found_ = true;
}

Result<size_t> WebhookCertificate::TellAuthority() {
  const std::string& name = options_.webhook_configuration;
  if (name.empty()) return size_t{0};
  const std::string bundle = EncodeBase64(authority_);
  for (int tries = 0; tries < kTries; ++tries) {
    const Result<kube::WebhookConfiguration> configuration =
        kube::GetMutatingWebhookConfiguration(api_, name);
    if (!configuration) return configuration.error();
    const auto& webhooks = configuration->webhooks;
    const auto others = std::count_if(webhooks.begin(), webhooks.end(), [&](const auto& webhook) {
      return webhook.ca_bundle != bundle;
    });
    if (others == 0) return size_t{0};
    const Result<void> written = kube::PatchCaBundles(api_, *configuration, bundle);
    if (written) return static_cast<size_t>(others);
    if (!SomebodyWrote(written.error())) return written.error();
  }
  return WrittenTooOften("MutatingWebhookConfiguration " + name);
}

Result<void> WebhookCertificate::Look() {
  const Result<Kept> kept = Keep();
  if (!kept) return kept.error();
  if (!kept->made_because.empty())
    log::Info("Made a certificate for the webhook", {{"secret", Display(options_.secret)},
                                                     {"hosts", Join(options_.hosts, ",")},
                                                     {"because", kept->made_because},
                                                     {"expires", FormatRfc3339(kept->expires)}});
  if (!MayWrite()) return {};
  const Result<size_t> told = TellAuthority();
  if (!told) return told.error();
  if (*told > 0)
    log::Info("Wrote the certificate's authority into the webhooks",
              {{"configuration", options_.webhook_configuration}, {"webhooks", *told}});
  return {};
}

Result<TlsPair> WebhookCertificate::Current() {
  if (pair_.certificate.text.empty()) {
    const Result<CertificateSet> temporary =
        MakeCertificates({}, options_.hosts, clock_.Now(), kTemporaryLife);
    if (!temporary) return temporary.error();
    pair_ = {{"temporary", temporary->certificate}, {"temporary", temporary->key}};
  } else if (clock_.Steady() >= next_look_) {
    const Result<void> looked = Look();
    const std::string problem = looked ? "" : looked.error().message;
    const bool news = std::exchange(problem_, problem) != problem;
    if (news && !looked && looked.error().code != ErrorCode::kCancelled)
      log::Warn("The webhook's certificate is not as it should be, will try again",
                {{"error", problem}});
    next_look_ = clock_.Steady() + (looked ? Duration{kLookInterval} : Duration{kRetryInterval});
  }
  return pair_;
}

}  // namespace aliquot::server
