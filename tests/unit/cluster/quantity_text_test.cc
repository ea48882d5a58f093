#include "cluster/quantity_text.h"

#include <gtest/gtest.h>

namespace aliquot::cluster {
namespace {

TEST(CanonicalQuantity, UsesTheLargestSuffixWithoutAFraction) {
  const std::pair<const char*, const char*> rows[] = {
      {"3000", "3k"},     {"3k", "3k"},         {"1.5", "1500m"},    {"100m", "100m"},
      {"-1.5", "-1500m"}, {"0.1Ki", "102400m"}, {"1.5Gi", "1536Mi"}, {"2000m", "2"},
      {"1e3", "1e3"},     {"100Ti", "100Ti"},   {"12E", "12E"},      {"0", "0"},
      {"0Gi", "0"},       {"1024", "1024"},     {"1024Ki", "1Mi"},   {"1000Ki", "1000Ki"},
      {"512Gi", "512Gi"}, {"1E3", "1e3"},       {"1000000", "1M"},   {"16.0Gi", "16Gi"},
      {"1n", "1n"},       {"0.1n", "1n"},       {"500u", "500u"},    {"1e-3", "1e-3"}};
  for (const auto& [text, canonical] : rows) EXPECT_EQ(CanonicalQuantity(text), canonical) << text;
}

TEST(CanonicalQuantity, RefusesWhatIsNoQuantity) {
  for (const char* text : {"", "K", "1e", "x", "1 G", "1.2.3", "0x10", "1e99999"})
    EXPECT_EQ(CanonicalQuantity(text), std::nullopt) << text;
}

TEST(MilliValue, RoundsAwayFromZero) {
  EXPECT_EQ(static_cast<int64_t>(MilliValue("1500m")), 1500);
  EXPECT_EQ(static_cast<int64_t>(MilliValue("1u")), 1);
  EXPECT_EQ(static_cast<int64_t>(MilliValue("-1u")), -1);
  EXPECT_EQ(static_cast<int64_t>(MilliValue("3k")), 3000000);
}

}  // namespace
}  // namespace aliquot::cluster
