#include "aliquot/vendors/registry.h"

#include "vendors/vendors.h"

namespace aliquot::vendors {

core::Registry MakeRegistry(const Configs& configs) {
  std::vector<core::Vendor> vendors;
  vendors.emplace_back(kNvidia, configs.nvidia);
  return core::Registry(std::move(vendors));
}

}  // namespace aliquot::vendors
