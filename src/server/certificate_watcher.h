// CertificateWatcher: a listener's certificate and key, taken up as they change. New connections
// get the new pair, others keep what they began with. A pair that cannot be used changes nothing
// and is warned of: the files of a Kubernetes Secret may be half way through their renewal.
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
  static Result<std::unique_ptr<CertificateWatcher>> Load(TlsSource source,
                                                          const Clock& clock = SystemClock());
  ~CertificateWatcher();

  // With the pair in use.
  TlsContext context() const;

  // Asks the source; true if it has a new pair, which is in use now. On an error
  // the old pair stays.
  Result<bool> Reload();

  // Reloads every `interval` on a thread of its own. REQUIRES: called once, and
  // Reload no more.
  void Watch(Duration interval);

 private:
  CertificateWatcher(TlsSource source, const Clock& clock)
      : source_(std::move(source)), clock_(clock) {}

  Result<void> Use(TlsPair pair);
  void Refuse(const Error& error);
  void WarnIfExpired();

  const TlsSource source_;
  const Clock& clock_;
  TlsPair pair_;         // in use
  std::string refused_;  // why the source's pair is not: warned of once
  bool expired_ = false;

  std::thread thread_;
  mutable Mutex mutex_;
  CondVar changed_;
  TlsContext context_ GUARDED_BY(mutex_);
  bool stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace aliquot::server
