#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "aliquot/base/strings.h"
#include "cli/completion_command.h"
#include "cli/config_command.h"
#include "cli/demo_command.h"
#include "cli/serve.h"

namespace aliquot::cli {
namespace {

struct Outcome {
  int status;
  std::string out, err;
};

Outcome RunCompletion(const std::vector<std::string>& args) {
  const auto serve = [](const config::ServeFlags&, const config::DeviceConfig&) { return 0; };
  const Command command = CompletionCommand({ServeCommand(serve), DemoCommand(), ConfigCommand()});
  std::ostringstream out, err;
  const int status = command.run({"aliquot completion", args, {out, err}});
  return {status, out.str(), err.str()};
}

// What bash prints and says of a script that follows the completion's.
std::string InBash(const std::string& lines) {
  const std::string path = testing::TempDir() + "aliquot_completion_test.bash";
  std::ofstream(path) << RunCompletion({"bash"}).out << lines;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> shell(
      popen(("bash --norc '" + path + "' 2>&1").c_str(), "r"), &pclose);
  std::string text;
  for (int c = std::fgetc(shell.get()); c != EOF; c = std::fgetc(shell.get()))
    text += static_cast<char>(c);
  std::filesystem::remove(path);
  return text;
}

// As bash calls it with the cursor at the last word.
std::string Completed(const std::string& words) {
  return InBash("COMP_WORDS=(" + words +
                ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_aliquot\necho \"${COMPREPLY[@]}\"\n");
}

TEST(Completion, CompletesCommandsInBash) {
  EXPECT_EQ(Completed("aliquot ''"), "serve demo config completion help\n");
  EXPECT_EQ(Completed("aliquot co"), "config completion\n");
  EXPECT_EQ(Completed("aliquot help d"), "demo\n");
}

TEST(Completion, CompletesWhatFollowsACommandInBash) {
  EXPECT_EQ(Completed("aliquot demo --ve"), "--vendor\n");
  EXPECT_EQ(Completed("aliquot demo --h"), "--help\n");
  EXPECT_EQ(Completed("aliquot serve --device-conf"), "--device-config-file\n");
  EXPECT_EQ(Completed("aliquot serve --cert"), "--cert_file\n");
  EXPECT_EQ(Completed("aliquot config s"), "show\n");
  EXPECT_EQ(Completed("aliquot completion f"), "fish\n");
  EXPECT_EQ(Completed("aliquot nonsense --x"), "\n");
}

TEST(Completion, NamesFlagsForTheOtherShells) {
  const std::string zsh = RunCompletion({"zsh"}).out;
  EXPECT_TRUE(Contains(zsh, "'serve:run the scheduler extender'\n")) << zsh;
  EXPECT_TRUE(Contains(zsh, "demo) compadd -- --help --vendor --nodes ")) << zsh;
  const std::string fish = RunCompletion({"fish"}).out;
  EXPECT_TRUE(Contains(fish, "'__fish_seen_subcommand_from demo' -l vendor\n")) << fish;
  EXPECT_TRUE(Contains(fish, "'__fish_seen_subcommand_from config' -a 'check show'\n")) << fish;
}

TEST(Completion, RefusesOtherShells) {
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{}, {"tcsh"}, {"bash", "zsh"}}) {
    const Outcome outcome = RunCompletion(args);
    EXPECT_EQ(outcome.status, kExitUsage);
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(Contains(outcome.err, "bash, zsh ")) << outcome.err;
  }
}

}  // namespace
}  // namespace aliquot::cli
