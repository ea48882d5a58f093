#include "aliquot/ledger/quota.h"

#include <algorithm>
#include <limits>

#include "aliquot/base/check.h"
#include "aliquot/base/quantity.h"

namespace aliquot::ledger {
namespace {

// A quantity that is a whole number.
struct Amount {
  std::string_view text;
  int64_t number = 0;
};

std::optional<Amount> FindLimit(const StringMap& hard, const std::string& resource) {
  if (resource.empty()) return std::nullopt;
  const std::string* text = Find(hard, "limits." + resource);
  if (text == nullptr) return std::nullopt;
  const std::optional<Quantity> quantity = Quantity::Parse(*text);
  const std::optional<int64_t> number = quantity ? quantity->AsInt64() : std::nullopt;
  return number ? std::optional(Amount{*text, *number}) : std::nullopt;
}

int64_t SaturatingMultiply(int64_t limit, int64_t factor) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(limit, factor, &product)) return product;
  return limit > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

int64_t InAccountingUnits(const core::Vendor& vendor, const Amount& memory) {
  const auto unit = vendor.spec().memory_unit;
  return unit == nullptr ? SaturatingMultiply(memory.number, vendor.memory_factor())
                         : unit(memory.text, std::max<int64_t>(memory.number, 0));
}

void Lower(std::optional<int64_t>& limit, const std::optional<int64_t>& other) {
  if (other) limit = std::min(limit.value_or(*other), *other);
}

// To the smallest limits of a vendor in all ResourceQuota objects of a namespace.
template <typename Objects>
void LowerToLimits(const Objects& objects, size_t vendor, std::optional<int64_t>& memory,
                   std::optional<int64_t>& cores) {
  for (const auto& [name, limits] : objects) {
    Lower(memory, limits[vendor].memory);
    Lower(cores, limits[vendor].cores);
  }
}

}  // namespace

void QuotaTable::SetLimits(std::string_view ns, std::string_view name, const StringMap& hard) {
  std::vector<Limit> limits;
  bool any = false;
  for (const core::Vendor& vendor : registry_.vendors()) {
    Limit limit;
    if (const auto memory = FindLimit(hard, vendor.config().memory_name))
      limit.memory = InAccountingUnits(vendor, *memory);
    if (const auto cores = FindLimit(hard, vendor.config().cores_name)) limit.cores = cores->number;
    any = any || limit.memory || limit.cores;
    limits.push_back(limit);
  }
  if (any) {
    Get(ns).objects.insert_or_assign(std::string(name), std::move(limits));
  } else {
    RemoveLimits(ns, name);
  }
}

void QuotaTable::RemoveLimits(std::string_view ns, std::string_view name) {
  const auto it = namespaces_.find(ns);
  if (it == namespaces_.end()) return;
  auto& objects = it->second.objects;
  if (const auto object = objects.find(name); object != objects.end()) objects.erase(object);
  EraseIfUnused(it);
}

void QuotaTable::Apply(const std::string& ns, std::span<const core::Charge> charges, Sign sign) {
  Namespace& entry = Get(ns);
  for (const core::Charge& charge : charges) {
    ALIQUOT_CHECK(charge.vendor < registry_.size());
    entry.used[charge.vendor].Apply(
        {0, charge.use.memory, charge.quota_cores.value_or(charge.use.cores)}, sign);
  }
  EraseIfUnused(namespaces_.find(ns));
}

std::vector<core::QuotaRoom> QuotaTable::Room(std::string_view ns) const {
  const auto it = namespaces_.find(ns);
  if (it == namespaces_.end() || it->second.objects.empty()) return {};
  std::vector<core::QuotaRoom> room(registry_.size());
  for (size_t vendor = 0; vendor < room.size(); ++vendor) {
    const core::DeviceUse used = it->second.used[vendor].Use();
    auto& [memory, cores] = room[vendor];
    LowerToLimits(it->second.objects, vendor, memory, cores);
    if (memory) memory = core::SaturatingAdd(*memory, -used.memory);
    if (cores) cores = core::SaturatingAdd(*cores, -used.cores);
  }
  return room;
}

std::vector<QuotaRow> QuotaTable::Rows() const {
  std::vector<QuotaRow> rows;
  for (const auto& [ns, entry] : namespaces_) {
    std::map<std::string, QuotaRow> by_resource;  // vendors may share one
    const auto add = [&](const std::string& resource, bool uses, int64_t used,
                         const std::optional<int64_t>& limit) {
      if (resource.empty() || (!uses && !limit)) return;
      QuotaRow& row = by_resource[resource];
      row.used = core::SaturatingAdd(row.used, used);
      Lower(row.limit, limit);
    };
    for (const core::Vendor& vendor : registry_.vendors()) {
      const Total& total = entry.used[vendor.id()];
      Limit limit;
      LowerToLimits(entry.objects, vendor.id(), limit.memory, limit.cores);
      if (limit.memory) *limit.memory /= vendor.memory_factor();
      add(vendor.config().memory_name, !total.zero(), total.Use().memory, limit.memory);
      add(vendor.config().cores_name, !total.zero(), total.Use().cores, limit.cores);
    }
    for (auto& [resource, row] : by_resource) rows.push_back({ns, resource, row.used, row.limit});
  }
  return rows;
}

std::map<std::string, std::vector<core::DeviceUse>> QuotaTable::Use() const {
  std::map<std::string, std::vector<core::DeviceUse>> out;
  for (const auto& [ns, entry] : namespaces_) {
    if (std::ranges::all_of(entry.used, &Total::zero)) continue;
    std::vector<core::DeviceUse>& use = out[ns];
    for (const Total& total : entry.used) use.push_back(total.Use());
  }
  return out;
}

QuotaTable::Namespace& QuotaTable::Get(std::string_view ns) {
  auto it = namespaces_.find(ns);
  if (it == namespaces_.end()) {
    it = namespaces_.emplace(std::string(ns), Namespace{}).first;
    it->second.used.resize(registry_.size());
  }
  return it->second;
}

void QuotaTable::EraseIfUnused(Namespaces::iterator it) {
  if (it->second.objects.empty() && std::ranges::all_of(it->second.used, &Total::zero))
    namespaces_.erase(it);
}

}  // namespace aliquot::ledger
