// Small text helpers: what Kubernetes, Go and the annotation grammars need and
// the standard library does not have.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aliquot {

// Pieces between separators; always at least one ("" gives one empty piece), as
// Go's strings.Split. The views point into `text`.
std::vector<std::string_view> Split(std::string_view text, char separator);

// Without ASCII white space at both ends.
std::string_view Trim(std::string_view text);

std::string ToUpper(std::string_view text);
std::string ToLower(std::string_view text);

// ASCII case-insensitive equality.
bool EqualsIgnoreCase(std::string_view a, std::string_view b);

// `text` contains `part`, ASCII case-insensitively. An empty part is contained.
bool ContainsIgnoreCase(std::string_view text, std::string_view part);

inline bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Decimal integer with an optional '+' or '-', nothing else; as Go's
// strconv.ParseInt(text, 10, 64). No value: bad syntax or out of range.
std::optional<int64_t> ParseInt64(std::string_view text);

// Go's strconv.ParseBool: 1 t T TRUE true True 0 f F FALSE false False.
std::optional<bool> ParseBool(std::string_view text);

std::string Join(const std::vector<std::string>& parts, std::string_view separator);

// Kubernetes' rule for a label value: empty, or up to 63 characters of
// [A-Za-z0-9._-] that begin and end with an alphanumeric.
bool IsLabelValue(std::string_view text);

// Hash for unordered maps that are looked up by string_view.
struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

}  // namespace aliquot
