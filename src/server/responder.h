// From a complete request to the bytes of its answer, through cpp-httplib.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "server/connection.h"

namespace aliquot::server {

struct Outgoing {
  std::string bytes;
  bool last = false;  // it says that the connection closes
};

// Runs the request's handler, or answers for the route that is missing. An
// exception of the handler becomes a 500. The answer is the last one of its
// connection if the client wants that, or if `stopping` by the time it is made.
// Thread safety: any thread; blocks as long as the handler does.
Outgoing Respond(Incoming request, std::function<bool()> caller_gone,
                 const std::atomic<bool>& stopping);

}  // namespace aliquot::server
