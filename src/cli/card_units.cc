#include "cli/card_units.h"

#include <algorithm>
#include <bit>

namespace aliquot::cli {
namespace {

constexpr std::string_view kMebibytes = "MiB";
constexpr std::string_view kCores = "cores";
constexpr std::string_view kComputeUnits = "CUs";

// Nothing can be asked for but a number of cards.
bool CardsOnly(const core::Vendor& vendor) {
  return vendor.key() == "Biren" || vendor.key() == "GCU" || vendor.key() == "Vastai";
}

// Its cores are bits of a mask.
bool IsMasked(const core::Vendor& vendor) { return vendor.key() == "AWSNeuron"; }

// Its templates have cores too, which are not accounted for.
bool IsCutByTemplate(const core::Vendor& vendor, const core::Device& card) {
  return !vendor.config().templates.empty() && card.mode != "hami-core";
}

int64_t CountBits(int64_t mask) { return std::popcount(static_cast<uint64_t>(mask)); }

}  // namespace

bool AsksForMemory(const core::Vendor& vendor) { return !CardsOnly(vendor) && !IsMasked(vendor); }

std::string_view UnitOfAskedCores(const core::Vendor& vendor) {
  return IsMasked(vendor) || vendor.key() == "Mthreads" ? kCores : kPercent;
}

std::optional<Amount> MemoryOf(const core::Vendor& vendor, const core::Device& card, int64_t used) {
  if (!AsksForMemory(vendor)) return std::nullopt;
  return Amount{used, card.memory, kMebibytes};
}

std::optional<Amount> CoresOf(const core::Vendor& vendor, const core::Device& card, int64_t used) {
  if (CardsOnly(vendor) || IsCutByTemplate(vendor, card)) return std::nullopt;
  if (IsMasked(vendor)) return Amount{CountBits(used), CountBits(card.cores), kCores};
  if (vendor.key() == "AMD") return Amount{used, card.cores, kComputeUnits};
  return Amount{used, card.cores, UnitOfAskedCores(vendor)};
}

std::string_view PartOf(const core::Vendor& vendor, const core::Device& card, int64_t memory) {
  const auto named = [&](const auto& parts) -> std::string_view {
    const auto part = std::find_if(parts.begin(), parts.end(),
                                   [&](const auto& each) { return each.memory == memory; });
    return part == parts.end() ? std::string_view() : part->name;
  };
  return IsCutByTemplate(vendor, card) ? named(vendor.config().templates) : named(card.profiles);
}

}  // namespace aliquot::cli
