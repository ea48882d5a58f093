// Usage as it is kept, and as it would be computed afresh. The second shares
// nothing with the first but core::Collapse: it is there to catch its mistakes.
#include <algorithm>

#include "aliquot/ledger/ledger.h"

namespace aliquot::ledger {

UsageTable Ledger::Usage() const {
  MutexLock lock(mutex_);
  UsageTable table;
  for (const auto& [name, node] : nodes_) {
    if (!node.usage) continue;
    table.nodes[name].assign(node.usage->use().begin(), node.usage->use().end());
    for (const core::Vendor& vendor : registry_.vendors())
      if (node.usage->unreadable(vendor.id())) table.closed[name].push_back(vendor.id());
  }
  table.namespaces = quota_.Use();
  return table;
}

UsageTable Ledger::RebuildUsage() const {
  MutexLock lock(mutex_);
  UsageTable table;
  for (const auto& [name, node] : nodes_)
    if (node.usage) table.nodes[name].resize(node.usage->devices().size());
  for (const auto& [uid, pod] : pods_) {
    const Holding& holding = pod.holding;
    for (const core::Charge& charge :
         core::Collapse(holding.allocation, holding.kinds, holding.init_done)) {
      if (charge.use.memory != 0 || charge.use.cores != 0) {
        std::vector<core::DeviceUse>& use = table.namespaces[holding.pod.ns];
        use.resize(registry_.size());
        use[charge.vendor] =
            use[charge.vendor] + core::DeviceUse{0, charge.use.memory, charge.use.cores};
      }
      if (!table.nodes.contains(holding.node)) continue;
      const auto cards = nodes_.find(holding.node)->second.usage->devices();
      for (size_t i = 0; i < cards.size(); ++i) {
        if (cards[i].vendor != charge.vendor || cards[i].id != charge.device_id) continue;
        table.nodes[holding.node][i] = table.nodes[holding.node][i] + charge.use;
        break;
      }
    }
    if (!table.nodes.contains(holding.node)) continue;
    for (const core::VendorId vendor : holding.unreadable)
      table.closed[holding.node].push_back(vendor);
  }
  for (auto& [name, vendors] : table.closed) {
    std::ranges::sort(vendors);
    vendors.erase(std::ranges::unique(vendors).begin(), vendors.end());
  }
  return table;
}

Ledger::Counts Ledger::Count() const {
  MutexLock lock(mutex_);
  Counts counts;
  for (const auto& [name, node] : nodes_) counts.nodes += node.usage ? 1 : 0;
  for (const auto& [uid, pod] : pods_) ++(pod.bound ? counts.bound : counts.reservations);
  return counts;
}

}  // namespace aliquot::ledger
