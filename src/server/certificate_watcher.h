// CertificateWatcher: a listener's certificate and key, read again as their
// files change. New connections get the new pair, others keep what they began
// with. A pair that cannot be used changes nothing and is warned of: files of a
// Kubernetes Secret may be half way through their renewal.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "aliquot/base/clock.h"
#include "aliquot/base/mutex.h"
#include "aliquot/base/result.h"
#include "aliquot/server/server.h"
#include "server/tls_context.h"

namespace aliquot::server {

// Thread safety: context() from any thread; the others, one thread at a time.
class CertificateWatcher {
 public:
  // Errors name the file and what is wrong with it. `clock`, by which
  // certificates expire, outlives the watcher.
  static Result<std::unique_ptr<CertificateWatcher>> Load(TlsFiles files,
                                                          const Clock& clock = SystemClock());
  ~CertificateWatcher();

  // With the pair in use.
  TlsContext context() const;

  // Reads the files; true if they hold a new pair, which is in use now. On an
  // error the old pair stays.
  Result<bool> Reload();

  // Reloads every `interval` on a thread of its own. REQUIRES: called once, and
  // Reload no more.
  void Watch(Duration interval);

 private:
  struct Pair {
    PemFile certificate;
    PemFile key;

    bool operator==(const Pair&) const = default;
  };

  CertificateWatcher(TlsFiles files, const Clock& clock)
      : files_(std::move(files)), clock_(clock) {}

  Result<Pair> ReadFiles() const;
  Result<void> Use(Pair pair);
  void Refuse(const Error& error);
  void WarnIfExpired();

  const TlsFiles files_;
  const Clock& clock_;
  Pair pair_;            // in use
  std::string refused_;  // why the pair in the files is not: warned of once
  bool expired_ = false;

  std::thread thread_;
  mutable Mutex mutex_;
  CondVar changed_;
  TlsContext context_ GUARDED_BY(mutex_);
  bool stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace aliquot::server
