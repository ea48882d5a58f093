// Values by name, each in a slot: a small number that is its own as long as it is
// there, by which others keep what they know of it in an array.
//
// Thread safety: none of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aliquot/base/strings.h"

namespace aliquot::ledger {

template <typename T>
class SlotTable {
 public:
  // Slots are below this number.
  size_t slots() const { return values_.size(); }

  // No value if there is none.
  std::optional<uint32_t> SlotOf(std::string_view name) const {
    const auto at = by_name_.find(name);
    return at == by_name_.end() ? std::nullopt : std::optional(at->second);
  }

  // Null if there is none. Valid until the name is erased.
  T* Find(std::string_view name) {
    const std::optional<uint32_t> slot = SlotOf(name);
    return slot ? &values_[*slot] : nullptr;
  }
  const T* Find(std::string_view name) const {
    const std::optional<uint32_t> slot = SlotOf(name);
    return slot ? &values_[*slot] : nullptr;
  }

  // Makes one if there is none; says in which slot it is.
  std::pair<T&, uint32_t> Get(std::string_view name) {
    if (const std::optional<uint32_t> slot = SlotOf(name)) return {values_[*slot], *slot};
    if (free_.empty()) {
      free_.push_back(static_cast<uint32_t>(slots()));
      values_.emplace_back();
      names_.emplace_back();
      next_.push_back(static_cast<uint32_t>(slots()));
    }
    const uint32_t slot = free_.back();
    free_.pop_back();
    by_name_.emplace(name, slot);
    names_[slot] = name;
    ranked_ = false;
    return {values_[slot], slot};
  }

  // No effect if there is none.
  void Erase(std::string_view name) {
    const auto at = by_name_.find(name);
    if (at == by_name_.end()) return;
    const uint32_t slot = at->second;
    by_name_.erase(at);
    values_[slot] = T();
    names_[slot].clear();
    free_.push_back(slot);
  }

  // By slot: of two names that are there the smaller one has the smaller rank. Valid until
  // a name is added.
  const std::vector<uint32_t>& Ranks() {
    if (ranked_) return ranks_;
    std::vector<uint32_t> slots;
    for (const auto& [name, slot] : by_name_) slots.push_back(slot);
    std::ranges::sort(slots, {}, [&](uint32_t slot) -> const std::string& { return names_[slot]; });
    ranks_.resize(names_.size());
    for (uint32_t rank = 0; rank < slots.size(); ++rank) ranks_[slots[rank]] = rank;
    ranked_ = true;
    return ranks_;
  }

  // visit(name, value) for each, in no order.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& [name, slot] : by_name_) visit(name, values_[slot]);
  }

  // Looks up many names. They come in much the same order each time, so the one that
  // followed the last time is tried first: no hash, no search.
  class Series {
   public:
    explicit Series(SlotTable& table) : table_(table) {}

    std::optional<uint32_t> Find(std::string_view name) {
      uint32_t slot = guess_;
      if (slot >= table_.names_.size() || name.empty() || !Same(table_.names_[slot], name)) {
        const std::optional<uint32_t> found = table_.SlotOf(name);
        if (!found) return std::nullopt;
        slot = *found;
        if (last_) table_.next_[*last_] = slot;
      }
      last_ = slot;
      guess_ = table_.next_[slot];
      return slot;
    }

   private:
    // Names are short: most are compared without a call.
    static bool Same(std::string_view a, std::string_view b) {
      const size_t size = a.size();
      if (size != b.size()) return false;
      if (size < 8 || size > 16) return a == b;
      return Eight(a.data()) == Eight(b.data()) &&
             Eight(a.data() + size - 8) == Eight(b.data() + size - 8);
    }
    static uint64_t Eight(const char* bytes) {
      uint64_t eight = 0;
      std::memcpy(&eight, bytes, sizeof eight);
      return eight;
    }

    SlotTable& table_;
    std::optional<uint32_t> last_;
    uint32_t guess_ = 0;
  };

 private:
  std::unordered_map<std::string, uint32_t, StringHash, std::equal_to<>> by_name_;
  // By slot.
  std::deque<T> values_;
  std::vector<std::string> names_;  // empty: free
  std::vector<uint32_t> next_;      // whose slot was looked up after this one
  std::vector<uint32_t> free_;
  std::vector<uint32_t> ranks_;
  bool ranked_ = false;  // ranks_ are those of the names that are there
};

}  // namespace aliquot::ledger
