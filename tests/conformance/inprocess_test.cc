// The conformance cases (README.md) and those of the metrics (metrics/README.md)
// in-process, one test per case.
#include <gtest/gtest.h>

#include <cctype>
#include <string>

#include "aliquot/base/log.h"
#include "conformance/player.h"

namespace aliquot::conformance {
namespace {

class ConformanceTest : public ::testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() {
    log::Options quiet;
    quiet.file = "/dev/null";
    log::SetUp(quiet);
  }
};

TEST_P(ConformanceTest, Case) {
  const std::string& name = GetParam();
  const nlohmann::json test = ReadCase(name);
  const std::string problems = Play(test);
  if (IsPending(name)) {
    EXPECT_FALSE(problems.empty()) << name << " passes: take it off pending.txt";
    GTEST_SKIP() << "pending";
  }
  EXPECT_EQ(problems, "") << name << ": " << test.value("about", "");
}

std::string TestName(const ::testing::TestParamInfo<std::string>& param_info) {
  std::string name = param_info.param;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Groups, ConformanceTest, ::testing::ValuesIn(CaseNames()), TestName);

class MetricsTest : public ConformanceTest {};

TEST_P(MetricsTest, Case) {
  const nlohmann::json test = ReadMetricsCase(GetParam());
  EXPECT_EQ(Play(test), "") << GetParam() << ": " << test.value("about", "");
}

INSTANTIATE_TEST_SUITE_P(Scrapes, MetricsTest, ::testing::ValuesIn(MetricsCaseNames()), TestName);

}  // namespace
}  // namespace aliquot::conformance
