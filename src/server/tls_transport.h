// TLS on the server's side of a connection. The handshake is part of the first
// reads and writes, so it never holds up a thread either.
#pragma once

#include <memory>

#include "server/tls_context.h"
#include "server/transport.h"

namespace aliquot::server {

// The transport keeps the context alive.
std::unique_ptr<Transport> TlsTransport(std::unique_ptr<Transport> socket,
                                        const TlsContext& context);

}  // namespace aliquot::server
