// Usage as it is kept, and as it would be computed afresh. The second shares
// nothing with the first but what one pod is charged: it is there to catch its mistakes.
#include <algorithm>

#include "aliquot/base/check.h"
#include "aliquot/ledger/ledger.h"
#include "ledger/tenants.h"

namespace aliquot::ledger {

UsageTable Ledger::Usage() const {
  MutexLock lock(mutex_);
  UsageTable table;
  nodes_.ForEach([&](const std::string& name, const NodeEntry& node) {
    if (!node.usage) return;
    // Otherwise decisions would go by what was said of an earlier usage.
    ALIQUOT_CHECK(candidates_[*nodes_.SlotOf(name)].stamp == node.usage->stamp());
    table.nodes[name].assign(node.usage->use().begin(), node.usage->use().end());
    for (const core::Vendor& vendor : registry_.vendors())
      if (node.usage->unreadable(vendor.id())) table.closed[name].push_back(vendor.id());
    std::vector<std::vector<core::Tenant>> tenants;
    bool any = false;
    for (size_t i = 0; i < node.usage->devices().size(); ++i) {
      const auto of_card = node.usage->tenants(i);
      tenants.emplace_back(of_card.begin(), of_card.end());
      any = any || !of_card.empty();
    }
    if (any) table.tenants.emplace(name, std::move(tenants));
  });
  table.namespaces = quota_.Use();
  return table;
}

UsageTable Ledger::RebuildUsage() const {
  MutexLock lock(mutex_);
  UsageTable table;
  nodes_.ForEach([&](const std::string& name, const NodeEntry& node) {
    if (node.usage) table.nodes[name].resize(node.usage->devices().size());
  });
  for (const auto& [uid, pod] : pods_) {
    const Holding& holding = pod.holding;
    const std::vector<core::Charge> charges = ChargesOf(holding);
    for (const core::Charge& charge : charges) {
      if (charge.use.memory != 0 || charge.use.cores != 0) {
        std::vector<core::DeviceUse>& use = table.namespaces[holding.pod.ns];
        use.resize(registry_.size());
        use[charge.vendor] =
            use[charge.vendor] +
            core::DeviceUse{0, charge.use.memory, charge.quota_cores.value_or(charge.use.cores)};
      }
      if (!table.nodes.contains(holding.node)) continue;
      const auto cards = nodes_.Find(holding.node)->usage->devices();
      for (size_t i = 0; i < cards.size(); ++i) {
        if (cards[i].vendor != charge.vendor || cards[i].id != charge.device_id) continue;
        table.nodes[holding.node][i] = table.nodes[holding.node][i] + charge.use;
        break;
      }
    }
    if (!table.nodes.contains(holding.node)) continue;
    for (const core::VendorId vendor : holding.unreadable)
      table.closed[holding.node].push_back(vendor);
    const core::NodeUsage& usage = *nodes_.Find(holding.node)->usage;
    for (const core::VendorAllocation& of_vendor : holding.allocation) {
      const core::VendorSpec& spec = registry_[of_vendor.vendor].spec();
      if (spec.watches_tenants == nullptr) continue;
      for (const std::string_view id : CardsOf(of_vendor, charges)) {
        const int device = usage.FindDevice(of_vendor.vendor, id);
        if (device < 0) continue;
        core::Tenant tenant = TenantOf(holding, of_vendor, charges, id);
        if (!IsTold(spec, usage.devices()[device], tenant)) continue;
        auto& tenants = table.tenants[holding.node];
        tenants.resize(usage.devices().size());
        tenants[device].push_back(std::move(tenant));
      }
    }
  }
  for (auto& [name, vendors] : table.closed) {
    std::ranges::sort(vendors);
    vendors.erase(std::unique(vendors.begin(), vendors.end()), vendors.end());
  }
  return table;
}

Ledger::Counts Ledger::Count() const {
  MutexLock lock(mutex_);
  Counts counts;
  nodes_.ForEach(
      [&](const std::string&, const NodeEntry& node) { counts.nodes += node.usage ? 1 : 0; });
  for (const auto& [uid, pod] : pods_) ++(pod.bound ? counts.bound : counts.reservations);
  return counts;
}

std::vector<size_t> Ledger::ClosedNodes() const {
  std::vector<size_t> closed(registry_.size());
  MutexLock lock(mutex_);
  nodes_.ForEach([&](const std::string&, const NodeEntry& node) {
    if (!node.usage) return;
    for (const auto& [vendor, pods] : node.unreadable) ++closed[vendor];
  });
  return closed;
}

bool Ledger::Agrees(std::string_view name) const {
  MutexLock lock(mutex_);
  const NodeEntry* node = nodes_.Find(name);
  if (node == nullptr || !node->usage) return true;
  const core::NodeUsage& usage = *node->usage;
  std::vector<core::DeviceUse> afresh(usage.devices().size());
  for (const PodEntry* pod : node->pods)
    for (const core::Charge& charge : ChargesOf(pod->holding))
      if (const int device = usage.FindDevice(charge.vendor, charge.device_id); device >= 0)
        afresh[static_cast<size_t>(device)] = afresh[static_cast<size_t>(device)] + charge.use;
  return std::ranges::equal(afresh, usage.use());
}

}  // namespace aliquot::ledger
