// The process: a client of the API server, the daemon, and the listeners that
// kube-scheduler and the API server call.
#include "cli/serve.h"

#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "aliquot/base/log.h"
#include "aliquot/kube/client.h"
#include "aliquot/server/debug_server.h"
#include "aliquot/server/metrics_server.h"
#include "aliquot/server/server.h"
#include "aliquot/server/webhook_certificate.h"
#include "aliquot/vendors/registry.h"
#include "cli/build_info.h"
#include "cli/daemon.h"
#include "cli/ledger_log.h"
#include "cli/vendor_configs.h"

namespace aliquot::cli {
namespace {

constexpr auto kStopGrace = std::chrono::seconds(30);
constexpr auto kEventGrace = std::chrono::seconds(2);

std::string VersionJson(const BuildInfo& build) {
  return nlohmann::json{{"version", build.version},
                        {"revision", build.revision},
                        {"buildDate", build.build_date},
                        {"compiler", build.compiler},
                        {"platform", build.platform}}
      .dump();
}

void TellOfFlags(const config::ServeFlags& flags) {
  if (flags.shadow) log::Info("Looks on beside another scheduler and writes nothing (--shadow)");
  if (flags.profiling)
    log::Warn("--profiling serves no /debug/pprof: those are profiles of Go; use perf instead");
}

// Of --webhook-certs=auto, else nothing.
std::unique_ptr<server::WebhookCertificate> WebhookCertificateOf(const config::ServeFlags& flags,
                                                                 kube::RawApi& api,
                                                                 const scheduler::Leader& leader) {
  if (flags.webhook_certs != config::WebhookCerts::kAuto) return nullptr;
  return std::make_unique<server::WebhookCertificate>(
      api,
      server::WebhookCertificate::Options{.secret = flags.webhook_certs_secret,
                                          .hosts = flags.webhook_certs_hosts,
                                          .webhook_configuration = flags.webhook_configuration,
                                          .may_write = [&leader] { return leader.Leads(); }},
      SystemClock());
}

server::TlsSource TlsOf(const config::ServeFlags& flags, server::WebhookCertificate* made_here) {
  if (made_here != nullptr) return [made_here] { return made_here->Current(); };
  if (flags.cert_file.empty() || flags.key_file.empty()) return {};
  return server::FromFiles({flags.cert_file, flags.key_file});
}

// Nothing: ready.
std::optional<std::string> NotReady(scheduler::Scheduler& scheduler,
                                    const server::WebhookCertificate* made_here) {
  std::string missing = scheduler.sync().Missing();
  if (!missing.empty()) return missing;
  if (made_here != nullptr && !made_here->found())
    return "the webhook has no certificate that the API server trusts";
  return std::nullopt;
}

Result<Identity> OwnIdentity() {
  std::array<char, HOST_NAME_MAX + 1> host{};
  if (gethostname(host.data(), host.size()) != 0)
    return InvalidError(std::string("unable to get hostname: ") + std::strerror(errno));
  if (host[0] == '\0') return InvalidError("empty hostname returned");
  const auto variable = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string(text == nullptr ? "" : text);
  };
  return Identity{host.data(), {variable("POD_NAMESPACE"), variable("POD_NAME"), ""}};
}

// Blocked in every thread that is started from here on, so that sigwait gets them.
sigset_t BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGUSR2}) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return signals;
}

// People may look into the process on it; nothing depends on it.
void StartDebugServer(server::DebugServer& debug, const std::string& address) {
  if (address.empty()) return;
  if (const Result<void> started = debug.Start(); !started)
    log::Error("Could not serve /debug, went on without it", {{"error", started.error().message}});
}

}  // namespace

int Serve(const config::ServeFlags& flags, const config::DeviceConfig& devices) {
  const sigset_t signals = BlockSignals();
  // Many short-lived threads would otherwise keep an arena each.
  mallopt(M_ARENA_MAX, 4);
  TellOfFlags(flags);

  Result<kube::ClientConfig> cluster = kube::LoadClientConfig(kube::ProcessEnvironment());
  if (!cluster) {
    log::Error("Found no usable Kubernetes client configuration",
               {{"error", cluster.error().message}});
    return kExitFailure;
  }
  const Result<Identity> self = OwnIdentity();
  if (!self) {
    log::Error(self.error().message);
    return kExitFailure;
  }
  const BuildInfo build = GetBuildInfo();
  log::Info("Starting",
            {{"version", build.version}, {"server", cluster->server}, {"source", cluster->source}});

  kube::Client client(*std::move(cluster), {.user_agent = "aliquot/" + std::string(build.version),
                                            .qps = flags.kube_qps,
                                            .burst = flags.kube_burst.value_or(0),
                                            .timeout = flags.kube_timeout});
  const core::Registry registry = vendors::MakeRegistry(VendorConfigs(flags, devices));
  Daemon daemon({client, client}, registry, flags, std::getenv("HAMI_NODELOCK_EXPIRE"),
                SystemClock(), *self);
  scheduler::Scheduler& scheduler = daemon.scheduler();

  const std::unique_ptr<server::WebhookCertificate> made_here =
      WebhookCertificateOf(flags, client, scheduler.leader());

  server::Server server(scheduler, {.bind = flags.http_bind,
                                    .webhook_bind = flags.webhook_bind,
                                    .tls = TlsOf(flags, made_here.get()),
                                    .live = [&scheduler] { return scheduler.Live(); },
                                    .ready = [&] { return NotReady(scheduler, made_here.get()); },
                                    .version_json = VersionJson(build)});
  if (const Result<void> started = server.Start(); !started) {
    log::Error("Could not serve", {{"error", started.error().message}});
    return kExitFailure;
  }
  server::MetricsServer metrics(
      {.bind = flags.metrics_bind_address, .write = [&](MetricsText& text) {
         daemon.WriteMetrics(text);
         server.WriteMetrics(text);
       }});
  if (const Result<void> started = metrics.Start(); !started) {
    log::Error("Could not serve metrics", {{"error", started.error().message}});
    return kExitFailure;
  }
  server::DebugServer debug(scheduler, {.bind = flags.debug_bind});
  StartDebugServer(debug, flags.debug_bind);
  daemon.Start();
  log::Info("Listening", {{"address", flags.http_bind}, {"port", server.port()}});

  int signal_number = 0;
  while (sigwait(&signals, &signal_number) == 0 && signal_number == SIGUSR2) LogLedger(scheduler);
  log::Info("Stopping", {{"signal", signal_number}});
  daemon.Drain();
  const bool finished = server.Stop(kStopGrace);
  daemon.FlushEvents(std::chrono::steady_clock::now() + kEventGrace);
  client.Shutdown();
  daemon.Stop();
  log::Info("Stopped", {{"finished", finished}});
  return kExitOk;
}

}  // namespace aliquot::cli
