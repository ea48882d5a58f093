#include "simulation/kube_scheduler.h"

#include <algorithm>

#include "simulation/machine.h"

namespace aliquot::simulation {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kFirstPause = seconds(1), kLongestPause = seconds(10);

}  // namespace

void KubeScheduler::Add(const std::shared_ptr<const kube::Pod>& pod) {
  Waiting waiting;
  waiting.pod = pod;
  waiting.due = SystemClock().Steady() + milliseconds(world_.random.Between(1, 500));
  waiting.pause = kFirstPause;
  queue_.emplace(pod->meta.uid, std::move(waiting));
}

size_t KubeScheduler::pending() const {
  return static_cast<size_t>(std::ranges::count_if(
      queue_, [&](const auto& waiting) { return Unbound(waiting.first) != nullptr; }));
}

// Null: there is nothing to be done for it any more.
std::shared_ptr<const kube::Pod> KubeScheduler::Unbound(const std::string& uid) const {
  const auto pod = world_.model.Find(uid);
  return pod == nullptr || !pod->node_name.empty() || pod->meta.terminating || pod->terminal()
             ? nullptr
             : pod;
}

std::shared_ptr<Process> KubeScheduler::Any() {
  std::vector<std::shared_ptr<Process>> alive;
  for (const auto& process : processes)
    if (process->alive()) alive.push_back(process);
  return alive.empty() ? nullptr : world_.random.Any(alive);
}

KubeScheduler::Waiting* KubeScheduler::NextDue() {
  Waiting* next = nullptr;
  for (auto& [uid, waiting] : queue_)
    if (!waiting.busy && waiting.due <= SystemClock().Steady() &&
        (next == nullptr || waiting.due < next->due))
      next = &waiting;
  return next;
}

void KubeScheduler::Work() {
  while (!world_.over) {
    Waiting* waiting = NextDue();
    if (waiting == nullptr) {
      Sleep(milliseconds(world_.random.Between(5, 50)));
      continue;
    }
    waiting->busy = true;
    const std::string uid = waiting->pod->meta.uid;
    const bool placed = Place(uid, *waiting);
    Waiting& again = queue_.at(uid);
    again.busy = false;
    // It learns late what has become of the pod otherwise.
    const bool stale = world_.faults.has(Fault::kStalePod) && world_.random.Chance(50);
    if (placed || (Unbound(uid) == nullptr && !stale)) {
      queue_.erase(uid);
      continue;
    }
    again.due = SystemClock().Steady() + again.pause;
    again.pause = std::min(2 * again.pause, kLongestPause);
  }
}

bool KubeScheduler::Place(const std::string& uid, const Waiting& waiting) {
  const bool stale = world_.faults.Happens(Fault::kStalePod);
  const auto now = world_.model.Find(uid);
  const std::shared_ptr<const kube::Pod> pod = stale || now == nullptr ? waiting.pod : now;
  if (!waiting.last_node.empty() && world_.faults.Happens(Fault::kBlindBind))
    return Bind(*pod, waiting.last_node);
  if (world_.faults.Happens(Fault::kDoubleCall)) world_.Spawn([this, pod] { (void)Filter(*pod); });
  const std::optional<std::string> node = Filter(*pod);
  if (!node) return false;
  queue_.at(uid).last_node = *node;
  if (world_.faults.Happens(Fault::kNoBind)) return false;
  if (world_.faults.Happens(Fault::kReplacedPod)) ReplacePod(world_, *pod);
  Sleep(milliseconds(world_.random.Between(0, 20)));
  if (world_.faults.Happens(Fault::kDoubleCall))
    world_.Spawn([this, pod, node = *node] { (void)Bind(*pod, node); });
  return Bind(*pod, *node);
}

std::optional<std::string> KubeScheduler::Filter(const kube::Pod& pod) {
  const std::shared_ptr<Process> process = Any();
  if (process == nullptr) return std::nullopt;
  const std::vector<std::string> names = world_.model.NodeNames();
  scheduler::FilterRequest request;
  request.pod = pod;
  request.node_names.assign(names.begin(), names.end());
  const std::optional<scheduler::FilterAnswer> answer = process->Filter(request);
  if (!answer) return std::nullopt;
  using Outcome = scheduler::FilterOutcome;
  decisions += answer->outcome == Outcome::kAssigned || answer->outcome == Outcome::kRefused;
  const std::string what = "filter of pod " + pod.meta.name + " " + pod.meta.uid + " at " +
                           std::to_string(process->id()) + ": ";
  if (answer->outcome != Outcome::kAssigned) {
    world_.journal.Say(what + (answer->error.empty() ? "no node" : answer->error));
    return std::nullopt;
  }
  world_.journal.Say(what + std::string(answer->node_names->front()));
  return std::string(answer->node_names->front());
}

bool KubeScheduler::Bind(const kube::Pod& pod, const std::string& node) {
  const std::shared_ptr<Process> process = Any();
  if (process == nullptr) return false;
  const std::optional<scheduler::BindAnswer> answer = process->Bind(pod, node);
  if (!answer) return false;
  binds += answer->outcome == scheduler::BindOutcome::kBound;
  world_.journal.Say("bind of pod " + pod.meta.name + " " + pod.meta.uid + " to " + node + " at " +
                     std::to_string(process->id()) + ": " +
                     (answer->error.empty() ? "bound" : answer->error));
  return answer->error.empty();
}

}  // namespace aliquot::simulation
