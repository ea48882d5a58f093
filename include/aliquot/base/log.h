// Log lines: a fact in the past tense and its keys, e.g.
//   Patched pod pod=team-a/train-0 node=gpu-17 elapsedMs=3
// spdlog stays behind this header.
//
// Nobody waits for the reader of the log: what a pipe does not take at once is kept, up
// to kKeptBytes, and tried again with the next line. Lines beyond that are dropped, and
// their number is logged once there is room again.
//
// Thread safety: any function from any thread, after SetUp or without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

namespace aliquot::log {

// One key of a line. Numbers and booleans are written as they are; text is
// quoted when it holds blanks, quotes or control characters.
struct Field {
  std::string_view key;
  std::string value;

  Field(std::string_view k, std::string_view v) : key(k), value(v) {}
  Field(std::string_view k, const char* v) : key(k), value(v) {}
  Field(std::string_view k, const std::string& v) : key(k), value(v) {}
  template <typename T>
  requires std::is_arithmetic_v<T> Field(std::string_view k, T v) : key(k), value(ToText(v)) {}

 private:
  template <typename T>
  static std::string ToText(T v) {
    if constexpr (std::is_same_v<T, bool>)
      return v ? "true" : "false";
    else
      return std::to_string(v);
  }
};
using Fields = std::initializer_list<Field>;

constexpr size_t kKeptBytes = 1 << 20;

enum class Format { kText, kJson };

struct Options {
  Format format = Format::kText;
  int verbosity = 0;  // klog's -v: 0 is quiet, 4 and above adds debug lines
  std::string file;   // empty: standard error
};

// Once, before threads start. Throws nothing; a file that cannot be opened is
// said on standard error and standard error is used.
void SetUp(const Options& options);

void Info(std::string_view fact, Fields fields = {});
void Warn(std::string_view fact, Fields fields = {});
void Error(std::string_view fact, Fields fields = {});

// Debug(4, ...) is written with -v=4 and above. The fields are built in any
// case: keep out of loops over devices.
void Debug(int verbosity, std::string_view fact, Fields fields = {});
bool IsDebug(int verbosity);

// Lines that were dropped since the start.
uint64_t DroppedLines();

}  // namespace aliquot::log
