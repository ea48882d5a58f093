#include "aliquot/base/strings.h"

#include <gtest/gtest.h>

#include <limits>

#include "aliquot/base/object_ref.h"
#include "aliquot/base/string_map.h"

namespace aliquot {
namespace {

using Pieces = std::vector<std::string_view>;

TEST(Strings, SplitKeepsEmptyPieces) {
  EXPECT_EQ(Split("", ';'), Pieces{""});
  EXPECT_EQ(Split("a", ';'), Pieces{"a"});
  EXPECT_EQ(Split("a;b", ';'), (Pieces{"a", "b"}));
  EXPECT_EQ(Split(";a;;", ';'), (Pieces{"", "a", "", ""}));
}

TEST(Strings, TrimTakesAsciiWhiteSpaceOffBothEnds) {
  EXPECT_EQ(Trim(" \t\r\n\v\fa b \n"), "a b");
  EXPECT_EQ(Trim("   "), "");
  EXPECT_EQ(Trim(""), "");
  EXPECT_EQ(Trim("\u00a0a"), "\u00a0a");
}

TEST(Strings, CaseIsFoldedForAsciiOnly) {
  EXPECT_EQ(ToUpper("a-Z\u00e9"), "A-Z\u00e9");
  EXPECT_EQ(ToLower("a-Z\u00c9"), "a-z\u00c9");
  EXPECT_TRUE(EqualsIgnoreCase("DevMem", "devmem"));
  EXPECT_FALSE(EqualsIgnoreCase("devmem", "devme"));
  EXPECT_FALSE(EqualsIgnoreCase("[", "{"));
}

TEST(Strings, ContainsIsASubstringTest) {
  EXPECT_TRUE(Contains("NVIDIA A100", "A10"));
  EXPECT_FALSE(Contains("NVIDIA A100", "a10"));
  EXPECT_TRUE(ContainsIgnoreCase("NVIDIA A100", "a10"));
  EXPECT_FALSE(ContainsIgnoreCase("NVIDIA A100", "V100"));
  EXPECT_TRUE(ContainsIgnoreCase("", ""));
  EXPECT_TRUE(ContainsIgnoreCase("a", ""));
  EXPECT_FALSE(ContainsIgnoreCase("", "a"));
}

TEST(Strings, IntegersAreReadAsGoDoes) {
  EXPECT_EQ(ParseInt64("0"), 0);
  EXPECT_EQ(ParseInt64("+5"), 5);
  EXPECT_EQ(ParseInt64("-5"), -5);
  EXPECT_EQ(ParseInt64("-0"), 0);
  EXPECT_EQ(ParseInt64("007"), 7);
  EXPECT_EQ(ParseInt64("9223372036854775807"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ParseInt64("-9223372036854775808"), std::numeric_limits<int64_t>::min());
  for (const std::string_view text : {"", "+", "-", "+-1", "-+1", "--1", " 1", "1 ", "1.0", "1e3",
                                      "0x1", "1_0", "9223372036854775808", "-9223372036854775809"})
    EXPECT_FALSE(ParseInt64(text)) << '"' << text << '"';
}

TEST(Strings, BooleansAreReadAsGoDoes) {
  for (const std::string_view text : {"1", "t", "T", "TRUE", "true", "True"})
    EXPECT_EQ(ParseBool(text), true) << text;
  for (const std::string_view text : {"0", "f", "F", "FALSE", "false", "False"})
    EXPECT_EQ(ParseBool(text), false) << text;
  for (const std::string_view text : {"", "yes", "tRUE", " true", "notabool", "2"})
    EXPECT_FALSE(ParseBool(text)) << '"' << text << '"';
}

TEST(Strings, JoinPutsTheSeparatorBetween) {
  EXPECT_EQ(Join({}, ", "), "");
  EXPECT_EQ(Join({"a"}, ", "), "a");
  EXPECT_EQ(Join({"a", "", "b"}, ", "), "a, , b");
}

TEST(Strings, LabelValuesFollowKubernetes) {
  for (const std::string_view text : {"", "a", "A-1_b.C", "0"})
    EXPECT_TRUE(IsLabelValue(text)) << text;
  EXPECT_TRUE(IsLabelValue(std::string(63, 'a')));
  EXPECT_FALSE(IsLabelValue(std::string(64, 'a')));
  for (const std::string_view text : {"-a", "a-", ".a", "a_", "a b", "a/b", "\u00e9"})
    EXPECT_FALSE(IsLabelValue(text)) << text;
}

TEST(StringMap, FindGivesTheValueOrNull) {
  const StringMap map{{"", "empty key"}, {"a", "1"}};
  ASSERT_NE(Find(map, "a"), nullptr);
  EXPECT_EQ(*Find(map, "a"), "1");
  EXPECT_EQ(Find(map, "b"), nullptr);
  EXPECT_EQ(Find(map, ""), nullptr);
}

TEST(ObjectRef, IsDisplayedWithItsNamespaceIfAny) {
  EXPECT_EQ(Display({"team-a", "train-0", "u"}), "team-a/train-0");
  EXPECT_EQ(Display({"", "gpu-17", "u"}), "gpu-17");
}

}  // namespace
}  // namespace aliquot
