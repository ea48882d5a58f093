// `aliquot completion bash|zsh|fish`: a script that completes commands and flags.
#pragma once

#include <vector>

#include "cli/command.h"

namespace aliquot::cli {

// For these commands and itself. Flags are those that a command's help lists.
// REQUIRES: no summary has a quote in it.
Command CompletionCommand(std::vector<Command> commands);

}  // namespace aliquot::cli
