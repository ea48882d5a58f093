#include "server/certificate_watcher.h"

#include <pthread.h>

#include <utility>

#include "aliquot/base/files.h"
#include "aliquot/base/log.h"
#include "aliquot/base/time_text.h"

namespace aliquot::server {

TlsSource FromFiles(TlsFiles files) {
  return [files = std::move(files)]() -> Result<TlsPair> {
    Result<std::string> certificate = ReadFile(files.certificate);
    if (!certificate) return InvalidError("certificate " + certificate.error().message);
    Result<std::string> key = ReadFile(files.key);
    if (!key) return InvalidError("private key " + key.error().message);
    return TlsPair{{files.certificate, *std::move(certificate)}, {files.key, *std::move(key)}};
  };
}

Result<std::unique_ptr<CertificateWatcher>> CertificateWatcher::Load(TlsSource source,
                                                                     const Clock& clock) {
  std::unique_ptr<CertificateWatcher> watcher(new CertificateWatcher(std::move(source), clock));
  Result<TlsPair> pair = watcher->source_();
  if (!pair) return pair.error();
  if (Result<void> used = watcher->Use(*std::move(pair)); !used) return used.error();
  return watcher;
}

CertificateWatcher::~CertificateWatcher() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

TlsContext CertificateWatcher::context() const {
  MutexLock lock(mutex_);
  return context_;
}

Result<bool> CertificateWatcher::Reload() {
  Result<TlsPair> pair = source_();
  if (!pair) {
    Refuse(pair.error());
    return pair.error();
  }
  const bool changed = *pair != pair_;
  if (changed) {
    if (Result<void> used = Use(*std::move(pair)); !used) {
      Refuse(used.error());
      return used.error();
    }
  }
  refused_.clear();
  WarnIfExpired();
  return changed;
}

void CertificateWatcher::Watch(Duration interval) {
  thread_ = std::thread([this, interval] {
    ::pthread_setname_np(::pthread_self(), "certificates");
    while (true) {
      const SteadyTime next = std::chrono::steady_clock::now() +
                              std::chrono::duration_cast<SteadyTime::duration>(interval);
      {
        MutexLock lock(mutex_);
        while (!stopped_ && changed_.WaitUntil(mutex_, next)) {
        }
        if (stopped_) return;
      }
      // What came of it has been logged.
      [[maybe_unused]] const Result<bool> reloaded = Reload();
    }
  });
}

Result<void> CertificateWatcher::Use(TlsPair pair) {
  Result<TlsContext> context = MakeTlsContext(pair);
  if (!context) return context.error();
  log::Info(pair_.certificate.text.empty() ? "Loaded the certificate" : "Replaced the certificate",
            {{"file", pair.certificate.path}, {"expires", FormatRfc3339(ExpiryOf(**context))}});
  pair_ = std::move(pair);
  expired_ = false;
  {
    MutexLock lock(mutex_);
    context_.swap(*context);
  }
  WarnIfExpired();
  return {};
}

void CertificateWatcher::Refuse(const Error& error) {
  if (std::exchange(refused_, error.message) == error.message) return;
  log::Warn("Kept the old certificate: there is no usable new one",
            {{"error", error.message}, {"expires", FormatRfc3339(ExpiryOf(*context()))}});
}

void CertificateWatcher::WarnIfExpired() {
  const WallTime expiry = ExpiryOf(*context());
  if (expired_ || clock_.Now() < expiry) return;
  expired_ = true;
  log::Warn("The certificate has expired; it is used until there is a new one",
            {{"file", pair_.certificate.path}, {"expired", FormatRfc3339(expiry)}});
}

}  // namespace aliquot::server
