// Who is on a card, out of what pods hold.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "aliquot/core/collapse.h"
#include "aliquot/core/vendor.h"
#include "aliquot/ledger/ledger.h"

namespace aliquot::ledger {

// The cards of a vendor that the pod is on: those it is charged for, and those
// with an instance of its. Ascending.
std::vector<std::string_view> CardsOf(const core::VendorAllocation& allocation,
                                      std::span<const core::Charge> charges);

core::Tenant TenantOf(const Holding& holding, const core::VendorAllocation& allocation,
                      std::span<const core::Charge> charges, std::string_view device_id);

// Whether decisions are told of the tenant.
inline bool IsTold(const core::VendorSpec& spec, const core::Device& card,
                   const core::Tenant& tenant) {
  return !tenant.instances.empty() || spec.watches_tenants(card);
}

}  // namespace aliquot::ledger
