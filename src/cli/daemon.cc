#include "cli/daemon.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "aliquot/kube/client.h"
#include "cli/scheduler_options.h"

namespace aliquot::cli {
namespace {

// Nodes are listed this often while binds wait for a node lock.
constexpr auto kLockPollInterval = std::chrono::seconds(1);

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

}  // namespace

Daemon::Daemon(ApiServer server, const core::Registry& registry, const config::ServeFlags& flags,
               const char* lock_expiry, const Clock& clock)
    : poll_(flags.cache_mode == config::CacheMode::kPoll),
      poll_interval_(flags.poll_interval),
      events_(server.api, flags.scheduler_name.empty() ? "hami-scheduler" : flags.scheduler_name,
              clock),
      scheduler_(
          server.api, registry, SchedulerOptions(flags, lock_expiry), clock,
          [this](const ObjectRef& pod, bool warning, std::string_view reason, std::string message) {
            events_.Record(pod, warning ? kube::EventType::kWarning : kube::EventType::kNormal,
                           std::string(reason), std::move(message));
          },
          [this](bool waiting) { SetPollInterval(waiting); }),
      nodes_(server.lists, scheduler_.nodes(), scheduler_.node_events(), CacheOptions(flags),
             clock),
      quotas_(server.lists, scheduler_.quotas(), scheduler_.quota_events(), CacheOptions(flags),
              clock),
      pods_(server.lists, scheduler_.pods(), scheduler_.pod_events(),
            UnfinishedOnly(CacheOptions(flags)), clock) {}

void Daemon::Start() {
  scheduler_.Start();
  nodes_.Start();
  quotas_.Start();
  pods_.Start();
}

void Daemon::Stop() {
  scheduler_.Stop();
  pods_.Stop();
  quotas_.Stop();
  nodes_.Stop();
}

void Daemon::SetPollInterval(bool waiting) {
  if (!poll_) return;
  nodes_.SetPollInterval(waiting ? std::min<Duration>(kLockPollInterval, poll_interval_)
                                 : poll_interval_);
}

}  // namespace aliquot::cli
