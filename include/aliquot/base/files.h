// Reading small files whole.
#pragma once

#include <string>

#include "aliquot/base/result.h"

namespace aliquot {

// Errors name the path: kNotFound when there is no such file, else kInvalid.
// Thread safety: any thread.
Result<std::string> ReadFile(const std::string& path);

}  // namespace aliquot
