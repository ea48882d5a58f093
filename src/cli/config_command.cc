#include "cli/config_command.h"

#include "aliquot/config/device_config.h"

namespace aliquot::cli {
namespace {

std::string Help(std::string_view program) {
  return "Usage: " + std::string(program) +
         " check|show FILE\n\n"
         "  check FILE   tells whether a device configuration file can be used\n"
         "  show FILE    prints the values in force, as YAML\n\n"
         "Warnings go to standard error and do not change the exit status.\n";
}

int Run(const Invocation& invocation) {
  const auto& [program, args, io] = invocation;
  if (args.size() != 2 || (args[0] != "check" && args[0] != "show"))
    return UsageError(invocation, "needs \"check\" or \"show\", and a file");
  const Result<config::DeviceConfig> devices = config::LoadDeviceConfig(args[1]);
  if (!devices) {
    io.err << devices.error().message << "\n";
    return kExitFailure;
  }
  for (const std::string& warning : devices->warnings) io.err << "warning: " << warning << "\n";
  if (args[0] == "show")
    io.out << config::DeviceConfigYaml(*devices);
  else
    io.out << args[1] << ": can be used\n";
  return kExitOk;
}

}  // namespace

Command ConfigCommand() {
  return {"config", "check or show a device configuration file", Help, Run, {"check", "show"}};
}

}  // namespace aliquot::cli
