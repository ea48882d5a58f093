#include "aliquot/base/metrics_text.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>

namespace aliquot {
namespace {

std::string_view NameOf(MetricsText::Type type) {
  switch (type) {
    case MetricsText::Type::kCounter:
      return "counter";
    case MetricsText::Type::kGauge:
      return "gauge";
    case MetricsText::Type::kHistogram:
      return "histogram";
  }
  return "untyped";
}

bool NeedsEscape(char c) { return c == '\n' || c == '\\' || c == '"'; }

void AppendEscaped(std::string_view value, std::string& text) {
  if (std::ranges::none_of(value, NeedsEscape)) {  // as good as always
    text += value;
    return;
  }
  for (const char c : value) {
    if (NeedsEscape(c)) text += '\\';
    text += c == '\n' ? 'n' : c;
  }
}

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

std::string Label(std::string_view name, std::string_view value) {
  std::string label;
  label.reserve(name.size() + value.size() + 4);
  label.append(name).append("=\"");
  AppendEscaped(value, label);
  label.append("\",");
  return label;
}

std::string Label(std::string_view name, int64_t value) {
  return Label(name, std::to_string(value));
}

void AppendNumber(double value, std::string& text) {
  if (std::isnan(value)) {
    text += "NaN";
  } else if (std::isinf(value)) {
    text += value > 0 ? "+Inf" : "-Inf";
  } else {
    char digits[32];
    const auto end =
        std::to_chars(digits, digits + sizeof(digits), value, std::chars_format::general).ptr;
    text.append(digits, end);
  }
}

void MetricsText::Begin(std::string_view name, Type type, std::string_view help) {
  name_ = name;
  type_ = type;
  help_ = help;
  begun_ = false;
}

void MetricsText::Sample(std::initializer_list<std::string_view> labels, double value) {
  BeginSample();
  EndSample(labels, value);
}

void MetricsText::Sample(std::string_view labels, const Histogram& histogram) {
  uint64_t count = 0;
  for (size_t bucket = 0; bucket <= Histogram::kBounds.size(); ++bucket) {
    count += histogram.count(bucket);
    std::string bound = "+Inf";
    if (bucket < Histogram::kBounds.size()) {
      bound.clear();
      AppendNumber(Seconds(Histogram::kBounds[bucket]), bound);
    }
    BeginSample();
    text_ += "_bucket";
    EndSample({labels, Label("le", bound)}, static_cast<double>(count));
  }
  BeginSample();
  text_ += "_sum";
  EndSample({labels}, Seconds(histogram.sum()));
  BeginSample();
  text_ += "_count";
  EndSample({labels}, static_cast<double>(count));
}

void MetricsText::BeginSample() {
  if (!begun_) {
    begun_ = true;
    text_.append("# HELP ").append(name_).append(" ").append(help_);
    text_.append("\n# TYPE ").append(name_).append(" ").append(NameOf(type_)).append("\n");
  }
  text_ += name_;
}

void MetricsText::EndSample(std::initializer_list<std::string_view> labels, double value) {
  text_ += '{';
  const size_t empty = text_.size();
  for (const std::string_view label : labels) text_ += label;
  if (text_.size() == empty) {
    text_.back() = ' ';
  } else {
    text_.back() = '}';  // in the place of the last comma
    text_ += ' ';
  }
  AppendNumber(value, text_);
  text_ += '\n';
}

}  // namespace aliquot
