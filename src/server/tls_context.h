// The TLS settings of a listener, with the certificate that it shows.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "aliquot/base/clock.h"
#include "aliquot/base/result.h"

namespace aliquot::server {

// Shared by the connections that were made with it; nobody changes it.
using TlsContext = std::shared_ptr<SSL_CTX>;

// The text of a file, and its path for messages.
struct PemFile {
  std::string path;
  std::string text;

  bool operator==(const PemFile&) const = default;
};

// TLS 1.2 or newer, HTTP/1.1. `certificate`: the server's, then its chain, if
// any. Errors, kInvalid, name the file. Thread safety: any thread.
Result<TlsContext> MakeTlsContext(const PemFile& certificate, const PemFile& key);

// Of the server's certificate.
WallTime ExpiryOf(const SSL_CTX& context);

}  // namespace aliquot::server
