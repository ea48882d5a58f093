#include "aliquot/vendors/registry.h"

#include <map>
#include <string>

#include "vendors/vendors.h"

namespace aliquot::vendors {
namespace {

core::VendorConfig InUnitsOf(int64_t mib, core::VendorConfig config) {
  config.memory_factor = mib;
  return config;
}

}  // namespace

core::Registry MakeRegistry(const Configs& configs) {
  std::map<std::string, core::Vendor, std::less<>> by_key;
  const auto add = [&](core::Vendor vendor) {
    by_key.insert_or_assign(std::string(vendor.key()), std::move(vendor));
  };
  add({kAmd, configs.amd});
  add({kAwsNeuron, configs.awsneuron});
  add({kBiren, configs.biren});
  add({kCambricon, InUnitsOf(256, configs.cambricon)});
  add({kEnflame, configs.enflame});
  add({kGcu, configs.gcu});
  add({kHygon, configs.hygon});
  add({kKunlun, configs.kunlun});
  add({kMetaxGpu, configs.metax_gpu});
  add({kMetaxSgpu, InUnitsOf(1024, configs.metax_sgpu)});
  add({kMthreads, InUnitsOf(512, configs.mthreads)});
  add({kNvidia, configs.nvidia});
  add({kVastai, configs.vastai});
  add({kXpu, configs.xpu});
  for (const NamedConfig& named : configs.ascend) add(MakeAscend(named));
  for (NamedConfig named : configs.iluvatar) {
    named.config.memory_factor = 256;
    add(MakeIluvatar(named));
  }
  std::vector<core::Vendor> vendors;
  for (auto& [key, vendor] : by_key) vendors.push_back(std::move(vendor));
  return core::Registry(std::move(vendors));
}

}  // namespace aliquot::vendors
