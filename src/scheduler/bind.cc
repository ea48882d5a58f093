#include "aliquot/scheduler/bind.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "aliquot/base/log.h"
#include "aliquot/base/strings.h"
#include "aliquot/base/time_text.h"
#include "aliquot/core/policy.h"
#include "aliquot/core/request.h"
#include "aliquot/scheduler/assignment.h"
#include "scheduler/keys.h"

namespace aliquot::scheduler {
namespace {

// What must be found out or given back is tried a little past the deadline.
constexpr Duration kGrace = std::chrono::seconds(1);

// How an attempt ended.
struct Outcome {
  using enum BindOutcome;
  BindOutcome end;
  std::string text{};   // the answer's error
  std::string event{};  // differs from it
  bool silent = false;  // no event: there is no pod to put it on
};
// Empty: go on.
using Step = std::optional<Outcome>;

// The API server will say the same next time.
bool IsFinal(ErrorCode code) {
  switch (code) {
    case ErrorCode::kConflict:
    case ErrorCode::kTooManyRequests:
    case ErrorCode::kUnavailable:
    case ErrorCode::kUnknownOutcome:
    case ErrorCode::kDeadline:
    case ErrorCode::kCancelled:
      return false;
    default:
      return true;
  }
}

Outcome Failed(const Error& error) {
  return {IsFinal(error.code) ? Outcome::kFinal : Outcome::kRetry, error.message};
}

}  // namespace

class BindService::Attempt {
 public:
  Attempt(BindService& service, const BindRequest& request, const RequestContext& context)
      : s_(service),
        node_(request.node),
        context_(context),
        call_{kube::Lane::kScheduling, context.received + service.options_.bind_deadline},
        late_call_{kube::Lane::kScheduling, call_.deadline + kGrace},
        ref_{request.pod_namespace, request.pod_name, request.pod_uid} {}

  BindAnswer Run();

 private:
  Outcome Bind();
  Step LearnUid();
  Step CheckLeader() const;
  Step FindPod();
  Step ReadPod(const kube::CallOptions& call);
  Step Judge(const kube::Pod& pod) const;
  Step FindNode();
  Step ParseRequest();
  Step WaitForCaches() const;
  Step FindReservation();
  Step Reserve();
  Step Patch(const StringMap& annotations, const std::vector<std::string>& stale);
  Step TakeLocks();
  bool LostToAnotherLeader() const;
  void ReleaseLocks();
  Outcome SendBinding();
  void Finish(const Outcome& outcome);

  // "pod team-a/train-0"
  std::string Pod() const { return "pod " + Display(ref_); }
  Outcome PodGone() const {
    return {.end = Outcome::kFinal, .text = "pod \"" + ref_.name + "\" not found", .silent = true};
  }

  BindService& s_;
  const std::string& node_;
  const RequestContext& context_;
  const kube::CallOptions call_;
  const kube::CallOptions late_call_;

  ObjectRef ref_;
  std::shared_ptr<const kube::Pod> pod_;
  bool live_ = false;  // pod_ comes from the API server, not from the cache
  core::PodRequest request_;
  ledger::Reservation reservation_;  // made by this attempt
  StringMap annotations_;            // of the Binding
  std::vector<core::NodeLock> locked_;
  bool may_be_bound_ = false;  // the binding's outcome could not be learnt
};

BindAnswer BindService::Attempt::Run() {
  if (Step end = LearnUid()) return {end->text, end->end};
  const InFlight::Turn turn = s_.in_flight_.Enter(ref_.uid, call_.deadline);
  if (!turn) return {Pod() + " is being scheduled by another call", BindOutcome::kRetry};
  Outcome outcome = Bind();
  Finish(outcome);
  return {std::move(outcome.text), outcome.end};
}

Outcome BindService::Attempt::Bind() {
  if (Step end = CheckLeader()) return *end;
  if (Step end = FindPod()) return *end;
  if (Step end = FindNode()) return *end;
  if (Step end = ParseRequest()) return *end;
  if (!request_.empty()) {
    if (Step end = WaitForCaches()) return *end;
    if (Step end = FindReservation()) return *end;
    if (Step end = CheckLeader()) return *end;
    if (Step end = s_.metrics_.Timed(Stage::kBindLock, [&] { return TakeLocks(); })) return *end;
  }
  if (Step end = CheckLeader()) return *end;  // locks may have been waited for
  return s_.metrics_.Timed(Stage::kBindWrite, [&] { return SendBinding(); });
}

// kube-scheduler always says it; others may leave it out.
Step BindService::Attempt::LearnUid() {
  if (!ref_.uid.empty()) return {};
  if (const auto cached = s_.pods_.Get(ref_.ns, ref_.name)) {
    ref_.uid = cached->meta.uid;
    return {};
  }
  const Result<kube::Pod> live = s_.api_.GetPod(ref_.ns, ref_.name, call_);
  if (!live) return live.error().code == ErrorCode::kNotFound ? PodGone() : Failed(live.error());
  ref_.uid = live->meta.uid;
  return {};
}

// Another replica may bind by now, and know of pods that we have not seen.
Step BindService::Attempt::CheckLeader() const {
  const std::optional<std::string> obstacle = s_.leader_.Obstacle();
  if (!obstacle) return {};
  return Outcome{Outcome::kRetry, "this replica does not lead: " + *obstacle};
}

// The cache lags behind; what it says of this very pod stays true, though.
Step BindService::Attempt::FindPod() {
  pod_ = s_.pods_.Get(ref_.ns, ref_.name);
  if (pod_ == nullptr || pod_->meta.uid != ref_.uid) return ReadPod(call_);
  return Judge(*pod_);
}

Step BindService::Attempt::ReadPod(const kube::CallOptions& call) {
  Result<kube::Pod> live = s_.api_.GetPod(ref_.ns, ref_.name, call);
  if (!live && live.error().code == ErrorCode::kNotFound) return PodGone();
  if (!live) return Outcome{Outcome::kRetry, live.error().message};
  pod_ = std::make_shared<const kube::Pod>(*std::move(live));
  live_ = true;
  return Judge(*pod_);
}

Step BindService::Attempt::Judge(const kube::Pod& pod) const {
  if (pod.meta.uid != ref_.uid)
    return Outcome{Outcome::kFinal, Pod() + " has UID " + pod.meta.uid + ", not " + ref_.uid};
  if (pod.node_name == node_) return Outcome{Outcome::kAlreadyBound};
  if (!pod.node_name.empty())
    return Outcome{Outcome::kFinal, Pod() + " is already assigned to node " + pod.node_name};
  if (pod.meta.terminating) return Outcome{Outcome::kFinal, Pod() + " is being deleted"};
  return {};
}

Step BindService::Attempt::FindNode() {
  if (s_.nodes_.Get("", node_) != nullptr) return {};
  const Result<kube::Node> live = s_.api_.GetNode(node_, call_);
  if (live) return {};
  if (live.error().code != ErrorCode::kNotFound)
    return Outcome{Outcome::kRetry, live.error().message};
  return Outcome{Outcome::kFinal, "node \"" + node_ + "\" not found",
                 "failed to get node " + node_};
}

Step BindService::Attempt::ParseRequest() {
  auto parsed = core::ParseRequests(SpecOf(*pod_, ref_), s_.registry_);
  if (const auto* invalid = std::get_if<core::InvalidRequest>(&parsed))
    return Outcome{Outcome::kFinal, node_ + ": " + invalid->ToString()};
  request_ = std::get<core::PodRequest>(std::move(parsed));
  return {};
}

Step BindService::Attempt::WaitForCaches() const {
  const SteadyTime until = std::min(context_.received + s_.options_.sync_wait, call_.deadline);
  if (s_.sync_.Wait(until, context_.caller_gone)) return {};
  return Outcome{Outcome::kRetry, "scheduler caches are not synced"};
}

// The filter's, if it still holds good, or a new one. The Binding carries the assignment also
// where it is written on the pod already: what is there may be another scheduler's by now.
Step BindService::Attempt::FindReservation() {
  std::optional<ledger::Ledger::Held> held = s_.ledger_.Find(ref_.uid);
  const bool reserved = held && !held->bound;
  if (reserved && held->node != node_)
    return Outcome{Outcome::kFinal,
                   Pod() + " is reserved on node " + held->node + ", not " + node_};
  if (!reserved || !s_.ledger_.StillFits(ref_.uid)) {
    s_.ledger_.Forget(ref_.uid);
    if (Step end = Reserve()) return end;
  }
  held = s_.ledger_.Find(ref_.uid);
  if (!held) return {};  // TakeLocks says it
  annotations_ =
      AssignmentAnnotations(*pod_, held->allocation, node_, s_.clock_.Now(), s_.registry_);
  const std::vector<std::string> stale =
      StaleKeys(pod_->meta.annotations, annotations_, s_.registry_);
  return stale.empty() ? Step() : Patch({}, stale);
}

// What the pod has written on it (we have been restarted since), or a decision
// for this one node (it was never filtered).
Step BindService::Attempt::Reserve() {
  if (!live_) {
    if (Step end = ReadPod(call_)) return end;
    if (Step end = ParseRequest()) return end;
  }
  const std::string* written = Find(pod_->meta.annotations, kAssignedNodeKey);
  if (written != nullptr && *written == node_)
    reservation_ = s_.ledger_.Adopt(HoldingOf(*pod_, node_, s_.registry_).holding);
  const bool adopted = reservation_.armed();
  if (!adopted) {
    const Result<core::SchedulePolicy> policy =
        core::ResolvePolicy(pod_->meta.annotations, s_.options_.policy);
    if (!policy) return Outcome{Outcome::kFinal, node_ + ": " + policy.error().message};
    const std::array<std::string_view, 1> nodes{node_};
    ledger::Ledger::Outcome decided = s_.ledger_.Schedule(request_, nodes, *policy);
    if (!decided.decision.fits())
      return Outcome{Outcome::kFinal, node_ + ": " + decided.decision.refusals.front().ToString()};
    if (s_.options_.assignment_write == AssignmentWrite::kFilter) {
      const StringMap annotations = AssignmentAnnotations(*pod_, decided.decision.allocation, node_,
                                                          s_.clock_.Now(), s_.registry_);
      // Not written: the reservation ends here, and the next attempt looks anew.
      if (Step end =
              Patch(annotations, StaleKeys(pod_->meta.annotations, annotations, s_.registry_)))
        return end;
    }
    reservation_ = std::move(decided.reservation);
  }
  log::Info("Reserved devices at bind",
            {{"pod", Display(ref_)}, {"node", node_}, {"fromAnnotations", adopted}});
  return {};
}

Step BindService::Attempt::Patch(const StringMap& annotations,
                                 const std::vector<std::string>& stale) {
  const std::string patch = AssignmentPatch(ref_, annotations, stale).ToJson();
  const Result<kube::Pod> patched = s_.api_.PatchPod(ref_, patch, call_);
  if (patched) return {};
  if (patched.error().code == ErrorCode::kNotFound) return PodGone();
  // Another pod has this name now: say which.
  if (patched.error().code == ErrorCode::kOtherObject)
    if (Step end = ReadPod(call_)) return end;
  return Failed(patched.error());
}

// Every lock that the pod's vendors ask for. Whoever waits for one holds none. Meanwhile
// another scheduler may have bound pods of its own.
Step BindService::Attempt::TakeLocks() {
  std::vector<core::NodeLock> wanted;
  for (const core::Vendor& vendor : s_.registry_.vendors()) {
    const core::NodeLock lock = vendor.spec().lock;
    if (lock != core::NodeLock::kNone && request_.Asks(vendor.id()) &&
        std::ranges::count(wanted, lock) == 0)
      wanted.push_back(lock);
  }
  while (locked_.size() < wanted.size()) {
    const core::NodeLock next = wanted[locked_.size()];
    const Result<void> acquired =
        locked_.empty()
            ? s_.locks_.Acquire(node_, *pod_, call_.deadline, context_.caller_gone, next)
            : s_.locks_.TryAcquire(node_, *pod_, call_.deadline, next);
    if (acquired) {
      locked_.push_back(next);
    } else if (!locked_.empty() && acquired.error().code == ErrorCode::kConflict) {
      ReleaseLocks();
      std::ranges::reverse(wanted);  // there are two kinds: wait for the other one
    } else {
      const bool node_gone = acquired.error().code == ErrorCode::kNotFound;
      return Outcome{node_gone ? Outcome::kFinal : Outcome::kRetry, acquired.error().message};
    }
  }
  const auto held = s_.ledger_.Find(ref_.uid);
  if (!held || held->node != node_)
    return Outcome{Outcome::kRetry,
                   "reservation of " + Pod() + " expired while it waited for node " + node_};
  // Another scheduler may have bound somebody there meanwhile, or a card may have gone.
  if (!s_.ledger_.StillFits(ref_.uid))
    return Outcome{Outcome::kFinal,
                   "devices of " + Pod() + " were taken while it waited for node " + node_};
  return {};
}

// Another replica leads by now and has bound the pod, perhaps: the lock, which names the pod,
// is that one's then.
bool BindService::Attempt::LostToAnotherLeader() const {
  if (locked_.empty() || s_.leader_.Leads()) return false;
  const Result<kube::Pod> live = s_.api_.GetPod(ref_.ns, ref_.name, late_call_);
  if (!live) return live.error().code != ErrorCode::kNotFound;
  return live->meta.uid == ref_.uid && !live->node_name.empty();
}

void BindService::Attempt::ReleaseLocks() {
  for (const core::NodeLock kind : locked_) {
    const Result<void> released = s_.locks_.Release(node_, ref_, late_call_.deadline, kind);
    if (!released)
      log::Warn("Could not release the node lock",
                {{"pod", Display(ref_)}, {"node", node_}, {"error", released.error().message}});
  }
  locked_.clear();
}

Outcome BindService::Attempt::SendBinding() {
  kube::Binding binding{ref_, node_, std::move(annotations_), {}};
  if (binding.annotations.contains(kAssignedNodeKey) && IsLabelValue(node_))
    binding.labels.emplace(kAssignedNodeKey, node_);
  binding.annotations.insert_or_assign(std::string(kBindPhaseKey), kBindPhaseAllocating);
  binding.annotations.insert_or_assign(std::string(kBindTimeKey),
                                       FormatUnixSeconds(s_.clock_.Now()));
  const Result<void> sent = s_.api_.Bind(binding, call_);
  if (sent) return {Outcome::kBound};
  const Error& error = sent.error();
  if (error.code == ErrorCode::kNotFound) return PodGone();
  if (error.code != ErrorCode::kConflict && error.code != ErrorCode::kUnknownOutcome)
    return Failed(error);
  // The pod itself says what has become of it.
  live_ = false;
  Step end = ReadPod(late_call_);
  if (end && end->end == Outcome::kAlreadyBound) return {Outcome::kBound};
  if (end && end->end == Outcome::kFinal) return *end;
  may_be_bound_ = !live_;
  return {Outcome::kRetry, error.message};
}

void BindService::Attempt::Finish(const Outcome& outcome) {
  const auto elapsed =
      std::chrono::duration_cast<std::chrono::milliseconds>(s_.clock_.Steady() - context_.received)
          .count();
  if (outcome.end == Outcome::kBound || outcome.end == Outcome::kAlreadyBound) {
    if (pod_->terminal())  // the caches have seen its end, or never see it
      s_.ledger_.Forget(ref_.uid);
    else if (pod_->node_name.empty())  // as it was when our Binding was accepted
      s_.ledger_.MarkBound(ref_.uid);
    else
      s_.ledger_.MarkBound(HoldingOf(*pod_, node_, s_.registry_).holding);
    reservation_.Commit();
    if (outcome.end == Outcome::kBound)
      s_.record_(ref_, false, "BindingSucceed",
                 "Successfully binding node [" + node_ + "] to " + Display(ref_));
    log::Info("Bound pod", {{"pod", Display(ref_)}, {"node", node_}, {"elapsedMs", elapsed}});
    return;
  }
  if (outcome.end == Outcome::kRetry) reservation_.Commit();
  if (outcome.end == Outcome::kFinal) s_.ledger_.Forget(ref_.uid);
  if (!may_be_bound_ && !LostToAnotherLeader()) ReleaseLocks();
  if (!outcome.silent)
    s_.record_(ref_, true, "BindingFailed", outcome.event.empty() ? outcome.text : outcome.event);
  log::Warn("Could not bind pod", {{"pod", Display(ref_)},
                                   {"node", node_},
                                   {"error", outcome.text},
                                   {"final", outcome.end == Outcome::kFinal},
                                   {"elapsedMs", elapsed}});
}

BindService::BindService(kube::Api& api, const kube::Store<kube::Pod>& pods,
                         const kube::Store<kube::Node>& nodes, const SyncState& sync,
                         const Leader& leader, const core::Registry& registry,
                         ledger::Ledger& ledger, NodeLocks& locks, InFlight& in_flight,
                         const Options& options, const Clock& clock, RecordEvent record,
                         Metrics& metrics)
    : api_(api),
      pods_(pods),
      nodes_(nodes),
      sync_(sync),
      leader_(leader),
      registry_(registry),
      ledger_(ledger),
      locks_(locks),
      in_flight_(in_flight),
      options_(options),
      clock_(clock),
      record_(std::move(record)),
      metrics_(metrics) {}

BindAnswer BindService::Bind(const BindRequest& request, const RequestContext& context) {
  return Attempt(*this, request, context).Run();
}

}  // namespace aliquot::scheduler
