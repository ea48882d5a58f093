#include "aliquot/codec/node_lock.h"

#include <gtest/gtest.h>

#include "aliquot/base/fake_clock.h"
#include "aliquot/base/time_text.h"
#include "unit/codec/random_text.h"

namespace aliquot::codec {
namespace {

TEST(NodeLock, ReadsAndWritesItsOwner) {
  const std::string value = "2026-08-01T06:00:00Z,ml,train-0";
  const Result<NodeLock> lock = ParseNodeLock(value);
  ASSERT_TRUE(lock);
  EXPECT_EQ(lock->time, ParseRfc3339("2026-08-01T06:00:00Z"));
  EXPECT_EQ(lock->ns, "ml");
  EXPECT_EQ(lock->name, "train-0");
  EXPECT_FALSE(lock->legacy);
  EXPECT_EQ(FormatNodeLock(*lock), value);
}

TEST(NodeLock, ATimeAloneIsALegacyValue) {
  const Result<NodeLock> lock = ParseNodeLock("2026-07-03T15:35:10+08:00");
  ASSERT_TRUE(lock);
  EXPECT_TRUE(lock->legacy);
  EXPECT_EQ(lock->ns, "");
  EXPECT_EQ(lock->time, ParseRfc3339("2026-07-03T07:35:10Z"));
  EXPECT_EQ(FormatNodeLock(*lock), "2026-07-03T07:35:10Z");
}

TEST(NodeLock, AnEmptyOwnerIsNotLegacy) {
  const Result<NodeLock> lock = ParseNodeLock("2026-08-01T06:00:00Z,,");
  ASSERT_TRUE(lock);
  EXPECT_FALSE(lock->legacy);
  EXPECT_EQ(FormatNodeLock(*lock), "2026-08-01T06:00:00Z,,");
}

TEST(NodeLock, ErrorsShowTheValue) {
  struct Row {
    std::string_view value;
    std::string_view error;
  };
  constexpr Row kRows[] = {
      {"a,b", "malformed lock annotation: expected 3 parts, got 2 from a,b"},
      {",", "malformed lock annotation: expected 3 parts, got 2 from ,"},
      {"2026-08-01T06:00:00Z,a,b,c",
       "malformed lock annotation: expected 3 parts, got 4 from 2026-08-01T06:00:00Z,a,b,c"},
      {"lock", "parsing time \"lock\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"lock\""},
      {"", "parsing time \"\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\""},
      {"noon,ml,train-0",
       "parsing time \"noon\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"noon,ml,train-0\""},
  };
  for (const Row& row : kRows) {
    const Result<NodeLock> lock = ParseNodeLock(row.value);
    ASSERT_FALSE(lock) << row.value;
    EXPECT_EQ(lock.error(), InvalidError(std::string(row.error)));
  }
}

TEST(NodeLock, BelongsToThePodThatItEndsIn) {
  EXPECT_TRUE(NodeLockBelongsTo("2026-08-01T06:00:00Z,ml,train-0", "ml", "train-0"));
  EXPECT_TRUE(NodeLockBelongsTo("2026-08-01T14:00:00+08:00,ml,train-0", "ml", "train-0"));
  EXPECT_TRUE(NodeLockBelongsTo("no time,ml,train-0", "ml", "train-0"));
  EXPECT_FALSE(NodeLockBelongsTo("2026-08-01T06:00:00Z,ml,train-0", "ml", "train-1"));
  EXPECT_FALSE(NodeLockBelongsTo("2026-08-01T06:00:00Z,ml,train-0", "ai", "train-0"));
  EXPECT_FALSE(NodeLockBelongsTo("2026-08-01T06:00:00Z,xml,train-0", "ml", "train-0"));
  EXPECT_FALSE(NodeLockBelongsTo("2026-08-01T06:00:00Z,ml,train-0", "ml", "rain-0"));
  EXPECT_FALSE(NodeLockBelongsTo("2026-08-01T06:00:00Z,ml,train-0,", "ml", "train-0"));
  EXPECT_FALSE(NodeLockBelongsTo("2026-07-03T15:35:10+08:00", "ml", "train-0"));
  EXPECT_FALSE(NodeLockBelongsTo("", "ml", "train-0"));
}

TEST(NodeLock, ReadsBackWhatItWrote) {
  constexpr uint64_t kSeed = 20260812;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RandomText random(kSeed);
  FakeClock clock;
  for (int i = 0; i < 2000; ++i) {
    clock.Advance(std::chrono::seconds(1 + random.Below(100000)));
    const NodeLock lock{clock.Now(), random.Word("abc-09"), random.Word("abc-09."), false};
    const Result<NodeLock> same = ParseNodeLock(FormatNodeLock(lock));
    ASSERT_TRUE(same) << FormatNodeLock(lock);
    ASSERT_EQ(*same, lock);
    ASSERT_TRUE(NodeLockBelongsTo(FormatNodeLock(lock), lock.ns, lock.name));
  }
}

TEST(NodeLock, SurvivesMutatedTexts) {
  constexpr uint64_t kSeed = 20260813;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RandomText random(kSeed);
  int accepted = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string value = random.Mutate("2026-08-01T06:00:00Z,ml,train-0");
    const Result<NodeLock> lock = ParseNodeLock(value);
    if (!lock) continue;
    ++accepted;
    NodeLock want = *lock;
    want.time = std::chrono::floor<std::chrono::seconds>(want.time);
    const Result<NodeLock> same = ParseNodeLock(FormatNodeLock(*lock));
    ASSERT_TRUE(same) << value;
    ASSERT_EQ(*same, want) << value;
  }
  EXPECT_GT(accepted, 250);
  EXPECT_LT(accepted, 4750);
}

}  // namespace
}  // namespace aliquot::codec
