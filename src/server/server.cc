#include "aliquot/server/server.h"

#include <exception>
#include <utility>

#include "aliquot/base/log.h"
#include "server/certificate_watcher.h"
#include "server/gatekeeper.h"
#include "server/routes.h"
#include "server/wire.h"
#include "server/worker_pool.h"

namespace aliquot::server {
namespace {

using scheduler::BindAnswer;
using scheduler::BindRequest;
using scheduler::Extender;
using scheduler::FilterAnswer;
using scheduler::FilterRequest;
using scheduler::RequestContext;

void SetJson(httplib::Response& response, std::string json) {
  response.body = std::move(json);
  response.set_header("Content-Type", "application/json");
}

// What the extender's contract rules out must still reach a human.
template <typename Answer, typename Run>
Answer Guarded(Run run) {
  Answer answer;
  try {
    return run();
  } catch (const std::exception& failure) {
    log::Error("Extender threw", {{"error", failure.what()}});
    answer.error = std::string("internal error: ") + failure.what();
  }
  return answer;
}

void Filter(Extender& extender, Call& call, httplib::Response& response) {
  Result<FilterRequest> request = ParseFilterRequest(std::move(call.body));
  if (!request) {
    FilterAnswer refused;
    refused.error = request.error().message;
    return SetJson(response, ToJson(refused, {}));
  }
  const auto answer = Guarded<FilterAnswer>([&] {
    return extender.Filter(*request, RequestContext{call.received, std::move(call.caller_gone)});
  });
  SetJson(response, ToJson(answer, *request));
}

void Bind(Extender& extender, Call& call, httplib::Response& response) {
  Result<BindRequest> request = ParseBindRequest(std::move(call.body));
  if (!request) return SetJson(response, ToJson(BindAnswer{request.error().message}));
  SetJson(response, ToJson(Guarded<BindAnswer>([&] {
            return extender.Bind(*request, {call.received, std::move(call.caller_gone)});
          })));
}

Handler Probe(const HealthCheck& check) {
  return [&check](Call&, httplib::Response& response) {
    const std::optional<std::string> reason = check ? check() : std::nullopt;
    if (!reason) return;
    response.status = 503;
    response.set_content(*reason, "text/plain; charset=utf-8");
  };
}

}  // namespace

struct Server::Impl {
  Impl(Extender& the_extender, Options given)
      : extender(the_extender),
        options(std::move(given)),
        gatekeeper({.limits = {.unrouted_body_bytes = options.body_bytes,
                               .head_timeout = options.head_timeout,
                               .request_timeout = options.request_timeout,
                               .idle_timeout = options.idle_timeout,
                               .write_timeout = options.write_timeout},
                    .max_connections = options.max_connections,
                    .max_buffered_bytes = options.max_buffered_bytes}),
        filters({.name = "filter", .max_threads = options.filter_threads}),
        binds({.name = "bind", .max_threads = options.bind_threads}),
        probes({.name = "probe", .max_threads = options.probe_threads}) {}

  ~Impl() {
    gatekeeper.Stop(Duration::zero());
    filters.Stop();
    binds.Stop();
    probes.Stop();
  }

  std::vector<Route> Routes() {
    const auto filter = [this](Call& call, auto& response) { Filter(extender, call, response); };
    const auto bind = [this](Call& call, auto& response) { Bind(extender, call, response); };
    const auto version = [this](Call&, auto& response) { SetJson(response, options.version_json); };
    return {
        {"POST", "/filter", &filters, options.filter_body_bytes, filter},
        {"POST", "/bind", &binds, options.body_bytes, bind},
        {"GET", "/healthz", &probes, options.body_bytes, Probe(options.live)},
        {"GET", "/livez", &probes, options.body_bytes, Probe(options.live)},
        {"GET", "/readyz", &probes, options.body_bytes, Probe(options.ready)},
        {"GET", "/version", &probes, options.body_bytes, version},
    };
  }

  Extender& extender;
  const Options options;
  std::unique_ptr<CertificateWatcher> certificate;  // null: plain HTTP
  Gatekeeper gatekeeper;
  WorkerPool filters;
  WorkerPool binds;
  WorkerPool probes;
  const RouteTable routes{Routes(), probes};
  int port = 0;
};

Server::Server(Extender& extender, Options options)
    : impl_(std::make_unique<Impl>(extender, std::move(options))) {}

Server::~Server() = default;

Result<void> Server::Start() {
  if (impl_->options.tls) {
    Result<std::unique_ptr<CertificateWatcher>> loaded =
        CertificateWatcher::Load(*impl_->options.tls);
    if (!loaded) return loaded.error();
    impl_->certificate = *std::move(loaded);
    impl_->certificate->Watch(impl_->options.tls_reload_interval);
  }
  const Result<int> port = impl_->gatekeeper.Listen(impl_->options.bind, impl_->routes,
                                                    impl_->certificate.get());
  if (!port) return port.error();
  impl_->port = *port;
  impl_->gatekeeper.Start();
  return {};
}

int Server::port() const { return impl_->port; }

bool Server::Stop(Duration grace) {
  const bool finished = impl_->gatekeeper.Stop(grace);
  if (!finished) log::Warn("Stopped before all requests were answered");
  return finished;
}

}  // namespace aliquot::server
