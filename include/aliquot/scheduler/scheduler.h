// Scheduler: the services and their shared state, put together. What is left to
// the caller: a client, reflectors that feed the stores, and listeners.
//
// Thread safety: Filter, Bind, Admit, Live and WriteMetrics from any thread; the rest
// by the owner.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "aliquot/base/metrics_text.h"
#include "aliquot/core/vendor.h"
#include "aliquot/kube/api.h"
#include "aliquot/kube/store.h"
#include "aliquot/ledger/ledger.h"
#include "aliquot/scheduler/admission.h"
#include "aliquot/scheduler/audit.h"
#include "aliquot/scheduler/bind.h"
#include "aliquot/scheduler/event_handlers.h"
#include "aliquot/scheduler/extender.h"
#include "aliquot/scheduler/filter.h"
#include "aliquot/scheduler/in_flight.h"
#include "aliquot/scheduler/leader.h"
#include "aliquot/scheduler/metrics.h"
#include "aliquot/scheduler/node_lock.h"
#include "aliquot/scheduler/options.h"
#include "aliquot/scheduler/registrar.h"
#include "aliquot/scheduler/role_label.h"
#include "aliquot/scheduler/shadow.h"
#include "aliquot/scheduler/sync.h"

namespace aliquot::scheduler {

class Scheduler : public Extender {
 public:
  // Everything given outlives it. `on_lock_waiting`: see NodeLocks.
  Scheduler(kube::Api& api, const core::Registry& registry, Options options, const Clock& clock,
            RecordEvent record, std::function<void(bool)> on_lock_waiting);
  ~Scheduler() override { Stop(); }

  FilterAnswer Filter(const FilterRequest& request, const RequestContext& context) override {
    FilterAnswer answer = shadow_ ? RefuseFilter() : filter_.Filter(request, context);
    metrics_.Observe(answer.outcome, clock_.Steady() - context.received);
    return answer;
  }
  BindAnswer Bind(const BindRequest& request, const RequestContext& context) override {
    BindAnswer answer = shadow_ ? RefuseBind() : bind_.Bind(request, context);
    metrics_.Observe(answer.outcome, clock_.Steady() - context.received);
    return answer;
  }
  AdmissionAnswer Admit(const AdmissionRequest& request) override {
    const SteadyTime began = clock_.Steady();
    AdmissionAnswer answer = shadow_ ? RefuseReview() : admission_.Admit(request);
    metrics_.Observe(answer.outcome(), clock_.Steady() - began);
    return answer;
  }

  // Fed by the reflectors, whose observers the events are.
  kube::Store<kube::Pod>& pods() { return pods_; }
  kube::Store<kube::Node>& nodes() { return nodes_; }
  kube::Store<kube::ResourceQuota>& quotas() { return quotas_; }
  kube::Store<kube::Lease>& leases() { return leases_; }
  const kube::Store<kube::Pod>& pods() const { return pods_; }
  const kube::Store<kube::Node>& nodes() const { return nodes_; }
  const kube::Store<kube::ResourceQuota>& quotas() const { return quotas_; }
  const kube::Store<kube::Lease>& leases() const { return leases_; }
  kube::Observer<kube::Pod>& pod_events() {
    if (shadow_) return *shadow_;
    return pod_events_;
  }
  NodeEvents& node_events() { return node_events_; }
  QuotaEvents& quota_events() { return quota_events_; }
  Leader& lease_events() { return leader_; }

  const SyncState& sync() const { return sync_; }
  const Leader& leader() const { return leader_; }
  const ledger::Ledger& ledger() const { return ledger_; }
  // Null unless Options::shadow: then every call of the extender is refused.
  const Shadow* shadow() const { return shadow_ ? &*shadow_ : nullptr; }
  Auditor& auditor() { return auditor_; }
  const Auditor& auditor() const { return auditor_; }
  const core::Registry& registry() const { return registry_; }
  const Clock& clock() const { return clock_; }

  // Handshakes, the audit, the role label, and what is done at its time: expiry of
  // reservations and of unanswered handshakes.
  void Start();
  // Wakes everybody who waits for caches, for leadership or for a node lock, with an
  // error; from here on nobody waits.
  void Drain();
  // Drains, and ends the background work. A call to the API server that is under
  // way there is waited for: shut the client down first.
  void Stop();

  // Why the process cannot go on by itself: only a deadlock of our own counts.
  std::optional<std::string> Live() const;

  // HAMi's metrics, and those of our requests, reservations and node locks. Nobody
  // waits for it for longer than a piece of the ledger takes to copy.
  void WriteMetrics(MetricsText& text) const;

 private:
  static FilterAnswer RefuseFilter();
  static BindAnswer RefuseBind();
  static AdmissionAnswer RefuseReview();
  void DoWhatIsDue();
  void TellOfLeadership();
  void WriteLedger(std::span<const ledger::Ledger::Held> pods, MetricsText& text) const;
  void WriteNodeLocks(MetricsText& text) const;

  const Options options_;
  const Clock& clock_;
  const core::Registry& registry_;
  Metrics metrics_;
  SyncState sync_;
  Leader leader_;
  InFlight in_flight_;
  kube::Store<kube::Pod> pods_;
  kube::Store<kube::Node> nodes_;
  kube::Store<kube::ResourceQuota> quotas_;
  kube::Store<kube::Lease> leases_;
  ledger::Ledger ledger_;
  NodeLocks locks_;
  Registrar registrar_;
  RoleLabel role_label_;
  FilterService filter_;
  BindService bind_;
  AdmissionService admission_;
  PodEvents pod_events_;
  std::optional<Shadow> shadow_;
  NodeEvents node_events_;
  QuotaEvents quota_events_;
  Auditor auditor_;

  Mutex mutex_;
  CondVar stop_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::atomic<SteadyTime::rep> last_beat_;
  bool led_ = false;  // the housekeeping's own: when it last looked
  std::thread housekeeping_;
};

}  // namespace aliquot::scheduler
