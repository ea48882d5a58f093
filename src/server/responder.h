// From a complete request to the bytes of its answer, through cpp-httplib.
#pragma once

#include <functional>
#include <string>

#include "server/connection.h"

namespace aliquot::server {

// Runs the request's handler, or answers for the route that is missing. `last`:
// the answer says that the connection closes. An exception of the handler
// becomes a 500. Thread safety: any thread; blocks as long as the handler does.
std::string Respond(Incoming request, std::function<bool()> caller_gone, bool last);

}  // namespace aliquot::server
