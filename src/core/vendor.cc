#include "aliquot/core/vendor.h"

#include <algorithm>

#include "aliquot/base/check.h"
#include "aliquot/base/strings.h"

namespace aliquot::core {

void Vendor::Claim(Device& device) const {
  device.vendor = id_;
  device.requestable = ContainsIgnoreCase(device.type, key());
  device.named_after_vendor = device.type == key();
}

Registry::Registry(std::vector<Vendor> vendors) : vendors_(std::move(vendors)) {
  ALIQUOT_CHECK(vendors_.size() <= 64);
  std::sort(vendors_.begin(), vendors_.end(),
            [](const Vendor& a, const Vendor& b) { return a.key() < b.key(); });
  for (size_t i = 0; i < vendors_.size(); ++i) {
    ALIQUOT_CHECK(i == 0 || vendors_[i - 1].key() != vendors_[i].key());
    vendors_[i].id_ = static_cast<VendorId>(i);
  }
}

const Vendor* Registry::Find(std::string_view key) const {
  for (const Vendor& vendor : vendors_)
    if (vendor.key() == key) return &vendor;
  return nullptr;
}

}  // namespace aliquot::core
