// Suggestion: the help in "unknown flag --debg (did you mean --debug?)".
//
// Thread safety: a pure function.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace aliquot::config {

// ` (did you mean "<known>"?)` with the known word nearest to `word`, the first
// of several equally near ones; empty when none is near enough to be meant.
// Case does not count.
std::string Suggestion(std::string_view word, std::span<const std::string> known);

}  // namespace aliquot::config
