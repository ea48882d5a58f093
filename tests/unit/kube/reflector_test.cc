#include "aliquot/kube/reflector.h"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <future>

#include "aliquot/base/fake_clock.h"
#include "aliquot/kube/client.h"
#include "unit/kube/test_server.h"

namespace aliquot::kube {
namespace {

using std::chrono::seconds;

std::string Object(const std::string& name, const std::string& version,
                   const std::string& uid = "") {
  return R"({"metadata":{"namespace":"lab","name":")" + name + R"(","uid":")" +
         (uid.empty() ? "uid-" + name : uid) + R"(","resourceVersion":")" + version + R"("}})";
}

std::string Page(const std::vector<std::string>& items, const std::string& version,
                 const std::string& next = "") {
  std::string text = R"({"items":[)";
  for (size_t i = 0; i < items.size(); ++i) text += (i > 0 ? "," : "") + items[i];
  return text + R"(],"metadata":{"resourceVersion":")" + version + R"(","continue":")" + next +
         "\"}}";
}

std::string Event(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}";
}

std::string ErrorEvent(int code) {
  return Event("ERROR", R"({"kind":"Status","message":"no","code":)" + std::to_string(code) + "}");
}

// Answers from a script, step by step, and blocks when it has come to its end.
class ScriptedSource : public ListWatcher {
 public:
  explicit ScriptedSource(FakeClock& clock) : clock_(clock) {}

  void ListGives(Result<std::string> body) {
    steps_.push_back({std::move(body), {}, {}, Duration{}});
  }
  // A watch that gives these lines, takes `lasts` and ends so.
  void WatchGives(std::vector<std::string> lines, Result<void> end = {},
                  Duration lasts = seconds(60)) {
    steps_.push_back({std::nullopt, std::move(lines), std::move(end), lasts});
  }

  Result<std::string> List(const std::string& target, const std::stop_token& stop) override {
    std::optional<Step> step = Next(target, stop);
    if (!step) return Error{ErrorCode::kCancelled, ""};
    EXPECT_TRUE(step->list) << "a watch was expected, not " << target;
    return step->list ? *step->list : Result<std::string>("");
  }
  Result<void> Watch(const std::string& target, Duration,
                     const std::function<bool(std::string_view)>& on_line,
                     const std::stop_token& stop) override {
    std::optional<Step> step = Next(target, stop);
    if (!step) return Error{ErrorCode::kCancelled, ""};
    EXPECT_FALSE(step->list) << "a list was expected, not " << target;
    for (const std::string& line : step->lines) {
      if (!on_line(line)) return {};
    }
    clock_.Advance(step->lasts);
    return step->end;
  }

  // Waits until the script is used up and the next call waits in vain.
  void WaitForTheEnd() {
    MutexLock lock(mutex_);
    while (!waiting_) changed_.Wait(mutex_);
  }
  std::vector<std::string> targets() const {
    MutexLock lock(mutex_);
    return targets_;
  }

 private:
  struct Step {
    std::optional<Result<std::string>> list;
    std::vector<std::string> lines;
    Result<void> end;
    Duration lasts{};
  };

  std::optional<Step> Next(const std::string& target, const std::stop_token& stop) {
    const std::stop_callback wake(stop, [this] {
      MutexLock lock(mutex_);
      changed_.NotifyAll();
    });
    MutexLock lock(mutex_);
    targets_.push_back(target);
    if (!steps_.empty()) {
      Step step = std::move(steps_.front());
      steps_.pop_front();
      return step;
    }
    waiting_ = true;
    changed_.NotifyAll();
    while (!stop.stop_requested()) changed_.Wait(mutex_);
    return std::nullopt;
  }

  FakeClock& clock_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<Step> steps_;
  std::vector<std::string> targets_;
  bool waiting_ = false;
};

// Writes down what it is told: "+a@1" known for the first time, "a@1>2" changed,
// "-a@2" gone, "synced".
template <typename T>
class Diary : public Observer<T> {
 public:
  explicit Diary(const Store<T>& store) : store_(store) {}
  void OnUpsert(const std::shared_ptr<const T>& old, const std::shared_ptr<const T>& now) override {
    EXPECT_EQ(store_.Get(now->meta.ns, now->meta.name), now) << "the store is fed first";
    Write(old ? old->meta.name + "@" + old->meta.resource_version + ">" + now->meta.resource_version
              : "+" + now->meta.name + "@" + now->meta.resource_version);
  }
  void OnDelete(const std::shared_ptr<const T>& last) override {
    EXPECT_EQ(store_.Get(last->meta.ns, last->meta.name), nullptr);
    Write("-" + last->meta.name + "@" + last->meta.resource_version);
  }
  void OnSynced() override { Write("synced"); }
  void OnListed(SteadyTime asked) override {
    MutexLock lock(mutex_);
    listed_.push_back(asked);
  }

  std::vector<SteadyTime> listed() const {
    MutexLock lock(mutex_);
    return listed_;
  }
  std::vector<std::string> lines() const {
    MutexLock lock(mutex_);
    return lines_;
  }

 private:
  void Write(std::string line) {
    MutexLock lock(mutex_);
    lines_.push_back(std::move(line));
  }
  const Store<T>& store_;
  mutable Mutex mutex_;
  std::vector<std::string> lines_;
  std::vector<SteadyTime> listed_;
};

using Lines = std::vector<std::string>;

class ReflectorTest : public ::testing::Test {
 protected:
  ReflectorTest() {
    options_.seed = 42;
    options_.sleep = [this](Duration pause, const std::stop_token&) {
      MutexLock lock(mutex_);
      pauses_.push_back(pause);
      return true;
    };
  }

  // Runs the script to its end.
  void Run() {
    Reflector<Pod> reflector(source_, store_, diary_, options_, clock_);
    reflector.Start();
    source_.WaitForTheEnd();
    synced_ = reflector.synced();
    health_ = reflector.health();
    reflector.Stop();
  }
  size_t pauses() const { return pauses_.size(); }

  FakeClock clock_;
  ScriptedSource source_{clock_};
  Store<Pod> store_;
  Diary<Pod> diary_{store_};
  ReflectorOptions options_;
  bool synced_ = false;
  Reflector<Pod>::Health health_;
  Mutex mutex_;
  std::vector<Duration> pauses_;
};

const Error kDown{ErrorCode::kUnavailable, "connection refused"};

TEST_F(ReflectorTest, TellsWhenACompleteListWasAskedFor) {
  const Error gone{ErrorCode::kGone, "too old"};
  const SteadyTime begin = clock_.Steady();
  source_.ListGives(Page({Object("a", "1")}, "7"));
  source_.WatchGives({}, gone);
  source_.ListGives(Page({R"({"metadata":{"name":"b","namespace":"lab"},"spec":7})"}, "8"));
  source_.WatchGives({}, gone);
  source_.ListGives(Page({Object("a", "1")}, "9"));
  Run();
  EXPECT_EQ(diary_.listed(), (std::vector{begin, begin + seconds(120)}));
}

TEST_F(ReflectorTest, ListsInPagesThenWatchesFromTheListsVersion) {
  options_.selectors = "labelSelector=a%3Db";
  source_.ListGives(Page({Object("a", "1"), Object("b", "2")}, "7", "n&x"));
  source_.ListGives(Page({}, "7", "more"));  // an empty page is not the end
  source_.ListGives(Page({Object("c", "3")}, "7"));
  source_.WatchGives({Event("ADDED", Object("d", "8")), Event("MODIFIED", Object("a", "9")),
                      Event("DELETED", Object("b", "10"))});
  Run();
  EXPECT_EQ(diary_.lines(), (Lines{"+a@1", "+b@2", "+c@3", "synced", "+d@8", "a@1>9", "-b@2"}));
  EXPECT_TRUE(synced_);
  EXPECT_EQ(store_.size(), 3U);
  EXPECT_EQ(pauses(), 0U);

  const Lines targets = source_.targets();
  ASSERT_EQ(targets.size(), 5U);
  EXPECT_EQ(targets[0], "/api/v1/pods?limit=500&labelSelector=a%3Db");
  EXPECT_EQ(targets[1], "/api/v1/pods?limit=500&continue=n%26x&labelSelector=a%3Db");
  EXPECT_EQ(targets[2], "/api/v1/pods?limit=500&continue=more&labelSelector=a%3Db");
  EXPECT_TRUE(
      targets[3].starts_with("/api/v1/pods?watch=true&allowWatchBookmarks=true&timeoutSeconds="));
  EXPECT_NE(targets[3].find("&resourceVersion=7&labelSelector=a%3Db"), std::string::npos);
  EXPECT_NE(targets[4].find("&resourceVersion=10&"), std::string::npos) << targets[4];
}

TEST_F(ReflectorTest, FollowsOneLeaseOfANamespace) {
  options_.ns = "lab";
  options_.selectors = "fieldSelector=metadata.name%3Da";
  source_.ListGives(Page({Object("a", "1")}, "7"));
  source_.WatchGives({Event("MODIFIED", Object("a", "9"))});
  Store<Lease> store;
  Diary<Lease> diary(store);
  Reflector<Lease> reflector(source_, store, diary, options_, clock_);
  reflector.Start();
  source_.WaitForTheEnd();
  reflector.Stop();
  EXPECT_EQ(diary.lines(), (Lines{"+a@1", "synced", "a@1>9"}));
  const std::string leases = "/apis/coordination.k8s.io/v1/namespaces/lab/leases?";
  EXPECT_EQ(source_.targets().at(0), leases + "limit=500&fieldSelector=metadata.name%3Da");
  EXPECT_TRUE(source_.targets().at(1).starts_with(leases + "watch=true"));
}

TEST_F(ReflectorTest, WatchTimesAreDrawnAnewBetween5And10Minutes) {
  source_.ListGives(Page({}, "1"));
  for (int i = 0; i < 20; ++i) source_.WatchGives({});
  Run();
  std::set<std::string> times;
  for (const std::string& target : source_.targets()) {
    const size_t at = target.find("timeoutSeconds=");
    if (at == std::string::npos) continue;
    const std::string text = target.substr(at + 15, 3);
    times.insert(text);
    EXPECT_GE(text, "300");
    EXPECT_LE(text, "600");
  }
  EXPECT_GT(times.size(), 10U);
}

TEST_F(ReflectorTest, BookmarksOnlyMoveTheVersion) {
  source_.ListGives(Page({}, "1"));
  source_.WatchGives({Event("BOOKMARK", R"({"metadata":{"resourceVersion":"55","name":null}})"),
                      Event("NOVELTY", "{}")});
  Run();
  EXPECT_EQ(store_.told(), clock_.Steady());
  EXPECT_EQ(diary_.lines(), Lines{"synced"});
  EXPECT_NE(source_.targets().back().find("resourceVersion=55"), std::string::npos);
}

TEST_F(ReflectorTest, ListsAgainWhenTheVersionIsTooOld) {
  for (bool by_event : {true, false}) {
    if (by_event) {
      source_.ListGives(Page({Object("a", "1"), Object("b", "2"), Object("same", "3")}, "5"));
      source_.WatchGives({ErrorEvent(410)});
    } else {
      source_.WatchGives({}, Error{ErrorCode::kGone, "too old"});
    }
    source_.ListGives(Page({Object("b", "20"), Object("c", "21"), Object("same", "3")}, "30"));
  }
  Run();
  EXPECT_EQ(diary_.lines(), (Lines{"+a@1", "+b@2", "+same@3", "synced", "-a@1", "b@2>20", "+c@21"}))
      << "what did not change is not told";
  EXPECT_EQ(pauses(), 2U);
}

TEST_F(ReflectorTest, ARecreatedObjectIsADeletionAndAnAddition) {
  source_.ListGives(Page({Object("a", "1", "u1"), Object("b", "2", "u2")}, "5"));
  source_.WatchGives({Event("MODIFIED", Object("b", "6", "u3")), ErrorEvent(410)});
  source_.ListGives(Page({Object("a", "9", "u4"), Object("b", "6", "u3")}, "10"));
  Run();
  EXPECT_EQ(diary_.lines(), (Lines{"+a@1", "+b@2", "synced", "-b@2", "+b@6", "-a@1", "+a@9"}));
}

TEST_F(ReflectorTest, AnExpiredPageStartsTheListAgainInOnePiece) {
  source_.ListGives(Page({Object("a", "1")}, "5", "next"));
  source_.ListGives(Error{ErrorCode::kGone, "the continue token is too old"});
  source_.ListGives(Page({Object("b", "2")}, "6"));
  source_.WatchGives({ErrorEvent(410)});
  source_.ListGives(Page({Object("b", "2")}, "7"));
  Run();
  EXPECT_EQ(diary_.lines(), (Lines{"+b@2", "synced"})) << "nothing of the first attempt";
  const Lines targets = source_.targets();
  EXPECT_EQ(targets[2], "/api/v1/pods");
  EXPECT_EQ(targets[4], "/api/v1/pods?limit=500") << "later lists have pages again";
}

TEST_F(ReflectorTest, AnOrderlyEndAndABrokenStreamAreFollowedByAWatch) {
  source_.ListGives(Page({}, "1"));
  source_.WatchGives({}, {}, seconds(300));
  source_.WatchGives({Event("ADDED", Object("a", "2"))}, kDown, seconds(0));
  source_.WatchGives({Event("MODIFIED", Object("a", "3"))}, {}, seconds(0));
  Run();
  EXPECT_EQ(diary_.lines(), (Lines{"synced", "+a@2", "a@2>3"}));
  EXPECT_EQ(source_.targets().size(), 5U);
  EXPECT_NE(source_.targets()[3].find("resourceVersion=2"), std::string::npos);
  EXPECT_EQ(pauses(), 0U);
}

TEST_F(ReflectorTest, AWatchThatEndsAtOnceIsAFailure) {
  source_.ListGives(Page({}, "1"));
  source_.WatchGives({}, {}, std::chrono::milliseconds(500));
  source_.ListGives(Page({}, "2"));
  Run();
  EXPECT_EQ(pauses(), 1U);
}

TEST_F(ReflectorTest, ARefusedWatchIsTriedOnceMoreBeforeAList) {
  source_.ListGives(Page({}, "1"));
  source_.WatchGives({}, kDown);
  source_.WatchGives({}, Error{ErrorCode::kTooManyRequests, "later"});
  source_.ListGives(Page({}, "2"));
  Run();
  EXPECT_EQ(pauses(), 2U);
}

TEST_F(ReflectorTest, AnErrorEventOfAnotherKindListsAgain) {
  source_.ListGives(Page({}, "1"));
  source_.WatchGives({ErrorEvent(500)});
  source_.ListGives(Page({}, "2"));
  source_.WatchGives({"{\"type\":\"ADDED\",\"object\":"});  // no JSON
  source_.ListGives(Page({}, "3"));
  Run();
  EXPECT_EQ(pauses(), 2U);
}

TEST_F(ReflectorTest, PausesDoubleUpToACapWithJitter) {
  for (int i = 0; i < 9; ++i) source_.ListGives(kDown);
  Run();
  ASSERT_EQ(pauses(), 9U);
  double base = 0.8;
  for (const Duration pause : pauses_) {
    const double length = std::chrono::duration<double>(pause).count();
    EXPECT_GE(length, base);
    EXPECT_LT(length, 2 * base);
    base = std::min(2 * base, 30.0);
  }
  EXPECT_FALSE(synced_);
  EXPECT_NE(health_.failure.find("connection refused"), std::string::npos) << health_.failure;
  EXPECT_EQ(health_.last_progress, SteadyTime{});
  EXPECT_EQ(store_.told(), SteadyTime{});
  EXPECT_GT(health_.failures, 0U);
}

TEST_F(ReflectorTest, FailuresAreForgottenAfterTwoMinutes) {
  for (int i = 0; i < 4; ++i) source_.ListGives(kDown);
  source_.ListGives(Page({}, "1"));
  source_.WatchGives({}, {}, std::chrono::minutes(3));
  source_.WatchGives({}, kDown);
  Run();
  ASSERT_EQ(pauses(), 5U);
  EXPECT_LT(pauses_.back(), std::chrono::milliseconds(1600));
}

TEST_F(ReflectorTest, AForbiddenWatchIsReportedAndNotSpunOn) {
  source_.ListGives(Page({Object("a", "1")}, "1"));
  source_.WatchGives({}, Error{ErrorCode::kForbidden, "cannot watch resource \"pods\""});
  Run();
  ASSERT_EQ(pauses(), 1U);
  EXPECT_GE(pauses_[0], seconds(30));
  EXPECT_NE(health_.failure.find("cannot watch resource"), std::string::npos);
  EXPECT_EQ(store_.size(), 1U);
}

TEST_F(ReflectorTest, AnUnreadableObjectKeepsItsPreviousState) {
  const std::string bad_a =
      R"({"metadata":{"namespace":"lab","name":"a","resourceVersion":"8"},"spec":{"nodeName":7}})";
  source_.ListGives(Page({Object("a", "1"), Object("b", "2")}, "5"));
  source_.WatchGives({Event("MODIFIED", bad_a), Event("MODIFIED", Object("b", "9"))});
  source_.WatchGives({ErrorEvent(410)});
  source_.ListGives(Page({bad_a, Object("b", "9"), Object("c", "10")}, "11"));
  source_.WatchGives({Event("DELETED", bad_a)});
  Run();
  EXPECT_EQ(diary_.lines(), (Lines{"+a@1", "+b@2", "synced", "b@2>9", "+c@10", "-a@1"}));
}

TEST_F(ReflectorTest, AnUnreadableListIsAFailure) {
  source_.ListGives(std::string("<html>"));
  source_.ListGives(Page({}, "1"));
  Run();
  EXPECT_EQ(diary_.lines(), Lines{"synced"});
  EXPECT_EQ(pauses(), 1U);
}

TEST_F(ReflectorTest, DeletingWhatIsNotKnownTellsNobody) {
  source_.ListGives(Page({}, "1"));
  source_.WatchGives({Event("DELETED", Object("x", "2"))});
  Run();
  EXPECT_EQ(diary_.lines(), Lines{"synced"});
}

TEST_F(ReflectorTest, PollsAtAnIntervalThatMayChange) {
  options_.poll = true;
  options_.poll_interval = std::chrono::hours(1);
  source_.ListGives(Page({Object("a", "1")}, "1"));
  source_.ListGives(Page({Object("a", "2")}, "2"));
  Reflector<Pod> reflector(source_, store_, diary_, options_, clock_);
  reflector.Start();
  reflector.SetPollInterval(std::chrono::milliseconds(1));
  source_.WaitForTheEnd();
  reflector.Stop();
  EXPECT_EQ(diary_.lines(), (Lines{"+a@1", "synced", "a@1>2"}));
  for (const std::string& target : source_.targets()) EXPECT_EQ(target, "/api/v1/pods?limit=500");
}

TEST_F(ReflectorTest, StopsPromptlyInAPause) {
  options_.sleep = nullptr;
  source_.ListGives(Error{ErrorCode::kForbidden, "no"});  // 30 s at least
  Reflector<Pod> reflector(source_, store_, diary_, options_, clock_);
  reflector.Start();
  while (reflector.health().failure.empty()) std::this_thread::yield();
  const SteadyTime before = std::chrono::steady_clock::now();
  reflector.Stop();
  EXPECT_LT(std::chrono::steady_clock::now() - before, seconds(10));
}

TEST(ReflectorOfTest, NodesAndQuotas) {
  FakeClock clock;
  ScriptedSource source(clock);
  source.ListGives(Page({Object("a", "1")}, "1"));
  Store<Node> nodes;
  Diary<Node> diary(nodes);
  Reflector<Node> reflector(source, nodes, diary, {}, clock);
  reflector.Start();
  source.WaitForTheEnd();
  reflector.Stop();
  EXPECT_EQ(source.targets()[0], "/api/v1/nodes?limit=500");

  ScriptedSource quota_source(clock);
  Store<ResourceQuota> quotas;
  Diary<ResourceQuota> quota_diary(quotas);
  Reflector<ResourceQuota> quota_reflector(quota_source, quotas, quota_diary, {}, clock);
  quota_reflector.Start();
  quota_source.WaitForTheEnd();
  quota_reflector.Stop();
  EXPECT_EQ(quota_source.targets()[0], "/api/v1/resourcequotas?limit=500");
}

// The whole way: sockets, chunks, a cut in the middle of a line, a restart of
// the API server's watch.
TEST(ReflectorOverHttpTest, FollowsThroughACutStream) {
  std::atomic<int> watches = 0;
  TestServer server([&](const TestServer::Request& request, TestServer::Peer& peer) {
    if (request.target.find("watch=true") == std::string::npos) {
      return peer.Reply(200, Page({Object("a", "1")}, "5"));
    }
    peer.BeginChunks();
    if (++watches == 1) {
      peer.Chunk(Event("ADDED", Object("b", "6")) + "\n" + Event("ADDED", Object("c", "7")));
      return peer.Close();  // without the line's end: c was never said
    }
    EXPECT_NE(request.target.find("resourceVersion=6"), std::string::npos) << request.target;
    peer.Chunk(Event("ADDED", Object("c", "7")) + "\n");
    peer.Hold();
  });
  ClientConfig config;
  config.server = server.url();
  Client client(config, {});
  Store<Pod> store;
  struct Until : Diary<Pod> {
    using Diary::Diary;
    std::promise<void> seen;
    void OnUpsert(const std::shared_ptr<const Pod>& old,
                  const std::shared_ptr<const Pod>& now) override {
      Diary::OnUpsert(old, now);
      if (now->meta.name == "c") seen.set_value();
    }
  } diary(store);
  Reflector<Pod> reflector(client, store, diary, {});
  reflector.Start();
  diary.seen.get_future().wait();
  reflector.Stop();
  EXPECT_EQ(diary.lines(), (Lines{"+a@1", "synced", "+b@6", "+c@7"}));
}

}  // namespace
}  // namespace aliquot::kube
