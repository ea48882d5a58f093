// From the device configuration file to the vendors' configurations.
#pragma once

#include "aliquot/config/device_config.h"
#include "aliquot/config/flags.h"
#include "aliquot/vendors/registry.h"

namespace aliquot::cli {

// Ascend and Iluvatar only if the flags turn them on.
vendors::Configs VendorConfigs(const config::ServeFlags& flags,
                               const config::DeviceConfig& devices);

}  // namespace aliquot::cli
