// What a test asks of a page of metrics.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aliquot/base/metrics_text.h"
#include "aliquot/base/strings.h"

namespace aliquot::testing {

// What `metered` writes.
std::string Scrape(const auto& metered) {
  MetricsText text;
  metered.WriteMetrics(text);
  return text.Take();
}

// Lines that begin with the name, without it and without HELP and TYPE.
inline std::vector<std::string> Samples(const std::string& page, std::string_view name) {
  std::vector<std::string> samples;
  for (const std::string_view line : Split(page, '\n')) {
    const char next = line.size() > name.size() ? line[name.size()] : '\0';
    if (line.starts_with(name) && (next == '{' || next == ' '))
      samples.emplace_back(Trim(line.substr(name.size())));
  }
  return samples;
}

}  // namespace aliquot::testing
