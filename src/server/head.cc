#include "server/head.h"

#include <algorithm>

#include "aliquot/base/strings.h"

namespace aliquot::server {
namespace {

// "token" of RFC 9110.
bool IsToken(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           Contains(kMarks, std::string_view(&c, 1));
  });
}

bool HasControlCharacter(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
  });
}

Rejection BadRequest(std::string text) { return {"400 Bad Request", std::move(text)}; }

// Digits only: no sign, no list.
std::optional<size_t> ParseLength(std::string_view text) {
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(),
                                                   [](char c) { return c >= '0' && c <= '9'; });
  const std::optional<int64_t> length = digits ? ParseInt64(text) : std::nullopt;
  if (!length) return std::nullopt;
  return static_cast<size_t>(*length);
}

// A comma-separated list has `word`.
bool Lists(std::string_view list, std::string_view word) {
  for (std::string_view item : Split(list, ',')) {
    if (EqualsIgnoreCase(Trim(item), word)) return true;
  }
  return false;
}

// An Accept-Encoding allows gzip: it is named, or everything is, and not with q=0.
bool AllowsGzip(std::string_view list) {
  std::optional<bool> any;
  for (const std::string_view item : Split(list, ',')) {
    const std::vector<std::string_view> parts = Split(item, ';');
    bool wanted = true;
    for (const std::string_view part : parts) {
      const std::string_view parameter = Trim(part);
      if (parameter.size() < 3 || !EqualsIgnoreCase(parameter.substr(0, 2), "q=")) continue;
      wanted = parameter.find_first_not_of("0.", 2) != std::string_view::npos;
    }
    const std::string_view coding = Trim(parts.front());
    if (EqualsIgnoreCase(coding, "gzip")) return wanted;
    if (coding == "*") any = wanted;
  }
  return any.value_or(false);
}

std::optional<Rejection> ParseRequestLine(std::string_view line, Head& head) {
  const std::vector<std::string_view> words = Split(line, ' ');
  if (words.size() != 3 || !IsToken(words[0])) {
    return BadRequest("the request line is not METHOD TARGET HTTP/1.1");
  }
  if (words[2] != "HTTP/1.1" && words[2] != "HTTP/1.0") {
    return Rejection{"505 HTTP Version Not Supported", "only HTTP/1.1 and HTTP/1.0 are served"};
  }
  if (!words[1].starts_with('/') || HasControlCharacter(words[1])) {
    return BadRequest("the request target does not begin with '/' or has control characters");
  }
  head.method = words[0];
  head.target = words[1];
  head.keep_alive = words[2] == "HTTP/1.1";
  return std::nullopt;
}

}  // namespace

std::optional<Rejection> ParseHead(std::string_view text, Head& head) {
  const auto next_line = [&text] {
    const size_t end = text.find("\r\n");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 2);
    return line;
  };

  if (std::optional<Rejection> wrong = ParseRequestLine(next_line(), head)) return wrong;

  const bool http11 = head.keep_alive;
  std::optional<size_t> length;
  int hosts = 0;
  for (std::string_view line = next_line(); !line.empty(); line = next_line()) {
    const size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    if (colon == std::string_view::npos || !IsToken(name)) {
      return BadRequest("a header line does not begin with a field name and a colon");
    }
    const std::string_view value = Trim(line.substr(colon + 1));
    if (HasControlCharacter(value)) {
      return BadRequest("header field " + std::string(name) + " has control characters");
    }

    if (EqualsIgnoreCase(name, "Content-Length")) {
      const std::optional<size_t> this_length = ParseLength(value);
      if (!this_length || (length && *length != *this_length)) {
        return BadRequest("Content-Length is not one number");
      }
      length = this_length;
    } else if (EqualsIgnoreCase(name, "Transfer-Encoding")) {
      return Rejection{"411 Length Required",
                       "Transfer-Encoding is not accepted: send the body with Content-Length"};
    } else if (EqualsIgnoreCase(name, "Content-Encoding")) {
      if (!EqualsIgnoreCase(value, "identity")) {
        return Rejection{"415 Unsupported Media Type",
                         "Content-Encoding is not accepted: send the body uncompressed"};
      }
    } else if (EqualsIgnoreCase(name, "Expect")) {
      if (!EqualsIgnoreCase(value, "100-continue")) {
        return Rejection{"417 Expectation Failed", "Expect: only 100-continue is known"};
      }
      head.expects_continue = true;
    } else if (EqualsIgnoreCase(name, "Connection")) {
      if (Lists(value, "close")) head.keep_alive = false;
      if (!http11 && Lists(value, "keep-alive")) head.keep_alive = true;
    } else if (EqualsIgnoreCase(name, "Content-Type")) {
      head.content_type = value;
    } else if (EqualsIgnoreCase(name, "Accept-Encoding")) {
      head.accepts_gzip = AllowsGzip(value);
    } else if (EqualsIgnoreCase(name, "Host")) {
      ++hosts;
    }
  }
  if (hosts > 1 || (http11 && hosts == 0)) return BadRequest("not exactly one Host header field");
  head.content_length = length.value_or(0);
  return std::nullopt;
}

std::string ToAnswer(const Rejection& rejection) {
  std::string answer = "HTTP/1.1 ";
  answer += rejection.status;
  answer += "\r\nConnection: close\r\nContent-Length: " + std::to_string(rejection.text.size()) +
            "\r\nContent-Type: ";
  answer += rejection.content_type;
  answer += "\r\n\r\n" + rejection.text;
  return answer;
}

}  // namespace aliquot::server
