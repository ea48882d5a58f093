#include "scheduler/describe.h"

#include <algorithm>

#include "aliquot/ledger/ledger.h"

namespace aliquot::scheduler {

std::string Describe(const core::Allocation& allocation, const core::Registry& registry,
                     const std::vector<core::VendorId>& except) {
  std::string text;
  ledger::ForEachShare(
      allocation, [&](core::VendorId vendor, size_t container, const core::Share& share) {
        if (std::ranges::count(except, vendor) > 0) return;
        text.append(registry[vendor].key()) += "/" + std::to_string(container) + ": ";
        text += share.device_id + "," + std::to_string(share.memory) + "," +
                std::to_string(share.cores) + "; ";
      });
  return text.empty() ? "nothing" : text.substr(0, text.size() - 2);
}

}  // namespace aliquot::scheduler
