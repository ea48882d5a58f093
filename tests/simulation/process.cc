#include "simulation/process.h"

#include "aliquot/base/strings.h"
#include "aliquot/kube/http.h"

namespace aliquot::simulation {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// What is found out or given back past a deadline: BindService's second of grace, and the
// locks that are released then.
constexpr Duration kGrace = milliseconds(1100);
constexpr Duration kHousekeeping = seconds(2);

kube::ReflectorOptions CacheOptions(World& world, bool poll, const std::string& selectors = "") {
  kube::ReflectorOptions options;
  options.selectors = selectors;
  options.poll = poll;
  options.seed = static_cast<uint64_t>(world.random.Between(0, INT64_MAX));
  return options;
}

// As the daemon follows them.
std::string UnfinishedPods() {
  return "fieldSelector=" + kube::UrlEscape("status.phase!=Succeeded,status.phase!=Failed");
}

}  // namespace

Process::Process(World& world, int id, const scheduler::Options& options, bool poll)
    : world_(world),
      id_(id),
      options_(options),
      link_(
          world, *this, [this] { Kill(); }, [this](const std::string& uid) { OnWrite(uid); }),
      scheduler_(link_, world.registry, options, SystemClock(),
                 [](const ObjectRef&, bool, std::string_view, const std::string&) {}, {}),
      nodes_(link_, scheduler_.nodes(), scheduler_.node_events(), CacheOptions(world, poll)),
      quotas_(link_, scheduler_.quotas(), scheduler_.quota_events(), CacheOptions(world, poll)),
      pods_(link_, scheduler_.pods(), scheduler_.pod_events(),
            CacheOptions(world, poll, UnfinishedPods())) {
  world.journal.Say("process " + std::to_string(id) + " starts");
  scheduler_.Start();
  nodes_.Start();
  quotas_.Start();
  pods_.Start();
}

Process::~Process() {
  Kill();
  scheduler_.Stop();
  pods_.Stop();
  quotas_.Stop();
  nodes_.Stop();
}

void Process::Kill() {
  if (!alive()) return;
  world_.journal.Say("process " + std::to_string(id_) + " ends");
  link_.Cut();
  scheduler_.Drain();
}

uint64_t Process::NodeVersion(const std::string& name) const {
  const auto node = scheduler_.nodes().Get("", name);
  return node == nullptr ? 0 : static_cast<uint64_t>(*ParseInt64(node->meta.resource_version));
}

std::optional<scheduler::FilterAnswer> Process::Filter(const scheduler::FilterRequest& request) {
  const SteadyTime begin = SystemClock().Steady();
  scheduler::FilterAnswer answer = scheduler_.Filter(request, {begin, nullptr});
  if (!alive()) return std::nullopt;
  const Duration took = SystemClock().Steady() - begin;
  const std::string& uid = request.pod.meta.uid;
  if (took > options_.filter_deadline + kGrace)
    world_.journal.Violation("L2", "the filter of pod " + uid + " took " +
                                       std::to_string(took / milliseconds(1)) + " ms");
  if (answer.outcome == scheduler::FilterOutcome::kAssigned &&
      options_.assignment_write == scheduler::AssignmentWrite::kBind)
    CheckPromise(uid);
  return answer;
}

std::optional<scheduler::BindAnswer> Process::Bind(const kube::Pod& pod, const std::string& node) {
  const SteadyTime begin = SystemClock().Steady();
  node_versions_.try_emplace(pod.meta.uid, NodeVersion(node));  // of the earliest of several
  scheduler::BindAnswer answer =
      scheduler_.Bind({pod.meta.name, pod.meta.ns, pod.meta.uid, node}, {begin, nullptr});
  node_versions_.erase(pod.meta.uid);
  if (!alive()) return std::nullopt;
  const Duration took = SystemClock().Steady() - begin;
  if (took > options_.bind_deadline + kGrace)
    world_.journal.Violation("L2", "the bind of pod " + pod.meta.uid + " took " +
                                       std::to_string(took / milliseconds(1)) + " ms");
  return answer;
}

void Process::OnWrite(const std::string& uid) {
  std::set<std::string>& bound = saw_bound_[uid];
  bound.clear();
  for (const auto& pod : scheduler_.pods().List())
    if (!pod->node_name.empty()) bound.insert(pod->meta.uid);
  CheckPromise(uid);
}

// S1, in the very moment of the promise: nothing has come between since the decision.
void Process::CheckPromise(const std::string& uid) {
  if (const auto held = ledger().Find(uid); held && !held->bound)
    world_.model.CheckPromise(*this, uid, held->node, NodeVersion(held->node));
}

bool Process::SawBound(const std::string& uid, const std::string& other) const {
  return saw_bound_.at(uid).contains(other);
}

uint64_t Process::NodeVersionAtBind(const std::string& uid) const {
  const auto at = node_versions_.find(uid);
  return at == node_versions_.end() ? 0 : at->second;
}

void Process::Audit() {
  if (!alive() || !synced()) return;
  world_.model.Audit(*this, link_.pods_seen(), scheduler_.pods().List(),
                     options_.reservation_timeout + kHousekeeping);
}

}  // namespace aliquot::simulation
