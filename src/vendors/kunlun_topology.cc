#include "vendors/kunlun_topology.h"

#include <algorithm>
#include <span>

namespace aliquot::vendors {
namespace {

using Cards = std::array<bool, kKunlunCards>;
using Group = std::array<size_t, 4>;

constexpr size_t kWing = 4;

// Fours that are a ring across the wings, in the order in which they are tried.
constexpr Group kRings[] = {{0, 1, 4, 5}, {2, 3, 6, 7}, {0, 2, 4, 6},
                            {1, 3, 5, 7}, {0, 3, 4, 7}, {1, 2, 5, 6}};

std::vector<size_t> FreeFrom(const Cards& free, size_t begin, size_t end) {
  std::vector<size_t> cards;
  for (size_t i = begin; i < end; ++i)
    if (free[i]) cards.push_back(i);
  return cards;
}

std::vector<size_t> Pair(const Cards& free) {
  for (size_t i = 0; i < kWing; ++i)
    if (free[i] && free[i + kWing]) return {i, i + kWing};
  return {};
}

bool Connected(size_t a, size_t b) { return a / kWing == b / kWing || a % kWing == b % kWing; }

std::vector<size_t> Ring(const Cards& free) {
  const std::vector<size_t> cards = FreeFrom(free, 0, kKunlunCards);
  if (cards.size() < 4 || cards.size() > 6) return {};
  std::vector<size_t> chosen;
  for (const Group& ring : kRings) {
    if (!std::all_of(ring.begin(), ring.end(), [&](size_t card) { return free[card]; })) continue;
    chosen.assign(ring.begin(), ring.end());
    std::vector<size_t> left;
    std::copy_if(cards.begin(), cards.end(), std::back_inserter(left), [&](size_t card) {
      return std::find(ring.begin(), ring.end(), card) == ring.end();
    });
    // Two that are left over should be of use to each other.
    if (left.size() < 2 || Connected(left[0], left[1])) break;
  }
  return chosen;
}

}  // namespace

std::vector<size_t> SelectKunlunCards(const Cards& free, int64_t count) {
  const std::vector<size_t> left = FreeFrom(free, 0, kWing);
  const std::vector<size_t> right = FreeFrom(free, kWing, kKunlunCards);
  if (count == 8) {
    if (left.size() + right.size() != kKunlunCards) return {};
    return FreeFrom(free, 0, kKunlunCards);
  }
  // How many free cards a wing had better have.
  constexpr size_t kForOne[] = {1, 3, 2, 4};
  constexpr size_t kForTwo[] = {2, 3, 4};
  constexpr size_t kForFour[] = {4};
  std::span<const size_t> sizes;
  if (count == 1) sizes = kForOne;
  if (count == 2) sizes = kForTwo;
  if (count == 4) sizes = kForFour;
  for (const size_t size : sizes)
    for (const std::vector<size_t>* wing : {&left, &right})
      if (wing->size() == size)
        return {wing->begin(), wing->begin() + static_cast<std::ptrdiff_t>(count)};
  if (count == 2) return Pair(free);
  if (count == 4) return Ring(free);
  return {};
}

int KunlunFragments(const Cards& taken) {
  const auto of_wing = [](size_t cards) { return cards == 4 ? 0 : cards == 1 ? 2 : 1; };
  const size_t left = FreeFrom(taken, 0, kWing).size();
  const size_t right = FreeFrom(taken, kWing, kKunlunCards).size();
  return left + right == 0 ? 1 : of_wing(left) + of_wing(right);
}

}  // namespace aliquot::vendors
