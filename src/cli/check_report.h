// What the checks have found, for people and for programs.
#pragma once

#include <ostream>
#include <string>

#include "aliquot/checks/checks.h"

namespace aliquot::cli {

// Errors first. `device_config`: where the resource names come from.
void WriteReport(const checks::Report& report, const checks::Snapshot& snapshot,
                 const std::string& device_config, std::ostream& out);

// {"server": ..., "deviceConfig": ..., "findings": [{"severity", "check", "object", "what",
// "advice"}], "notChecked": [{"check", "about", "why"}]}
void WriteReportJson(const checks::Report& report, const checks::Snapshot& snapshot,
                     const std::string& device_config, std::ostream& out);

}  // namespace aliquot::cli
