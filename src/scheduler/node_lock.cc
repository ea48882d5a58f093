#include "aliquot/scheduler/node_lock.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "aliquot/base/mutex.h"
#include "aliquot/base/strings.h"
#include "aliquot/base/time_text.h"
#include "aliquot/codec/node_lock.h"
#include "scheduler/keys.h"

namespace aliquot::scheduler {
namespace {

using std::chrono::steady_clock;
using NodePtr = std::shared_ptr<const kube::Node>;

// How a write of the annotation is tried again; users know it from the texts.
constexpr int kTries = 5;
constexpr Duration kFirstPause = std::chrono::milliseconds(100);
constexpr std::string_view kRetryStrategy =
    "retry strategy={Duration:100ms Factor:2 Jitter:0.5 Steps:5 Cap:0s}";

constexpr size_t kMostWaiting = 256;  // binds of this process
constexpr Duration kCallerGoneCheck = std::chrono::seconds(1);
// No single wait is longer: keeps sums of times far from overflow.
constexpr Duration kLongestWait = std::chrono::hours(1);

bool IsGroupMember(const kube::Pod& pod) {
  const std::string* group = Find(pod.meta.labels, kPodGroupLabel);
  return (group != nullptr && !group->empty()) || !pod.pod_group.empty();
}

constexpr Duration kCambriconExpiry = std::chrono::minutes(2);

Error Contention(const std::string& text) {
  return {ErrorCode::kConflict, text + ": node lock contention"};
}

Error WriteFailed(std::string_view action, const std::string& node, const Error& error) {
  std::string text = "failed to ";
  text += action;
  text += " node lock (node=" + node + ", ";
  text += kRetryStrategy;
  return {error.code, text + "): " + error.message};
}

// The one that the API server wrote later, as far as known.
NodePtr Newest(NodePtr a, NodePtr b) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  const auto version_a = ParseInt64(a->meta.resource_version);
  const auto version_b = ParseInt64(b->meta.resource_version);
  return version_a && version_b && *version_b > *version_a ? b : a;
}

// The lock is that of an earlier pod of this name.
bool IsPredecessors(const codec::NodeLock& lock, const kube::Pod& pod) {
  return pod.meta.created && *pod.meta.created > lock.time;
}

// The owner has no more use for the lock that it took on the node.
bool IsDone(const kube::Pod& owner, const codec::NodeLock& lock, std::string_view node) {
  const std::string* phase = Find(owner.meta.annotations, kBindPhaseKey);
  const bool served =
      phase != nullptr && (*phase == kBindPhaseSuccess || *phase == kBindPhaseFailed);
  const bool elsewhere = !owner.node_name.empty() && owner.node_name != node;
  return owner.terminal() || served || elsewhere || IsPredecessors(lock, owner);
}

}  // namespace

// The caches may make a bind wait; nothing else is decided by what they say
// unless a PATCH with their resourceVersion proves it.
struct NodeLocks::Impl {
  // A bind in the queue of its node. Guarded by mutex_.
  struct Waiter {
    CondVar changed;
    bool woken = false;
    bool counted = false;              // among waiting_
    std::optional<std::string> seen;   // the lock that the latest attempt met; none yet: any change
    std::string owner_ns, owner_name;  // its owner's
  };
  struct Queue {
    std::deque<Waiter*> waiters;  // the first one attempts
    NodePtr latest;               // what our own calls have answered
  };
  struct Unreadable {
    std::string text;
    SteadyTime since;
  };
  struct Holder {
    std::string text;
    std::string uid;
  };
  // Of a node's lock, as seen by a pod that wants it.
  struct Sight {
    enum { kFree, kOurs, kHeld } state;  // free: also one that may be taken over
    SteadyTime look_again{};             // of a held one: it expires then
  };
  // Empty: the lock is taken. Otherwise it is held, and worth a look then.
  using Attempted = std::optional<SteadyTime>;

  Impl(core::NodeLock kind, kube::Api& api, const kube::Store<kube::Pod>& pods,
       const kube::Store<kube::Node>& nodes, const Options& options, const Clock& clock,
       std::function<void(bool)> on_waiting)
      : kind_(kind),
        api_(api),
        pods_(pods),
        nodes_(nodes),
        options_(options),
        clock_(clock),
        on_waiting_(std::move(on_waiting)) {}

  Result<void> Acquire(const std::string& node, const kube::Pod& pod, SteadyTime deadline,
                       const std::function<bool()>& caller_gone, bool may_wait);
  Result<void> AcquireInTurn(Waiter& self, const std::string& node, const kube::Pod& pod,
                             SteadyTime deadline, const std::function<bool()>& caller_gone,
                             bool may_wait);
  Result<void> Release(const std::string& node, const ObjectRef& pod, SteadyTime deadline);
  void OnNode(const kube::Node& node);
  void OnPod(const kube::Pod& pod);
  size_t waiting() const {
    MutexLock lock(mutex_);
    return waiting_;
  }
  void Stop();
  Result<Attempted> Attempt(Waiter& self, const std::string& name, const kube::Pod& pod,
                            SteadyTime deadline, bool may_wait);
  Result<Sight> Look(Waiter& self, const kube::Node& node, const kube::Pod& pod,
                     SteadyTime deadline);
  Result<bool> OwnerIsDone(const codec::NodeLock& lock, const std::string& node,
                           SteadyTime deadline);
  Result<void> Wait(Waiter& self, SteadyTime look_again, SteadyTime until, const Error& time_up,
                    const std::function<bool()>& caller_gone);
  bool CountAsWaiting(Waiter& self);
  bool Pause(int tries, const std::string& seed, SteadyTime deadline);

  bool MayWait(const kube::Pod& pod) const;
  Error HeldError(const std::string& node) const;
  bool shared() const { return kind_ == core::NodeLock::kShared; }
  std::string_view key() const { return shared() ? kNodeLockKey : codec::kCambriconLockKey; }
  Duration expiry() const { return shared() ? options_.node_lock_timeout : kCambriconExpiry; }
  kube::MetadataPatch LockPatch(const kube::Node& node, std::optional<std::string> text) const;
  std::string NewText(const kube::Pod& pod);
  Result<Attempted> Taken(const kube::Node& node, const std::string& text, const kube::Pod& pod);
  bool IsOurs(const std::string& node, const std::string& text, const ObjectRef& pod);
  bool Enqueue(Waiter& self, const std::string& node, bool may_wait);
  void Dequeue(Waiter& self, const std::string& node);
  NodePtr Latest(const std::string& node);
  NodePtr Keep(kube::Node node);
  void TellWaiting();
  void Wake(Waiter& waiter) REQUIRES_LOCK(mutex_);
  Duration UnreadableFor(const std::string& node, const std::string& text);

  const core::NodeLock kind_;
  kube::Api& api_;
  const kube::Store<kube::Pod>& pods_;
  const kube::Store<kube::Node>& nodes_;
  const Options& options_;
  const Clock& clock_;
  const std::function<void(bool)> on_waiting_;

  mutable Mutex mutex_;
  std::map<std::string, Queue, std::less<>> queues_ GUARDED_BY(mutex_);
  std::map<std::string, Unreadable, std::less<>> unreadable_ GUARDED_BY(mutex_);  // by node
  // Of locks that name no owner: whose the ones are that we wrote. By node.
  std::map<std::string, Holder, std::less<>> holders_ GUARDED_BY(mutex_);
  size_t waiting_ GUARDED_BY(mutex_) = 0;
  bool stopped_ GUARDED_BY(mutex_) = false;
  CondVar stop_;

  Mutex tell_mutex_;  // one on_waiting_ at a time, in order
  bool told_ GUARDED_BY(tell_mutex_) = false;
};

bool NodeLocks::Impl::MayWait(const kube::Pod& pod) const {
  if (options_.node_lock_retry_timeout <= Duration::zero()) return false;
  if (options_.bind_wait == BindWait::kGroup) return IsGroupMember(pod);
  return options_.bind_wait == BindWait::kAll;
}

kube::MetadataPatch NodeLocks::Impl::LockPatch(const kube::Node& node,
                                               std::optional<std::string> text) const {
  kube::MetadataPatch patch;
  patch.resource_version = node.meta.resource_version;
  patch.annotations[std::string(key())] = std::move(text);
  return patch;
}

std::string NodeLocks::Impl::NewText(const kube::Pod& pod) {
  // Never older than the pod: a lock that is would be an earlier pod's.
  const WallTime now = std::max(clock_.Now(), pod.meta.created.value_or(WallTime::min()));
  return codec::FormatNodeLock({now, pod.meta.ns, pod.meta.name, !shared()});
}

// The node carries this lock now, and we wrote it for this pod.
Result<NodeLocks::Impl::Attempted> NodeLocks::Impl::Taken(const kube::Node& node,
                                                          const std::string& text,
                                                          const kube::Pod& pod) {
  MutexLock lock(mutex_);
  if (!shared()) holders_[node.meta.name] = {text, pod.meta.uid};
  return Attempted();
}

bool NodeLocks::Impl::IsOurs(const std::string& node, const std::string& text,
                             const ObjectRef& pod) {
  if (shared()) return codec::NodeLockBelongsTo(text, pod.ns, pod.name);
  MutexLock lock(mutex_);
  const auto holder = holders_.find(node);
  return holder != holders_.end() && holder->second.text == text && holder->second.uid == pod.uid;
}

Error NodeLocks::Impl::HeldError(const std::string& node) const {
  if (!shared())
    return {ErrorCode::kConflict, "node " + node + " has been locked within 2 minutes"};
  return Contention("node " + node + " has been locked within " +
                    FormatGoDuration(options_.node_lock_timeout));
}

// ---- the queue

// False: others stand in the queue, and this one may not wait.
bool NodeLocks::Impl::Enqueue(Waiter& self, const std::string& node, bool may_wait) {
  MutexLock lock(mutex_);
  Queue& queue = queues_[node];
  if (!queue.waiters.empty() && !may_wait) return false;
  queue.waiters.push_back(&self);
  return true;
}

void NodeLocks::Impl::Dequeue(Waiter& self, const std::string& node) {
  MutexLock lock(mutex_);
  const auto it = queues_.find(node);
  std::deque<Waiter*>& waiters = it->second.waiters;
  std::erase(waiters, &self);
  if (self.counted) --waiting_;
  if (waiters.empty()) {
    queues_.erase(it);
  } else {
    Wake(*waiters.front());
  }
}

void NodeLocks::Impl::Wake(Waiter& waiter) {
  waiter.woken = true;
  waiter.changed.NotifyAll();
}

NodePtr NodeLocks::Impl::Latest(const std::string& node) {
  NodePtr cached = nodes_.Get("", node);
  MutexLock lock(mutex_);
  return Newest(std::move(cached), queues_[node].latest);
}

NodePtr NodeLocks::Impl::Keep(kube::Node node) {
  auto kept = std::make_shared<const kube::Node>(std::move(node));
  MutexLock lock(mutex_);
  if (const auto queue = queues_.find(kept->meta.name); queue != queues_.end())
    queue->second.latest = kept;
  return kept;
}

void NodeLocks::Impl::TellWaiting() {
  if (!on_waiting_) return;
  MutexLock order(tell_mutex_);
  bool waiting = false;
  {
    MutexLock lock(mutex_);
    waiting = waiting_ > 0;
  }
  if (waiting == std::exchange(told_, waiting)) return;
  on_waiting_(waiting);
}

// ---- taking the lock

Result<void> NodeLocks::Impl::AcquireInTurn(Waiter& self, const std::string& node,
                                            const kube::Pod& pod, SteadyTime deadline,
                                            const std::function<bool()>& caller_gone,
                                            bool may_wait) {
  const SteadyTime until = std::min(
      deadline, steady_clock::now() + std::min(options_.node_lock_retry_timeout, kLongestWait));
  const Error held = HeldError(node);
  const Error time_up =
      IsGroupMember(pod)
          ? Contention("timed out after " + FormatGoDuration(options_.node_lock_retry_timeout) +
                       " waiting for node " + node + " to be unlocked")
          : held;
  for (;;) {
    bool first = false;
    {
      MutexLock lock(mutex_);
      self.woken = false;
      self.seen.reset();
      first = queues_[node].waiters.front() == &self;
    }
    SteadyTime look_again = until;
    if (first) {
      const Result<Attempted> attempted = Attempt(self, node, pod, deadline, may_wait);
      if (!attempted) return attempted.error();
      if (!*attempted) return {};
      if (!may_wait) return held;
      look_again = **attempted;
    }
    if (!CountAsWaiting(self)) return held;
    if (Result<void> waited = Wait(self, look_again, until, time_up, caller_gone); !waited)
      return waited;
  }
}

Result<NodeLocks::Impl::Attempted> NodeLocks::Impl::Attempt(Waiter& self, const std::string& name,
                                                            const kube::Pod& pod,
                                                            SteadyTime deadline, bool may_wait) {
  const kube::CallOptions call{kube::Lane::kScheduling, deadline};
  NodePtr node = Latest(name);
  bool live = false;
  std::optional<std::string> lost;  // the lock of a write whose answer was lost
  for (int tries = 0;;) {
    Error failure;
    if (node == nullptr) {
      Result<kube::Node> read = api_.GetNode(name, call);
      live = true;
      if (read) {
        node = Keep(*std::move(read));
      } else if (tries == 0) {
        return read.error();
      } else {
        failure = read.error();
      }
    }
    if (node != nullptr) {
      const std::string* there = Find(node->meta.annotations, key());
      if (there != nullptr && *there == lost) return Taken(*node, *lost, pod);
      const Result<Sight> sight = Look(self, *node, pod, deadline);
      const bool take = sight && sight->state == Sight::kFree;
      const bool wait = sight && sight->state == Sight::kHeld && may_wait;
      if (!live && !take && !wait) {
        node = nullptr;
        continue;
      }
      if (!sight) return sight.error();
      if (sight->state == Sight::kHeld) return Attempted(sight->look_again);
      if (sight->state == Sight::kOurs) return Attempted();

      const std::string text = NewText(pod);
      Result<kube::Node> patched = api_.PatchNode(name, LockPatch(*node, text).ToJson(), call);
      if (patched) return Taken(*Keep(*std::move(patched)), text, pod);
      failure = patched.error();
      if (failure.code == ErrorCode::kUnknownOutcome) lost = text;
      node = nullptr;
      if (!live && failure.code == ErrorCode::kConflict) continue;  // the cache was behind
    }
    // After a lost answer the node itself says at once whether the lock is ours.
    const bool unknown = failure.code == ErrorCode::kUnknownOutcome;
    if (failure.code == ErrorCode::kNotFound || ++tries == kTries ||
        (!unknown && !Pause(tries, pod.meta.uid, deadline)))
      return WriteFailed("set", name, failure);
  }
}

Result<NodeLocks::Impl::Sight> NodeLocks::Impl::Look(Waiter& self, const kube::Node& node,
                                                     const kube::Pod& pod, SteadyTime deadline) {
  const std::string* text = Find(node.meta.annotations, key());
  if (text == nullptr) return Sight{Sight::kFree};
  const Result<codec::NodeLock> lock = codec::ParseNodeLock(*text);
  {
    // Before the owner is looked up: what changes from here on wakes this one.
    MutexLock guard(mutex_);
    self.seen = *text;
    self.owner_ns = lock ? lock->ns : "";
    self.owner_name = lock ? lock->name : "";
  }
  if (!lock) {
    if (UnreadableFor(node.meta.name, *text) > expiry()) return Sight{Sight::kFree};
    return lock.error();
  }
  const Duration age = clock_.Now() - lock->time;
  if (age > expiry()) return Sight{Sight::kFree};
  if (IsOurs(node.meta.name, *text, pod.meta.Ref()))
    return Sight{IsPredecessors(*lock, pod) ? Sight::kFree : Sight::kOurs};
  if (!lock->ns.empty() && !lock->name.empty()) {
    const Result<bool> done = OwnerIsDone(*lock, node.meta.name, deadline);
    if (!done) return done.error();
    if (*done) return Sight{Sight::kFree};
  }
  const Duration left = expiry() - std::max(age, Duration::zero());
  return Sight{Sight::kHeld,
               steady_clock::now() + std::min(left, kLongestWait) + std::chrono::milliseconds(1)};
}

Result<bool> NodeLocks::Impl::OwnerIsDone(const codec::NodeLock& lock, const std::string& node,
                                          SteadyTime deadline) {
  const auto cached = pods_.Get(lock.ns, lock.name);
  if (cached != nullptr && !IsDone(*cached, lock, node)) return false;
  const Result<kube::Pod> live =
      api_.GetPod(lock.ns, lock.name, {kube::Lane::kScheduling, deadline});
  if (live) return IsDone(*live, lock, node);
  if (live.error().code == ErrorCode::kNotFound) return true;
  return live.error();
}

// Since when this process has seen the node carry this very text.
Duration NodeLocks::Impl::UnreadableFor(const std::string& node, const std::string& text) {
  const SteadyTime now = clock_.Steady();
  MutexLock lock(mutex_);
  Unreadable& seen = unreadable_.try_emplace(node, Unreadable{text, now}).first->second;
  if (seen.text != text) seen = {text, now};
  return now - seen.since;
}

// ---- waiting

// False: too many wait already.
bool NodeLocks::Impl::CountAsWaiting(Waiter& self) {
  {
    MutexLock lock(mutex_);
    if (self.counted) return true;
    if (waiting_ == kMostWaiting) return false;
    ++waiting_;
    self.counted = true;
  }
  TellWaiting();
  return true;
}

// Until something may have changed. Error: the wait is over without the lock.
Result<void> NodeLocks::Impl::Wait(Waiter& self, SteadyTime look_again, SteadyTime until,
                                   const Error& time_up, const std::function<bool()>& caller_gone) {
  for (;;) {
    if (caller_gone && caller_gone())
      return Error{ErrorCode::kCancelled,
                   Contention("caller went away while waiting for node lock").message};
    MutexLock lock(mutex_);
    const SteadyTime look = std::min({look_again, until, steady_clock::now() + kCallerGoneCheck});
    while (!self.woken && !stopped_ && steady_clock::now() < look)
      self.changed.WaitUntil(mutex_, look);
    if (stopped_)
      return Error{ErrorCode::kCancelled,
                   Contention("scheduler shutting down while waiting for node lock").message};
    if (self.woken) return {};
    if (steady_clock::now() >= until) return time_up;
    if (steady_clock::now() >= look_again) return {};
  }
}

// Between two tries of a write: 100, 200, 400, 800 ms, each up to half as long
// again. False: the deadline comes first. Ends early when stopped.
bool NodeLocks::Impl::Pause(int tries, const std::string& seed, SteadyTime deadline) {
  const Duration shortest = kFirstPause * (1 << (tries - 1));
  const auto permille =
      static_cast<int64_t>((StringHash()(seed) + static_cast<size_t>(tries)) % 1000);
  const SteadyTime end = steady_clock::now() + shortest + shortest * permille / 2000;
  if (end >= deadline) return false;
  MutexLock lock(mutex_);
  while (!stopped_ && steady_clock::now() < end) stop_.WaitUntil(mutex_, end);
  return true;
}

// ---- giving it back, and what the caches saw

Result<void> NodeLocks::Impl::Acquire(const std::string& node, const kube::Pod& pod,
                                      SteadyTime deadline, const std::function<bool()>& caller_gone,
                                      bool may_wait) {
  Waiter self;
  if (!Enqueue(self, node, may_wait)) return HeldError(node);
  Result<void> acquired = AcquireInTurn(self, node, pod, deadline, caller_gone, may_wait);
  Dequeue(self, node);
  TellWaiting();
  return acquired;
}

Result<void> NodeLocks::Impl::Release(const std::string& node, const ObjectRef& pod,
                                      SteadyTime deadline) {
  const kube::CallOptions call{kube::Lane::kScheduling, deadline};
  for (int tries = 1;; ++tries) {
    Result<kube::Node> changed = api_.GetNode(node, call);
    if (changed) {
      const std::string* text = Find(changed->meta.annotations, key());
      if (text == nullptr || !IsOurs(node, *text, pod)) return {};
      changed = api_.PatchNode(node, LockPatch(*changed, std::nullopt).ToJson(), call);
    }
    if (changed) {
      OnNode(*Keep(*std::move(changed)));  // ahead of the caches
      return {};
    }
    if (changed.error().code == ErrorCode::kNotFound) return {};
    if (tries == kTries || !Pause(tries, pod.uid, deadline))
      return WriteFailed("release", node, changed.error());
  }
}

void NodeLocks::Impl::OnNode(const kube::Node& node) {
  const std::string* text = Find(node.meta.annotations, key());
  const bool unreadable = text != nullptr && !codec::ParseNodeLock(*text);
  if (unreadable) UnreadableFor(node.meta.name, *text);
  MutexLock lock(mutex_);
  if (!unreadable) unreadable_.erase(node.meta.name);
  const auto queue = queues_.find(node.meta.name);
  if (queue == queues_.end()) return;
  Waiter& first = *queue->second.waiters.front();
  if (!first.seen || text == nullptr || *text != *first.seen) Wake(first);
}

void NodeLocks::Impl::OnPod(const kube::Pod& pod) {
  MutexLock lock(mutex_);
  for (const auto& [node, queue] : queues_) {
    Waiter& first = *queue.waiters.front();
    if (first.owner_name == pod.meta.name && first.owner_ns == pod.meta.ns) Wake(first);
  }
}

void NodeLocks::Impl::Stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  stop_.NotifyAll();
  for (const auto& [node, queue] : queues_)
    for (Waiter* waiter : queue.waiters) waiter->changed.NotifyAll();
}

// ---- NodeLocks

NodeLocks::NodeLocks(kube::Api& api, const kube::Store<kube::Pod>& pods,
                     const kube::Store<kube::Node>& nodes, const Options& options,
                     const Clock& clock, std::function<void(bool)> on_waiting)
    : on_waiting_(std::move(on_waiting)) {
  const auto tell = [this](bool waiting) {
    MutexLock lock(mutex_);
    const int before = waiting_kinds_;
    waiting_kinds_ += waiting ? 1 : -1;
    if (on_waiting_ && (before == 0 || waiting_kinds_ == 0)) on_waiting_(waiting);
  };
  shared_ = std::make_unique<Impl>(core::NodeLock::kShared, api, pods, nodes, options, clock, tell);
  cambricon_ =
      std::make_unique<Impl>(core::NodeLock::kCambricon, api, pods, nodes, options, clock, tell);
}

NodeLocks::~NodeLocks() = default;

NodeLocks::Impl& NodeLocks::Of(core::NodeLock kind) {
  return kind == core::NodeLock::kShared ? *shared_ : *cambricon_;
}

Result<void> NodeLocks::Acquire(const std::string& node, const kube::Pod& pod, SteadyTime deadline,
                                const std::function<bool()>& caller_gone, core::NodeLock kind) {
  Impl& impl = Of(kind);
  return impl.Acquire(node, pod, deadline, caller_gone, impl.MayWait(pod));
}

Result<void> NodeLocks::TryAcquire(const std::string& node, const kube::Pod& pod,
                                   SteadyTime deadline, core::NodeLock kind) {
  return Of(kind).Acquire(node, pod, deadline, nullptr, /*may_wait=*/false);
}

Result<void> NodeLocks::Release(const std::string& node, const ObjectRef& pod, SteadyTime deadline,
                                core::NodeLock kind) {
  return Of(kind).Release(node, pod, deadline);
}

void NodeLocks::OnNode(const kube::Node& node) {
  shared_->OnNode(node);
  cambricon_->OnNode(node);
}

void NodeLocks::OnPod(const kube::Pod& pod) { shared_->OnPod(pod); }

size_t NodeLocks::waiting() const { return shared_->waiting() + cambricon_->waiting(); }

void NodeLocks::Stop() {
  shared_->Stop();
  cambricon_->Stop();
}

}  // namespace aliquot::scheduler
