// Which of a host's eight Kunlun cards belong together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace aliquot::vendors {

constexpr std::size_t kKunlunCards = 8;

// Two wings (0..3, 4..7) are fully connected inside; across them only 0-4, 1-5,
// 2-6 and 3-7. `free` by index; `count` 1, 2, 4 or 8. Leaves pairs and whole wings
// intact where it can. Empty: no such set.
std::vector<size_t> SelectKunlunCards(const std::array<bool, kKunlunCards>& free, int64_t count);

// How broken up a set of cards is, for the node's score.
int KunlunFragments(const std::array<bool, kKunlunCards>& taken);

}  // namespace aliquot::vendors
