#include "aliquot/codec/json_quote.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "codec/go_text.h"

namespace aliquot::codec {
namespace {

// Eight characters at a time. Not 0 if one of the bytes is.
constexpr uint64_t kOnes = 0x0101010101010101;
constexpr uint64_t kHigh = kOnes << 7;
constexpr uint64_t ZeroBytes(uint64_t bytes) { return (bytes - kOnes) & ~bytes & kHigh; }

// None of the bytes is a control character, '"', '&', '<', '>', '\\' or not ASCII.
constexpr bool ArePlain(uint64_t bytes) {
  const uint64_t control = (bytes - kOnes * 0x20) & ~bytes & kHigh;
  return ((bytes & kHigh) | control | ZeroBytes((bytes | kOnes * 4) ^ kOnes * '&') |
          ZeroBytes((bytes | kOnes * 2) ^ kOnes * '>') | ZeroBytes(bytes ^ kOnes * '\\')) == 0;
}

// How many characters at the beginning stand for themselves; perhaps up to seven too few.
size_t PlainLength(std::string_view text) {
  size_t length = 0;
  uint64_t bytes = 0;
  for (; length + sizeof bytes <= text.size(); length += sizeof bytes) {
    std::memcpy(&bytes, text.data() + length, sizeof bytes);
    if (!ArePlain(bytes)) return length;
  }
  if (length == text.size()) return length;
  bytes = kOnes * ' ';
  std::memcpy(&bytes, text.data() + length, text.size() - length);
  return ArePlain(bytes) ? text.size() : length;
}

// Appends the first character of `text`; says how long it is.
size_t AppendEscaped(std::string& json, std::string_view text) {
  if (PlainLength(text.substr(0, 1)) == 1) {
    json += text.front();
    return 1;
  }
  constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  constexpr std::string_view kHex = "0123456789abcdef";
  if (const size_t at = kEscaped.find(text.front()); at != std::string_view::npos) {
    json += {'\\', kLetters[at]};
    return 1;
  }
  if (const auto byte = static_cast<unsigned char>(text.front()); byte < 0x80) {
    json += "\\u00";
    json += {kHex[byte >> 4], kHex[byte & 15]};
    return 1;
  }
  if (text.starts_with("\u2028") || text.starts_with("\u2029")) {
    json += text.starts_with("\u2028") ? "\\u2028" : "\\u2029";
    return 3;
  }
  const size_t length = Utf8Length(text);
  json += length == 0 ? "\ufffd" : text.substr(0, length);
  return std::max<size_t>(length, 1);
}

}  // namespace

void AppendJsonQuoted(std::string& json, std::string_view text) {
  json += '"';
  while (true) {
    const size_t plain = PlainLength(text);
    json += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    text.remove_prefix(AppendEscaped(json, text));
  }
  json += '"';
}

std::string JsonQuote(std::string_view text) {
  std::string json;
  AppendJsonQuoted(json, text);
  return json;
}

}  // namespace aliquot::codec
