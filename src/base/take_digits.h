// TakeDigits: the leading decimal digits of `text`, which is left without them.
#pragma once

#include <algorithm>
#include <string_view>

namespace aliquot {

inline std::string_view TakeDigits(std::string_view& text) {
  const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  return digits;
}

}  // namespace aliquot
