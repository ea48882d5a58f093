// Quantities as the API server writes them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace aliquot::cluster {

// The canonical form: "3000" is "3k", "0.5" is "500m", "1.5Gi" is "1536Mi".
// No value for text that is not a quantity, or too large.
std::optional<std::string> CanonicalQuantity(std::string_view text);

// Value of a quantity in thousandths, rounded away from zero.
// REQUIRES: `text` is a quantity in canonical form.
__int128 MilliValue(std::string_view text);

}  // namespace aliquot::cluster
