#include "aliquot/scheduler/node_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "aliquot/base/fake_clock.h"
#include "aliquot/base/time_text.h"
#include "scheduler/keys.h"
#include "support/fake_api.h"

namespace aliquot::scheduler {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using testing::FakeApi;

constexpr char kNow[] = "2026-01-01T00:00:00Z";  // where FakeClock starts
constexpr char kHeld[] = "node n1 has been locked within 5m0s: node lock contention";

kube::Pod MakePod(const std::string& name) {
  kube::Pod pod;
  pod.meta.ns = "ml";
  pod.meta.name = name;
  return pod;
}

kube::Pod With(kube::Pod pod, std::string_view key, std::string_view value) {
  pod.meta.annotations.insert_or_assign(std::string(key), std::string(value));
  return pod;
}

// One Acquire on a thread of its own.
class Acquiring {
 public:
  Acquiring(NodeLocks& locks, const std::string& node, const kube::Pod& pod,
            SteadyTime deadline = steady_clock::now() + 30s)
      : thread_([this, &locks, node, pod, deadline] {
          result_ = locks.Acquire(node, pod, deadline, [this] {
            ++looks_;
            looks_.notify_all();
            return gone_.load();
          });
          done_ = true;
        }) {}
  ~Acquiring() {
    if (thread_.joinable()) thread_.join();
  }

  // It looks whether its caller is still there only when it waits.
  Acquiring& AwaitWaiting(int looks = 1) {
    for (int seen = looks_; seen < looks; seen = looks_) looks_.wait(seen);
    return *this;
  }
  int looks() const { return looks_; }
  void HangUp() { gone_ = true; }
  bool done() const { return done_; }
  Result<void> Join() {
    thread_.join();
    return result_;
  }

 private:
  std::atomic<int> looks_{0};
  std::atomic<bool> gone_{false};
  std::atomic<bool> done_{false};
  Result<void> result_;
  std::thread thread_;
};

class NodeLocksTest : public ::testing::Test {
 protected:
  NodeLocksTest() {
    api_.on_node = [this](const auto& before, const auto& now) {
      if (!feed_) return;
      if (now == nullptr) {
        nodes_.Remove("", before->meta.name);
      } else {
        nodes_.Put(now);
        locks_.OnNode(*now);
      }
    };
    api_.on_pod = [this](const auto& before, const auto& now) {
      if (!feed_) return;
      if (now == nullptr) {
        pods_.Remove(before->meta.ns, before->meta.name);
      } else {
        pods_.Put(now);
      }
      locks_.OnPod(now == nullptr ? *before : *now);
    };
    SetLock(std::nullopt);
  }

  void SetLock(std::optional<std::string> text, const std::string& node = "n1") {
    kube::Node object;
    object.meta.name = node;
    if (text) object.meta.annotations[std::string(kNodeLockKey)] = *text;
    api_.Put(object);
  }
  std::optional<std::string> Lock(const std::string& node = "n1") {
    const auto object = api_.node(node);
    const std::string* text = Find(object->meta.annotations, kNodeLockKey);
    return text == nullptr ? std::nullopt : std::optional(*text);
  }
  // "" or the error's text.
  std::string Acquire(const kube::Pod& pod, const std::string& node = "n1") {
    return Text(locks_.Acquire(node, pod, steady_clock::now() + 30s, nullptr));
  }
  std::string Release(const kube::Pod& pod) {
    return Text(locks_.Release("n1", pod.meta.Ref(), steady_clock::now() + 30s));
  }
  static std::string Text(const Result<void>& result) {
    return result ? "" : result.error().message;
  }
  // A lock of ml/x, which is there and waits for its devices.
  void HoldByX() {
    api_.Put(x_);
    SetLock(kLockOfX);
    api_.ForgetCalls();
  }

  static constexpr char kLockOfX[] = "2026-01-01T00:00:00Z,ml,x";
  static constexpr char kLockOfP[] = "2026-01-01T00:00:00Z,ml,p";

  FakeApi api_;
  kube::Store<kube::Pod> pods_;
  kube::Store<kube::Node> nodes_;
  Options options_;
  FakeClock clock_;
  std::vector<bool> waiting_told_;
  NodeLocks locks_{api_,     pods_,  nodes_,
                   options_, clock_, [this](bool waiting) { waiting_told_.push_back(waiting); }};
  std::atomic<bool> feed_{true};  // the caches follow the API server
  const kube::Pod p_ = MakePod("p");
  const kube::Pod x_ = MakePod("x");
};

// ---- one attempt

TEST_F(NodeLocksTest, FreeLockCostsOnePatch) {
  EXPECT_EQ(Acquire(p_), "");
  EXPECT_EQ(Lock(), kLockOfP);
  ASSERT_EQ(api_.calls().size(), 1U);
  EXPECT_EQ(api_.calls()[0].method, "PatchNode");
  EXPECT_EQ(api_.calls()[0].options.lane, kube::Lane::kScheduling);
}

TEST_F(NodeLocksTest, NodeThatIsNotCachedIsRead) {
  nodes_.Remove("", "n1");
  EXPECT_EQ(Acquire(p_), "");
  EXPECT_EQ(Lock(), kLockOfP);
  EXPECT_EQ(api_.CountCalls("GetNode"), 1U);
}

TEST_F(NodeLocksTest, NodeThatIsMissingIsAnError) {
  const Result<void> acquired = locks_.Acquire("n9", p_, steady_clock::now() + 30s, nullptr);
  ASSERT_FALSE(acquired);
  EXPECT_EQ(acquired.error().code, ErrorCode::kNotFound);
}

TEST_F(NodeLocksTest, CacheThatIsBehindCostsOneReadMore) {
  feed_ = false;
  SetLock(std::nullopt);
  const SteadyTime no_time_to_pause = steady_clock::now() + 99ms;
  EXPECT_EQ(Text(locks_.Acquire("n1", p_, no_time_to_pause, nullptr)), "");
  EXPECT_EQ(Lock(), kLockOfP);
  EXPECT_EQ(api_.CountCalls("GetNode"), 1U);
  EXPECT_EQ(api_.CountCalls("PatchNode"), 2U);
}

TEST_F(NodeLocksTest, EachNodeHasItsOwnLock) {
  HoldByX();
  SetLock(std::nullopt, "n2");
  EXPECT_EQ(Acquire(p_, "n2"), "");
  EXPECT_EQ(Lock("n1"), kLockOfX);
  EXPECT_EQ(Lock("n2"), kLockOfP);
}

struct LockCase {
  const char* name;
  const char* lock;
  std::function<std::optional<kube::Pod>()> owner;  // of ml/x
  Duration later{};
};
void PrintTo(const LockCase& c, std::ostream* out) { *out << c.name; }

kube::Pod Bound(std::string node, std::string_view phase) {
  kube::Pod pod = With(MakePod("x"), kBindPhaseKey, phase);
  pod.node_name = std::move(node);
  return pod;
}
kube::Pod Created(Duration after) {
  kube::Pod pod = MakePod("x");
  pod.meta.created = FakeClock().Now() + std::chrono::duration_cast<WallTime::duration>(after);
  return pod;
}
std::string CaseName(const ::testing::TestParamInfo<LockCase>& tested) { return tested.param.name; }
std::optional<kube::Pod> Nobody() { return std::nullopt; }

class TakesOver : public NodeLocksTest, public ::testing::WithParamInterface<LockCase> {};

TEST_P(TakesOver, AtOnce) {
  if (const auto owner = GetParam().owner()) api_.Put(*owner);
  SetLock(GetParam().lock);
  clock_.Advance(GetParam().later);
  EXPECT_EQ(Acquire(p_), "");
  EXPECT_EQ(Lock(), FormatRfc3339(clock_.Now()) + ",ml,p");
}

INSTANTIATE_TEST_SUITE_P(
    NodeLocks, TakesOver,
    ::testing::Values(
        LockCase{"OwnerGone", "2026-01-01T00:00:00Z,ml,x", Nobody},
        LockCase{"OwnerInOtherNamespaceOnly", "2026-01-01T00:00:00Z,other,x",
                 [] { return MakePod("x"); }},
        LockCase{"OwnerFailed", "2026-01-01T00:00:00Z,ml,x",
                 [] {
                   kube::Pod pod = Bound("n1", "allocating");
                   pod.phase = kube::PodPhase::kFailed;
                   return pod;
                 }},
        LockCase{"OwnerServed", "2026-01-01T00:00:00Z,ml,x", [] { return Bound("n1", "success"); }},
        LockCase{"OwnerRefusedByPlugin", "2026-01-01T00:00:00Z,ml,x",
                 [] { return Bound("n1", "failed"); }},
        LockCase{"OwnerBoundElsewhere", "2026-01-01T00:00:00Z,ml,x",
                 [] { return Bound("n2", "allocating"); }},
        LockCase{"OwnerCreatedAfterTheLock", "2026-01-01T00:00:00Z,ml,x",
                 [] { return Created(1s); }},
        LockCase{"Expired", "2026-01-01T00:00:00Z,ml,x", [] { return MakePod("x"); }, 301s},
        LockCase{"OwnButExpired", "2026-01-01T00:00:00Z,ml,p", Nobody, 301s},
        LockCase{"OldFormExpired", "2026-01-01T00:00:00Z", Nobody, 301s},
        LockCase{"OtherZoneExpired", "2026-01-01T07:54:59+08:00,ml,x",
                 [] { return MakePod("x"); }}),
    CaseName);

class KeepsOff : public NodeLocksTest, public ::testing::WithParamInterface<LockCase> {};

TEST_P(KeepsOff, AndLeavesTheLock) {
  options_.bind_wait = BindWait::kNone;
  if (const auto owner = GetParam().owner()) api_.Put(*owner);
  SetLock(GetParam().lock);
  clock_.Advance(GetParam().later);
  EXPECT_EQ(Acquire(p_), kHeld);
  EXPECT_EQ(Lock(), GetParam().lock);
  EXPECT_EQ(api_.CountCalls("PatchNode"), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    NodeLocks, KeepsOff,
    ::testing::Values(
        LockCase{"OwnerNotBoundYet", "2026-01-01T00:00:00Z,ml,x", [] { return MakePod("x"); }},
        LockCase{"OwnerAllocating", "2026-01-01T00:00:00Z,ml,x",
                 [] { return Bound("n1", "allocating"); }},
        LockCase{"OwnerAllocatingForHalfAMinute", "2026-01-01T00:00:00Z,ml,x",
                 [] { return Bound("n1", "allocating"); }, 30s},
        LockCase{"OwnerBeingDeleted", "2026-01-01T00:00:00Z,ml,x",
                 [] {
                   kube::Pod pod = Bound("n1", "allocating");
                   pod.meta.terminating = true;
                   return pod;
                 }},
        LockCase{"OwnerCreatedInTheSameSecond", "2026-01-01T00:00:00Z,ml,x",
                 [] { return Created(0s); }},
        LockCase{"OnTheVergeOfExpiry", "2026-01-01T00:00:00Z,ml,x", [] { return MakePod("x"); },
                 300s},
        LockCase{"FromAClockAhead", "2026-01-01T00:10:00Z,ml,x", [] { return MakePod("x"); }},
        LockCase{"SameNameInOtherNamespace", "2026-01-01T00:00:00Z,other,p",
                 [] {
                   kube::Pod pod = MakePod("p");
                   pod.meta.ns = "other";
                   return pod;
                 }},
        LockCase{"OldForm", "2026-01-01T00:00:00Z", Nobody},
        LockCase{"OwnerLeftEmpty", "2026-01-01T00:00:00Z,,", Nobody}),
    CaseName);

TEST_F(NodeLocksTest, OwnersEndIsNotTakenFromTheCacheAlone) {
  options_.bind_wait = BindWait::kNone;
  kube::Pod failed = x_;
  failed.phase = kube::PodPhase::kFailed;
  api_.Put(failed);
  feed_ = false;
  api_.Put(x_);  // re-created, and the cache has not seen it
  feed_ = true;
  SetLock(kLockOfX);
  EXPECT_EQ(Acquire(p_), kHeld);
}

TEST_F(NodeLocksTest, OwnersReadThatFailsIsTheError) {
  SetLock(kLockOfX);
  api_.FailNext("GetPod", {ErrorCode::kUnavailable, "apiserver 500"}, 2);
  EXPECT_EQ(Acquire(p_), "apiserver 500");
  EXPECT_EQ(Lock(), kLockOfX);
}

TEST_F(NodeLocksTest, OwnLockIsTakenAgainWithoutAWrite) {
  EXPECT_EQ(Acquire(p_), "");
  clock_.Advance(10s);
  api_.ForgetCalls();
  EXPECT_EQ(Acquire(p_), "");
  EXPECT_EQ(Lock(), kLockOfP);
  EXPECT_EQ(api_.CountCalls("PatchNode"), 0U);
}

TEST_F(NodeLocksTest, OwnLockThatOnlyTheCacheStillShowsIsSetAgain) {
  EXPECT_EQ(Acquire(p_), "");
  feed_ = false;
  EXPECT_EQ(Release(p_), "");
  EXPECT_EQ(Acquire(p_), "");
  EXPECT_EQ(Lock(), kLockOfP);
}

TEST_F(NodeLocksTest, OwnLockOlderThanThePodIsAPredecessorsAndReplaced) {
  SetLock(kLockOfP);
  clock_.Advance(10s);
  kube::Pod pod = p_;
  pod.meta.created = clock_.Now() - 5s;
  EXPECT_EQ(Acquire(pod), "");
  EXPECT_EQ(Lock(), "2026-01-01T00:00:10Z,ml,p");
}

TEST_F(NodeLocksTest, LockIsNeverOlderThanItsPodEvenIfOurClockIsBehind) {
  kube::Pod pod = p_;
  pod.meta.created = clock_.Now() + 7s;
  EXPECT_EQ(Acquire(pod), "");
  EXPECT_EQ(Lock(), "2026-01-01T00:00:07Z,ml,p");
}

// ---- locks that cannot be read

TEST_F(NodeLocksTest, UnreadableLockIsAnErrorAtOnceAndLeftAlone) {
  for (const auto& [lock, error] : std::initializer_list<std::pair<const char*, const char*>>{
           {"a,b", "malformed lock annotation: expected 3 parts, got 2 from a,b"},
           {"lock", "parsing time \"lock\""},
           {"", "parsing time \"\""}}) {
    SetLock(lock);
    EXPECT_EQ(Acquire(p_).find(error), 0U) << lock << ": " << Acquire(p_);
    EXPECT_EQ(Lock(), lock);
  }
  EXPECT_TRUE(waiting_told_.empty());
}

TEST_F(NodeLocksTest, UnreadableLockIsTakenOverAfterTheExpiryTime) {
  SetLock("a,b");  // first seen by the cache
  clock_.Advance(300s);
  EXPECT_NE(Acquire(p_), "");
  clock_.Advance(1s);
  EXPECT_EQ(Acquire(p_), "");
  EXPECT_EQ(Lock(), "2026-01-01T00:05:01Z,ml,p");
}

TEST_F(NodeLocksTest, UnreadableLockIsRememberedByAttemptsToo) {
  feed_ = false;
  SetLock("a,b");
  EXPECT_NE(Acquire(p_), "");
  clock_.Advance(301s);
  EXPECT_EQ(Acquire(p_), "");
}

TEST_F(NodeLocksTest, UnreadableLockThatChangesCountsAnew) {
  SetLock("a,b");
  clock_.Advance(301s);
  SetLock("a,c");
  EXPECT_NE(Acquire(p_), "");
  SetLock(kLockOfX);
  clock_.Advance(301s);
  SetLock("a,c");
  EXPECT_NE(Acquire(p_), "");
}

// ---- writes that go wrong

TEST_F(NodeLocksTest, LostAnswerIsASuccessIfTheLockIsThere) {
  api_.LoseNextAnswer("PatchNode");
  EXPECT_EQ(Acquire(p_), "");
  EXPECT_EQ(Lock(), kLockOfP);
  EXPECT_EQ(api_.CountCalls("PatchNode"), 1U);
}

TEST_F(NodeLocksTest, LockSetBySomebodyElseMeanwhileIsKept) {
  options_.bind_wait = BindWait::kNone;
  api_.Put(x_);
  bool raced = false;
  api_.on_call = [&](const FakeApi::Call& call) {
    if (call.method == "PatchNode" && !std::exchange(raced, true)) SetLock(kLockOfX);
  };
  EXPECT_EQ(Acquire(p_), kHeld);
  EXPECT_EQ(Lock(), kLockOfX);
}

TEST_F(NodeLocksTest, FailedWriteIsTriedAgain) {
  api_.FailNext("PatchNode", {ErrorCode::kUnavailable, "down"});
  EXPECT_EQ(Acquire(p_), "");
  EXPECT_EQ(Lock(), kLockOfP);
  EXPECT_EQ(api_.CountCalls("PatchNode"), 2U);
}

TEST_F(NodeLocksTest, GivesUpAfterFiveTries) {
  api_.FailNext("PatchNode", {ErrorCode::kUnknownOutcome, "lost"}, 9);
  EXPECT_EQ(Acquire(p_),
            "failed to set node lock (node=n1, retry strategy={Duration:100ms Factor:2 Jitter:0.5 "
            "Steps:5 Cap:0s}): lost");
  EXPECT_EQ(api_.CountCalls("PatchNode"), 5U);
}

TEST_F(NodeLocksTest, DoesNotPausePastTheDeadline) {
  api_.FailNext("PatchNode", {ErrorCode::kUnavailable, "down"}, 9);
  const auto start = steady_clock::now();
  const Result<void> acquired = locks_.Acquire("n1", p_, start + 99ms, nullptr);
  ASSERT_FALSE(acquired);
  EXPECT_EQ(acquired.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(api_.CountCalls("PatchNode"), 1U);
}

// ---- waiting

TEST_F(NodeLocksTest, WaitsWithoutCallsUntilTheLockIsRemoved) {
  HoldByX();
  Acquiring waiter(locks_, "n1", p_);
  waiter.AwaitWaiting();
  EXPECT_EQ(api_.calls().size(), 0U);
  SetLock(std::nullopt);
  EXPECT_EQ(Text(waiter.Join()), "");
  EXPECT_EQ(Lock(), kLockOfP);
  EXPECT_EQ(api_.calls().size(), 1U);
  EXPECT_EQ(waiting_told_, (std::vector<bool>{true, false}));
}

TEST_F(NodeLocksTest, MembersOfGroupsWaitLikeOthers) {
  kube::Pod by_label = p_;
  by_label.meta.labels[std::string(kPodGroupLabel)] = "g";
  kube::Pod by_spec = p_;
  by_spec.pod_group = "g";
  for (const kube::Pod& pod : {p_, by_label, by_spec}) {
    HoldByX();
    Acquiring waiter(locks_, "n1", pod);
    waiter.AwaitWaiting();
    SetLock(std::nullopt);
    EXPECT_EQ(Text(waiter.Join()), "");
    EXPECT_EQ(Lock(), kLockOfP);
  }
}

TEST_F(NodeLocksTest, OtherChangesOfTheNodeDoNotWake) {
  HoldByX();
  Acquiring waiter(locks_, "n1", p_);
  waiter.AwaitWaiting();
  pods_.Remove("ml", "x");  // an attempt would read the owner now
  const int looks = waiter.looks();
  SetLock(kLockOfX);
  waiter.AwaitWaiting(looks + 1);  // it would have attempted before that
  SetLock(std::nullopt);
  EXPECT_EQ(Text(waiter.Join()), "");
  EXPECT_EQ(api_.CountCalls("GetPod"), 0U);
}

TEST_F(NodeLocksTest, WakesWhenTheOwnerIsDeleted) {
  HoldByX();
  Acquiring waiter(locks_, "n1", p_);
  waiter.AwaitWaiting();
  api_.RemovePod("ml", "x");
  EXPECT_EQ(Text(waiter.Join()), "");
  EXPECT_EQ(Lock(), kLockOfP);
}

TEST_F(NodeLocksTest, WakesWhenTheOwnerEnds) {
  HoldByX();
  Acquiring waiter(locks_, "n1", p_);
  waiter.AwaitWaiting();
  kube::Pod ended = x_;
  ended.phase = kube::PodPhase::kFailed;
  api_.Put(ended);
  EXPECT_EQ(Text(waiter.Join()), "");
}

TEST_F(NodeLocksTest, WakesWhenTheOwnerIsServed) {
  HoldByX();
  Acquiring waiter(locks_, "n1", p_);
  waiter.AwaitWaiting();
  api_.Put(Bound("n1", kBindPhaseSuccess));
  EXPECT_EQ(Text(waiter.Join()), "");
}

TEST_F(NodeLocksTest, WakesWhenTheLockExpires) {
  HoldByX();
  clock_.Advance(300s - 1ms);
  Acquiring waiter(locks_, "n1", p_);
  waiter.AwaitWaiting();
  clock_.Advance(2ms);
  EXPECT_EQ(Text(waiter.Join()), "");
}

TEST_F(NodeLocksTest, WaitersAreServedInTheOrderTheyCame) {
  HoldByX();
  std::vector<std::unique_ptr<Acquiring>> waiters;
  constexpr int kWaiters = 5;
  for (int i = 0; i < kWaiters; ++i) {
    api_.Put(MakePod("w" + std::to_string(i)));
    waiters.push_back(std::make_unique<Acquiring>(locks_, "n1", MakePod("w" + std::to_string(i))));
    waiters.back()->AwaitWaiting();
  }
  for (int i = 0; i < kWaiters; ++i) {
    for (int j = i; j < kWaiters; ++j) EXPECT_FALSE(waiters[j]->done()) << i << ' ' << j;
    SetLock(std::nullopt);
    EXPECT_EQ(Text(waiters[i]->Join()), "");
    EXPECT_EQ(Lock(), std::string(kNow) + ",ml,w" + std::to_string(i));
  }
}

TEST_F(NodeLocksTest, NextInLineAttemptsWhenTheFirstOneLeaves) {
  HoldByX();
  Acquiring first(locks_, "n1", p_);
  first.AwaitWaiting();
  Acquiring second(locks_, "n1", MakePod("q"));
  second.AwaitWaiting();
  feed_ = false;  // the owner goes and no event tells it
  api_.RemovePod("ml", "x");
  pods_.Remove("ml", "x");
  first.HangUp();
  EXPECT_NE(Text(first.Join()), "");
  EXPECT_EQ(Text(second.Join()), "");
  EXPECT_EQ(Lock(), std::string(kNow) + ",ml,q");
}

TEST_F(NodeLocksTest, NextInLineKnowsOfTheLockThatWasJustTaken) {
  HoldByX();
  api_.Put(p_);
  api_.on_call = [&](const FakeApi::Call& call) {
    if (call.method == "PatchNode") feed_ = false;  // the caches do not see it
  };
  Acquiring first(locks_, "n1", p_);
  first.AwaitWaiting();
  Acquiring second(locks_, "n1", MakePod("q"));
  second.AwaitWaiting();
  const int looks = second.looks();
  SetLock(std::nullopt);
  EXPECT_EQ(Text(first.Join()), "");
  second.AwaitWaiting(looks + 1);  // it has attempted in vain
  EXPECT_EQ(api_.calls().size(), 1U);
  locks_.Stop();
}

TEST_F(NodeLocksTest, TimeUpIsToldAsIfThePodHadNotWaited) {
  HoldByX();
  options_.node_lock_retry_timeout = 20ms;
  EXPECT_EQ(Acquire(p_), kHeld);
  EXPECT_EQ(Lock(), kLockOfX);
}

TEST_F(NodeLocksTest, TimeUpOfAGroupMember) {
  HoldByX();
  options_.node_lock_retry_timeout = 20ms;
  kube::Pod by_label = p_;
  by_label.meta.labels[std::string(kPodGroupLabel)] = "g";
  kube::Pod by_spec = p_;
  by_spec.pod_group = "g";
  for (const kube::Pod& member : {by_label, by_spec})
    EXPECT_EQ(Acquire(member),
              "timed out after 20ms waiting for node n1 to be unlocked: node lock contention");
}

TEST_F(NodeLocksTest, DeadlineEndsTheWait) {
  HoldByX();
  EXPECT_EQ(Text(locks_.Acquire("n1", p_, steady_clock::now() + 20ms, nullptr)), kHeld);
}

TEST_F(NodeLocksTest, OnlyGroupMembersWaitIfToldSo) {
  HoldByX();
  options_.bind_wait = BindWait::kGroup;
  EXPECT_EQ(Acquire(p_), kHeld);
  EXPECT_TRUE(waiting_told_.empty());
  kube::Pod member = p_;
  member.pod_group = "g";
  Acquiring waiter(locks_, "n1", member);
  waiter.AwaitWaiting();
  SetLock(std::nullopt);
  EXPECT_EQ(Text(waiter.Join()), "");
}

TEST_F(NodeLocksTest, NobodyWaitsWithoutRetryTimeout) {
  HoldByX();
  options_.node_lock_retry_timeout = 0s;
  kube::Pod member = p_;
  member.pod_group = "g";
  EXPECT_EQ(Acquire(p_), kHeld);
  EXPECT_EQ(Acquire(member), kHeld);
}

TEST_F(NodeLocksTest, PodThatDoesNotWaitDoesNotOvertakeThoseWhoDo) {
  HoldByX();
  options_.bind_wait = BindWait::kGroup;
  kube::Pod member = MakePod("m");
  member.pod_group = "g";
  Acquiring waiter(locks_, "n1", member);
  waiter.AwaitWaiting();
  EXPECT_EQ(Acquire(p_), kHeld);
  EXPECT_EQ(api_.calls().size(), 0U);
  SetLock(std::nullopt);
  EXPECT_EQ(Text(waiter.Join()), "");
}

TEST_F(NodeLocksTest, AtMost256WaitAtATime) {
  HoldByX();
  std::vector<std::unique_ptr<Acquiring>> waiters;
  for (int i = 0; i < 256; ++i)
    waiters.push_back(std::make_unique<Acquiring>(locks_, "n1", MakePod("w" + std::to_string(i))));
  for (const auto& waiter : waiters) waiter->AwaitWaiting();
  kube::Pod member = p_;
  member.pod_group = "g";
  EXPECT_EQ(Acquire(member), kHeld);  // not the text of a member that has waited
  SetLock(std::nullopt, "n2");
  EXPECT_EQ(Acquire(p_, "n2"), "");  // needs no waiting
  locks_.Stop();
}

TEST_F(NodeLocksTest, CallerWhoHasGoneEndsTheWait) {
  HoldByX();
  Acquiring waiter(locks_, "n1", p_);
  waiter.AwaitWaiting().HangUp();
  const Result<void> acquired = waiter.Join();
  ASSERT_FALSE(acquired);
  EXPECT_EQ(acquired.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(Lock(), kLockOfX);
}

TEST_F(NodeLocksTest, StopEndsAllWaitingNowAndLater) {
  constexpr char kShutdown[] =
      "scheduler shutting down while waiting for node lock: node lock contention";
  HoldByX();
  Acquiring first(locks_, "n1", p_), second(locks_, "n1", MakePod("q"));
  first.AwaitWaiting();
  second.AwaitWaiting();
  locks_.Stop();
  EXPECT_EQ(Text(first.Join()), kShutdown);
  EXPECT_EQ(Text(second.Join()), kShutdown);
  EXPECT_EQ(Acquire(p_), kShutdown);
}

TEST_F(NodeLocksTest, StopEndsThePauseBetweenTries) {
  api_.FailNext("PatchNode", {ErrorCode::kUnavailable, "down"}, 5);
  api_.on_call = [&](const FakeApi::Call&) { locks_.Stop(); };
  const auto start = steady_clock::now();
  EXPECT_NE(Acquire(p_), "");
  EXPECT_LT(steady_clock::now() - start, 1500ms);  // what the four pauses take at least
}

TEST_F(NodeLocksTest, OneAtATimeUnderContention) {
  std::atomic<int> inside{0}, served{0};
  std::vector<std::thread> threads;
  constexpr int kThreads = 8, kRounds = 10;
  for (int t = 0; t < kThreads; ++t) {
    const kube::Pod pod = MakePod("t" + std::to_string(t));
    api_.Put(pod);
    threads.emplace_back([&, pod] {
      for (int round = 0; round < kRounds; ++round) {
        EXPECT_EQ(Acquire(pod), "");
        EXPECT_EQ(++inside, 1);
        --inside;
        EXPECT_EQ(Release(pod), "");
        ++served;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(served, kThreads * kRounds);
  EXPECT_EQ(Lock(), std::nullopt);
}

// ---- release

TEST_F(NodeLocksTest, ReleaseRemovesTheOwnLock) {
  SetLock("2025-12-31T00:00:00Z,ml,p");
  EXPECT_EQ(Release(p_), "");
  EXPECT_EQ(Lock(), std::nullopt);
}

TEST_F(NodeLocksTest, ReleaseLeavesWhatIsNotThePods) {
  for (const char* lock : {kLockOfX, kNow, "a,b", "2026-01-01T00:00:00Z,other,p"}) {
    SetLock(lock);
    EXPECT_EQ(Release(p_), "");
    EXPECT_EQ(Lock(), lock);
  }
  SetLock(std::nullopt);
  EXPECT_EQ(Release(p_), "");
  api_.RemoveNode("n1");
  EXPECT_EQ(Release(p_), "");
  EXPECT_EQ(api_.CountCalls("PatchNode"), 0U);
}

TEST_F(NodeLocksTest, ReleaseKeepsALockThatAnotherPodTookMeanwhile) {
  SetLock(kLockOfP);
  bool raced = false;
  api_.on_call = [&](const FakeApi::Call& call) {
    if (call.method == "PatchNode" && !std::exchange(raced, true)) SetLock(kLockOfX);
  };
  EXPECT_EQ(Release(p_), "");
  EXPECT_EQ(Lock(), kLockOfX);
  EXPECT_EQ(api_.CountCalls("PatchNode"), 1U);
}

TEST_F(NodeLocksTest, ReleaseRemovesALockThatWasStampedAnewMeanwhile) {
  SetLock(kLockOfP);
  bool raced = false;
  api_.on_call = [&](const FakeApi::Call& call) {
    if (call.method == "PatchNode" && !std::exchange(raced, true))
      SetLock("2026-01-01T00:00:09Z,ml,p");
  };
  EXPECT_EQ(Release(p_), "");
  EXPECT_EQ(Lock(), std::nullopt);
  EXPECT_EQ(api_.CountCalls("PatchNode"), 2U);
}

TEST_F(NodeLocksTest, ReleaseThatFailsSaysHowItTried) {
  SetLock(kLockOfP);
  api_.FailNext("GetNode", {ErrorCode::kUnavailable, "down"}, 9);
  EXPECT_EQ(Text(locks_.Release("n1", p_.meta.Ref(), steady_clock::now() + 50ms)),
            "failed to release node lock (node=n1, retry strategy={Duration:100ms Factor:2 "
            "Jitter:0.5 Steps:5 Cap:0s}): down");
}

TEST_F(NodeLocksTest, ReleaseWakesTheNextEvenIfTheCacheIsBehind) {
  api_.Put(p_);
  EXPECT_EQ(Acquire(p_), "");
  Acquiring waiter(locks_, "n1", MakePod("q"));
  waiter.AwaitWaiting();
  feed_ = false;
  EXPECT_EQ(Release(p_), "");
  EXPECT_EQ(Text(waiter.Join()), "");
  EXPECT_EQ(Lock(), std::string(kNow) + ",ml,q");
}

// ---- Cambricon's lock, which names no owner

class CambriconLockTest : public NodeLocksTest {
 protected:
  static kube::Pod PodWithUid(const std::string& name) {
    kube::Pod pod = MakePod(name);
    pod.meta.uid = "uid-" + name;
    return pod;
  }
  std::string Take(const kube::Pod& pod) {
    return Text(
        locks_.TryAcquire("n1", pod, steady_clock::now() + 30s, core::NodeLock::kCambricon));
  }
  void GiveBack(const kube::Pod& pod) {
    EXPECT_TRUE(locks_.Release("n1", pod.meta.Ref(), steady_clock::now() + 30s,
                               core::NodeLock::kCambricon));
  }
  std::optional<std::string> Text() {
    const auto object = api_.node("n1");
    const std::string* text = Find(object->meta.annotations, "cambricon.com/dsmlu.lock");
    return text == nullptr ? std::nullopt : std::optional(*text);
  }
  using NodeLocksTest::Text;

  static constexpr char kTaken[] = "node n1 has been locked within 2 minutes";
  const kube::Pod a_ = PodWithUid("a");
  const kube::Pod b_ = PodWithUid("b");
};

TEST_F(CambriconLockTest, IsThePodsOwnUntilItGivesItBack) {
  EXPECT_EQ(Take(a_), "");
  EXPECT_EQ(Text(), kNow);
  EXPECT_EQ(Take(a_), "");
  EXPECT_EQ(Take(b_), kTaken);
  GiveBack(b_);
  EXPECT_EQ(Text(), kNow);
  GiveBack(a_);
  EXPECT_EQ(Text(), std::nullopt);
  EXPECT_EQ(Take(b_), "");
}

// In the same second both locks are the same text.
TEST_F(CambriconLockTest, TwoPodsInOneSecondDoNotBothHoldIt) {
  feed_ = false;  // the cache shows a node without a lock throughout
  EXPECT_EQ(Take(a_), "");
  EXPECT_EQ(Take(b_), kTaken);
  GiveBack(b_);
  EXPECT_EQ(Text(), kNow);
  EXPECT_EQ(Take(a_), "");
}

TEST_F(CambriconLockTest, WriteThatFailedMakesNobodyTheHolder) {
  bool raced = false;
  api_.on_call = [&](const FakeApi::Call& call) {  // another process, in the same second
    if (call.method != "PatchNode" || std::exchange(raced, true)) return;
    kube::Node node = *api_.node("n1");
    node.meta.annotations["cambricon.com/dsmlu.lock"] = kNow;
    api_.Put(node);
  };
  EXPECT_EQ(Take(a_), kTaken);
}

TEST_F(CambriconLockTest, LostAnswerIsASuccessIfTheLockIsThere) {
  api_.LoseNextAnswer("PatchNode");
  EXPECT_EQ(Take(a_), "");
  EXPECT_EQ(api_.CountCalls("PatchNode"), 1U);
  EXPECT_EQ(Take(b_), kTaken);
  GiveBack(a_);
  EXPECT_EQ(Text(), std::nullopt);
}

TEST_F(CambriconLockTest, ExpiresAfterTwoMinutes) {
  EXPECT_EQ(Take(a_), "");
  clock_.Advance(120s);
  EXPECT_EQ(Take(b_), kTaken);
  clock_.Advance(1s);
  EXPECT_EQ(Take(b_), "");
}

}  // namespace
}  // namespace aliquot::scheduler
