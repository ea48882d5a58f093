#include "aliquot/scheduler/filter.h"

#include <algorithm>
#include <chrono>

#include "aliquot/base/log.h"
#include "aliquot/base/strings.h"
#include "aliquot/core/diagnosis.h"
#include "aliquot/core/policy.h"
#include "aliquot/core/request.h"
#include "aliquot/scheduler/assignment.h"
#include "scheduler/keys.h"
#include "scheduler/node_reader.h"

namespace aliquot::scheduler {
namespace {

constexpr std::string_view kFailed = "FilteringFailed";
constexpr std::string_view kSucceeded = "FilteringSucceed";

int64_t ElapsedMs(const Clock& clock, const RequestContext& context) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(clock.Steady() - context.received)
      .count();
}

FilterAnswer ErrorAnswer(std::string text) {
  FilterAnswer answer;
  answer.error = std::move(text);
  return answer;
}

// A replica that does not lead counts as one whose caches are not complete.
std::string NotSynced(const std::optional<std::string>& obstacle) {
  const std::string text = "scheduler caches are not synced";
  return obstacle ? text + " (this replica does not lead: " + *obstacle + ")" : text;
}

// The names asked about, as the request's two forms give them.
std::vector<std::string_view> NamesOf(const FilterRequest& request) {
  if (!request.simulation) return request.node_names;
  std::vector<std::string_view> names;
  for (const OfferedNode& offered : request.nodes) names.push_back(offered.node.meta.name);
  return names;
}

// Every node with its reason, in the map that its words ask for. Nodes of one
// refusal share its text.
void TellRefusals(const core::Decision& decision, std::span<const std::string_view> names,
                  FilterAnswer& answer) {
  struct Told {
    std::vector<FailedNode>* nodes;
    std::string_view text;
  };
  std::vector<Told> told;
  for (const core::Refusal& refusal : decision.refusals) {
    answer.texts.push_back(refusal.ToString());
    told.push_back(
        {refusal.unresolvable() ? &answer.unresolvable : &answer.failed, answer.texts.back()});
  }
  answer.failed.reserve(decision.refused.size());
  for (const core::RefusedNode& refused : decision.refused) {
    const Told& why = told[refused.refusal];
    why.nodes->push_back({names[refused.node], why.text});
  }
}

// `; unknown hami.io/node-scheduler-policy "spreed"`, for the event.
std::string UnknownPolicies(const core::SchedulePolicy& policy) {
  std::string text;
  for (const std::string& unknown : policy.unknown) text += "; " + unknown;
  return text;
}

}  // namespace

FilterService::FilterService(kube::Api& api, const kube::Store<kube::Pod>& pods,
                             const SyncState& sync, const Leader& leader,
                             const core::Registry& registry, ledger::Ledger& ledger,
                             InFlight& in_flight, const Options& options, const Clock& clock,
                             RecordEvent record, Metrics& metrics)
    : api_(api),
      pods_(pods),
      sync_(sync),
      leader_(leader),
      registry_(registry),
      ledger_(ledger),
      in_flight_(in_flight),
      options_(options),
      clock_(clock),
      record_(std::move(record)),
      metrics_(metrics) {}

// A request either asks no device (the nodes go back as they came), or is a
// simulation (nothing is kept), or is placed.
FilterAnswer FilterService::Filter(const FilterRequest& request, const RequestContext& context) {
  const ObjectRef ref = request.pod.meta.Ref();
  auto parsed = core::ParseRequests(SpecOf(request.pod, ref), registry_);
  const auto* pod = std::get_if<core::PodRequest>(&parsed);
  if (pod != nullptr && pod->empty()) {
    FilterAnswer answer;
    answer.outcome = FilterOutcome::kPassed;
    if (request.simulation) {
      answer.nodes.emplace();
      for (size_t i = 0; i < request.nodes.size(); ++i) answer.nodes->push_back(i);
    } else {
      answer.node_names = request.node_names;
    }
    return answer;
  }
  if (request.simulation)
    return pod != nullptr
               ? Simulate(request, *pod)
               : RefuseUnreadable(request, std::get<core::InvalidRequest>(parsed).ToString());

  const SteadyTime sync_deadline =
      context.received + std::min(options_.sync_wait, options_.filter_deadline);
  const auto not_synced = [&] {
    const bool gone = context.caller_gone && context.caller_gone();
    return ErrorAnswer(gone ? "context cancelled" : NotSynced(leader_.Obstacle()));
  };
  if (!sync_.Wait(sync_deadline, context.caller_gone)) return not_synced();
  // Without a UID nothing would tell this pod from another one of its name.
  if (ref.uid.empty() && pod != nullptr)
    return ErrorAnswer("pod " + Display(ref) + " has no metadata.uid");
  const SteadyTime deadline = context.received + options_.filter_deadline;
  const InFlight::Turn turn =
      metrics_.Timed(Stage::kFilterWait, [&] { return in_flight_.Enter(ref.uid, deadline); });
  if (!turn) return ErrorAnswer("pod " + Display(ref) + " is being scheduled by another call");
  if (!leader_.Wait(sync_deadline, context.caller_gone)) return not_synced();
  if (const std::string node = BoundTo(request.pod); !node.empty())
    return ErrorAnswer("pod " + Display(ref) + " is already assigned to node " + node);
  if (pod != nullptr) return Place(request, *pod, context);

  const std::string reason = std::get<core::InvalidRequest>(parsed).ToString();
  ledger_.Forget(ref.uid);
  RemoveAssignment(request, deadline);
  record_(ref, true, kFailed, core::DescribeRefusal(request.node_names.size(), reason));
  log::Info("Refused pod", {{"pod", Display(ref)}, {"reason", reason}});
  return RefuseUnreadable(request, reason);
}

// By any of the copies that there are: what is written on a bound pod stays. The ledger does
// not know of those that have finished or hold nothing, the cache not of those that have finished.
std::string FilterService::BoundTo(const kube::Pod& pod) const {
  if (!pod.node_name.empty()) return pod.node_name;
  const auto cached = pods_.Get(pod.meta.ns, pod.meta.name);
  if (cached && cached->meta.uid == pod.meta.uid && !cached->node_name.empty())
    return cached->node_name;
  const auto held = ledger_.Find(pod.meta.uid);
  return held && held->bound ? held->node : "";
}

FilterAnswer FilterService::RefuseUnreadable(const FilterRequest& request,
                                             const std::string& reason) {
  FilterAnswer answer;
  answer.outcome = FilterOutcome::kUnreadable;
  answer.texts.push_back(reason);
  for (const std::string_view name : NamesOf(request))
    answer.unresolvable.push_back({name, answer.texts.back()});
  return answer;
}

FilterAnswer FilterService::Place(const FilterRequest& request, const core::PodRequest& pod,
                                  const RequestContext& context) {
  const SteadyTime deadline = context.received + options_.filter_deadline;
  const std::vector<std::string_view>& names = request.node_names;
  FilterAnswer answer;

  const Result<core::SchedulePolicy> policy =
      core::ResolvePolicy(request.pod.meta.annotations, options_.policy);
  if (!policy) {
    answer.outcome = FilterOutcome::kUnreadable;
    ledger_.Forget(pod.pod.uid);
    answer.texts.push_back(policy.error().message);
    const std::string_view reason = answer.texts.back();
    for (const std::string_view name : names)
      answer.unresolvable.push_back({name, ledger_.Node(name) ? reason : core::kNodeUnregistered});
    RemoveAssignment(request, deadline);
    record_(pod.pod, true, kFailed, core::DescribeRefusal(names.size(), reason));
    return answer;
  }

  ledger::Ledger::Outcome outcome =
      metrics_.Timed(Stage::kFilterDecide, [&] { return ledger_.Schedule(pod, names, *policy); });
  const core::Decision& decision = outcome.decision;
  if (!decision.fits()) {
    answer.outcome = FilterOutcome::kRefused;
    metrics_.Refused(decision);
    TellRefusals(decision, names, answer);
    RemoveAssignment(request, deadline);
    record_(pod.pod, true, kFailed,
            core::DescribeRefusals(decision, names) + UnknownPolicies(*policy));
    log::Info("Found no node for pod", {{"pod", Display(pod.pod)},
                                        {"candidates", names.size()},
                                        {"elapsedMs", ElapsedMs(clock_, context)}});
    return answer;
  }

  const std::string_view node = names[decision.feasible.back().node];
  if (options_.assignment_write == AssignmentWrite::kFilter) {
    const StringMap annotations =
        AssignmentAnnotations(request.pod, decision.allocation, node, clock_.Now(), registry_);
    const Result<void> written = metrics_.Timed(
        Stage::kFilterWrite, [&] { return WriteAssignment(request, annotations, deadline); });
    if (!written) {
      record_(pod.pod, true, kFailed, written.error().message);
      log::Warn("Could not write the assignment",
                {{"pod", Display(pod.pod)}, {"node", node}, {"error", written.error().message}});
      return ErrorAnswer(written.error().message);  // the reservation ends here
    }
  }
  outcome.reservation.Commit();
  record_(pod.pod, false, kSucceeded,
          core::DescribeFit(decision, names) + UnknownPolicies(*policy));
  log::Info("Assigned pod", {{"pod", Display(pod.pod)},
                             {"node", node},
                             {"candidates", names.size()},
                             {"fit", decision.feasible.size()},
                             {"elapsedMs", ElapsedMs(clock_, context)}});
  answer.outcome = FilterOutcome::kAssigned;
  answer.node_names = {node};
  return answer;
}

FilterAnswer FilterService::Simulate(const FilterRequest& request, const core::PodRequest& pod) {
  FilterAnswer answer;
  answer.outcome = FilterOutcome::kSimulated;
  const std::vector<std::string_view> names = NamesOf(request);
  const Result<core::SchedulePolicy> policy =
      core::ResolvePolicy(request.pod.meta.annotations, options_.policy);
  std::vector<core::NodeInventory> inventories;
  std::vector<size_t> positions;  // of the inventories in the request
  for (size_t i = 0; i < request.nodes.size(); ++i) {
    NodeReading reading = ReadNode(request.nodes[i].node, registry_);
    if (!reading.inventory.devices.empty() && policy) {
      inventories.push_back(std::move(reading.inventory));
      positions.push_back(i);
      continue;
    }
    std::string reason(core::kNodeUnregistered);
    if (!reading.inventory.devices.empty())
      reason = policy.error().message;
    else if (!reading.problems.empty())
      reason += " (" + reading.DescribeProblems(registry_) + ")";
    answer.texts.push_back(std::move(reason));
    answer.unresolvable.push_back({names[i], answer.texts.back()});
  }
  if (policy) {
    const core::Decision decision = ledger_.Simulate(pod, inventories, *policy);
    std::vector<std::string_view> known;
    for (const size_t position : positions) known.push_back(names[position]);
    TellRefusals(decision, known, answer);
    if (decision.fits()) {
      answer.nodes.emplace();
      for (const core::ScoredNode& scored : decision.feasible)
        answer.nodes->push_back(positions[scored.node]);
      std::sort(answer.nodes->begin(), answer.nodes->end());
    }
  }
  return answer;
}

// One patch: the decision, and away with what an earlier attempt has left.
Result<void> FilterService::WriteAssignment(const FilterRequest& request,
                                            const StringMap& annotations, SteadyTime deadline) {
  const ObjectRef ref = request.pod.meta.Ref();
  const kube::MetadataPatch patch = PatchOf(request.pod, annotations);
  if (const auto obstacle = leader_.Obstacle())  // after the version that the patch names
    return Error{ErrorCode::kUnavailable, NotSynced(obstacle)};
  const kube::CallOptions call{kube::Lane::kScheduling, deadline};
  const Result<kube::Pod> patched = api_.PatchPod(ref, patch.ToJson(), call);
  const bool unknown = !patched && patched.error().code == ErrorCode::kUnknownOutcome;
  // What may stand on the pod is kept in mind as well: it may have to be removed.
  if (patched || unknown)
    Remember(ref.uid, {annotations, patched ? patched->meta.resource_version : ""});
  if (patched) return {};
  if (unknown) {
    // The answer was lost, not necessarily the patch.
    const Result<kube::Pod> live = api_.GetPod(ref.ns, ref.name, call);
    if (live && live->meta.uid == ref.uid &&
        std::includes(live->meta.annotations.begin(), live->meta.annotations.end(),
                      annotations.begin(), annotations.end()))
      return {};
  }
  if (patched.error().code == ErrorCode::kOtherObject)
    return Error{ErrorCode::kOtherObject,
                 "pod " + Display(ref) + " was re-created: it no longer has UID " + ref.uid};
  return patched.error();
}

// A pod whose latest filter failed carries nothing of ours. If the patch fails
// the next attempt tries again.
void FilterService::RemoveAssignment(const FilterRequest& request, SteadyTime deadline) {
  const ObjectRef ref = request.pod.meta.Ref();
  const kube::MetadataPatch patch = PatchOf(request.pod, {});
  if (patch.annotations.empty() || !leader_.Leads()) return;
  const Result<kube::Pod> patched =
      api_.PatchPod(ref, patch.ToJson(), {kube::Lane::kScheduling, deadline});
  if (!patched) {
    log::Warn("Could not remove an old assignment",
              {{"pod", Display(ref)}, {"error", patched.error().message}});
    return;
  }
  Remember(ref.uid, {{}, patched->meta.resource_version});
}

// From what the pod carries to these annotations of ours. Where replicas take turns the
// patch is of the pod that was decided on: it changes nothing that another one has
// written since, however late it arrives.
kube::MetadataPatch FilterService::PatchOf(const kube::Pod& pod,
                                           const StringMap& annotations) const {
  const Carried carried = CarriedBy(pod);
  kube::MetadataPatch patch = AssignmentPatch(
      pod.meta.Ref(), annotations, StaleKeys(carried.annotations, annotations, registry_));
  if (options_.election) patch.resource_version = carried.version;
  return patch;
}

// kube-scheduler's copy, ours, and what we wrote ourselves.
FilterService::Carried FilterService::CarriedBy(const kube::Pod& pod) const {
  Carried carried;
  const auto add = [&](const StringMap& annotations, const std::string& version) {
    carried.annotations.insert(annotations.begin(), annotations.end());
    if (ParseInt64(version).value_or(-1) > ParseInt64(carried.version).value_or(-1))
      carried.version = version;
  };
  add(pod.meta.annotations, pod.meta.resource_version);
  if (const auto cached = pods_.Get(pod.meta.ns, pod.meta.name);
      cached && cached->meta.uid == pod.meta.uid)
    add(cached->meta.annotations, cached->meta.resource_version);
  MutexLock lock(mutex_);
  if (const auto at = written_.find(pod.meta.uid); at != written_.end())
    add(at->second.annotations, at->second.version);
  return carried;
}

void FilterService::Remember(const std::string& uid, Carried written) {
  MutexLock lock(mutex_);
  written_[uid] = std::move(written);
}

void FilterService::ForgetPod(const std::string& uid) {
  MutexLock lock(mutex_);
  written_.erase(uid);
}

}  // namespace aliquot::scheduler
