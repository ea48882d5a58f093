// The daemon itself, and the command that starts it.
#pragma once

#include <functional>

#include "aliquot/config/device_config.h"
#include "aliquot/config/flags.h"
#include "cli/command.h"

namespace aliquot::cli {

// Serves until SIGTERM or SIGINT; the exit status. REQUIRES: the log is set up.
int Serve(const config::ServeFlags& flags, const config::DeviceConfig& devices);

// Reads the flags and the device configuration, sets up the log, says what was
// read, and calls `serve`.
Command ServeCommand(
    std::function<int(const config::ServeFlags&, const config::DeviceConfig&)> serve);

}  // namespace aliquot::cli
