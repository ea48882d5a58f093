#include "aliquot/base/metrics_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace aliquot {
namespace {

using namespace std::chrono_literals;
using Type = MetricsText::Type;

std::string Number(double value) {
  std::string text;
  AppendNumber(value, text);
  return text;
}

TEST(MetricsTextTest, NumbersAreTheShortestThatReadBack) {
  EXPECT_EQ(Number(0), "0");
  EXPECT_EQ(Number(30), "30");
  EXPECT_EQ(Number(-1048576), "-1.048576e+06");
  EXPECT_EQ(Number(50408), "50408");
  EXPECT_EQ(Number(999999), "999999");
  EXPECT_EQ(Number(1000000), "1e+06");
  EXPECT_EQ(Number(8053063680), "8.05306368e+09");
  EXPECT_EQ(Number(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(Number(0.0001), "0.0001");
  EXPECT_EQ(Number(0.00001), "1e-05");
  EXPECT_EQ(Number(std::numeric_limits<double>::infinity()), "+Inf");
  EXPECT_EQ(Number(-std::numeric_limits<double>::infinity()), "-Inf");
  EXPECT_EQ(Number(std::numeric_limits<double>::quiet_NaN()), "NaN");
}

TEST(MetricsTextTest, HelpAndTypeStandBeforeTheFirstSampleOnly) {
  MetricsText text;
  text.Begin("cards", Type::kGauge, "What there is.");
  text.Sample({Label("node", "a"), Label("zone", "z")}, 1);
  text.Sample({Label("node", "b")}, 2.5);
  text.Begin("nothing", Type::kGauge, "Has no samples.");
  text.Begin("calls_total", Type::kCounter, "What was called.");
  text.Sample({}, 3);
  EXPECT_EQ(text.Take(),
            "# HELP cards What there is.\n"
            "# TYPE cards gauge\n"
            "cards{node=\"a\",zone=\"z\"} 1\n"
            "cards{node=\"b\"} 2.5\n"
            "# HELP calls_total What was called.\n"
            "# TYPE calls_total counter\n"
            "calls_total 3\n");
}

TEST(MetricsTextTest, LabelValuesAreEscaped) {
  EXPECT_EQ(Label("type", "a\"b\\c\nd"), "type=\"a\\\"b\\\\c\\nd\",");
  EXPECT_EQ(Label("index", -1), "index=\"-1\",");
}

TEST(MetricsTextTest, AHistogramCountsUpwards) {
  Histogram histogram;
  histogram.Observe(50us);  // a bound is part of its bucket
  histogram.Observe(51us);
  histogram.Observe(40s);
  MetricsText text;
  text.Begin("took_seconds", Type::kHistogram, "How long.");
  text.Sample(Label("verb", "bind"), histogram);
  const std::string page = text.Take();
  EXPECT_NE(page.find("\ntook_seconds_bucket{verb=\"bind\",le=\"5e-05\"} 1\n"
                      "took_seconds_bucket{verb=\"bind\",le=\"0.0001\"} 2\n"),
            std::string::npos)
      << page;
  EXPECT_TRUE(
      page.ends_with("took_seconds_bucket{verb=\"bind\",le=\"30\"} 2\n"
                     "took_seconds_bucket{verb=\"bind\",le=\"+Inf\"} 3\n"
                     "took_seconds_sum{verb=\"bind\"} 40.000101\n"
                     "took_seconds_count{verb=\"bind\"} 3\n"))
      << page;
}

}  // namespace
}  // namespace aliquot
