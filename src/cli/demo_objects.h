// The demo's own cluster: device configuration, nodes and pods, as the YAML that
// a reader could have written.
#pragma once

#include <string>

namespace aliquot::cli {

std::string DemoDeviceConfig();
std::string DemoNodes();
std::string DemoPods();

}  // namespace aliquot::cli
