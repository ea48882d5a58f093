// Command: one subcommand. A new one is a file with a function that returns it,
// and a line in cli.cc.
#pragma once

#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace aliquot::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;

struct Streams {
  std::ostream& out;
  std::ostream& err;
};

// What the user typed to get here ("aliquot serve"), and what follows it.
struct Invocation {
  std::string program;
  std::span<const std::string> args;
  Streams io;
};

struct Command {
  std::string name;
  std::string summary;  // one line
  std::function<std::string(std::string_view program)> help;
  std::function<int(const Invocation&)> run;
  std::vector<std::string> words = {};  // that may come first, for completion
};

// Tells what is wrong with the arguments and where to read more; kExitUsage.
int UsageError(const Invocation& invocation, std::string_view problem);

// Runs the command that `argv` (program name first) names. `--help` anywhere in
// its arguments prints its help instead.
// REQUIRES: `commands` has "serve", which a program called `scheduler` runs.
int Dispatch(std::span<const std::string> argv, std::span<const Command> commands, Streams io);

}  // namespace aliquot::cli
