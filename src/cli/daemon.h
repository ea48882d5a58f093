// Daemon: the scheduler with its caches and its events, as `aliquot serve` has it. What
// is left to the caller: a client of the API server, and listeners.
//
// Thread safety: by the owner; scheduler() as it says.
#pragma once

#include <optional>
#include <string>

#include "aliquot/base/clock.h"
#include "aliquot/base/metrics_text.h"
#include "aliquot/config/flags.h"
#include "aliquot/core/vendor.h"
#include "aliquot/kube/api.h"
#include "aliquot/kube/events.h"
#include "aliquot/kube/list_watcher.h"
#include "aliquot/kube/metered_client.h"
#include "aliquot/kube/read_only.h"
#include "aliquot/kube/reflector.h"
#include "aliquot/kube/types.h"
#include "aliquot/scheduler/scheduler.h"
#include "cli/scheduler_options.h"

namespace aliquot::cli {

// A client is both. They outlive the daemon.
struct ApiServer {
  kube::Api& api;
  kube::ListWatcher& lists;
};

class Daemon {
 public:
  // `lock_expiry`: HAMI_NODELOCK_EXPIRE of the environment, or null. `registry` and
  // `clock` outlive the daemon.
  Daemon(ApiServer server, const core::Registry& registry, const config::ServeFlags& flags,
         const char* lock_expiry, const Clock& clock, const Identity& self = {});

  scheduler::Scheduler& scheduler() { return scheduler_; }

  // Begins to follow the API server.
  void Start();

  // Everything but what the listeners know of themselves. From any thread.
  void WriteMetrics(MetricsText& text) const;

  // Nobody waits for anything from here on.
  void Drain() { scheduler_.Drain(); }
  // Sends the events that are still queued.
  void FlushEvents(SteadyTime deadline) { events_.Flush(deadline); }
  // REQUIRES: calls of the client end by themselves, or it was shut down.
  void Stop();

 private:
  void SetPollInterval(bool waiting);
  void WriteCaches(MetricsText& text) const;
  void WriteEvents(MetricsText& text) const;

  const bool poll_;
  const Duration poll_interval_;
  const Clock& clock_;
  kube::ReadOnlyApi read_only_;
  kube::MeteredClient client_;  // of a shadow on top of read_only_
  kube::EventRecorder events_;
  scheduler::Scheduler scheduler_;
  kube::Reflector<kube::Node> nodes_;
  kube::Reflector<kube::ResourceQuota> quotas_;
  kube::Reflector<kube::Pod> pods_;
  std::optional<kube::Reflector<kube::Lease>> lease_;  // with an election
};

}  // namespace aliquot::cli
