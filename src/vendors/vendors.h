// One line per vendor file.
#pragma once

#include "aliquot/core/vendor.h"
#include "aliquot/vendors/registry.h"

namespace aliquot::vendors {

extern const core::VendorSpec kAmd;        // amd.cc
extern const core::VendorSpec kAwsNeuron;  // awsneuron.cc
extern const core::VendorSpec kBiren;      // biren.cc
extern const core::VendorSpec kCambricon;  // cambricon.cc
extern const core::VendorSpec kEnflame;    // enflame.cc
extern const core::VendorSpec kGcu;        // enflame.cc
extern const core::VendorSpec kHygon;      // hygon.cc
extern const core::VendorSpec kKunlun;     // kunlun.cc
extern const core::VendorSpec kMetaxGpu;   // metax_gpu.cc
extern const core::VendorSpec kMetaxSgpu;  // metax_sgpu.cc
extern const core::VendorSpec kMthreads;   // mthreads.cc
extern const core::VendorSpec kNvidia;     // nvidia.cc
extern const core::VendorSpec kVastai;     // vastai.cc
extern const core::VendorSpec kXpu;        // kunlun.cc

core::Vendor MakeAscend(const NamedConfig& config);    // ascend.cc
core::Vendor MakeIluvatar(const NamedConfig& config);  // iluvatar.cc

}  // namespace aliquot::vendors
