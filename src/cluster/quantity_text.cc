#include "cluster/quantity_text.h"

#include <algorithm>
#include <charconv>

#include "aliquot/base/check.h"
#include "aliquot/base/quantity.h"

namespace aliquot::cluster {
namespace {

using Int = __int128;
constexpr Int kNano = 1'000'000'000;
constexpr Int kLimit = Int{1} << 120;  // far above anything that is counted

enum class Form { kDecimal, kBinary, kExponent };

struct Parsed {
  Int nano = 0;  // rounded away from zero
  Form form = Form::kDecimal;
};

std::string Digits(Int value) {
  if (value == 0) return "0";
  std::string digits;
  const bool negative = value < 0;
  for (Int rest = negative ? -value : value; rest > 0; rest /= 10) {
    digits += static_cast<char>('0' + static_cast<int>(rest % 10));
  }
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

constexpr std::string_view kBinarySuffixes = "KMGTPE";

// What the suffix stands for: powers of ten and of two.
bool ReadSuffix(std::string_view suffix, int& tens, int& twos, Form& form) {
  if (suffix.empty()) return true;
  if (suffix.size() == 2 && suffix[1] == 'i') {
    const size_t at = kBinarySuffixes.find(suffix[0]);
    form = Form::kBinary;
    twos = 10 * (static_cast<int>(at) + 1);
    return at != std::string_view::npos;
  }
  if (suffix.size() == 1) {
    constexpr std::string_view kNames = "num kMGTPE";  // from 10^-9 in steps of 3
    const size_t at = kNames.find(suffix[0]);
    tens = 3 * static_cast<int>(at) - 9;
    return at != std::string_view::npos && suffix[0] != ' ';
  }
  form = Form::kExponent;
  std::string_view digits = suffix.substr(1);
  if (digits.starts_with('+')) digits.remove_prefix(1);
  return std::from_chars(digits.data(), digits.data() + digits.size(), tens).ec == std::errc();
}

std::optional<Parsed> Parse(std::string_view text) {
  if (!Quantity::Parse(text)) return std::nullopt;  // from here on the grammar holds
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);

  Int number = 0;
  int tens = 0, twos = 0;
  bool fraction = false;
  size_t i = 0;
  for (; i < text.size() && (text[i] == '.' || (text[i] >= '0' && text[i] <= '9')); ++i) {
    if (text[i] == '.') {
      fraction = true;
      continue;
    }
    if (number > kLimit / 10) return std::nullopt;
    number = number * 10 + (text[i] - '0');
    if (fraction) --tens;
  }
  Parsed parsed;
  int exponent = 0;
  if (!ReadSuffix(text.substr(i), exponent, twos, parsed.form)) return std::nullopt;
  tens += exponent + 9;  // count in 10^-9

  for (; twos > 0; --twos) {
    if (number > kLimit / 2) return std::nullopt;
    number *= 2;
  }
  for (; tens > 0 && number != 0; --tens) {
    if (number > kLimit / 10) return std::nullopt;
    number *= 10;
  }
  bool rest = false;
  for (; tens < 0 && number != 0; ++tens) {
    rest = rest || number % 10 != 0;
    number /= 10;
  }
  if (rest) ++number;
  parsed.nano = negative ? -number : number;
  return parsed;
}

}  // namespace

std::optional<std::string> CanonicalQuantity(std::string_view text) {
  std::optional<Parsed> parsed = Parse(text);
  if (!parsed) return std::nullopt;
  Int number = parsed->nano;
  if (number == 0) return "0";

  const Int whole = number / kNano;
  const bool small = whole > -1024 && whole < 1024;
  if (parsed->form == Form::kBinary && !small && number % kNano == 0) {
    size_t steps = 0;
    number = whole;
    for (; number % 1024 == 0 && steps < kBinarySuffixes.size(); ++steps) number /= 1024;
    return steps == 0 ? Digits(number) : Digits(number) + kBinarySuffixes[steps - 1] + "i";
  }
  int exponent = -9;
  for (; number % 1000 == 0 && exponent < 18; exponent += 3) number /= 1000;
  if (exponent == 0) return Digits(number);
  if (parsed->form == Form::kExponent) return Digits(number) + "e" + std::to_string(exponent);
  constexpr std::string_view kSuffixes = "num kMGTPE";
  return Digits(number) + kSuffixes[static_cast<size_t>(exponent / 3 + 3)];
}

__int128 MilliValue(std::string_view text) {
  const std::optional<Parsed> parsed = Parse(text);
  ALIQUOT_CHECK(parsed);
  constexpr Int kMicro = kNano / 1000;
  const Int up = parsed->nano > 0 ? kMicro - 1 : parsed->nano < 0 ? 1 - kMicro : 0;
  return (parsed->nano + up) / kMicro;
}

}  // namespace aliquot::cluster
