#include "aliquot/base/time_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <limits>

#include "aliquot/base/strings.h"
#include "base/take_digits.h"

namespace aliquot {
namespace {

namespace chrono = std::chrono;

// Times far away act as these: the difference to any present then fits Duration.
constexpr chrono::sys_seconds kEarliest = chrono::sys_days(chrono::year(1900) / 1 / 1);
constexpr chrono::sys_seconds kLatest = chrono::sys_days(chrono::year(2200) / 1 / 1);

// "YYYY-MM-DD<separator>HH:MM:SS" in UTC.
std::string FormatSeconds(WallTime time, char separator) {
  const auto seconds = chrono::floor<chrono::seconds>(time);
  const auto day = chrono::floor<chrono::days>(seconds);
  const chrono::year_month_day date(day);
  const chrono::hh_mm_ss clock(seconds - day);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02u%c%02d:%02d:%02d",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), separator,
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  return text.data();
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Reads `text` against a picture in which '0' stands for a digit and any other
// character for itself. False: they differ.
bool Matches(std::string_view text, std::string_view picture) {
  return std::equal(text.begin(), text.end(), picture.begin(), picture.end(),
                    [](char c, char p) { return p == '0' ? IsDigit(c) : c == p; });
}

// REQUIRES: all digits.
int Number(std::string_view digits) {
  int value = 0;
  for (const char digit : digits) value = 10 * value + (digit - '0');
  return value;
}

std::optional<chrono::sys_seconds> ParseSeconds(std::string_view text, char separator) {
  std::string picture = "0000-00-00 00:00:00";
  picture[10] = separator;
  if (!Matches(text, picture)) return std::nullopt;
  const chrono::year_month_day date(chrono::year(Number(text.substr(0, 4))),
                                    chrono::month(static_cast<unsigned>(Number(text.substr(5, 2)))),
                                    chrono::day(static_cast<unsigned>(Number(text.substr(8, 2)))));
  const int hour = Number(text.substr(11, 2));
  const int minute = Number(text.substr(14, 2));
  const int second = Number(text.substr(17, 2));
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  return chrono::sys_days(date) + chrono::hours(hour) + chrono::minutes(minute) +
         chrono::seconds(second);
}

// "Z" or "+hh:mm", "-hh:mm".
std::optional<chrono::minutes> ParseOffset(std::string_view text) {
  if (text == "Z") return chrono::minutes(0);
  if (!Matches(text, "+00:00") && !Matches(text, "-00:00")) return std::nullopt;
  const int hours = Number(text.substr(1, 2));
  const int minutes = Number(text.substr(4, 2));
  if (hours > 23 || minutes > 59) return std::nullopt;
  const chrono::minutes offset(60 * hours + minutes);
  return text.front() == '-' ? -offset : offset;
}

WallTime ToWallTime(chrono::sys_seconds seconds) {
  return WallTime(std::clamp(seconds, kEarliest, kLatest));
}

struct Unit {
  std::string_view name;
  uint64_t nanoseconds;
};
constexpr Unit kUnits[] = {
    {"ns", 1},          {"us", 1'000},        {"\u00b5s", 1'000},  // micro sign
    {"\u03bcs", 1'000},                                            // Greek mu
    {"ms", 1'000'000},  {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000},
};

// value / unit as decimal text without trailing zeros.
std::string Decimal(uint64_t value, uint64_t unit) {
  std::string text = std::to_string(value / unit);
  uint64_t rest = value % unit;
  if (rest == 0) return text;
  text += '.';
  while (rest != 0) {
    unit /= 10;
    text += static_cast<char>('0' + rest / unit);
    rest %= unit;
  }
  return text;
}

}  // namespace

std::string FormatRfc3339(WallTime time) { return FormatSeconds(time, 'T') + "Z"; }

std::optional<WallTime> ParseRfc3339(std::string_view text) {
  constexpr size_t kSecondsLength = 19;
  const auto seconds = ParseSeconds(text.substr(0, kSecondsLength), 'T');
  if (!seconds) return std::nullopt;
  text.remove_prefix(kSecondsLength);
  std::string fraction;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = TakeDigits(text);
    if (fraction.empty()) return std::nullopt;
  }
  fraction.resize(9, '0');
  const std::optional<chrono::minutes> offset = ParseOffset(text);
  if (!offset) return std::nullopt;
  return ToWallTime(*seconds - *offset) + chrono::nanoseconds(Number(fraction));
}

std::string FormatHandshakeTime(WallTime time) { return FormatSeconds(time, ' '); }

std::optional<WallTime> ParseHandshakeTime(std::string_view text) {
  const auto seconds = ParseSeconds(text, ' ');
  if (!seconds) return std::nullopt;
  return ToWallTime(*seconds);
}

std::string FormatUnixSeconds(WallTime time) {
  return std::to_string(chrono::floor<chrono::seconds>(time.time_since_epoch()).count());
}

std::string FormatGoDuration(Duration duration) {
  if (duration.count() == 0) return "0s";
  const bool negative = duration.count() < 0;
  // Unsigned, so that the smallest duration has a magnitude as well.
  uint64_t left = static_cast<uint64_t>(duration.count());
  if (negative) left = 0 - left;
  std::string text = negative ? "-" : "";
  if (left < 1'000) return text + std::to_string(left) + "ns";
  if (left < 1'000'000) return text + Decimal(left, 1'000) + "\u00b5s";
  if (left < 1'000'000'000) return text + Decimal(left, 1'000'000) + "ms";
  constexpr uint64_t kMinute = 60'000'000'000;
  const uint64_t minutes = left / kMinute;
  if (minutes >= 60) text += std::to_string(minutes / 60) + "h";
  if (minutes >= 1) text += std::to_string(minutes % 60) + "m";
  return text + Decimal(left % kMinute, 1'000'000'000) + "s";
}

std::optional<Duration> ParseGoDuration(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return Duration{0};
  if (text.empty()) return std::nullopt;
  const uint64_t limit = uint64_t{std::numeric_limits<int64_t>::max()} + (negative ? 1 : 0);
  unsigned __int128 sum = 0;
  while (!text.empty()) {
    const std::string_view whole = TakeDigits(text);
    std::string_view fraction;
    if (text.starts_with('.')) {
      text.remove_prefix(1);
      fraction = TakeDigits(text);
    }
    if (whole.empty() && fraction.empty()) return std::nullopt;
    const std::string_view name = text.substr(0, text.find_first_of(".0123456789"));
    text.remove_prefix(name.size());
    const auto* unit = std::find_if(std::begin(kUnits), std::end(kUnits),
                                    [&](const Unit& u) { return u.name == name; });
    if (unit == std::end(kUnits)) return std::nullopt;

    const std::optional<int64_t> count = whole.empty() ? 0 : ParseInt64(whole);
    if (!count) return std::nullopt;
    sum += static_cast<unsigned __int128>(*count) * unit->nanoseconds;
    // What is finer than a nanosecond is cut off.
    unsigned __int128 numerator = 0;
    unsigned __int128 denominator = 1;
    for (const char digit : fraction.substr(0, 18)) {
      numerator = 10 * numerator + static_cast<unsigned>(digit - '0');
      denominator *= 10;
    }
    sum += numerator * unit->nanoseconds / denominator;
    if (sum > limit) return std::nullopt;
  }
  const auto count = static_cast<uint64_t>(sum);
  return Duration{static_cast<int64_t>(negative ? 0 - count : count)};
}

}  // namespace aliquot
