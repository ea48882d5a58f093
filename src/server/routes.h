// The routes of one listener: which handler answers a method and a path, on
// whose threads, and how long its body may be.
#pragma once

#include <httplib.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "aliquot/base/clock.h"
#include "server/head.h"
#include "server/worker_pool.h"

namespace aliquot::server {

// One complete request on its way to its handler.
struct Call {
  const httplib::Request& http;       // method, path and query; no header fields, no body
  std::string body;                   // the handler may take it
  SteadyTime received;                // when its last byte was here
  std::function<bool()> caller_gone;  // only while the handler runs
  std::string_view content_type;      // as it was sent; empty: not given
  bool accepts_gzip = false;          // of the answer
};

// What is answered instead of a rejection. `beginning`: what is here of the body.
using Refuser = std::function<Rejection(const Rejection& rejection, std::string_view beginning)>;

// Fills status (200 if it does not), body and Content-Type.
using Handler = std::function<void(Call&, httplib::Response&)>;

struct Route {
  std::string method;
  std::string path;
  WorkerPool* pool;
  size_t body_cap;  // bytes
  Handler handler;
  Refuser refuse = nullptr;  // null: rejections are answered as they are
};

// What became of a method and a path. A route, or the answer without one.
struct Match {
  const Route* route = nullptr;
  int status = 404;
  std::string allow;     // 405: the methods that the path has
  std::string location;  // 301, 307: the canonical target
};

// Unchanging once a listener serves it; then usable from any thread.
class RouteTable {
 public:
  // `fallback`: who answers where no route matches.
  RouteTable(std::vector<Route> routes, WorkerPool& fallback)
      : routes_(std::move(routes)), fallback_(fallback) {}

  // `target` as it was sent, with its query. A path that is known but for a
  // slash at its end or for upper and lower case is redirected.
  Match Find(std::string_view method, std::string_view target) const;

  WorkerPool& fallback() const { return fallback_; }

 private:
  std::vector<Route> routes_;
  WorkerPool& fallback_;
};

}  // namespace aliquot::server
