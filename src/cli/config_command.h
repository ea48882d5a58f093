// `aliquot config`: looks at a device configuration file without serving.
#pragma once

#include "cli/command.h"

namespace aliquot::cli {

Command ConfigCommand();

}  // namespace aliquot::cli
