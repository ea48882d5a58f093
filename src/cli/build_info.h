// What this program was built from. The build passes version, revision and date
// to build_info.cc only, so that a new commit recompiles one small file.
#pragma once

#include <string_view>

namespace aliquot::cli {

struct BuildInfo {
  std::string_view version;     // "0.1.0"
  std::string_view revision;    // abbreviated git commit, or "unknown"
  std::string_view build_date;  // "2026-01-31", UTC
  std::string_view language;    // "C++20"
  std::string_view compiler;    // "g++ 12.2.0"
  std::string_view platform;    // "linux/amd64"
};

BuildInfo GetBuildInfo();

}  // namespace aliquot::cli
