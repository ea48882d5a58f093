// `aliquot demo`: a small cluster in this process, real decisions, nothing to
// install.
#pragma once

#include "cli/command.h"

namespace aliquot::cli {

Command DemoCommand();

}  // namespace aliquot::cli
