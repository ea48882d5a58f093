#include "aliquot/server/server.h"

#include <exception>
#include <utility>

#include "aliquot/base/log.h"
#include "server/certificate_watcher.h"
#include "server/gatekeeper.h"
#include "server/review.h"
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

void Webhook(Extender& extender, Call& call, httplib::Response& response) {
  SetJson(response, AnswerReview(extender, call.content_type, call.body));
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
        webhooks({.name = "webhook", .max_threads = options.webhook_threads}),
        probes({.name = "probe", .max_threads = options.probe_threads}) {}

  ~Impl() {
    gatekeeper.Stop(Duration::zero());
    filters.Stop();
    binds.Stop();
    webhooks.Stop();
    probes.Stop();
  }

  std::vector<Route> ProbeRoutes() {
    const auto version = [this](Call&, auto& response) { SetJson(response, options.version_json); };
    return {
        {"GET", "/healthz", &probes, options.body_bytes, Probe(options.live)},
        {"GET", "/livez", &probes, options.body_bytes, Probe(options.live)},
        {"GET", "/readyz", &probes, options.body_bytes, Probe(options.ready)},
        {"GET", "/version", &probes, options.body_bytes, version},
    };
  }

  // The API server takes anything but a 200 for a webhook that is out of order, and may
  // let the pod through.
  Route WebhookRoute() {
    const size_t cap = options.webhook_body_bytes;
    return {
        "POST",
        "/webhook",
        &webhooks,
        cap,
        [this](Call& call, auto& response) { Webhook(extender, call, response); },
        [cap](const Rejection& rejection, std::string_view beginning) {
          return Rejection{"200 OK", RefuseReview(beginning, rejection, cap), "application/json"};
        }};
  }

  // Of `bind`.
  std::vector<Route> MainRoutes() {
    const auto filter = [this](Call& call, auto& response) { Filter(extender, call, response); };
    const auto bind = [this](Call& call, auto& response) { Bind(extender, call, response); };
    std::vector<Route> routes = ProbeRoutes();
    routes.push_back({"POST", "/filter", &filters, options.filter_body_bytes, filter});
    routes.push_back({"POST", "/bind", &binds, options.body_bytes, bind});
    if (options.webhook_bind.empty()) routes.push_back(WebhookRoute());
    return routes;
  }

  // Of `webhook_bind`.
  std::vector<Route> WebhookRoutes() {
    std::vector<Route> routes = ProbeRoutes();
    routes.push_back(WebhookRoute());
    return routes;
  }

  Extender& extender;
  const Options options;
  std::unique_ptr<CertificateWatcher> certificate;  // null: plain HTTP
  Gatekeeper gatekeeper;
  WorkerPool filters;
  WorkerPool binds;
  WorkerPool webhooks;
  WorkerPool probes;
  const RouteTable main_routes{MainRoutes(), probes};
  const RouteTable webhook_routes{WebhookRoutes(), probes};
  int port = 0;
  int webhook_port = 0;
};

Server::Server(Extender& extender, Options options)
    : impl_(std::make_unique<Impl>(extender, std::move(options))) {}

Server::~Server() = default;

Result<void> Server::Start() {
  Impl& server = *impl_;
  const Options& options = server.options;
  if (options.tls) {
    Result<std::unique_ptr<CertificateWatcher>> loaded = CertificateWatcher::Load(options.tls);
    if (!loaded) return loaded.error();
    server.certificate = *std::move(loaded);
    server.certificate->Watch(options.tls_reload_interval);
  }
  const bool two_listeners = !options.webhook_bind.empty();
  CertificateWatcher* certificate = server.certificate.get();
  const Result<int> port = server.gatekeeper.Listen(options.bind, server.main_routes,
                                                    two_listeners ? nullptr : certificate);
  if (!port) return port.error();
  server.port = server.webhook_port = *port;
  if (two_listeners) {
    const Result<int> own =
        server.gatekeeper.Listen(options.webhook_bind, server.webhook_routes, certificate);
    if (!own) return own.error();
    server.webhook_port = *own;
  }
  server.gatekeeper.Start();
  return {};
}

int Server::port() const { return impl_->port; }
int Server::webhook_port() const { return impl_->webhook_port; }

void Server::WriteMetrics(MetricsText& text) const {
  using Type = MetricsText::Type;
  const std::pair<std::string_view, const WorkerPool*> pools[] = {
      {"filter", &impl_->filters},
      {"bind", &impl_->binds},
      {"webhook", &impl_->webhooks},
      {"probe", &impl_->probes},
  };
  text.Begin("aliquot_queued_requests", Type::kGauge, "Requests that wait for a thread.");
  for (const auto& [name, pool] : pools)
    text.Sample({Label("pool", name)}, static_cast<double>(pool->queued()));
  text.Begin("aliquot_worker_threads", Type::kGauge, "Threads that answer requests.");
  for (const auto& [name, pool] : pools)
    text.Sample({Label("pool", name)}, static_cast<double>(pool->threads()));
  text.Begin("aliquot_certificate_expiry_timestamp_seconds", Type::kGauge,
             "When the certificate in use ends.");
  if (impl_->certificate) {
    const WallTime expiry = ExpiryOf(*impl_->certificate->context());
    text.Sample({}, std::chrono::duration<double>(expiry.time_since_epoch()).count());
  }
}

bool Server::Stop(Duration grace) {
  const bool finished = impl_->gatekeeper.Stop(grace);
  if (!finished) log::Warn("Stopped before all requests were answered");
  return finished;
}

}  // namespace aliquot::server
