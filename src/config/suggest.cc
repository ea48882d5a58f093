#include "aliquot/config/suggest.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "aliquot/base/strings.h"

namespace aliquot::config {
namespace {

// Levenshtein distance: insertions, deletions and replacements of characters.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);  // distances of the prefix of `a` to each prefix of `b`
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string Suggestion(std::string_view word, std::span<const std::string> known) {
  const std::string lower = ToLower(word);
  const std::string* nearest = nullptr;
  size_t limit = word.size() < 4 ? 0 : 1 + word.size() / 4;  // short words are all near
  for (const std::string& candidate : known) {
    const size_t distance = EditDistance(lower, ToLower(candidate));
    if (distance > limit || (nearest && distance == limit)) continue;
    nearest = &candidate;
    limit = distance;
  }
  return nearest ? " (did you mean \"" + *nearest + "\"?)" : "";
}

}  // namespace aliquot::config
