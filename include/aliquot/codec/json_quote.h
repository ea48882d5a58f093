// JSON strings as Go's encoding/json writes them: '<', '>', '&', U+2028 and U+2029 are
// escaped, and what is not UTF-8 becomes U+FFFD.
//
// Thread safety: every function from any thread.
#pragma once

#include <string>
#include <string_view>

namespace aliquot::codec {

// With its quotes.
void AppendJsonQuoted(std::string& json, std::string_view text);
std::string JsonQuote(std::string_view text);

}  // namespace aliquot::codec
