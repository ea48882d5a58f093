// The TLS settings of a listener, with the certificate that it shows.
#pragma once

#include <openssl/ssl.h>

#include <memory>

#include "aliquot/base/clock.h"
#include "aliquot/base/result.h"
#include "aliquot/server/server.h"

namespace aliquot::server {

// Shared by the connections that were made with it; nobody changes it.
using TlsContext = std::shared_ptr<SSL_CTX>;

// TLS 1.2 or newer, HTTP/1.1. Errors, kInvalid, name the file. Thread safety: any
// thread.
Result<TlsContext> MakeTlsContext(const TlsPair& pair);

// Of the server's certificate.
WallTime ExpiryOf(const SSL_CTX& context);

}  // namespace aliquot::server
