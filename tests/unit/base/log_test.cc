#include "aliquot/base/log.h"

#include <gtest/gtest.h>

#include <string>

namespace aliquot {
namespace {

using testing::internal::CaptureStderr;
using testing::internal::GetCapturedStderr;

TEST(Log, WritesTheFactAndItsKeys) {
  log::SetUp({});
  CaptureStderr();
  log::Info("Patched pod", {{"pod", "team-a/train-0"}, {"elapsedMs", 3}, {"retried", true}});
  const std::string line = GetCapturedStderr();
  EXPECT_NE(line.find(" I Patched pod pod=team-a/train-0 elapsedMs=3 retried=true\n"),
            std::string::npos)
      << line;
}

TEST(Log, QuotesValuesThatWouldBreakTheLine) {
  log::SetUp({});
  CaptureStderr();
  log::Warn("Read text", {{"a", "x y"}, {"b", ""}, {"c", "say \"hi\"\n\x01"}});
  const std::string line = GetCapturedStderr();
  EXPECT_NE(line.find(" W Read text a=\"x y\" b=\"\" c=\"say \\\"hi\\\"\\n\\u0001\"\n"),
            std::string::npos)
      << line;
}

TEST(Log, WritesOneJsonObjectPerLine) {
  log::SetUp({.format = log::Format::kJson, .verbosity = 0, .file = ""});
  CaptureStderr();
  log::Error("Failed to bind", {{"pod", "a/b"}});
  const std::string line = GetCapturedStderr();
  log::SetUp({});
  EXPECT_TRUE(line.starts_with("{\"time\":\"")) << line;
  EXPECT_TRUE(line.ends_with("\"level\":\"error\",\"msg\":\"Failed to bind\",\"pod\":\"a/b\"}\n"))
      << line;
}

TEST(Log, WritesDebugLinesFromTheirVerbosityOn) {
  log::SetUp({.format = log::Format::kText, .verbosity = 4, .file = ""});
  CaptureStderr();
  log::Debug(4, "Seen at four");
  log::Debug(5, "Seen at five");
  const std::string lines = GetCapturedStderr();
  log::SetUp({});
  EXPECT_NE(lines.find("Seen at four"), std::string::npos);
  EXPECT_EQ(lines.find("Seen at five"), std::string::npos);
  EXPECT_FALSE(log::IsDebug(1));
}

TEST(Log, TheVerbosityCanBeChangedLater) {
  log::SetUp({});
  CaptureStderr();
  log::Debug(4, "Before");
  log::SetVerbosity(4);
  log::Debug(4, "During");
  EXPECT_EQ(log::Verbosity(), 4);
  log::SetVerbosity(0);
  log::Debug(1, "After");
  const std::string lines = GetCapturedStderr();
  EXPECT_EQ(lines.find("Before"), std::string::npos);
  EXPECT_NE(lines.find("During"), std::string::npos);
  EXPECT_EQ(lines.find("After"), std::string::npos);
}

}  // namespace
}  // namespace aliquot
