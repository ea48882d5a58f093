// Every vendor of the default device configuration, and what is read by all of them.
#pragma once

#include <sstream>
#include <vector>

#include "aliquot/base/string_map.h"
#include "aliquot/config/device_config.h"
#include "aliquot/config/flags.h"
#include "aliquot/core/vendor.h"
#include "aliquot/vendors/registry.h"
#include "cli/vendor_configs.h"
#include "fuzz/fuzz.h"

namespace aliquot::fuzz {

inline const core::Registry& AllVendors() {
  static const core::Registry registry = [] {
    const std::vector<std::string> args = {"--enable-ascend", "--enable-iluvatar"};
    const auto flags = config::ParseServeFlags(args);
    const auto devices = config::LoadDeviceConfig(DEVICE_CONFIG);
    return vendors::MakeRegistry(cli::VendorConfigs(*flags, *devices));
  }();
  return registry;
}

// "<key>=<text>" per line.
inline StringMap Lines(const uint8_t* data, size_t size) {
  StringMap texts;
  std::istringstream lines(Text(data, size));
  for (std::string line; std::getline(lines, line);)
    if (const size_t equals = line.find('='); equals != std::string::npos)
      texts[line.substr(0, equals)] = line.substr(equals + 1);
  return texts;
}

}  // namespace aliquot::fuzz
