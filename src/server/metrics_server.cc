#include "aliquot/server/metrics_server.h"

#include <utility>

#include "server/gatekeeper.h"
#include "server/gzip.h"
#include "server/routes.h"
#include "server/worker_pool.h"

namespace aliquot::server {
namespace {

constexpr size_t kBodyBytes = 1 << 10;  // nobody sends one
constexpr size_t kRoomToGrow = 64 << 10;

}  // namespace

struct MetricsServer::Impl {
  explicit Impl(Options given)
      : options(std::move(given)),
        gatekeeper({.limits = {.unrouted_body_bytes = kBodyBytes},
                    .max_connections = options.max_connections,
                    .max_buffered_bytes = 1 << 20}) {}

  ~Impl() {
    gatekeeper.Stop(Duration::zero());
    scrapes.Stop();
  }

  void Scrape(const Call& call, httplib::Response& response) {
    MetricsText text;
    text.Reserve(last_bytes + kRoomToGrow);
    options.write(text);
    response.body = text.Take();
    last_bytes = response.body.size();
    if (call.accepts_gzip) {
      response.body = Gzip(response.body);
      response.set_header("Content-Encoding", "gzip");
    }
    response.set_header("Vary", "Accept-Encoding");
    response.set_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  }

  const Options options;
  Gatekeeper gatekeeper;
  WorkerPool scrapes{{.name = "metrics", .max_threads = 1}};
  size_t last_bytes = 0;  // the one thread's own
  const RouteTable routes{
      {{"GET", "/metrics", &scrapes, kBodyBytes,
        [this](Call& call, httplib::Response& response) { Scrape(call, response); }}},
      scrapes};
  int port = 0;
};

MetricsServer::MetricsServer(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}

MetricsServer::~MetricsServer() = default;

Result<void> MetricsServer::Start() {
  const Result<int> port = impl_->gatekeeper.Listen(impl_->options.bind, impl_->routes);
  if (!port) return port.error();
  impl_->port = *port;
  impl_->gatekeeper.Start();
  return {};
}

int MetricsServer::port() const { return impl_->port; }

}  // namespace aliquot::server
