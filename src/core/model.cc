#include "aliquot/core/model.h"

#include <atomic>

#include "aliquot/base/check.h"

namespace aliquot::core {

std::string_view TextOf(const Facts& facts, std::string_view name) {
  const auto at = facts.find(name);
  const auto* text = at == facts.end() ? nullptr : std::get_if<std::string>(&at->second);
  return text == nullptr ? std::string_view() : *text;
}

std::optional<int64_t> NumberOf(const Facts& facts, std::string_view name) {
  const auto at = facts.find(name);
  const auto* number = at == facts.end() ? nullptr : std::get_if<int64_t>(&at->second);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

uint64_t NodeUsage::NewStamp() {
  static std::atomic<uint64_t> latest{0};
  return latest.fetch_add(1, std::memory_order_relaxed) + 1;
}

NodeUsage::NodeUsage(NodeInventory inventory)
    : inventory_(std::move(inventory)), use_(inventory_.devices.size()) {
  UpdateScore();
}

int NodeUsage::FindDevice(VendorId vendor, std::string_view id) const {
  for (size_t i = 0; i < inventory_.devices.size(); ++i)
    if (inventory_.devices[i].vendor == vendor && inventory_.devices[i].id == id)
      return static_cast<int>(i);
  return -1;
}

void NodeUsage::SetUse(size_t device, const DeviceUse& use) {
  ALIQUOT_CHECK(device < use_.size());
  stamp_ = NewStamp();
  use_[device] = use;
  UpdateScore();
}

void NodeUsage::SetUnreadable(VendorId vendor, bool unreadable) {
  stamp_ = NewStamp();
  const uint64_t bit = uint64_t{1} << vendor;
  unreadable_ = unreadable ? unreadable_ | bit : unreadable_ & ~bit;
}

void NodeUsage::SetTenants(size_t device, std::vector<Tenant> tenants) {
  ALIQUOT_CHECK(device < use_.size());
  stamp_ = NewStamp();
  if (tenants_.empty()) {
    if (tenants.empty()) return;
    tenants_.resize(use_.size());
  }
  tenants_[device] = std::move(tenants);
}

void NodeUsage::SetLostInstance(VendorId vendor, bool lost) {
  stamp_ = NewStamp();
  const uint64_t bit = uint64_t{1} << vendor;
  lost_instance_ = lost ? lost_instance_ | bit : lost_instance_ & ~bit;
}

void NodeUsage::UpdateScore() {
  DeviceUse used;
  DeviceUse total;
  for (size_t i = 0; i < use_.size(); ++i) {
    const Device& card = inventory_.devices[i];
    used = used + use_[i];
    total = total + DeviceUse{card.slots, card.memory, card.cores};
  }
  if (total.slots == 0 || total.memory == 0 || total.cores == 0) {
    score_ = 0;
    return;
  }
  const auto ratio = [](int64_t a, int64_t b) {
    return static_cast<float>(a) / static_cast<float>(b);
  };
  score_ = 10.0F * (ratio(used.slots, total.slots) + ratio(used.cores, total.cores) +
                    ratio(used.memory, total.memory));
}

}  // namespace aliquot::core
