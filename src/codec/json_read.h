// Reading annotations' JSON into values: leniently where Go's encoding/json is
// lenient, with a problem that names the place where it is not. Private to codec.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "aliquot/base/result.h"
#include "codec/go_text.h"
#include "codec/limits.h"

namespace aliquot::codec {

// Why a value cannot be taken, led by its path: "[2].devmem is not ...".
// Empty: it was taken.
using Problem = std::string;

// Null gives the zero value.
inline Problem Read(simdjson::dom::element json, std::string& out) {
  std::string_view text;
  if (!json.is_null() && json.get(text) != simdjson::SUCCESS) return " is not a string";
  out = text;
  return {};
}

inline Problem Read(simdjson::dom::element json, bool& out) {
  out = false;
  if (!json.is_null() && json.get(out) != simdjson::SUCCESS) return " is not a boolean";
  return {};
}

inline Problem ReadInteger(simdjson::dom::element json, int64_t min, int64_t max, int64_t& out) {
  out = 0;
  if (json.is_null()) return {};
  if (json.get(out) != simdjson::SUCCESS || out < min || out > max)
    return " is not a whole number from " + std::to_string(min) + " to " + std::to_string(max);
  return {};
}

inline Problem Read(simdjson::dom::element json, int64_t& out) {
  return ReadInteger(json, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max(),
                     out);
}

// Hands each member to `read_member(key, value)`.
template <typename ReadMember>
Problem ReadObject(simdjson::dom::element json, const ReadMember& read_member) {
  if (json.is_null()) return {};
  simdjson::dom::object object;
  if (json.get(object) != simdjson::SUCCESS) return " is not an object";
  for (const auto [key, value] : object)
    if (Problem problem = read_member(key, value); !problem.empty())
      return "." + std::string(key) + problem;
  return {};
}

// Hands each item to `read_item(item, at)`, kMostItems at most.
template <typename ReadItem>
Problem ReadList(simdjson::dom::element json, const ReadItem& read_item) {
  if (json.is_null()) return {};
  simdjson::dom::array array;
  if (json.get(array) != simdjson::SUCCESS) return " is not a list";
  size_t at = 0;
  for (const simdjson::dom::element item : array) {
    if (at == kMostItems) return ": more than " + std::to_string(kMostItems) + " items";
    if (Problem problem = read_item(item, at); !problem.empty())
      return "[" + std::to_string(at) + "]" + problem;
    ++at;
  }
  return {};
}

// `what` names the text in error messages. Bytes that are not UTF-8 become U+FFFD.
template <typename ReadDocument>
Result<void> ReadJson(std::string_view what, std::string_view text, const ReadDocument& read) {
  if (text.size() > kMostTextBytes)
    return InvalidError(std::string(what) + ": more than " + std::to_string(kMostTextBytes) +
                        " bytes");
  thread_local simdjson::dom::parser parser;
  std::string repaired;
  if (!simdjson::validate_utf8(text)) text = repaired = ReplaceInvalidUtf8(text);
  simdjson::dom::element json;
  if (const auto error = parser.parse(text.data(), text.size()).get(json);
      error != simdjson::SUCCESS)
    return InvalidError(std::string(what) + " is not JSON: " + simdjson::error_message(error));
  if (const Problem problem = read(json); !problem.empty())
    return InvalidError(std::string(what) + problem);
  return {};
}

}  // namespace aliquot::codec
