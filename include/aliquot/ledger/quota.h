// QuotaTable: per namespace what its ResourceQuota objects allow and what its
// pods use of each vendor's memory and cores.
//
// Limits are written in the unit of the resource, memory with the suffixes that
// requests may have; it is compared in the vendor's accounting unit.
// Errors: none. Thread safety: none; the Ledger's mutex guards it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aliquot/base/string_map.h"
#include "aliquot/core/collapse.h"
#include "aliquot/core/model.h"
#include "aliquot/core/vendor.h"
#include "aliquot/ledger/total.h"

namespace aliquot::ledger {

// What a namespace uses of one resource, and how much it may.
struct QuotaRow {
  std::string ns;
  std::string resource;          // "nvidia.com/gpumem"
  int64_t used = 0;              // memory in accounting units
  std::optional<int64_t> limit;  // in the unit of the resource; the smallest of all objects

  bool operator==(const QuotaRow&) const = default;
};

class QuotaTable {
 public:
  // The registry outlives the table.
  explicit QuotaTable(const core::Registry& registry) : registry_(registry) {}

  // The `limits.<resource>` entries of one object replace what it said before.
  void SetLimits(std::string_view ns, std::string_view name, const StringMap& hard);
  void RemoveLimits(std::string_view ns, std::string_view name);

  void Apply(const std::string& ns, std::span<const core::Charge> charges, Sign sign);

  // By VendorId: the smallest limit of all objects minus what is used, which is
  // negative after a limit was lowered. Empty: the namespace has no limits.
  std::vector<core::QuotaRoom> Room(std::string_view ns) const;

  // Ascending by namespace and resource: the resources with a limit, and both of every
  // vendor of which the namespace uses something.
  std::vector<QuotaRow> Rows() const;

  // namespace -> by VendorId; namespaces that use memory or cores.
  std::map<std::string, std::vector<core::DeviceUse>> Use() const;

 private:
  struct Limit {
    std::optional<int64_t> memory;  // in accounting units
    std::optional<int64_t> cores;
  };
  struct Namespace {
    std::map<std::string, std::vector<Limit>, std::less<>> objects;  // each by VendorId
    std::vector<Total> used;                                         // by VendorId; slots stay 0
  };
  using Namespaces = std::map<std::string, Namespace, std::less<>>;

  Namespace& Get(std::string_view ns);
  void EraseIfUnused(Namespaces::iterator it);

  const core::Registry& registry_;
  Namespaces namespaces_;
};

}  // namespace aliquot::ledger
