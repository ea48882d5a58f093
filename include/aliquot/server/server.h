// Server: the scheduler extender and the admission webhook over HTTP/1.1, plain or over
// TLS. Routes:
//   POST /filter, POST /bind     kube-scheduler's calls; always 200 once a
//                                request is complete, failures are in "Error"
//   POST /webhook                the API server's; always 200 with a review
//   GET /healthz, GET /livez     200, or 503 with the reason
//   GET /readyz                  the same, of readiness
//   GET /version                 Options::version_json
// One listener serves them all, unless /webhook has one of its own; the GET routes
// are on every listener. Waiting binds never delay anything else, and neither do
// connections that are idle or slow. Bodies over their limit get a 413 which names
// it, or on /webhook a review which does.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "aliquot/base/clock.h"
#include "aliquot/base/metrics_text.h"
#include "aliquot/base/result.h"
#include "aliquot/scheduler/extender.h"

namespace aliquot::server {

// None: all is well. Otherwise why not, for a human.
using HealthCheck = std::function<std::optional<std::string>()>;

// What a file holds, and its path or another name of the place, for messages.
struct PemFile {
  std::string path;
  std::string text;

  bool operator==(const PemFile&) const = default;
};

// The certificate may go on with its chain; the key has no pass phrase.
struct TlsPair {
  PemFile certificate;
  PemFile key;

  bool operator==(const TlsPair&) const = default;
};

// Where a certificate comes from: asked for the pair of now, on one thread at a time.
using TlsSource = std::function<Result<TlsPair>()>;

struct TlsFiles {
  std::string certificate;
  std::string key;
};
// Reads the files. The errors name them.
TlsSource FromFiles(TlsFiles files);

// Thread safety: one thread at a time. The extender and the checks are called
// from the server's own threads.
class Server {
 public:
  struct Options {
    // "127.0.0.1:8080", "[::1]:0", "localhost:80"; without a host, e.g. ":8080",
    // every address of the machine. Port 0: one that is free.
    std::string bind = "127.0.0.1:8080";
    std::string webhook_bind = {};  // the same, of /webhook; empty: it is served on `bind`
    // Of the listener that serves /webhook; empty: plain HTTP. A pair that changes is
    // taken up, for new connections; what cannot be used is warned of, and the old pair
    // stays.
    TlsSource tls = {};
    Duration tls_reload_interval = std::chrono::seconds(1);
    HealthCheck live;   // empty: always well
    HealthCheck ready;  // empty: always well
    std::string version_json = "{}";

    size_t filter_threads = 4;
    size_t bind_threads = 256;  // started as binds wait; more binds queue up
    size_t webhook_threads = 4;
    size_t probe_threads = 2;

    size_t filter_body_bytes = 64 << 20;
    size_t webhook_body_bytes = 7 << 20;
    size_t body_bytes = 1 << 20;  // of the other routes

    size_t max_connections = 4096;
    // Of all requests that arrive, wait or run; above it, long bodies get a 503.
    size_t max_buffered_bytes = 512 << 20;
    Duration head_timeout =
        std::chrono::seconds(15);  // from a request's first byte; of a handshake
    Duration request_timeout = std::chrono::seconds(60);  // from the same
    Duration idle_timeout = std::chrono::seconds(180);    // kube-scheduler gives up after 90 s
    Duration write_timeout = std::chrono::seconds(30);    // of an answer that nobody reads
  };

  // `extender` outlives the server.
  Server(scheduler::Extender& extender, Options options);

  // Stops with a grace of zero, then waits for the handlers that still run.
  ~Server();

  // Listening when it returns. Errors name the address, or the file of `tls`.
  // Only once.
  Result<void> Start();

  // As bound. REQUIRES: Start succeeded.
  int port() const;
  int webhook_port() const;  // the same if there is one listener

  // Its own: queues and threads of the routes, and when the certificate ends. From any
  // thread while the server runs.
  void WriteMetrics(MetricsText& text) const;

  // Accepts no more connections, closes the idle ones and lets the requests that
  // have begun finish, for up to `grace`; then cuts off the others, whose
  // caller_gone becomes true. False: some calls of the extender still run.
  bool Stop(Duration grace);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace aliquot::server
