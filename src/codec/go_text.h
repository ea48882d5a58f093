// Numbers and quoted text as Go's strconv reads, writes and refuses them: the
// error texts of the annotation grammars are made of it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "aliquot/base/result.h"

namespace aliquot::codec {

// "strconv.ParseInt: parsing \"x\": invalid syntax" if `text` is not a decimal
// integer, "...: value out of range" if it is not one of [min, max]. `function`
// is the one to be named: ParseInt or Atoi.
Result<int64_t> ParseGoInt(std::string_view function, std::string_view text, int64_t min,
                           int64_t max);

inline Result<int64_t> ParseGoInt32(std::string_view text) {
  return ParseGoInt("ParseInt", text, std::numeric_limits<int32_t>::min(),
                    std::numeric_limits<int32_t>::max());
}

Result<bool> ParseGoBool(std::string_view text);

// In double quotes; quotes, control characters and bytes that are not UTF-8 are
// escaped.
std::string GoQuote(std::string_view text);

// Length of the UTF-8 sequence that `text` begins with; 0: it begins with none.
// REQUIRES: not empty.
size_t Utf8Length(std::string_view text);

// Each byte that is not part of a UTF-8 sequence becomes U+FFFD.
std::string ReplaceInvalidUtf8(std::string_view text);

}  // namespace aliquot::codec
