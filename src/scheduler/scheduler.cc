#include "aliquot/scheduler/scheduler.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "aliquot/base/log.h"
#include "aliquot/codec/node_lock.h"
#include "scheduler/hami_metrics.h"
#include "scheduler/keys.h"

namespace aliquot::scheduler {
namespace {

constexpr auto kBeat = std::chrono::seconds(1);
constexpr auto kStuck = std::chrono::seconds(60);

constexpr std::string_view kShadowRefusal =
    "this process runs with --shadow: it looks on, places no pods and admits none";

using Type = MetricsText::Type;

std::vector<ledger::Ledger::Held> AllPods(const ledger::Ledger& ledger) {
  std::vector<ledger::Ledger::Held> all;
  ledger.ForEachPod([&](const ledger::Ledger::Held& pod) {
    all.push_back(pod);
    return true;
  });
  return all;
}

}  // namespace

Scheduler::Scheduler(kube::Api& api, const core::Registry& registry, Options options,
                     const Clock& clock, RecordEvent record,
                     std::function<void(bool)> on_lock_waiting)
    : options_(std::move(options)),
      clock_(clock),
      registry_(registry),
      metrics_(clock),
      leader_(options_.election, clock, options_.shadow),
      ledger_(registry, clock),
      locks_(api, pods_, nodes_, options_, clock, std::move(on_lock_waiting)),
      registrar_(api, registry, ledger_, leader_, options_, clock, record),
      role_label_(api, pods_, leader_, options_.own_pod),
      filter_(api, pods_, sync_, leader_, registry, ledger_, in_flight_, options_, clock, record,
              metrics_),
      bind_(api, pods_, nodes_, sync_, leader_, registry, ledger_, locks_, in_flight_, options_,
            clock, record, metrics_),
      admission_(registry, ledger_, options_),
      pod_events_(registry, pods_, ledger_, filter_, locks_, sync_, record),
      node_events_(registrar_, locks_, sync_),
      quota_events_(ledger_, sync_),
      auditor_(registry, ledger_, registrar_, pods_, nodes_, sync_, clock),
      last_beat_(clock.Steady().time_since_epoch().count()) {
  if (options_.shadow)
    shadow_.emplace(pod_events_, registry, ledger_, sync_, options_.policy, clock);
}

void Scheduler::Start() {
  registrar_.Start();
  auditor_.Start();
  if (!shadow_) role_label_.Start();
  housekeeping_ = std::thread([this] {
    for (;;) {
      DoWhatIsDue();
      MutexLock lock(mutex_);
      if (!stopping_) stop_.WaitUntil(mutex_, std::chrono::steady_clock::now() + kBeat);
      if (stopping_) return;
    }
  });
}

FilterAnswer Scheduler::RefuseFilter() {
  FilterAnswer answer;
  answer.error = kShadowRefusal;
  return answer;
}

BindAnswer Scheduler::RefuseBind() { return {std::string(kShadowRefusal), BindOutcome::kRetry}; }

AdmissionAnswer Scheduler::RefuseReview() {
  return {.allowed = false, .code = 503, .message = std::string(kShadowRefusal)};
}

void Scheduler::Drain() {
  sync_.Stop();
  leader_.Stop();
  locks_.Stop();
}

void Scheduler::Stop() {
  Drain();
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    stop_.NotifyAll();
  }
  registrar_.Stop();
  auditor_.Stop();
  role_label_.Stop();
  if (housekeeping_.joinable()) housekeeping_.join();
}

void Scheduler::DoWhatIsDue() {
  TellOfLeadership();
  registrar_.ExpireDue();
  for (const ledger::Ledger::Held& expired :
       ledger_.ExpireReservations(options_.reservation_timeout)) {
    log::Warn("Dropped the reservation of a pod that was never bound",
              {{"pod", Display(expired.pod)}, {"node", expired.node}});
    metrics_.expired_reservations.Add();
  }
  last_beat_ = clock_.Steady().time_since_epoch().count();
}

void Scheduler::TellOfLeadership() {
  if (!options_.election) return;
  const std::optional<std::string> obstacle = leader_.Obstacle();
  if (led_ == !obstacle) return;
  led_ = !obstacle;
  if (led_)
    log::Info("This replica leads from now on", {{"host", options_.election->host}});
  else
    log::Info("This replica no longer leads", {{"reason", *obstacle}});
}

void Scheduler::WriteMetrics(MetricsText& text) const {
  const std::vector<ledger::Ledger::Held> pods = AllPods(ledger_);
  WriteHamiMetrics(ledger_, pods, pods_, registry_, options_.legacy_metrics, text);
  metrics_.Write(text);
  text.Begin("aliquot_leader", Type::kGauge, "1 while this replica leads, else 0.");
  text.Sample({}, leader_.Leads() ? 1 : 0);
  WriteLedger(pods, text);
  auditor_.WriteMetrics(text);
  if (shadow_) shadow_->WriteMetrics(text);
  WriteNodeLocks(text);
}

void Scheduler::WriteLedger(std::span<const ledger::Ledger::Held> pods, MetricsText& text) const {
  constexpr std::pair<Duration, std::string_view> kAges[] = {{std::chrono::minutes(1), "under_1m"},
                                                             {std::chrono::minutes(5), "1m_to_5m"},
                                                             {Duration::max(), "over_5m"}};
  size_t bound = 0;
  std::map<std::string_view, size_t> reservations;
  for (const ledger::Ledger::Held& pod : pods) {
    const Duration age = clock_.Steady() - pod.since;
    if (pod.bound)
      ++bound;
    else
      ++reservations[std::ranges::find_if(kAges, [&](const auto& a) {
                       return age < a.first;
                     })->second];
  }
  text.Begin("aliquot_ledger_nodes", Type::kGauge, "Nodes with cards that we know.");
  text.Sample({}, static_cast<double>(ledger_.Count().nodes));
  text.Begin("aliquot_ledger_bound_pods", Type::kGauge, "Bound pods that hold devices.");
  text.Sample({}, static_cast<double>(bound));
  text.Begin("aliquot_ledger_hash", Type::kGauge,
             "A number that replicas share which know of the same bound pods.");
  text.Sample({}, ledger_.HoldingsHash());
  text.Begin("aliquot_ledger_reservations", Type::kGauge,
             "Pods that were promised devices and are not bound yet, by how long ago.");
  for (const auto& [limit, age] : kAges)
    text.Sample({Label("age", age)}, static_cast<double>(reservations[age]));
  text.Begin("aliquot_ledger_closed_nodes", Type::kGauge,
             "Nodes that take no further pods of the vendor: a pod's allocation cannot be read.");
  const std::vector<size_t> closed = ledger_.ClosedNodes();
  for (const core::Vendor& vendor : registry_.vendors())
    if (closed[vendor.id()] > 0)
      text.Sample({Label("vendor", vendor.key())}, static_cast<double>(closed[vendor.id()]));
}

// As the caches show them; those of Cambricon's plugin name no time that we set.
void Scheduler::WriteNodeLocks(MetricsText& text) const {
  using Age = std::chrono::duration<double>;  // anybody may have written the time
  size_t held = 0;
  std::vector<std::pair<std::string, Age>> ages;  // by node
  for (const std::shared_ptr<const kube::Node>& node : nodes_.List()) {
    const std::string* lock = Find(node->meta.annotations, kNodeLockKey);
    if (lock == nullptr) continue;
    ++held;
    if (const Result<codec::NodeLock> read = codec::ParseNodeLock(*lock))
      ages.emplace_back(node->meta.name,
                        Age(clock_.Now().time_since_epoch()) - Age(read->time.time_since_epoch()));
  }
  Age oldest{0};
  for (const auto& [node, age] : ages) oldest = std::max(oldest, age);
  text.Begin("aliquot_node_locks", Type::kGauge, "Nodes whose lock is held.");
  text.Sample({}, static_cast<double>(held));
  text.Begin("aliquot_node_lock_age_seconds", Type::kGauge,
             "How long the node's lock has been held.");
  for (const auto& [node, age] : ages) text.Sample({Label("node", node)}, age.count());
  text.Begin("aliquot_node_lock_oldest_age_seconds", Type::kGauge,
             "How long the oldest of these locks has been held.");
  text.Sample({}, oldest.count());
  text.Begin("aliquot_waiting_binds", Type::kGauge, "Binds that wait for a node lock.");
  text.Sample({}, static_cast<double>(locks_.waiting()));
}

std::optional<std::string> Scheduler::Live() const {
  const SteadyTime beat{SteadyTime::duration(last_beat_.load())};
  if (clock_.Steady() - beat < kStuck) return std::nullopt;
  return "background work has been stuck for more than a minute";
}

}  // namespace aliquot::scheduler
