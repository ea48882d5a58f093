#include "aliquot/base/time_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace aliquot {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr WallTime kAugust{seconds(1785564000)};  // 2026-08-01T06:00:00Z

TEST(Rfc3339, WritesWholeSecondsInUtc) {
  EXPECT_EQ(FormatRfc3339(kAugust), "2026-08-01T06:00:00Z");
  EXPECT_EQ(FormatRfc3339(kAugust + milliseconds(999)), "2026-08-01T06:00:00Z");
  EXPECT_EQ(FormatRfc3339(WallTime{}), "1970-01-01T00:00:00Z");
  EXPECT_EQ(FormatRfc3339(WallTime{milliseconds(-1)}), "1969-12-31T23:59:59Z");
}

TEST(Rfc3339, ReadsAnyOffsetAndFraction) {
  EXPECT_EQ(ParseRfc3339("2026-08-01T06:00:00Z"), kAugust);
  EXPECT_EQ(ParseRfc3339("2026-08-01T14:00:00+08:00"), kAugust);
  EXPECT_EQ(ParseRfc3339("2026-07-31T22:30:00-07:30"), kAugust);
  EXPECT_EQ(ParseRfc3339("2026-08-01T06:00:00.5Z"), kAugust + milliseconds(500));
  EXPECT_EQ(ParseRfc3339("2026-08-01T06:00:00.000001Z"), kAugust + nanoseconds(1000));
  EXPECT_EQ(ParseRfc3339("2026-08-01T06:00:00.1234567899+00:00"), kAugust + nanoseconds(123456789));
  EXPECT_EQ(ParseRfc3339("2024-02-29T00:00:00Z"), WallTime{seconds(1709164800)});
}

TEST(Rfc3339, RefusesWhatIsNone) {
  for (const std::string_view text : {"",
                                      "lock",
                                      "2026-08-01",
                                      "2026-08-01T06:00:00",
                                      "2026-08-01 06:00:00Z",
                                      "2026-08-01T06:00Z",
                                      "2026-8-01T06:00:00Z",
                                      "2026-13-01T06:00:00Z",
                                      "2026-02-29T06:00:00Z",
                                      "2026-08-00T06:00:00Z",
                                      "2026-08-01T24:00:00Z",
                                      "2026-08-01T06:60:00Z",
                                      "2026-08-01T06:00:60Z",
                                      "2026-08-01T06:00:00.Z",
                                      "2026-08-01T06:00:00z",
                                      "2026-08-01T06:00:00+8:00",
                                      "2026-08-01T06:00:00+0800",
                                      "2026-08-01T06:00:00+24:00",
                                      "2026-08-01T06:00:00+08:60",
                                      "2026-08-01T06:00:00Z ",
                                      " 2026-08-01T06:00:00Z",
                                      "2026-08-01T06:00:00Zx",
                                      "+026-08-01T06:00:00Z"})
    EXPECT_FALSE(ParseRfc3339(text)) << '"' << text << '"';
}

TEST(Rfc3339, TimesFarAwayStayComparable) {
  const std::optional<WallTime> past = ParseRfc3339("0001-01-01T00:00:00Z");
  const std::optional<WallTime> future = ParseRfc3339("9999-12-31T23:59:59Z");
  ASSERT_TRUE(past && future);
  // Neither difference overflows.
  EXPECT_GT(kAugust - *past, hours(24 * 365 * 100));
  EXPECT_GT(*future - kAugust, hours(24 * 365 * 100));
}

TEST(Rfc3339, ReadsBackWhatItWrote) {
  constexpr uint64_t kSeed = 7;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 20000; ++i) {
    const WallTime time{seconds(static_cast<int64_t>(random() % 7000000000))};  // until 2191
    ASSERT_EQ(ParseRfc3339(FormatRfc3339(time)), time);
    ASSERT_EQ(ParseHandshakeTime(FormatHandshakeTime(time)), time);
  }
}

TEST(HandshakeTime, IsReadAndWrittenInUtc) {
  EXPECT_EQ(FormatHandshakeTime(kAugust), "2026-08-01 06:00:00");
  EXPECT_EQ(ParseHandshakeTime("2026-08-01 06:00:00"), kAugust);
  ASSERT_TRUE(ParseHandshakeTime("2128-12-02 00:00:00"));
  EXPECT_EQ(FormatHandshakeTime(*ParseHandshakeTime("2128-12-02 00:00:00")), "2128-12-02 00:00:00");
}

TEST(HandshakeTime, IsReadExactly) {
  for (const std::string_view text :
       {"", "not-a-timestamp", "2026-08-01T06:00:00", "2026-08-01 06:00:00Z", "2026-08-01 6:00:00",
        "2026-08-01 06:00:00.5", "2026.08.01 06:00:00", "2026-08-01  06:00:00",
        " 2026-08-01 06:00:00", "2026-08-32 06:00:00"})
    EXPECT_FALSE(ParseHandshakeTime(text)) << '"' << text << '"';
}

TEST(UnixSeconds, AreWholeAndRoundedDown) {
  EXPECT_EQ(FormatUnixSeconds(kAugust), "1785564000");
  EXPECT_EQ(FormatUnixSeconds(kAugust + milliseconds(999)), "1785564000");
  EXPECT_EQ(FormatUnixSeconds(WallTime{milliseconds(-1)}), "-1");
}

struct DurationRow {
  Duration duration;
  std::string_view text;
};
constexpr DurationRow kDurations[] = {
    {nanoseconds(0), "0s"},
    {nanoseconds(1), "1ns"},
    {nanoseconds(1100), "1.1\u00b5s"},
    {milliseconds(300), "300ms"},
    {milliseconds(1500), "1.5s"},
    {nanoseconds(2200000), "2.2ms"},
    {seconds(28), "28s"},
    {minutes(5), "5m0s"},
    {minutes(2), "2m0s"},
    {hours(1), "1h0m0s"},
    {hours(-2), "-2h0m0s"},
    {minutes(90) + nanoseconds(1), "1h30m0.000000001s"},
    {milliseconds(-1), "-1ms"},
    {Duration::max(), "2562047h47m16.854775807s"},
    {Duration::min(), "-2562047h47m16.854775808s"},
};

TEST(GoDuration, IsWrittenAsGoDoes) {
  for (const DurationRow& row : kDurations) EXPECT_EQ(FormatGoDuration(row.duration), row.text);
}

TEST(GoDuration, IsReadBack) {
  for (const DurationRow& row : kDurations) EXPECT_EQ(ParseGoDuration(row.text), row.duration);
}

TEST(GoDuration, ReadsGoNotation) {
  EXPECT_EQ(ParseGoDuration("0"), Duration{0});
  EXPECT_EQ(ParseGoDuration("-0"), Duration{0});
  EXPECT_EQ(ParseGoDuration("+5m"), minutes(5));
  EXPECT_EQ(ParseGoDuration("10m"), minutes(10));
  EXPECT_EQ(ParseGoDuration("-2h"), hours(-2));
  EXPECT_EQ(ParseGoDuration("1m30s"), seconds(90));
  EXPECT_EQ(ParseGoDuration("30s1m"), seconds(90));
  EXPECT_EQ(ParseGoDuration("1.5h"), minutes(90));
  EXPECT_EQ(ParseGoDuration(".5s"), milliseconds(500));
  EXPECT_EQ(ParseGoDuration("1.s"), seconds(1));
  EXPECT_EQ(ParseGoDuration("7us"), nanoseconds(7000));
  EXPECT_EQ(ParseGoDuration("7\u03bcs"), nanoseconds(7000));
  EXPECT_EQ(ParseGoDuration("0.3333333333333333333h"), nanoseconds(1199999999999));
}

TEST(GoDuration, RefusesWhatIsNone) {
  for (const std::string_view text : {"",
                                      "+",
                                      "-",
                                      "3",
                                      "-.s",
                                      ".",
                                      "s",
                                      "notaduration",
                                      "1x",
                                      "1 s",
                                      " 1s",
                                      "1s ",
                                      "1d",
                                      "1.1.1s",
                                      "1s-1s",
                                      "2562047h47m16.854775808s",
                                      "3000000h",
                                      "9223372036854775808ns",
                                      "99999999999999999999ns",
                                      "1S"})
    EXPECT_FALSE(ParseGoDuration(text)) << '"' << text << '"';
}

TEST(GoDuration, ReadsBackWhatItWrote) {
  constexpr uint64_t kSeed = 11;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 20000; ++i) {
    const Duration duration{static_cast<int64_t>(random()) >> (random() % 64)};
    ASSERT_EQ(ParseGoDuration(FormatGoDuration(duration)), duration) << FormatGoDuration(duration);
  }
}

}  // namespace
}  // namespace aliquot
