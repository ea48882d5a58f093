#include "aliquot/base/quantity.h"

#include <algorithm>
#include <limits>
#include <string>

#include "aliquot/base/strings.h"
#include "base/take_digits.h"

namespace aliquot {
namespace {

constexpr uint64_t kCap = uint64_t{1} << 63;  // magnitudes stay here: just outside int64

// What a suffix multiplies by: 2^two * 10^ten. One of them is 0.
struct Scale {
  int two = 0;
  int64_t ten = 0;
};

std::optional<Scale> ParseScale(std::string_view suffix) {
  constexpr std::string_view kPrefixes = "KMGTPE";  // 2^10, 2^20, ...; k instead of K: 10^3
  if (suffix.empty()) return Scale{};
  if (suffix.size() == 2 && suffix[1] == 'i') {
    const size_t at = kPrefixes.find(suffix[0]);
    if (at == std::string_view::npos) return std::nullopt;
    return Scale{.two = 10 * (static_cast<int>(at) + 1)};
  }
  if (suffix.size() == 1) {
    switch (suffix[0]) {
      case 'n':
        return Scale{.ten = -9};
      case 'u':
        return Scale{.ten = -6};
      case 'm':
        return Scale{.ten = -3};
      case 'k':
        return Scale{.ten = 3};
      case 'M':
        return Scale{.ten = 6};
      case 'G':
        return Scale{.ten = 9};
      case 'T':
        return Scale{.ten = 12};
      case 'P':
        return Scale{.ten = 15};
      case 'E':
        return Scale{.ten = 18};
      default:
        return std::nullopt;
    }
  }
  if (suffix[0] != 'e' && suffix[0] != 'E') return std::nullopt;
  const std::optional<int64_t> exponent = ParseInt64(suffix.substr(1));
  if (!exponent) return std::nullopt;
  // Beyond this the value is 0, 1 or saturated in any case.
  return Scale{.ten = std::clamp<int64_t>(*exponent, -1'000'000'000, 1'000'000'000)};
}

uint64_t MulAdd(uint64_t value, uint64_t factor, uint64_t add) {
  uint64_t out = 0;
  if (__builtin_mul_overflow(value, factor, &out) || __builtin_add_overflow(out, add, &out))
    return kCap;
  return std::min(out, kCap);
}

// whole.fraction * scale, rounded up; kCap for everything that is larger.
uint64_t Magnitude(std::string_view whole, std::string_view fraction, Scale scale) {
  std::string digits(whole);
  digits += fraction;
  if (digits.find_first_not_of('0') == std::string::npos) return 0;

  // Powers of ten move the point.
  const int64_t point = static_cast<int64_t>(whole.size()) + scale.ten;
  uint64_t value = 0;
  for (int64_t i = 0; i < point && value < kCap; ++i) {
    const auto at = static_cast<size_t>(i);
    value = MulAdd(value, 10, at < digits.size() ? static_cast<uint64_t>(digits[at] - '0') : 0);
  }
  const auto whole_digits = static_cast<size_t>(std::max<int64_t>(point, 0));
  std::string rest = digits.substr(std::min(whole_digits, digits.size()));

  // Powers of two double both sides of the point, digit by digit.
  for (int i = 0; i < scale.two; ++i) {
    int carry = 0;
    for (auto digit = rest.rbegin(); digit != rest.rend(); ++digit) {
      const int doubled = 2 * (*digit - '0') + carry;
      *digit = static_cast<char>('0' + doubled % 10);
      carry = doubled / 10;
    }
    value = MulAdd(value, 2, static_cast<uint64_t>(carry));
  }
  const bool has_rest = rest.find_first_not_of('0') != std::string::npos;
  return MulAdd(value, 1, has_rest ? 1 : 0);
}

}  // namespace

std::optional<Quantity> Quantity::Parse(std::string_view text) {
  text = Trim(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  std::string_view whole = TakeDigits(text);
  std::string_view fraction;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = TakeDigits(text);
  }
  if (whole.empty() && fraction.empty()) return std::nullopt;
  const std::optional<Scale> scale = ParseScale(text);
  if (!scale) return std::nullopt;
  whole.remove_prefix(std::min(whole.find_first_not_of('0'), whole.size()));

  const uint64_t magnitude = Magnitude(whole, fraction, *scale);
  Quantity out;
  if (magnitude < kCap) {
    const auto value = static_cast<int64_t>(magnitude);
    out.value_ = negative ? -value : value;
  } else {
    out.value_ =
        negative ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
  }
  // apimachinery's fast form, judged by the length of the text.
  const size_t digits = std::max<size_t>(whole.size(), 1);
  const bool fast =
      scale->two == 0 ? digits <= 18 : digits + static_cast<size_t>(3 * scale->two / 10) + 1 <= 15;
  if (fast && fraction.empty() && scale->ten >= 0 && magnitude < kCap) out.plain_ = out.value_;
  return out;
}

}  // namespace aliquot
