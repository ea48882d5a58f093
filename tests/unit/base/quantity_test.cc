#include "aliquot/base/quantity.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

namespace aliquot {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

struct Row {
  std::string_view text;
  int64_t value;
  std::optional<int64_t> plain;
};

class QuantityTable : public testing::TestWithParam<Row> {};

TEST_P(QuantityTable, HasValueAndPlainInteger) {
  const std::optional<Quantity> quantity = Quantity::Parse(GetParam().text);
  ASSERT_TRUE(quantity) << GetParam().text;
  EXPECT_EQ(quantity->Value(), GetParam().value) << GetParam().text;
  EXPECT_EQ(quantity->AsInt64(), GetParam().plain) << GetParam().text;
}

constexpr auto kNone = std::nullopt;

INSTANTIATE_TEST_SUITE_P(
    Everyday, QuantityTable,
    testing::Values(Row{"0", 0, 0}, Row{"1", 1, 1}, Row{"+7", 7, 7}, Row{"-7", -7, -7},
                    Row{"007", 7, 7}, Row{"3k", 3000, 3000}, Row{"8k", 8000, 8000},
                    Row{"1024", 1024, 1024}, Row{"16Gi", 17179869184, 17179869184},
                    Row{"1Ki", 1 << 10, 1 << 10}, Row{"1Mi", 1 << 20, 1 << 20},
                    Row{"2M", 2000000, 2000000}, Row{"1T", 1000000000000, 1000000000000},
                    Row{"1P", 1000000000000000, 1000000000000000}, Row{" 5 \n", 5, 5}));

INSTANTIATE_TEST_SUITE_P(
    FractionsRoundAwayFromZero, QuantityTable,
    testing::Values(Row{"1.5", 2, kNone}, Row{"-1.5", -2, kNone}, Row{"99.5", 100, kNone},
                    Row{"100m", 1, kNone}, Row{"1500m", 2, kNone}, Row{"2000m", 2, kNone},
                    Row{"-100m", -1, kNone}, Row{"0m", 0, kNone}, Row{"1u", 1, kNone},
                    Row{"1n", 1, kNone}, Row{"1000000000n", 1, kNone}, Row{"1000000001n", 2, kNone},
                    Row{"0.0000000000001", 1, kNone},
                    // 102.4
                    Row{"0.1Ki", 103, kNone}, Row{"1.5Gi", 1610612736, kNone},
                    Row{"16.0Gi", 17179869184, kNone},
                    // 2^60 * 10^-19 = 0.115...
                    Row{"0.0000000000000000001Ei", 1, kNone}, Row{"1.0", 1, kNone}, Row{"1.", 1, 1},
                    Row{".5", 1, kNone}, Row{"0.0", 0, kNone}, Row{"1.5k", 1500, kNone}));

INSTANTIATE_TEST_SUITE_P(
    Exponents, QuantityTable,
    testing::Values(Row{"1e3", 1000, 1000}, Row{"1E3", 1000, 1000}, Row{"1e+3", 1000, 1000},
                    Row{"1e0", 1, 1}, Row{"1E", 1000000000000000000, 1000000000000000000},
                    Row{"1Ei", int64_t{1} << 60, kNone}, Row{"1e-3", 1, kNone},
                    Row{"1000e-3", 1, kNone}, Row{"2.5e1", 25, kNone}, Row{"0e99999999999", 0, 0},
                    Row{"1e99999999999", kMax, kNone}, Row{"-1e99999999999", kMin, kNone},
                    Row{"1e-99999999999", 1, kNone}));

// The fast form judges binary texts by digits + floor(3 * exponent / 10) + 1 <= 15.
INSTANTIATE_TEST_SUITE_P(
    LargeOnesHaveNoPlainInteger, QuantityTable,
    testing::Values(Row{"99Ti", 108851651149824, 108851651149824},
                    Row{"100Ti", 109951162777600, kNone},
                    Row{"99999Gi", 107373108658176, 107373108658176},
                    Row{"100000Gi", 107374182400000, kNone}, Row{"1Pi", int64_t{1} << 50, kNone},
                    Row{"999999999999999999", 999999999999999999, 999999999999999999},
                    Row{"1000000000000000000", 1000000000000000000, kNone},
                    Row{"9223372036854775807", kMax, kNone},
                    Row{"-9223372036854775808", kMin, kNone}));

INSTANTIATE_TEST_SUITE_P(Saturate, QuantityTable,
                         testing::Values(Row{"8Ei", kMax, kNone}, Row{"16Ei", kMax, kNone},
                                         Row{"12E", kMax, kNone}, Row{"-12E", kMin, kNone},
                                         Row{"9223372036854775808", kMax, kNone},
                                         Row{"9223372036854775807.1", kMax, kNone},
                                         Row{"999999999999999999999999999999999Ei", kMax, kNone}));

TEST(Quantity, RefusesWhatIsNone) {
  for (const std::string_view text : {"",      " ",     "K",
                                      "1K",    "mi",    "1mi",
                                      "1e",    "1e+",   "1E-",
                                      "i",     "1i",    "+",
                                      "-",     ".",     "+.",
                                      "--1",   "+-1",   "1 Gi",
                                      "1_0",   "0x10",  "Inf",
                                      "NaN",   "1,5",   "1.5.",
                                      "1..5",  "Gi",    "1GiB",
                                      "1kk",   "1e3k",  "1ki",
                                      "1e1.5", "1e3Ki", "1e 3",
                                      "1\t0",  "m",     "1KI",
                                      "1EI",   "1eE3",  "1e99999999999999999999"})
    EXPECT_FALSE(Quantity::Parse(text)) << '"' << text << '"';
}

// Against 128 bit integers, which hold all of these exactly.
TEST(Quantity, AgreesWithIntegerArithmetic) {
  constexpr uint64_t kSeed = 20260801;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  struct Suffix {
    const char* text;
    int two;
    int ten;
  };
  constexpr Suffix kSuffixes[] = {{"n", 0, -9},  {"u", 0, -6},  {"m", 0, -3},  {"", 0, 0},
                                  {"k", 0, 3},   {"M", 0, 6},   {"G", 0, 9},   {"Ki", 10, 0},
                                  {"Mi", 20, 0}, {"Gi", 30, 0}, {"Ti", 40, 0}, {"e2", 0, 2}};
  for (int i = 0; i < 20000; ++i) {
    const Suffix& suffix = kSuffixes[random() % std::size(kSuffixes)];
    const std::string whole = std::to_string(random() % 1000000);
    std::string fraction;
    for (size_t digits = random() % 5; fraction.size() < digits;)
      fraction += static_cast<char>('0' + random() % 10);
    const std::string sign = random() % 4 == 0 ? "-" : "";
    const std::string text = sign + whole + (fraction.empty() ? "" : "." + fraction) + suffix.text;

    __int128 numerator = std::stoll(whole + fraction);
    numerator <<= suffix.two;
    __int128 denominator = 1;
    for (int j = 0; j < suffix.ten; ++j) numerator *= 10;
    for (int j = 0; j < static_cast<int>(fraction.size()) - std::min(suffix.ten, 0); ++j)
      denominator *= 10;
    __int128 want = (numerator + denominator - 1) / denominator;
    if (!sign.empty()) want = -want;

    const std::optional<Quantity> quantity = Quantity::Parse(text);
    ASSERT_TRUE(quantity) << text;
    ASSERT_EQ(quantity->Value(), static_cast<int64_t>(want)) << text;
    ASSERT_EQ(quantity->AsInt64().value_or(quantity->Value()), quantity->Value()) << text;
  }
}

TEST(Quantity, PlainIntegerIsTheValue) {
  constexpr uint64_t kSeed = 42;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  constexpr std::string_view kLetters = "0123456789.+-eEinumkKMGTPi";
  int accepted = 0;
  for (int i = 0; i < 200000; ++i) {
    std::string text;
    for (size_t length = 1 + random() % 6; text.size() < length;)
      text += kLetters[random() % kLetters.size()];
    const std::optional<Quantity> quantity = Quantity::Parse(text);
    if (!quantity) continue;
    ++accepted;
    ASSERT_EQ(quantity->AsInt64().value_or(quantity->Value()), quantity->Value()) << text;
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace aliquot
