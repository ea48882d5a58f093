#include "cli/check_report.h"

#include <nlohmann/json.hpp>
#include <string_view>

namespace aliquot::cli {
namespace {

using checks::Severity;

constexpr Severity kSeverities[] = {Severity::kError, Severity::kWarning, Severity::kNote};

// "2 errors".
std::string Counted(size_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

// What was read: "3 nodes, 12 pods".
std::string Extent(const checks::Snapshot& snapshot) {
  const std::string version =
      snapshot.server_version.empty() ? "of a version that is not known" : snapshot.server_version;
  return "Looked at " + Counted(snapshot.nodes.size(), "node") + " and " +
         Counted(snapshot.pods.size(), "pod") + " of Kubernetes " + version;
}

}  // namespace

void WriteReport(const checks::Report& report, const checks::Snapshot& snapshot,
                 const std::string& device_config, std::ostream& out) {
  out << Extent(snapshot) << "; resource names are from " << device_config << ".\n";
  for (const Severity severity : kSeverities) {
    const size_t count = report.Count(severity);
    if (count == 0) continue;
    out << "\n" << Counted(count, checks::Word(severity)) << ":\n";
    for (const checks::Finding& finding : report.findings)
      if (finding.severity == severity)
        out << "\n* " << finding.object << ": " << finding.what << " [" << finding.check << "]\n  "
            << finding.advice << "\n";
  }
  if (!report.not_checked.empty()) out << "\nNot checked:\n\n";
  for (const checks::NotChecked& check : report.not_checked)
    out << "* " << check.about << " [" << check.check << "]\n  " << check.why << "\n";
  if (report.findings.empty()) out << "\nFound nothing that would go wrong.\n";
}

void WriteReportJson(const checks::Report& report, const checks::Snapshot& snapshot,
                     const std::string& device_config, std::ostream& out) {
  using Json = nlohmann::ordered_json;
  Json document{{"server", snapshot.server_version},
                {"deviceConfig", device_config},
                {"findings", Json::array()},
                {"notChecked", Json::array()}};
  for (const checks::Finding& finding : report.findings)
    document["findings"].push_back({{"severity", checks::Word(finding.severity)},
                                    {"check", finding.check},
                                    {"object", finding.object},
                                    {"what", finding.what},
                                    {"advice", finding.advice}});
  for (const checks::NotChecked& check : report.not_checked)
    document["notChecked"].push_back(
        {{"check", check.check}, {"about", check.about}, {"why", check.why}});
  out << document.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

}  // namespace aliquot::cli
