// MetricsServer: GET /metrics over plain HTTP, for Prometheus, gzip if asked for. It
// has its own sockets, threads and limits: whoever reaches this port takes nothing
// from the scheduler's.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "aliquot/base/metrics_text.h"
#include "aliquot/base/result.h"

namespace aliquot::server {

// Thread safety: one thread at a time.
class MetricsServer {
 public:
  struct Options {
    std::string bind = ":9395";  // as Server::Options::bind
    // Fills a page; called on the server's own thread, one call at a time.
    std::function<void(MetricsText&)> write;
    size_t max_connections = 64;
  };

  explicit MetricsServer(Options options);

  // Waits for the scrape that is under way.
  ~MetricsServer();

  // Listening when it returns. Errors name the address. Only once.
  Result<void> Start();

  // As bound. REQUIRES: Start succeeded.
  int port() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace aliquot::server
