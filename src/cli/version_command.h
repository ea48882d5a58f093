// `aliquot version`: what was built, from what, and when.
#pragma once

#include "cli/command.h"

namespace aliquot::cli {

Command VersionCommand();

}  // namespace aliquot::cli
