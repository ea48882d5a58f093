// One line per vendor file.
#pragma once

#include "aliquot/core/vendor.h"

namespace aliquot::vendors {

extern const core::VendorSpec kNvidia;  // nvidia.cc

}  // namespace aliquot::vendors
