// Certificates of our own making: an authority that nobody else uses, and what it signs
// for the webhook. Keys are of P-256.
//
// Thread safety: every function from any thread.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "aliquot/base/clock.h"
#include "aliquot/base/result.h"

namespace aliquot::server {

// All in PEM; whatever is not there is empty.
struct CertificateSet {
  std::string authority;
  std::string authority_key;
  std::string certificate;
  std::string key;

  bool operator==(const CertificateSet&) const = default;
};

inline constexpr std::chrono::hours kAuthorityLife{10 * 365 * 24};
inline constexpr std::chrono::hours kCertificateLife{365 * 24};

// A new certificate and key for `hosts`, DNS names and IP addresses. The authority of
// `old` signs them, if it is there with its key; late in its life its certificate is
// renewed with the same key, so whoever trusts the old one trusts the new one too. Else
// there is a new authority. Errors, kInvalid: a host that can be neither.
Result<CertificateSet> MakeCertificates(const CertificateSet& old,
                                        const std::vector<std::string>& hosts, WallTime now,
                                        Duration life = kCertificateLife);

// Why new ones are needed: something cannot be read, does not fit together or is not for
// one of the hosts, or two thirds of the certificate's life are over. Empty: they are good.
std::string ReasonToRenew(const CertificateSet& certificates, const std::vector<std::string>& hosts,
                          WallTime now);

// When the certificate ends; the epoch if there is none.
WallTime ExpiryOf(const CertificateSet& certificates);

}  // namespace aliquot::server
