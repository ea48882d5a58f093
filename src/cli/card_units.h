// What is counted of a card beside its shares, in the vendor's own units.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "aliquot/core/model.h"
#include "aliquot/core/vendor.h"

namespace aliquot::cli {

inline constexpr std::string_view kPercent = "%";

// So much of a total. `unit` is "MiB", kPercent or what a card is made of: "cores".
struct Amount {
  int64_t used = 0;
  int64_t total = 0;
  std::string_view unit;
};

// Of a card, in the ledger's figures. No value: the vendor does not count it, cards
// (or fixed parts of them) are all that is handed out.
std::optional<Amount> MemoryOf(const core::Vendor& vendor, const core::Device& card, int64_t used);
std::optional<Amount> CoresOf(const core::Vendor& vendor, const core::Device& card, int64_t used);

// Whether a container can ask for memory, and the unit of the cores that it asks for.
bool AsksForMemory(const core::Vendor& vendor);
std::string_view UnitOfAskedCores(const core::Vendor& vendor);

// The fixed part of a card that has so much memory, e.g. "2g.10gb"; empty: the card
// is not cut into such parts, or this is none.
std::string_view PartOf(const core::Vendor& vendor, const core::Device& card, int64_t memory);

}  // namespace aliquot::cli
