// MetricsText: writes metrics in Prometheus' text format 0.0.4. A metric's HELP and
// TYPE stand before its first sample; one without samples leaves no trace.
//
// Errors: none; texts of any bytes become valid labels. Thread safety: one thread at
// a time.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "aliquot/base/metrics.h"

namespace aliquot {

// `name="value",` with the value escaped: one label of a sample.
std::string Label(std::string_view name, std::string_view value);
std::string Label(std::string_view name, int64_t value);

class MetricsText {
 public:
  enum class Type { kCounter, kGauge, kHistogram };

  // What follows are this metric's samples. REQUIRES: `name` was not begun before,
  // and both views live until the next Begin.
  void Begin(std::string_view name, Type type, std::string_view help);

  // `labels`: texts of Label, one after the other; each may hold several.
  void Sample(std::initializer_list<std::string_view> labels, double value);

  // The samples of a histogram, in seconds.
  void Sample(std::string_view labels, const Histogram& histogram);

  // Saves copies of a page that grows to about `bytes`.
  void Reserve(size_t bytes) { text_.reserve(bytes); }

  std::string Take() { return std::move(text_); }

 private:
  void BeginSample();
  void EndSample(std::initializer_list<std::string_view> labels, double value);

  std::string text_;
  std::string_view name_;
  std::string_view help_;
  Type type_ = Type::kGauge;
  bool begun_ = false;  // its HELP and TYPE are written
};

// The shortest text that reads back as the same number, as Go's %g writes it:
// "0.25", "4096", "8.05306368e+09".
void AppendNumber(double value, std::string& text);

}  // namespace aliquot
