// StringMap: annotations, labels and resource lists. Ordered, so that whatever
// is written from one comes out in one order; look-ups take string_view.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace aliquot {

using StringMap = std::map<std::string, std::string, std::less<>>;

// The value at `key`, or null. An empty key (a resource that is not configured)
// is never found. The pointer lives as long as the entry.
inline const std::string* Find(const StringMap& map, std::string_view key) {
  if (key.empty()) return nullptr;
  auto it = map.find(key);
  return it == map.end() ? nullptr : &it->second;
}

}  // namespace aliquot
