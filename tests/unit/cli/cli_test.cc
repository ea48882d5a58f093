#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "aliquot/base/strings.h"
#include "cli/command.h"
#include "cli/config_command.h"
#include "cli/serve.h"
#include "cli/version_command.h"

namespace aliquot::cli {
namespace {

// Runs the program with a serve that only remembers what it was given.
class CliTest : public testing::Test {
 protected:
  void SetUp() override {
    good_ = Write("good.yaml", "nvidia: {defaultCores: 30}\ntpu: {}\n");
    empty_ = Write("empty.yaml", "");
  }
  void TearDown() override {
    std::filesystem::remove(good_);
    std::filesystem::remove(empty_);
  }

  int Run(const std::vector<std::string>& argv) {
    out_.str("");
    err_.str("");
    served_.clear();
    const auto serve = [this](const config::ServeFlags& flags, const config::DeviceConfig& config) {
      served_ = flags.scheduler_name + "," + std::to_string(config.nvidia.default_cores);
      return 7;
    };
    const std::vector<Command> commands{ServeCommand(serve), ConfigCommand(), VersionCommand()};
    return Dispatch(argv, commands, {out_, err_});
  }
  std::string Out() const { return out_.str(); }
  std::string Err() const { return err_.str(); }

  std::string good_;
  std::string empty_;
  std::string served_;

 private:
  static std::string Write(const std::string& name, const std::string& text) {
    std::string path = testing::TempDir() + "aliquot_cli_test_" + name;
    std::ofstream(path) << text;
    return path;
  }

  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(CliTest, ServesWithFlagsAndDeviceConfiguration) {
  EXPECT_EQ(Run({"/bin/aliquot", "serve", "--scheduler-name=s", "--device-config-file=" + good_}),
            7);
  EXPECT_EQ(served_, "s,30");
}

TEST_F(CliTest, ServesUnderTheNameScheduler) {
  EXPECT_EQ(Run({"/usr/bin/scheduler", "--scheduler-name=s", "--device-config-file", good_}), 7);
  EXPECT_EQ(served_, "s,30");
}

TEST_F(CliTest, FailsToServeWithoutAUsableDeviceConfiguration) {
  EXPECT_EQ(Run({"scheduler"}), kExitFailure);
  EXPECT_EQ(Run({"aliquot", "serve", "--device-config-file=" + empty_}), kExitFailure);
  EXPECT_EQ(served_, "");
}

TEST_F(CliTest, TellsABadFlagAndWhereToReadMore) {
  EXPECT_EQ(Run({"aliquot", "serve", "--debgu"}), kExitUsage);
  EXPECT_EQ(Err(),
            "aliquot serve: unknown flag --debgu (did you mean \"--debug\"?)\n"
            "Run 'aliquot serve --help' for help.\n");
  EXPECT_EQ(Run({"scheduler", "--kube-qps=x"}), kExitUsage);
  EXPECT_EQ(Err(),
            "scheduler: --kube-qps=\"x\": must be a number such as 5 or 0.5\n"
            "Run 'scheduler --help' for help.\n");
  EXPECT_EQ(served_, "");
}

TEST_F(CliTest, PrintsTheCommandsWithoutArguments) {
  const std::string overview =
      "Usage: aliquot <command> [arguments]\n\n"
      "Commands:\n"
      "  serve     run the scheduler extender\n"
      "  config    check or show a device configuration file\n"
      "  version   print the version\n\n"
      "'aliquot help <command>' tells more about one.\n";
  for (const std::vector<std::string>& argv : {std::vector<std::string>{"aliquot"},
                                               {"aliquot", "help"},
                                               {"aliquot", "--help"},
                                               {"aliquot", "-h"},
                                               {}}) {
    EXPECT_EQ(Run(argv), kExitOk);
    EXPECT_EQ(Out(), overview);
    EXPECT_EQ(Err(), "");
  }
}

TEST_F(CliTest, PrintsTheHelpOfACommand) {
  for (const std::vector<std::string>& argv : {std::vector<std::string>{"aliquot", "help", "serve"},
                                               {"aliquot", "serve", "--help"},
                                               {"aliquot", "serve", "--debug", "-h"}}) {
    EXPECT_EQ(Run(argv), kExitOk);
    EXPECT_TRUE(Out().starts_with("Usage: aliquot serve [flags]\n")) << Out();
  }
  EXPECT_EQ(Run({"scheduler", "--help"}), kExitOk);
  EXPECT_TRUE(Out().starts_with("Usage: scheduler [flags]\n")) << Out();
  EXPECT_EQ(Run({"scheduler", "help", "version"}), kExitOk);
  EXPECT_TRUE(Out().starts_with("Usage: scheduler version\n")) << Out();
  EXPECT_EQ(Run({"aliquot", "config", "--help"}), kExitOk);
  EXPECT_TRUE(Out().starts_with("Usage: aliquot config check|show FILE\n")) << Out();
}

TEST_F(CliTest, SuggestsACommandForAnUnknownOne) {
  EXPECT_EQ(Run({"aliquot", "srve"}), kExitUsage);
  EXPECT_EQ(Err(),
            "aliquot: unknown command \"srve\" (did you mean \"serve\"?)\n"
            "Run 'aliquot --help' for help.\n");
  EXPECT_EQ(Run({"aliquot", "help", "konfig"}), kExitUsage);
  EXPECT_EQ(Err(),
            "aliquot: unknown command \"konfig\" (did you mean \"config\"?)\n"
            "Run 'aliquot --help' for help.\n");
  EXPECT_EQ(Run({"scheduler", "completion"}), kExitUsage);
}

TEST_F(CliTest, PrintsSixLinesOfVersionToStandardError) {
  for (const std::vector<std::string>& argv : {std::vector<std::string>{"aliquot", "version"},
                                               {"aliquot", "--version"},
                                               {"scheduler", "version"},
                                               {"scheduler", "--version"}}) {
    EXPECT_EQ(Run(argv), kExitOk);
    EXPECT_EQ(Out(), "");
    const std::string text = Err();
    std::vector<std::string> keys;
    for (const std::string_view line : Split(text, '\n')) {
      if (line.empty()) continue;
      keys.emplace_back(line.substr(0, line.find(": ")));
      EXPECT_GT(line.size(), keys.back().size() + 2) << "no value: " << line;
    }
    EXPECT_EQ(keys, (std::vector<std::string>{"version", "revision", "build date", "language",
                                              "compiler", "platform"}));
  }
  EXPECT_EQ(Run({"aliquot", "version", "now"}), kExitUsage);
}

TEST_F(CliTest, ChecksADeviceConfiguration) {
  EXPECT_EQ(Run({"aliquot", "config", "check", good_}), kExitOk);
  EXPECT_EQ(Out(), good_ + ": can be used\n");
  EXPECT_EQ(Err(), "warning: " + good_ + ":2: unknown key tpu\n");

  EXPECT_EQ(Run({"aliquot", "config", "check", empty_}), kExitFailure);
  EXPECT_EQ(Out(), "");
  EXPECT_EQ(Err(), "Failed to initialize devices: all configurations are empty\n");
}

TEST_F(CliTest, ShowsADeviceConfiguration) {
  EXPECT_EQ(Run({"aliquot", "config", "show", good_}), kExitOk);
  EXPECT_TRUE(Contains(Out(), "  defaultCores: 30\n")) << Out();
}

TEST_F(CliTest, NeedsAFileForConfig) {
  for (const std::vector<std::string>& argv : {std::vector<std::string>{"aliquot", "config"},
                                               {"aliquot", "config", "check"},
                                               {"aliquot", "config", "print", good_},
                                               {"aliquot", "config", "check", good_, good_}}) {
    EXPECT_EQ(Run(argv), kExitUsage);
    EXPECT_EQ(Err(),
              "aliquot config: needs \"check\" or \"show\", and a file\n"
              "Run 'aliquot config --help' for help.\n");
  }
}

}  // namespace
}  // namespace aliquot::cli
