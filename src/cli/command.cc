#include "cli/command.h"

#include <algorithm>
#include <vector>

#include "aliquot/base/check.h"
#include "aliquot/config/suggest.h"

namespace aliquot::cli {
namespace {

std::string Overview(std::string_view program, std::span<const Command> commands) {
  size_t column = 10;
  for (const Command& command : commands) column = std::max(column, command.name.size() + 2);
  std::string text = "Usage: " + std::string(program) + " <command> [arguments]\n\nCommands:\n";
  for (const Command& command : commands) {
    std::string name = command.name;
    name.resize(column, ' ');
    text += "  " + name + command.summary + "\n";
  }
  return text + "\n'" + std::string(program) + " help <command>' tells more about one.\n";
}

const Command* FindCommand(std::span<const Command> commands, std::string_view name) {
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [name](const Command& each) { return each.name == name; });
  return found == commands.end() ? nullptr : &*found;
}

int UnknownCommand(const Invocation& invocation, std::string_view name,
                   std::span<const Command> commands) {
  std::vector<std::string> known{"help"};
  for (const Command& command : commands) known.push_back(command.name);
  return UsageError(invocation, "unknown command \"" + std::string(name) + "\"" +
                                    config::Suggestion(name, known));
}

int Run(const Command& command, const Invocation& invocation) {
  for (const std::string& arg : invocation.args) {
    if (arg != "--help" && arg != "-h") continue;
    invocation.io.out << command.help(invocation.program);
    return kExitOk;
  }
  return command.run(invocation);
}

}  // namespace

int UsageError(const Invocation& invocation, std::string_view problem) {
  invocation.io.err << invocation.program << ": " << problem << "\nRun '" << invocation.program
                    << " --help' for help.\n";
  return kExitUsage;
}

int Dispatch(std::span<const std::string> argv, std::span<const Command> commands, Streams io) {
  const std::string path = argv.empty() ? "aliquot" : argv[0];
  const std::string program = path.substr(path.rfind('/') + 1);
  const Invocation all{program, argv.subspan(argv.empty() ? 0 : 1), io};
  std::string name = all.args.empty() ? "" : all.args[0];
  if (name == "--version") name = "version";

  if (program == "scheduler" && (name.empty() || name.starts_with('-'))) {
    const Command* serve = FindCommand(commands, "serve");
    ALIQUOT_CHECK(serve != nullptr);
    return Run(*serve, all);
  }
  if (name == "help" && all.args.size() > 1) {
    const Command* command = FindCommand(commands, all.args[1]);
    if (command == nullptr) return UnknownCommand(all, all.args[1], commands);
    io.out << command->help(program + " " + command->name);
    return kExitOk;
  }
  if (name.empty() || name == "help" || name == "--help" || name == "-h") {
    io.out << Overview(program, commands);
    return kExitOk;
  }
  const Command* command = FindCommand(commands, name);
  if (command == nullptr) return UnknownCommand(all, name, commands);
  return Run(*command, {program + " " + name, all.args.subspan(1), io});
}

}  // namespace aliquot::cli
