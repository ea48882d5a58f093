// Base64 with padding (RFC 4648).
//
// Thread safety: every function from any thread.
#pragma once

#include <string>
#include <string_view>

#include "aliquot/base/result.h"

namespace aliquot {

// White space is skipped. Errors: kInvalid.
Result<std::string> DecodeBase64(std::string_view text);
std::string EncodeBase64(std::string_view bytes);

}  // namespace aliquot
