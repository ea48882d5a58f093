#include "aliquot/base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
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

TEST(Log, DoesNotWaitForAReaderThatStalls) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  ASSERT_GT(::fcntl(ends[1], F_SETPIPE_SZ, 4096), 0);
  log::SetUp({.file = "/proc/self/fd/" + std::to_string(ends[1])});
  const uint64_t before = log::DroppedLines();
  const std::string kilobyte(1024, 'x');
  uint64_t written = 0;
  while (log::DroppedLines() < before + 3) {
    log::Info("Wrote", {{"text", kilobyte}});
    ASSERT_LT(++written, 2 * log::kKeptBytes / kilobyte.size());
  }
  EXPECT_GT(written * (kilobyte.size() + 64), log::kKeptBytes);  // with its time

  std::string got;
  std::array<char, 4096> piece;
  const std::string said = " W Dropped log lines count=3\n";
  while (got.find(said) == std::string::npos) {
    const ssize_t size = ::read(ends[0], piece.data(), piece.size());
    ASSERT_GT(size, 0);
    got.append(piece.data(), static_cast<size_t>(size));
    ASSERT_LT(got.size(), 2 * log::kKeptBytes);
    log::Info("Read on");
  }
  EXPECT_LT(got.find("Wrote text="), got.find(said));
  log::SetUp({});
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace aliquot
