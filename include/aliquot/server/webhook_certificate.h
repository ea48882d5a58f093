// WebhookCertificate: a certificate of our own making for /webhook. It is kept in a
// Secret, which all replicas share: tls.crt and tls.key, which the listener shows, and
// ca.crt and ca.key of the authority that signed them. The API server knows the
// authority as the caBundle of every webhook of a MutatingWebhookConfiguration.
//
// A certificate lasts a year and is renewed after two thirds of it, by the same
// authority. Of several replicas one writes; a write changes nothing if somebody else
// has written meanwhile, and then what is there is taken.
//
// Thread safety: found() from any thread; the others, one thread at a time.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "aliquot/base/clock.h"
#include "aliquot/base/object_ref.h"
#include "aliquot/base/result.h"
#include "aliquot/kube/api.h"
#include "aliquot/server/server.h"

namespace aliquot::server {

struct CertificateSet;

class WebhookCertificate {
 public:
  struct Options {
    ObjectRef secret;
    std::vector<std::string> hosts;          // DNS names and IP addresses of the webhook
    std::string webhook_configuration = {};  // empty: nobody is told of the authority
    std::function<bool()> may_write = {};    // empty: always
  };

  // `api` and `clock` outlive it.
  WebhookCertificate(kube::RawApi& api, Options options, const Clock& clock);

  struct Kept {
    std::string made_because;  // empty: the certificate was there and is good
    WallTime expires;
  };
  // Reads the Secret. What is not good, or is to be renewed anyway, is made anew and
  // written, the Secret too if there is none; if this one may not write, it takes what
  // is there. Errors: as kube::Api; kUnavailable: there is nothing and it may not write.
  Result<Kept> Keep(bool renew = false);

  // Writes the authority into the webhooks that have another one; how many they were.
  // REQUIRES: Keep has succeeded.
  Result<size_t> TellAuthority();

  // The pair for the listener: at first one that nobody trusts, because the listener
  // does not wait for the API server. Later calls do both of the above from time to time,
  // and log what came of it.
  Result<TlsPair> Current();

  // Whether Current is of the Secret.
  bool found() const { return found_; }

 private:
  bool MayWrite() const { return !options_.may_write || options_.may_write(); }
  void Use(const CertificateSet& certificates);
  Result<void> Look();

  kube::RawApi& api_;
  const Options options_;
  const Clock& clock_;
  TlsPair pair_;
  std::string authority_;  // PEM
  std::string problem_;    // of the last look: warned of once
  SteadyTime next_look_{};
  std::atomic<bool> found_ = false;
};

}  // namespace aliquot::server
