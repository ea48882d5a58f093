#include "aliquot/scheduler/audit.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "aliquot/base/log.h"
#include "aliquot/core/request.h"
#include "scheduler/describe.h"

namespace aliquot::scheduler {
namespace {

constexpr auto kPeriod = std::chrono::minutes(1);
// The caches must have heard something so long after a difference was seen first.
constexpr auto kSettle = std::chrono::seconds(30);
// A bind knows of its success before the cache does.
constexpr auto kGrace = 2 * kPeriod;
// A pass takes its time, so that nobody waits for it.
constexpr size_t kAtOnce = 64;
constexpr auto kPause = std::chrono::milliseconds(2);
constexpr size_t kMostLines = 20;  // in the log, of one pass

using Type = MetricsText::Type;

bool IsRunning(const kube::Pod& pod) { return !pod.node_name.empty() && !pod.terminal(); }

// Tells `follow` what the store has (null: nothing), until that is still so afterwards: the
// reflector may have brought something newer to others meanwhile.
template <typename T, typename Follow>
void FollowStore(const kube::Store<T>& store, std::string_view ns, std::string_view name,
                 Follow follow) {
  std::shared_ptr<const T> told;
  do {
    told = store.Get(ns, name);
    follow(told.get());
  } while (store.Get(ns, name) != told);
}

void Tell(const Difference& difference) {
  const std::string_view kind = Word(difference.kind);
  switch (difference.kind) {
    case Drift::kMissing:
    case Drift::kUnknown:
      log::Warn("Corrected what a pod holds by what the API server says",
                {{"kind", kind}, {"pod", Display(difference.pod)}, {"node", difference.node}});
      break;
    case Drift::kShares:
      log::Warn("A running pod's allocation was edited; what it was given still counts",
                {{"kind", kind},
                 {"pod", Display(difference.pod)},
                 {"node", difference.node},
                 {"detail", difference.detail}});
      break;
    case Drift::kRegistration:
      log::Warn("Registered a node anew by what the API server says",
                {{"kind", kind}, {"node", difference.node}});
      break;
    default:
      log::Error("Computed a node's usage anew, it was not what its pods hold: a bug",
                 {{"kind", kind}, {"node", difference.node}});
  }
}

}  // namespace

std::vector<core::VendorId> AskedOf(std::span<const core::Device> cards, const kube::Pod& pod,
                                    const core::Registry& registry) {
  const ObjectRef ref = pod.meta.Ref();
  const auto parsed = core::ParseRequests(SpecOf(pod, ref), registry);
  const auto* request = std::get_if<core::PodRequest>(&parsed);
  std::vector<core::VendorId> vendors;
  if (request == nullptr) return vendors;
  for (const core::Vendor& vendor : registry.vendors())
    if (request->Asks(vendor.id()) &&
        std::ranges::count(cards, vendor.id(), &core::Device::vendor) > 0)
      vendors.push_back(vendor.id());
  return vendors;
}

std::string_view Word(Drift kind) {
  constexpr std::string_view kWords[] = {"missing", "unknown", "shares", "registration", "usage"};
  return kWords[static_cast<size_t>(kind)];
}

void Auditor::Start() {
  thread_ = std::thread([this] {
    if (!sync_.Wait(SteadyTime::max(), [this] { return !WaitFor(Duration::zero()); })) return;
    size_t looked_at = 0;
    bool going = true;
    const auto go_on = [&] {
      if (++looked_at % kAtOnce == 0) going = WaitFor(kPause);
      return going;
    };
    do Pass(go_on);
    while (WaitFor(kPeriod));
  });
}

void Auditor::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    stop_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

// False: it is time to stop.
bool Auditor::WaitFor(Duration time) {
  const SteadyTime until = std::chrono::steady_clock::now() + time;
  MutexLock lock(mutex_);
  while (!stopping_ && stop_.WaitUntil(mutex_, until)) {
  }
  return !stopping_;
}

// ---- looking

Findings Auditor::Look(std::string_view node) const {
  return Look(node, [] { return true; });
}

Findings Auditor::Look(std::string_view node, const GoOn& go_on) const {
  Findings findings;
  const auto concerns = [&](std::string_view name) { return node.empty() || name == node; };
  const std::vector<std::string> registered = ledger_.NodeNames();
  pods_.ForEach([&](const std::shared_ptr<const kube::Pod>& pod) {
    if (IsRunning(*pod) && concerns(pod->node_name)) LookAtPod(*pod, registered, findings);
    return go_on();
  });
  ledger_.ForEachPod([&](const ledger::Ledger::Held& held) {
    if (concerns(held.node)) LookAtHeld(held, findings);
    return go_on();
  });
  nodes_.ForEach([&](const std::shared_ptr<const kube::Node>& known) {
    const std::string& name = known->meta.name;
    if (concerns(name) && !registrar_.Agrees(*known))
      findings.differences.push_back({Drift::kRegistration, {}, name, {}});
    return go_on();
  });
  for (const std::string& name : registered) {
    if (concerns(name)) LookAtRegistered(name, findings);
    if (!go_on()) break;
  }
  return findings;
}

void Auditor::LookAtPod(const kube::Pod& pod, const std::vector<std::string>& registered,
                        Findings& findings) const {
  const ledger::Holding written = HoldingOf(pod, pod.node_name, registry_).holding;
  const std::optional<ledger::Ledger::Held> held = ledger_.Find(pod.meta.uid);
  if (!held || !held->bound || held->node != pod.node_name) {
    if (!written.empty()) {
      findings.differences.push_back({Drift::kMissing, pod.meta.Ref(), pod.node_name, {}});
    } else if (std::ranges::binary_search(registered, pod.node_name)) {
      const std::optional<core::NodeUsage> node = ledger_.Node(pod.node_name);
      if (!node) return;  // unregistered meanwhile
      std::vector<core::VendorId> vendors = AskedOf(node->devices(), pod, registry_);
      if (!vendors.empty())
        findings.foreign.push_back({pod.meta.Ref(), pod.node_name, std::move(vendors)});
    }
    return;
  }
  const std::string holds = Describe(held->allocation, registry_, written.unreadable);
  const std::string says = Describe(written.allocation, registry_, written.unreadable);
  if (holds != says)
    findings.differences.push_back({Drift::kShares, pod.meta.Ref(), pod.node_name,
                                    "it holds " + holds + ", its annotations say " + says});
}

void Auditor::LookAtHeld(const ledger::Ledger::Held& held, Findings& findings) const {
  if (!held.bound || clock_.Steady() - held.since < kGrace) return;
  const auto pod = pods_.Get(held.pod.ns, held.pod.name);
  if (pod == nullptr || pod->meta.uid != held.pod.uid || !IsRunning(*pod))
    findings.differences.push_back({Drift::kUnknown, held.pod, held.node, {}});
}

void Auditor::LookAtRegistered(const std::string& node, Findings& findings) const {
  if (nodes_.Get("", node) == nullptr)
    findings.differences.push_back({Drift::kRegistration, {}, node, {}});
  if (!ledger_.Agrees(node)) findings.differences.push_back({Drift::kUsage, {}, node, {}});
}

// ---- judging

void Auditor::Pass() {
  Pass([] { return true; });
}

void Auditor::Pass(const GoOn& go_on) {
  if (!sync_.synced()) return;
  Findings findings = Look({}, go_on);
  if (!go_on()) return;  // there may be more
  Judge(findings.differences);
  TellForeign(std::move(findings.foreign));
}

void Auditor::Judge(const std::vector<Difference>& differences) {
  std::map<Key, Seen> seen;
  std::array<size_t, kKinds> drift{};
  size_t lines = 0;
  for (const Difference& difference : differences) {
    Key key(difference.kind, difference.pod.uid, difference.node);
    const auto before = seen_.find(key);
    Seen now = before == seen_.end() ? Seen{clock_.Steady()} : before->second;
    if (difference.kind == Drift::kUsage || Settled(now.since)) {
      ++drift[static_cast<size_t>(difference.kind)];
      if (!std::exchange(now.told, true) && ++lines <= kMostLines) Tell(difference);
      Repair(difference);
    }
    seen.emplace(std::move(key), now);
  }
  if (lines > kMostLines)
    log::Warn("Found more differences between the ledger and the API server than are told here",
              {{"more", lines - kMostLines}});
  seen_ = std::move(seen);
  MutexLock lock(mutex_);
  drift_ = drift;
}

bool Auditor::Settled(SteadyTime since) const {
  return std::min(pods_.told(), nodes_.told()) >= since + kSettle;
}

void Auditor::Repair(const Difference& difference) {
  const ObjectRef& ref = difference.pod;
  switch (difference.kind) {
    case Drift::kMissing:
    case Drift::kUnknown:
      FollowStore(pods_, ref.ns, ref.name, [&](const kube::Pod* pod) {
        if (pod != nullptr && pod->meta.uid == ref.uid && IsRunning(*pod))
          ledger_.Observe(HoldingOf(*pod, pod->node_name, registry_).holding);
        else
          ledger_.Remove(ref.uid);
      });
      break;
    case Drift::kRegistration:
      FollowStore(nodes_, "", difference.node, [&](const kube::Node* node) {
        if (node != nullptr)
          registrar_.OnNode(nullptr, *node);
        else
          registrar_.OnNodeGone(difference.node);
      });
      break;
    case Drift::kUsage:
      ledger_.Rebuild(difference.node);
      break;
    default:
      return;  // what a pod was given when it was bound counts
  }
  repairs_[static_cast<size_t>(difference.kind)].Add();
}

void Auditor::TellForeign(std::vector<ForeignPod> foreign) {
  std::set<std::string> told;
  size_t lines = 0;
  for (const ForeignPod& pod : foreign) {
    told.insert(pod.pod.uid);
    if (!told_foreign_.contains(pod.pod.uid) && ++lines <= kMostLines)
      log::Warn("Found a pod on our cards that was not given devices by us",
                {{"pod", Display(pod.pod)},
                 {"node", pod.node},
                 {"vendor", registry_[pod.vendors.front()].key()}});
  }
  if (lines > kMostLines)
    log::Warn("Found more such pods than are told here", {{"more", lines - kMostLines}});
  told_foreign_ = std::move(told);
  MutexLock lock(mutex_);
  foreign_ = std::move(foreign);
}

// ---- telling

std::vector<ForeignPod> Auditor::foreign() const {
  MutexLock lock(mutex_);
  return foreign_;
}

void Auditor::WriteMetrics(MetricsText& text) const {
  std::array<size_t, kKinds> drift{};
  std::map<std::string_view, size_t> foreign;  // by vendor
  {
    MutexLock lock(mutex_);
    drift = drift_;
    for (const ForeignPod& pod : foreign_)
      for (const core::VendorId vendor : pod.vendors) ++foreign[registry_[vendor].key()];
  }
  const auto label = [](size_t kind) { return Label("kind", Word(static_cast<Drift>(kind))); };
  text.Begin("aliquot_ledger_drift", Type::kGauge,
             "Differences between the ledger and the API objects at the last audit.");
  for (size_t kind = 0; kind < kKinds; ++kind)
    text.Sample({label(kind)}, static_cast<double>(drift[kind]));
  text.Begin("aliquot_ledger_repairs_total", Type::kCounter,
             "Differences that the audit has put right.");
  for (size_t kind = 0; kind < kKinds; ++kind)
    if (static_cast<Drift>(kind) != Drift::kShares)
      text.Sample({label(kind)}, static_cast<double>(repairs_[kind].value()));
  text.Begin("aliquot_foreign_pods", Type::kGauge,
             "Pods that run on our cards and were not given devices by us.");
  for (const auto& [vendor, pods] : foreign)
    text.Sample({Label("vendor", vendor)}, static_cast<double>(pods));
}

}  // namespace aliquot::scheduler
