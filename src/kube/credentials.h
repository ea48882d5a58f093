// Credentials: who we are to the API server right now. Tokens and certificates
// rotate in their files, and plugins hand out short-lived ones.
//
// Thread safety: any method from any thread. Get may block while a credential
// plugin runs (one at a time).
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "aliquot/base/clock.h"
#include "aliquot/base/mutex.h"
#include "aliquot/base/result.h"
#include "aliquot/kube/client_config.h"
#include "kube/exec_plugin.h"

namespace aliquot::kube {

// What one request is sent with.
struct Auth {
  std::vector<std::string> headers;  // "Authorization: Bearer ..."
  std::string ca;                    // PEM; empty: the system's
  std::string certificate;           // PEM, together with key
  std::string key;
};

class Credentials {
 public:
  Credentials(ClientConfig config, const Clock& clock);

  // Files are read again when they were last read 50 s ago. A file that cannot
  // be read is logged and its last content kept.
  Result<std::shared_ptr<const Auth>> Get(const std::stop_token& stop);

  // The API server answered 401 to `used`: the next Get reads everything anew,
  // unless that has happened since.
  void Refused(const std::shared_ptr<const Auth>& used);

 private:
  void ReadFiles() REQUIRES_LOCK(mutex_);
  std::shared_ptr<const Auth> Build() const REQUIRES_LOCK(mutex_);

  const Clock& clock_;
  Mutex mutex_;
  ClientConfig config_ GUARDED_BY(mutex_);  // its FileTexts follow their files
  std::optional<ExecCredential> handed_out_ GUARDED_BY(mutex_);
  std::shared_ptr<const Auth> auth_ GUARDED_BY(mutex_);
  SteadyTime read_at_ GUARDED_BY(mutex_);
};

}  // namespace aliquot::kube
