// What fuzz targets have in common. A target reads bytes from outside and must
// neither throw nor crash; what it finds wrong ends the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "aliquot/base/log.h"
#include "aliquot/base/result.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace aliquot::fuzz {

inline std::string Text(const uint8_t* data, size_t size) {
  return size == 0 ? std::string() : std::string(reinterpret_cast<const char*>(data), size);
}

inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: does not hold: %s\n", what);
  std::abort();
}

// Log lines about what is wrong go nowhere.
inline void BeQuiet() {
  static const bool quiet = [] {
    log::SetUp({.file = "/dev/null"});
    return true;
  }();
  (void)quiet;
}

// Somebody has to be able to act on it.
inline void RequireMessage(const Error& error) {
  Require(error.code == ErrorCode::kInvalid, "bad bytes are kInvalid");
  Require(!error.message.empty(), "an error says what is wrong");
}

// What was read is written so that it is read as the same again.
template <typename T, typename Parse, typename Format>
void RequireRoundTrip(const Result<T>& parsed, const Parse& parse, const Format& format) {
  if (!parsed) return RequireMessage(parsed.error());
  const std::string text = format(*parsed);
  const Result<T> again = parse(text);
  Require(again.ok() && *again == *parsed, "what is written is read as the same again");
  Require(format(*again) == text, "and written as the same again");
}

}  // namespace aliquot::fuzz
