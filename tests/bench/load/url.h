// Url: where an extender listens, as `--url` gives it.
//
// Errors: kInvalid, naming the text. Thread safety: plain values.
#pragma once

#include <string>
#include <string_view>

#include "aliquot/base/result.h"

namespace aliquot::load {

// Plain HTTP only. "http://127.0.0.1:8080/filter", "http://[::1]:8080/filter".
struct Url {
  std::string host;  // a name or an address, without brackets
  std::string port;  // a number; 80 if the text has none
  std::string path;  // "/" if the text has none

  // For the Host field.
  std::string authority() const;
};

Result<Url> ParseUrl(std::string_view text);

}  // namespace aliquot::load
