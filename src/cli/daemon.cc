#include "cli/daemon.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "aliquot/base/log.h"
#include "aliquot/kube/http.h"
#include "cli/build_info.h"

namespace aliquot::cli {
namespace {

using Type = MetricsText::Type;

// Nodes are listed this often while binds wait for a node lock.
constexpr auto kLockPollInterval = std::chrono::seconds(1);
// As often as kube-scheduler renews its lease.
constexpr auto kLeasePollInterval = std::chrono::seconds(2);

kube::ReflectorOptions CacheOptions(const config::ServeFlags& flags) {
  kube::ReflectorOptions options;
  options.poll = flags.cache_mode == config::CacheMode::kPoll;
  options.poll_interval = flags.poll_interval;
  return options;
}

// A finished pod leaves the selection, which is told as its deletion.
kube::ReflectorOptions UnfinishedOnly(kube::ReflectorOptions options) {
  options.selectors =
      "fieldSelector=" + kube::UrlEscape("status.phase!=Succeeded,status.phase!=Failed");
  return options;
}

kube::ReflectorOptions OnlyLease(const config::ServeFlags& flags) {
  kube::ReflectorOptions options = CacheOptions(flags);
  options.ns = flags.leader_elect_resource_namespace;
  options.selectors =
      "fieldSelector=" + kube::UrlEscape("metadata.name=" + flags.leader_elect_resource_name);
  options.poll_interval = std::min<Duration>(kLeasePollInterval, flags.poll_interval);
  return options;
}

// Under HAMi's name and labels; the language is not Go.
void WriteBuildInfo(MetricsText& text) {
  const BuildInfo build = GetBuildInfo();
  text.Begin("hami_build_info", Type::kGauge, "1; which build this is.");
  text.Sample({Label("build_date", build.build_date), Label("compiler", build.compiler),
               Label("go_version", ""), Label("platform", build.platform),
               Label("revision", build.revision), Label("version", build.version)},
              1);
}

}  // namespace

Daemon::Daemon(ApiServer server, const core::Registry& registry, const config::ServeFlags& flags,
               const char* lock_expiry, const Clock& clock, const Identity& self)
    : poll_(flags.cache_mode == config::CacheMode::kPoll),
      poll_interval_(flags.poll_interval),
      clock_(clock),
      read_only_(server.api),
      client_(flags.shadow ? static_cast<kube::Api&>(read_only_) : server.api, server.lists, clock),
      events_(client_, flags.scheduler_name.empty() ? "hami-scheduler" : flags.scheduler_name,
              clock),
      scheduler_(
          client_, registry, SchedulerOptions(flags, lock_expiry, self), clock,
          [this, shadow = flags.shadow](const ObjectRef& pod, bool warning, std::string_view reason,
                                        std::string message) {
            if (shadow) return;
            events_.Record(pod, warning ? kube::EventType::kWarning : kube::EventType::kNormal,
                           std::string(reason), std::move(message));
          },
          [this](bool waiting) { SetPollInterval(waiting); }),
      nodes_(client_, scheduler_.nodes(), scheduler_.node_events(), CacheOptions(flags), clock),
      quotas_(client_, scheduler_.quotas(), scheduler_.quota_events(), CacheOptions(flags), clock),
      pods_(client_, scheduler_.pods(), scheduler_.pod_events(),
            UnfinishedOnly(CacheOptions(flags)), clock) {
  if (flags.leader_elect && !flags.shadow && !flags.leader_elect_resource_namespace.empty() &&
      !flags.leader_elect_resource_name.empty())
    lease_.emplace(client_, scheduler_.leases(), scheduler_.lease_events(), OnlyLease(flags),
                   clock);
}

void Daemon::Start() {
  scheduler_.Start();
  if (lease_) lease_->Start();
  nodes_.Start();
  quotas_.Start();
  pods_.Start();
}

void Daemon::Stop() {
  scheduler_.Stop();
  pods_.Stop();
  quotas_.Stop();
  nodes_.Stop();
  if (lease_) lease_->Stop();
}

void Daemon::WriteMetrics(MetricsText& text) const {
  WriteBuildInfo(text);
  scheduler_.WriteMetrics(text);
  text.Begin("aliquot_ready", Type::kGauge, "1 once the caches are complete, else 0.");
  text.Sample({}, scheduler_.sync().synced() ? 1 : 0);
  text.Begin("aliquot_dropped_log_lines_total", Type::kCounter,
             "Log lines that the reader of the log was too slow for.");
  text.Sample({}, static_cast<double>(log::DroppedLines()));
  WriteCaches(text);
  client_.WriteMetrics(text);
  WriteEvents(text);
}

void Daemon::WriteCaches(MetricsText& text) const {
  struct Cache {
    std::string resource;  // its label
    SteadyTime last_progress;
    uint64_t failures;
    size_t objects;
  };
  const auto cache = [](std::string_view resource, const auto& reflector, const auto& store) {
    const auto health = reflector.health();
    return Cache{Label("resource", resource), health.last_progress, health.failures, store.size()};
  };
  std::vector<Cache> caches = {cache("nodes", nodes_, scheduler_.nodes()),
                               cache("pods", pods_, scheduler_.pods()),
                               cache("resourcequotas", quotas_, scheduler_.quotas())};
  if (lease_) caches.insert(caches.begin(), cache("leases", *lease_, scheduler_.leases()));
  text.Begin("aliquot_cache_objects", Type::kGauge, "Objects in the cache.");
  for (const Cache& one : caches) text.Sample({one.resource}, static_cast<double>(one.objects));
  text.Begin("aliquot_cache_age_seconds", Type::kGauge,
             "Since the API server last told the cache something.");
  for (const Cache& one : caches)
    if (one.last_progress != SteadyTime())
      text.Sample({one.resource},
                  std::chrono::duration<double>(clock_.Steady() - one.last_progress).count());
  text.Begin("aliquot_cache_failures_total", Type::kCounter,
             "Lists and watches of the cache that failed.");
  for (const Cache& one : caches) text.Sample({one.resource}, static_cast<double>(one.failures));
}

void Daemon::WriteEvents(MetricsText& text) const {
  const kube::EventRecorder::Counts counts = events_.counts();
  text.Begin("aliquot_events_total", Type::kCounter, "Events on pods by what became of them.");
  text.Sample({Label("outcome", "sent")}, static_cast<double>(counts.sent));
  text.Sample({Label("outcome", "dropped")}, static_cast<double>(counts.dropped));
  text.Sample({Label("outcome", "failed")}, static_cast<double>(counts.failed));
  text.Begin("aliquot_queued_events", Type::kGauge, "Events that wait to be sent.");
  text.Sample({}, static_cast<double>(counts.queued));
}

void Daemon::SetPollInterval(bool waiting) {
  if (!poll_) return;
  nodes_.SetPollInterval(waiting ? std::min<Duration>(kLockPollInterval, poll_interval_)
                                 : poll_interval_);
}

}  // namespace aliquot::cli
