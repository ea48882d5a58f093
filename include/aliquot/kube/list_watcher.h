// ListWatcher: lists and watches as a Reflector needs them, as JSON text. The
// client implements it, and so do the tests' fakes.
//
// Thread safety: any method from any thread. Calls block; `stop` ends them
// promptly with kCancelled.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "aliquot/base/clock.h"
#include "aliquot/base/result.h"

namespace aliquot::kube {

class ListWatcher {
 public:
  virtual ~ListWatcher() = default;

  // One page. `target` is path and query: "/api/v1/pods?limit=500".
  virtual Result<std::string> List(const std::string& target, const std::stop_token& stop) = 0;

  // Calls `on_line` for every complete line until the server ends the stream
  // (ok), `on_line` answers false (ok), or the connection fails. An incomplete
  // last line is dropped. `longest`: when to give the connection up as dead.
  // Errors: as Api; kUnavailable for a stream that broke.
  virtual Result<void> Watch(const std::string& target, Duration longest,
                             const std::function<bool(std::string_view line)>& on_line,
                             const std::stop_token& stop) = 0;
};

}  // namespace aliquot::kube
