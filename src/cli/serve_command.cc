#include <utility>

#include "aliquot/base/log.h"
#include "cli/serve.h"

namespace aliquot::cli {

Command ServeCommand(
    std::function<int(const config::ServeFlags&, const config::DeviceConfig&)> serve) {
  const auto run = [serve = std::move(serve)](const Invocation& invocation) {
    const Result<config::ServeFlags> flags = config::ParseServeFlags(invocation.args);
    if (!flags) return UsageError(invocation, flags.error().message);

    log::SetUp(flags->LogOptions());
    for (const auto& [name, value] : flags->Listing())
      log::Info("FLAG: --" + name + "=\"" + value + "\"");
    for (const std::string& warning : flags->warnings) log::Warn(warning);

    const Result<config::DeviceConfig> devices =
        config::LoadDeviceConfig(flags->device_config_file);
    if (!devices) {
      log::Error(devices.error().message);
      return kExitFailure;
    }
    for (const std::string& warning : devices->warnings) log::Warn(warning);
    return serve(*flags, *devices);
  };
  return {"serve", "run the scheduler extender", config::ServeFlagsHelp, run};
}

}  // namespace aliquot::cli
