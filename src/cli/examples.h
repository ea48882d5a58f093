// The worked examples of deploy/examples and the device configuration that they
// use, as they were when the program was built.
//
// Thread safety: constants.
#pragma once

#include <span>
#include <string_view>

namespace aliquot::cli {

struct Example {
  std::string_view vendor;     // the file's name without ".yaml"
  std::string_view manifests;  // Nodes and Pods, in the order in which the demo creates them
};

// One for each vendor, by file name. No two objects of them have the same name.
std::span<const Example> Examples();

// deploy/device-config.yaml.
std::string_view ExampleDeviceConfig();

}  // namespace aliquot::cli
