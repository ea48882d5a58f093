// The vendors that we know. A new one is a file in src/vendors and a line in
// registry.cc.
#pragma once

#include <string>
#include <vector>

#include "aliquot/core/vendor.h"

namespace aliquot::vendors {

// A vendor that the configuration names: its key, and what its annotation keys
// are made of.
struct NamedConfig {
  std::string common_word;
  core::VendorConfig config;
};

// The sections of the device configuration file. Memory factors that are fixed
// are not looked at.
struct Configs {
  core::VendorConfig amd;
  core::VendorConfig awsneuron;
  core::VendorConfig biren;
  core::VendorConfig cambricon;
  core::VendorConfig enflame;  // slices
  core::VendorConfig gcu;      // whole cards
  core::VendorConfig hygon;
  core::VendorConfig kunlun;  // whole cards
  core::VendorConfig metax_gpu;
  core::VendorConfig metax_sgpu;
  core::VendorConfig mthreads;
  core::VendorConfig nvidia;
  core::VendorConfig vastai;
  core::VendorConfig xpu;  // parts of Kunlun's cards
  std::vector<NamedConfig> ascend;
  std::vector<NamedConfig> iluvatar;
};

// Of vendors with one key the last counts.
// REQUIRES: at most 64 different keys.
core::Registry MakeRegistry(const Configs& configs);

}  // namespace aliquot::vendors
