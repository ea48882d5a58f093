// Listening TCP sockets from the text of a flag.
#pragma once

#include <string_view>

#include "aliquot/base/result.h"
#include "server/fd.h"

namespace aliquot::server {

struct ListenSocket {
  Fd fd;
  int port = 0;  // as bound: the kernel's choice for port 0
};

// `address`: "127.0.0.1:8080", "[::1]:0", "localhost:80", or ":9395" for every
// IPv4 and IPv6 address of the host. The socket does not block. Errors name the
// address: kInvalid for its text, kUnavailable for what the system refuses.
Result<ListenSocket> Listen(std::string_view address);

}  // namespace aliquot::server
