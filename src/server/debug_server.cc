#include "aliquot/server/debug_server.h"

#include <limits>
#include <optional>
#include <utility>

#include "aliquot/base/log.h"
#include "aliquot/base/strings.h"
#include "server/gatekeeper.h"
#include "server/ledger_json.h"
#include "server/routes.h"
#include "server/shadow_json.h"
#include "server/worker_pool.h"

namespace aliquot::server {
namespace {

constexpr size_t kBodyBytes = 1 << 10;

void SetText(httplib::Response& response, int status, const std::string& text) {
  response.status = status;
  response.set_content(text, "text/plain; charset=utf-8");
}

// With klog's texts.
void SetVerbosity(Call& call, httplib::Response& response) {
  const std::optional<int64_t> verbosity = ParseInt64(Trim(call.body));
  if (!verbosity || *verbosity < 0 || *verbosity > std::numeric_limits<int>::max())
    return SetText(response, 400,
                   "failed set klog.logging.verbosity " + call.body +
                       ": the body is not a whole number from 0 on");
  log::SetVerbosity(static_cast<int>(*verbosity));
  log::Info("Changed the verbosity of the log", {{"v", *verbosity}});
  SetText(response, 200,
          "successfully set klog.logging.verbosity to " + std::to_string(*verbosity));
}

void TellVerbosity(Call&, httplib::Response& response) {
  SetText(response, 200, std::to_string(log::Verbosity()));
}

}  // namespace

struct DebugServer::Impl {
  Impl(const scheduler::Scheduler& the_scheduler, Options given)
      : scheduler(the_scheduler),
        options(std::move(given)),
        gatekeeper({.limits = {.unrouted_body_bytes = kBodyBytes},
                    .max_connections = options.max_connections,
                    .max_buffered_bytes = 1 << 20}) {}

  ~Impl() {
    gatekeeper.Stop(Duration::zero());
    answers.Stop();
  }

  // Of all nodes, or of the one that is asked for.
  Handler Json(std::string (*write)(const scheduler::Scheduler&, std::string_view node)) {
    return [this, write](Call& call, httplib::Response& response) {
      const std::string node = call.http.get_param_value("node");
      if (std::string missing = scheduler.sync().Missing(); !missing.empty())
        return SetText(response, 503, missing);
      if (!node.empty() && scheduler.nodes().Get("", node) == nullptr &&
          !scheduler.ledger().Node(node))
        return SetText(response, 404, "no such node");
      response.set_content(write(scheduler, node), "application/json");
    };
  }

  Handler Shadow() {
    return [this](Call&, httplib::Response& response) {
      if (scheduler.shadow() == nullptr)
        return SetText(response, 404, "this process runs without --shadow");
      response.set_content(ShadowJson(*scheduler.shadow()), "application/json");
    };
  }

  const scheduler::Scheduler& scheduler;
  const Options options;
  Gatekeeper gatekeeper;
  WorkerPool answers{{.name = "debug", .max_threads = 1}};
  const RouteTable routes{
      {{"GET", "/debug/ledger", &answers, kBodyBytes, Json(LedgerJson)},
       {"GET", "/debug/ledger/diff", &answers, kBodyBytes, Json(DifferencesJson)},
       {"GET", "/debug/flags/v", &answers, kBodyBytes, TellVerbosity},
       {"PUT", "/debug/flags/v", &answers, kBodyBytes, SetVerbosity},
       {"GET", "/v1/shadow", &answers, kBodyBytes, Shadow()}},
      answers};
  int port = 0;
};

DebugServer::DebugServer(const scheduler::Scheduler& scheduler, Options options)
    : impl_(std::make_unique<Impl>(scheduler, std::move(options))) {}

DebugServer::~DebugServer() = default;

Result<void> DebugServer::Start() {
  const Result<int> port = impl_->gatekeeper.Listen(impl_->options.bind, impl_->routes);
  if (!port) return port.error();
  impl_->port = *port;
  impl_->gatekeeper.Start();
  return {};
}

int DebugServer::port() const { return impl_->port; }

}  // namespace aliquot::server
