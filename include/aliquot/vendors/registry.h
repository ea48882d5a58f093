// The vendors that we know. A new one is a file in src/vendors and a line in
// registry.cc.
#pragma once

#include "aliquot/core/vendor.h"

namespace aliquot::vendors {

// The sections of the device configuration file.
struct Configs {
  core::VendorConfig nvidia;
};

core::Registry MakeRegistry(const Configs& configs);

}  // namespace aliquot::vendors
