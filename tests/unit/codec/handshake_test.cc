#include "aliquot/codec/handshake.h"

#include <gtest/gtest.h>

#include "aliquot/base/fake_clock.h"
#include "aliquot/base/time_text.h"
#include "unit/codec/random_text.h"

namespace aliquot::codec {
namespace {

using Kind = Handshake::Kind;

TEST(Handshake, KindsOfValues) {
  struct Row {
    std::string value;
    Kind kind;
  };
  const Row rows[] = {
      {"", Kind::kMissingOrForeign},
      {"Unknown", Kind::kMissingOrForeign},
      {"Reported_2026-08-21 06:20:00", Kind::kMissingOrForeign},
      {"requesting_2026-08-21 06:20:00", Kind::kMissingOrForeign},
      {"Deleted_2026-08-21 06:20:00", Kind::kMissingOrForeign},
      {"Requesting_2026-08-21 06:20:00", Kind::kRequesting},
      {"Requesting_2128-12-02 00:00:00", Kind::kRequesting},
      {"stillRequesting_2026-08-21 06:20:00", Kind::kRequesting},
      {"Requesting", Kind::kRequestingUnreadable},
      {"Requesting_", Kind::kRequestingUnreadable},
      {"Requesting_not-a-timestamp", Kind::kRequestingUnreadable},
      {"Requesting_2024.01.10 04:06:57", Kind::kRequestingUnreadable},
      {"Requesting_2026-08-21T06:20:00Z", Kind::kRequestingUnreadable},
      {"Requesting_2026-08-21 06:20:00 ", Kind::kRequestingUnreadable},
      {"Requesting_2026-08-21 06:20:00_x", Kind::kRequestingUnreadable},
      {"x_Requesting_2026-08-21 06:20:00", Kind::kRequestingUnreadable},
      {"2026-08-21 06:20:00 Requesting", Kind::kRequestingUnreadable},
  };
  for (const Row& row : rows) EXPECT_EQ(ParseHandshake(&row.value).kind, row.kind) << row.value;
  EXPECT_EQ(ParseHandshake(nullptr).kind, Kind::kMissingOrForeign);
}

TEST(Handshake, TimeIsUtc) {
  const std::string value = "Requesting_2026-08-21 06:20:00";
  EXPECT_EQ(ParseHandshake(&value).time, ParseRfc3339("2026-08-21T06:20:00Z"));
  EXPECT_EQ(FormatHandshake(*ParseRfc3339("2026-08-21T06:20:00Z")), value);
}

TEST(Handshake, ReadsBackWhatItWrote) {
  FakeClock clock;
  for (int i = 0; i < 1000; ++i) {
    clock.Advance(std::chrono::seconds(86399));
    const std::string value = FormatHandshake(clock.Now());
    ASSERT_EQ(ParseHandshake(&value), (Handshake{Kind::kRequesting, clock.Now()})) << value;
  }
}

TEST(Handshake, SurvivesMutatedTexts) {
  constexpr uint64_t kSeed = 20260811;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RandomText random(kSeed);
  for (int i = 0; i < 5000; ++i) {
    const std::string value = random.Mutate("Requesting_2026-08-21 06:20:00");
    const Handshake handshake = ParseHandshake(&value);
    if (handshake.kind != Kind::kRequesting) continue;
    const std::string again = FormatHandshake(handshake.time);
    ASSERT_EQ(ParseHandshake(&again), handshake) << value;
  }
}

}  // namespace
}  // namespace aliquot::codec
