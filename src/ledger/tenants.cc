// What the ledger knows of pods only because some vendor's hooks ask for it: who
// is on a card, and charges that depend on the card.
#include "ledger/tenants.h"

#include <algorithm>

namespace aliquot::ledger {
namespace {

// Of an ordinary init container that has succeeded.
bool IsOver(const Holding& holding, size_t container) {
  return holding.init_done && container < holding.kinds.size() &&
         holding.kinds[container] == core::ContainerKind::kInit;
}

}  // namespace

std::vector<std::string_view> CardsOf(const core::VendorAllocation& allocation,
                                      std::span<const core::Charge> charges) {
  std::vector<std::string_view> cards;
  for (const core::Charge& charge : charges)
    if (charge.vendor == allocation.vendor) cards.push_back(charge.device_id);
  for (const core::Instance& instance : allocation.instances) cards.push_back(instance.device_id);
  std::ranges::sort(cards);
  cards.erase(std::unique(cards.begin(), cards.end()), cards.end());
  return cards;
}

core::Tenant TenantOf(const Holding& holding, const core::VendorAllocation& allocation,
                      std::span<const core::Charge> charges, std::string_view device_id) {
  core::Tenant tenant{.uid = holding.pod.uid, .notes = holding.notes};
  for (const core::Charge& charge : charges)
    if (charge.vendor == allocation.vendor && charge.device_id == device_id)
      tenant.use = charge.use;
  for (size_t i = 0; i < allocation.containers.size(); ++i)
    for (const core::Share& share : allocation.containers[i])
      if (share.device_id == device_id && !IsOver(holding, i))
        tenant.largest_cores = std::max(tenant.largest_cores, share.cores);
  for (const core::Instance& instance : allocation.instances)
    if (instance.device_id == device_id) tenant.instances.push_back(instance.place);
  return tenant;
}

std::vector<core::Charge> Ledger::ChargesOf(const Holding& holding) const {
  const NodeEntry* node = nodes_.Find(holding.node);
  const core::NodeUsage* usage = node == nullptr || !node->usage ? nullptr : &*node->usage;
  const auto card = [&](core::VendorId vendor, std::string_view id) -> const core::Device* {
    const int device = usage == nullptr ? -1 : usage->FindDevice(vendor, id);
    return device < 0 ? nullptr : &usage->devices()[static_cast<size_t>(device)];
  };
  const auto asks_cards = [&](const core::VendorAllocation& of_vendor) {
    return registry_[of_vendor.vendor].spec().slots_of != nullptr;
  };
  std::optional<core::Allocation> weighed;
  if (std::ranges::any_of(holding.allocation, asks_cards)) {
    weighed = holding.allocation;
    for (core::VendorAllocation& of_vendor : *weighed) {
      if (!asks_cards(of_vendor)) continue;
      for (std::vector<core::Share>& shares : of_vendor.containers)
        for (core::Share& share : shares)
          if (const core::Device* found = card(of_vendor.vendor, share.device_id))
            share.slots = registry_[of_vendor.vendor].spec().slots_of(*found, share);
    }
  }
  std::vector<core::Charge> charges =
      core::Collapse(weighed ? *weighed : holding.allocation, holding.kinds, holding.init_done);
  for (core::Charge& charge : charges) {
    const auto quota_cores = registry_[charge.vendor].spec().quota_cores;
    if (quota_cores == nullptr) continue;
    if (const core::Device* found = card(charge.vendor, charge.device_id))
      charge.quota_cores = quota_cores(*found, charge.use.cores);
  }
  return charges;
}

void Ledger::Recharge(const NodeEntry& node) {
  const auto asks_cards = [&](const core::VendorAllocation& of_vendor) {
    const core::VendorSpec& spec = registry_[of_vendor.vendor].spec();
    return spec.slots_of != nullptr || spec.quota_cores != nullptr;
  };
  const std::vector<PodEntry*> pods = node.pods;
  for (PodEntry* pod : pods) {
    if (!std::ranges::any_of(pod->holding.allocation, asks_cards)) continue;
    std::vector<core::Charge> charges = ChargesOf(pod->holding);
    if (charges == pod->charges) continue;
    Apply(*pod, Sign::kGiveBack);
    pod->charges = std::move(charges);
    Apply(*pod, Sign::kTake);
  }
}

void Ledger::ApplyTenants(const PodEntry& pod, NodeEntry& node, Sign sign) {
  for (const core::VendorAllocation& of_vendor : pod.holding.allocation) {
    if (registry_[of_vendor.vendor].spec().watches_tenants == nullptr) continue;
    for (const std::string_view id : CardsOf(of_vendor, pod.charges)) {
      const CardKey key(of_vendor.vendor, id);
      std::vector<core::Tenant>& tenants = node.tenants[key];
      const auto place =
          std::ranges::lower_bound(tenants, pod.holding.pod.uid, {}, &core::Tenant::uid);
      if (sign == Sign::kTake)
        tenants.insert(place, TenantOf(pod.holding, of_vendor, pod.charges, id));
      else
        tenants.erase(place);
      if (tenants.empty()) node.tenants.erase(key);
      if (node.usage) ProjectTenants(node, of_vendor.vendor, id, "", *node.usage);
    }
  }
}

void Ledger::ProjectTenants(const NodeEntry& node, core::VendorId vendor,
                            std::string_view device_id, std::string_view except_uid,
                            core::NodeUsage& usage) const {
  const core::VendorSpec& spec = registry_[vendor].spec();
  const int device = usage.FindDevice(vendor, device_id);
  if (device < 0) {
    usage.SetLostInstance(
        vendor, std::ranges::any_of(node.tenants, [&](const auto& card) {
          return card.first.first == vendor && usage.FindDevice(vendor, card.first.second) < 0 &&
                 std::ranges::any_of(card.second, [&](const core::Tenant& tenant) {
                   return tenant.uid != except_uid && !tenant.instances.empty();
                 });
        }));
    return;
  }
  const core::Device& card = usage.devices()[static_cast<size_t>(device)];
  std::vector<core::Tenant> told;
  if (const auto at = node.tenants.find(std::pair(vendor, device_id)); at != node.tenants.end())
    for (const core::Tenant& tenant : at->second)
      if (tenant.uid != except_uid && IsTold(spec, card, tenant)) told.push_back(tenant);
  usage.SetTenants(static_cast<size_t>(device), std::move(told));
}

}  // namespace aliquot::ledger
