#include "cli/completion_command.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "aliquot/base/strings.h"

namespace aliquot::cli {
namespace {

// A command as the shell sees it.
struct Entry {
  std::string name;
  std::string summary;
  std::vector<std::string> words;  // what may come first
  std::vector<std::string> flags;  // with their dashes
};

// Those at the beginnings of lines, where both "--flag" and "-f,--flag" are found.
std::vector<std::string> FlagsIn(std::string_view help) {
  std::vector<std::string> flags;
  for (std::string_view line : Split(help, '\n')) {
    line = Trim(line);
    if (line.size() > 3 && line[0] == '-' && line[2] == ',') line.remove_prefix(3);
    if (!line.starts_with("--")) continue;
    const auto end = std::find_if(line.begin(), line.end(), [](unsigned char c) {
      return !std::isalnum(c) && c != '-' && c != '_';
    });
    flags.emplace_back(line.begin(), end);
  }
  if (std::find(flags.begin(), flags.end(), "--help") == flags.end()) flags.push_back("--help");
  return flags;
}

std::vector<Entry> EntriesOf(const std::vector<Command>& commands) {
  std::vector<Entry> entries;
  Entry help{"help", "tell more about a command", {}, {}};
  for (const Command& command : commands) {
    entries.push_back({command.name, command.summary, command.words,
                       FlagsIn(command.help("aliquot " + command.name))});
    help.words.push_back(command.name);
  }
  entries.push_back(std::move(help));
  return entries;
}

std::string NamesOf(const std::vector<Entry>& entries) {
  std::vector<std::string> names;
  for (const Entry& entry : entries) names.push_back(entry.name);
  return Join(names, " ");
}

std::string WordsAndFlags(const Entry& entry) {
  std::vector<std::string> all = entry.words;
  all.insert(all.end(), entry.flags.begin(), entry.flags.end());
  return Join(all, " ");
}

// Where no word fits, files are offered.
std::string Bash(const std::vector<Entry>& entries) {
  std::string script = R"(# Bash completion: source <(aliquot completion bash)
_aliquot() {
  local words=
  if [ "$COMP_CWORD" -eq 1 ]; then
    words=")" + NamesOf(entries) +
                       R"("
  else
    case ${COMP_WORDS[1]} in
)";
  for (const Entry& entry : entries)
    script += "      " + entry.name + ") words=\"" + WordsAndFlags(entry) + "\" ;;\n";
  return script + R"(    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}")
}
complete -o default -F _aliquot aliquot
)";
}

std::string Zsh(const std::vector<Entry>& entries) {
  std::string script = R"(# Zsh completion: source <(aliquot completion zsh)
_aliquot() {
  local -a commands=(
)";
  for (const Entry& entry : entries) script += "    '" + entry.name + ":" + entry.summary + "'\n";
  script += R"(  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case $words[2] in
)";
  for (const Entry& entry : entries)
    script += "    " + entry.name + ") compadd -- " + WordsAndFlags(entry) + " ;;\n";
  return script + R"(  esac
  _files
}
compdef _aliquot aliquot
)";
}

std::string Fish(const std::vector<Entry>& entries) {
  std::string script = "# Fish completion: aliquot completion fish | source\n";
  for (const Entry& entry : entries) {
    script += "complete -c aliquot -n __fish_use_subcommand -f -a " + entry.name + " -d '" +
              entry.summary + "'\n";
    const std::string after =
        "complete -c aliquot -n '__fish_seen_subcommand_from " + entry.name + "' ";
    if (!entry.words.empty()) script += after + "-a '" + Join(entry.words, " ") + "'\n";
    for (const std::string& flag : entry.flags) script += after + "-l " + flag.substr(2) + "\n";
  }
  return script;
}

std::string Help(std::string_view program) {
  return "Usage: " + std::string(program) +
         " bash|zsh|fish\n\n"
         "Prints a script that completes commands and flags:\n\n"
         "  source <(aliquot completion bash)     # or zsh; in ~/.bashrc, ~/.zshrc\n"
         "  aliquot completion fish | source      # in ~/.config/fish/config.fish\n";
}

int Run(const std::vector<Command>& commands, const Invocation& invocation) {
  if (invocation.args.size() != 1) return UsageError(invocation, "needs bash, zsh or fish");
  const std::string& shell = invocation.args[0];
  std::string (*const script)(const std::vector<Entry>&) = shell == "bash"   ? Bash
                                                           : shell == "zsh"  ? Zsh
                                                           : shell == "fish" ? Fish
                                                                             : nullptr;
  if (script == nullptr)
    return UsageError(invocation, "knows no shell \"" + shell + "\", but bash, zsh and fish");
  invocation.io.out << script(EntriesOf(commands));
  return kExitOk;
}

}  // namespace

Command CompletionCommand(std::vector<Command> commands) {
  Command self{
      "completion", "print a completion script for a shell", Help, {}, {"bash", "zsh", "fish"}};
  commands.push_back(self);
  self.run = [commands = std::move(commands)](const Invocation& invocation) {
    return Run(commands, invocation);
  };
  return self;
}

}  // namespace aliquot::cli
