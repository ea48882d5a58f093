// Values by name, each in a slot: a small number that is its own as long as it is
// there, by which others keep what they know of it in an array.
//
// Thread safety: none of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "aliquot/base/strings.h"

namespace aliquot::ledger {

template <typename T>
class SlotTable {
 public:
  struct Item {
    T value;
    uint32_t slot = 0;
    uint32_t next = 0;  // whose slot was looked up after this one
  };
  using Items = std::unordered_map<std::string, Item, StringHash, std::equal_to<>>;
  using Entry = typename Items::value_type;

  // Null if there is none. Valid until the name is erased.
  T* Find(std::string_view name) {
    const auto at = items_.find(name);
    return at == items_.end() ? nullptr : &at->second.value;
  }
  const T* Find(std::string_view name) const {
    const auto at = items_.find(name);
    return at == items_.end() ? nullptr : &at->second.value;
  }

  // Makes one if there is none.
  T& operator[](std::string_view name) {
    if (T* found = Find(name)) return *found;
    if (free_.empty()) {
      free_.push_back(static_cast<uint32_t>(slots_.size()));
      slots_.push_back(nullptr);
    }
    const uint32_t slot = free_.back();
    free_.pop_back();
    Entry& entry = *items_.emplace(name, Item{T(), slot, slot + 1}).first;
    slots_[slot] = &entry;
    return entry.second.value;
  }

  // No effect if there is none.
  void Erase(std::string_view name) {
    const auto at = items_.find(name);
    if (at == items_.end()) return;
    free_.push_back(at->second.slot);
    slots_[at->second.slot] = nullptr;
    items_.erase(at);
  }

  // Looks up many names. They come in much the same order each time, so the one that
  // followed the last time is tried first: no hash, no search.
  class Series {
   public:
    explicit Series(SlotTable& table) : table_(table) {}

    // Null if there is none.
    Item* Find(std::string_view name) {
      const uint32_t guess = last_ == nullptr ? 0 : last_->next;
      Entry* entry = guess < table_.slots_.size() ? table_.slots_[guess] : nullptr;
      if (entry == nullptr || entry->first != name) {
        const auto at = table_.items_.find(name);
        if (at == table_.items_.end()) return nullptr;
        entry = &*at;
        if (last_ != nullptr) last_->next = entry->second.slot;
      }
      return last_ = &entry->second;
    }

   private:
    SlotTable& table_;
    Item* last_ = nullptr;
  };

  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  Items items_;
  std::vector<Entry*> slots_;  // null: free
  std::vector<uint32_t> free_;
};

}  // namespace aliquot::ledger
