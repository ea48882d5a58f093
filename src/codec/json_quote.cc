#include "aliquot/codec/json_quote.h"

#include <algorithm>
#include <array>

#include "codec/go_text.h"

namespace aliquot::codec {
namespace {

// The characters that stand for themselves.
constexpr auto kPlain = [] {
  std::array<bool, 256> plain{};
  for (unsigned char c = 0x20; c < 0x80; ++c)
    plain[c] = c != '"' && c != '\\' && c != '<' && c != '>' && c != '&';
  return plain;
}();

bool IsPlain(char c) { return kPlain[static_cast<unsigned char>(c)]; }

// Appends the first character of `text`, which is not plain; says how long it is.
size_t AppendEscaped(std::string& json, std::string_view text) {
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
    const auto plain = static_cast<size_t>(std::ranges::find_if_not(text, IsPlain) - text.begin());
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
