#include "codec/go_text.h"

#include <simdjson.h>

#include <algorithm>
#include <optional>

#include "aliquot/base/strings.h"

namespace aliquot::codec {
namespace {

Error NumberError(std::string_view function, std::string_view text, std::string_view problem) {
  std::string message = "strconv.";
  message += function;
  message += ": parsing " + GoQuote(text) + ": ";
  message += problem;
  return InvalidError(std::move(message));
}

bool IsDecimal(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Result<int64_t> ParseGoInt(std::string_view function, std::string_view text, int64_t min,
                           int64_t max) {
  const std::optional<int64_t> value = ParseInt64(text);
  if (value && *value >= min && *value <= max) return *value;
  return NumberError(function, text, IsDecimal(text) ? "value out of range" : "invalid syntax");
}

Result<bool> ParseGoBool(std::string_view text) {
  const std::optional<bool> value = ParseBool(text);
  if (!value) return NumberError("ParseBool", text, "invalid syntax");
  return *value;
}

size_t Utf8Length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (length > text.size() || !simdjson::validate_utf8(text.substr(0, length))) return 0;
  return length;
}

std::string GoQuote(std::string_view text) {
  constexpr std::string_view kEscaped = "\a\b\f\n\r\t\v\"\\";
  constexpr std::string_view kLetters = "abfnrtv\"\\";
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    const auto byte = static_cast<unsigned char>(text.front());
    if (const size_t at = kEscaped.find(text.front()); at != std::string_view::npos) {
      out += '\\';
      out += kLetters[at];
    } else if (length == 0 || byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out + '"';
}

std::string ReplaceInvalidUtf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    out += length == 0 ? "\ufffd" : text.substr(0, length);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

}  // namespace aliquot::codec
