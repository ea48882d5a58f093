// The daemon: a client of the API server, reflectors that feed the scheduler,
// and the listener that kube-scheduler calls.
#include "cli/serve.h"

#include <malloc.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "aliquot/base/log.h"
#include "aliquot/kube/client.h"
#include "aliquot/kube/events.h"
#include "aliquot/kube/reflector.h"
#include "aliquot/scheduler/scheduler.h"
#include "aliquot/server/server.h"
#include "aliquot/vendors/registry.h"
#include "cli/build_info.h"
#include "cli/scheduler_options.h"
#include "cli/vendor_configs.h"

namespace aliquot::cli {
namespace {

constexpr auto kStopGrace = std::chrono::seconds(30);
constexpr auto kEventGrace = std::chrono::seconds(2);
// Nodes are listed this often while binds wait for a node lock.
constexpr auto kLockPollInterval = std::chrono::seconds(1);

std::string VersionJson(const BuildInfo& build) {
  return nlohmann::json{{"version", build.version},
                        {"revision", build.revision},
                        {"buildDate", build.build_date},
                        {"compiler", build.compiler},
                        {"platform", build.platform}}
      .dump();
}

// Flags that are accepted, so that existing command lines start, but whose part
// of the program is not there.
void WarnOfFlagsWithoutEffect(const config::ServeFlags& flags) {
  const auto warn = [](bool given, std::string_view flag) {
    if (given) log::Warn("This flag has no effect in this version", {{"flag", flag}});
  };
  warn(!flags.webhook_bind.empty(), "--webhook-bind");
  warn(flags.leader_elect, "--leader-elect");
  warn(flags.legacy_metrics, "--legacy-metrics");
  warn(flags.profiling, "--profiling");
  warn(flags.shadow, "--shadow");
}

// The certificate is the webhook's: --http_bind shows it as long as it serves
// the webhook as well.
std::optional<server::TlsFiles> TlsOfHttpBind(const config::ServeFlags& flags) {
  const bool given = !flags.cert_file.empty() && !flags.key_file.empty();
  if (!given || !flags.webhook_bind.empty()) return std::nullopt;
  return server::TlsFiles{flags.cert_file, flags.key_file};
}

// Blocked in every thread that is started from here on, so that sigwait gets it.
sigset_t BlockStopSignals() {
  sigset_t stop_signals;
  sigemptyset(&stop_signals);
  sigaddset(&stop_signals, SIGTERM);
  sigaddset(&stop_signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop_signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return stop_signals;
}

}  // namespace

int Serve(const config::ServeFlags& flags, const config::DeviceConfig& devices) {
  const sigset_t stop_signals = BlockStopSignals();
  // Many short-lived threads would otherwise keep an arena each.
  mallopt(M_ARENA_MAX, 4);
  WarnOfFlagsWithoutEffect(flags);

  Result<kube::ClientConfig> cluster = kube::LoadClientConfig(kube::ProcessEnvironment());
  if (!cluster) {
    log::Error("Found no usable Kubernetes client configuration",
               {{"error", cluster.error().message}});
    return kExitFailure;
  }
  const BuildInfo build = GetBuildInfo();
  log::Info("Starting",
            {{"version", build.version}, {"server", cluster->server}, {"source", cluster->source}});

  const std::string name =
      flags.scheduler_name.empty() ? std::string("hami-scheduler") : flags.scheduler_name;
  kube::Client client(*std::move(cluster), {.user_agent = "aliquot/" + std::string(build.version),
                                            .qps = flags.kube_qps,
                                            .burst = flags.kube_burst.value_or(0),
                                            .timeout = flags.kube_timeout});
  kube::EventRecorder events(client, name);
  const core::Registry registry = vendors::MakeRegistry(VendorConfigs(flags, devices));

  kube::Reflector<kube::Node>* node_reflector = nullptr;
  const bool poll = flags.cache_mode == config::CacheMode::kPoll;
  scheduler::Scheduler scheduler(
      client, registry, SchedulerOptions(flags, std::getenv("HAMI_NODELOCK_EXPIRE")), SystemClock(),
      [&events](const ObjectRef& pod, bool warning, std::string_view reason, std::string message) {
        events.Record(pod, warning ? kube::EventType::kWarning : kube::EventType::kNormal,
                      std::string(reason), std::move(message));
      },
      [&](bool waiting) {
        if (poll)
          node_reflector->SetPollInterval(
              waiting ? std::min<Duration>(kLockPollInterval, flags.poll_interval)
                      : flags.poll_interval);
      });

  kube::ReflectorOptions options;
  options.poll = poll;
  options.poll_interval = flags.poll_interval;
  kube::Reflector<kube::Node> nodes(client, scheduler.nodes(), scheduler.node_events(), options);
  kube::Reflector<kube::ResourceQuota> quotas(client, scheduler.quotas(), scheduler.quota_events(),
                                              options);
  // A finished pod leaves the selection, which is told as its deletion.
  options.selectors =
      "fieldSelector=" + kube::UrlEscape("status.phase!=Succeeded,status.phase!=Failed");
  kube::Reflector<kube::Pod> pods(client, scheduler.pods(), scheduler.pod_events(), options);
  node_reflector = &nodes;

  server::Server server(scheduler, {.bind = flags.http_bind,
                                    .tls = TlsOfHttpBind(flags),
                                    .live = [&scheduler] { return scheduler.Live(); },
                                    .ready = [&scheduler]() -> std::optional<std::string> {
                                      std::string missing = scheduler.sync().Missing();
                                      if (missing.empty()) return std::nullopt;
                                      return missing;
                                    },
                                    .version_json = VersionJson(build)});
  if (const Result<void> started = server.Start(); !started) {
    log::Error("Could not serve", {{"error", started.error().message}});
    return kExitFailure;
  }
  scheduler.Start();
  nodes.Start();
  quotas.Start();
  pods.Start();
  log::Info("Listening", {{"address", flags.http_bind}, {"port", server.port()}});

  int signal_number = 0;
  sigwait(&stop_signals, &signal_number);
  log::Info("Stopping", {{"signal", signal_number}});
  scheduler.Drain();
  const bool finished = server.Stop(kStopGrace);
  events.Flush(std::chrono::steady_clock::now() + kEventGrace);
  client.Shutdown();
  scheduler.Stop();
  pods.Stop();
  quotas.Stop();
  nodes.Stop();
  log::Info("Stopped", {{"finished", finished}});
  return kExitOk;
}

}  // namespace aliquot::cli
