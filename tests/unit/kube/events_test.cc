#include "aliquot/kube/events.h"

#include <gtest/gtest.h>

#include <future>

#include "aliquot/base/fake_clock.h"
#include "support/fake_api.h"

namespace aliquot::kube {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class EventRecorderTest : public ::testing::Test {
 protected:
  void Record(const std::string& message, const std::string& reason = "FilteringFailed") {
    recorder_.Record(pod_, EventType::kWarning, reason, message);
  }
  void Flush() { ASSERT_TRUE(recorder_.Flush(std::chrono::steady_clock::now() + seconds(60))); }
  nlohmann::json OnlyEvent() {
    const auto events = api_.events();
    EXPECT_EQ(events.size(), 1U);
    return events.empty() ? nlohmann::json() : events.begin()->second;
  }

  FakeClock clock_;
  testing::FakeApi api_;
  ObjectRef pod_{"lab", "w-3", "u-1"};
  EventRecorder recorder_{api_, "my-sched", clock_};
};

TEST_F(EventRecorderTest, CreatesACoreEvent) {
  Record("node n-02 is locked");
  Flush();
  nlohmann::json event = OnlyEvent();
  // 2026-01-01T00:00:00Z in nanoseconds, in hexadecimal.
  EXPECT_EQ(event["metadata"]["name"], "w-3.18867251edfa0000");
  event["metadata"].erase("name");
  EXPECT_EQ(event, nlohmann::json::parse(R"({
      "apiVersion":"v1","kind":"Event","metadata":{"namespace":"lab"},
      "involvedObject":{"apiVersion":"v1","kind":"Pod","namespace":"lab","name":"w-3","uid":"u-1"},
      "type":"Warning","reason":"FilteringFailed","message":"node n-02 is locked",
      "source":{"component":"my-sched"},"reportingComponent":"my-sched","reportingInstance":"",
      "firstTimestamp":"2026-01-01T00:00:00Z","lastTimestamp":"2026-01-01T00:00:00Z","count":1})"));
  EXPECT_EQ(api_.calls()[0].options.lane, Lane::kBackground);
  EXPECT_EQ(recorder_.counts().sent, 1U);
}

TEST_F(EventRecorderTest, CountsUpWhatIsRepeated) {
  Record("no");
  clock_.Advance(minutes(9));
  Record("no");
  Flush();
  clock_.Advance(minutes(9));
  Record("no");
  Flush();
  const nlohmann::json event = OnlyEvent();
  EXPECT_EQ(event["count"], 3);
  EXPECT_EQ(event["firstTimestamp"], "2026-01-01T00:00:00Z");
  EXPECT_EQ(event["lastTimestamp"], "2026-01-01T00:18:00Z");
}

TEST_F(EventRecorderTest, BeginsAnewAfterTenMinutesAndForOtherTexts) {
  Record("no");
  Flush();
  clock_.Advance(minutes(11));
  Record("no");
  Record("no, really");
  Record("no", "BindingFailed");
  recorder_.Record({"lab", "w-3", "u-2"}, EventType::kWarning, "FilteringFailed", "no");
  recorder_.Record(pod_, EventType::kNormal, "FilteringFailed", "no");
  Flush();
  EXPECT_EQ(api_.events().size(), 6U) << "also at the same instant";
  EXPECT_EQ(api_.CountCalls("PatchEvent"), 0U);
}

TEST_F(EventRecorderTest, CreatesAnewWhatTheApiServerForgot) {
  Record("no");
  Flush();
  api_.DropEvents();
  Record("no");
  Flush();
  EXPECT_EQ(OnlyEvent()["count"], 1);
  Record("no");
  Flush();
  EXPECT_EQ(OnlyEvent()["count"], 2);
}

TEST_F(EventRecorderTest, CutsLongMessagesBetweenCharacters) {
  std::string message(1023, 'x');
  Record(message + "\u00e9" + "tail");
  Flush();
  EXPECT_EQ(OnlyEvent()["message"], message);
}

TEST_F(EventRecorderTest, CountsWhatTheApiServerRefused) {
  api_.FailNext("CreateEvent", {ErrorCode::kForbidden, "no"});
  Record("a");
  Record("b");
  Flush();
  EXPECT_EQ(recorder_.counts().failed, 1U);
  EXPECT_EQ(recorder_.counts().sent, 1U);
}

TEST_F(EventRecorderTest, KeepsNamesValidAndShort) {
  pod_.name = std::string(230, 'a') + "." + std::string(22, 'b');
  Record("x");
  Flush();
  const std::string name = OnlyEvent()["metadata"]["name"];
  EXPECT_LE(name.size(), 253U);
  EXPECT_EQ(name.find(".."), std::string::npos);
}

TEST(EventRecorderQueueTest, NeverBlocksAndDropsWhatDoesNotFit) {
  testing::FakeApi api;
  std::promise<void> first, go_on;
  std::shared_future<void> gate = go_on.get_future().share();
  std::atomic<int> calls = 0;
  api.on_call = [&](const auto&) {
    if (++calls == 1) first.set_value();
    gate.wait();
  };
  EventRecorder recorder(api, "");
  const auto record = [&](int i) {
    recorder.Record({"lab", "w", "u"}, EventType::kNormal, "R", std::to_string(i));
  };
  record(0);
  first.get_future().wait();  // one is being sent, the queue is empty
  for (int i = 1; i <= 1005; ++i) record(i);
  EXPECT_EQ(recorder.counts().dropped, 5U);
  EXPECT_EQ(recorder.counts().queued, 1000U);
  EXPECT_FALSE(recorder.Flush(std::chrono::steady_clock::now()));
  go_on.set_value();
  EXPECT_TRUE(recorder.Flush(std::chrono::steady_clock::now() + seconds(60)));
  EXPECT_EQ(recorder.counts().sent, 1001U);
  EXPECT_EQ(api.events().begin()->second["source"]["component"], "hami-scheduler");
}

TEST(CutUtf8Test, NeverCutsACharacter) {
  EXPECT_EQ(CutUtf8("abc", 3), "abc");
  EXPECT_EQ(CutUtf8("abcd", 3), "abc");
  EXPECT_EQ(CutUtf8("a\u20ac", 3), "a");
  EXPECT_EQ(CutUtf8("\U0001F600", 3), "");
}

}  // namespace
}  // namespace aliquot::kube
