// Plays conformance cases (README.md) without processes and sockets: the scheduler
// with its caches on an embedded cluster. run.py is the reference for what a step
// does and how it is compared; here nothing sleeps, because the cluster knows when
// the caches have seen everything.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "aliquot/core/vendor.h"

namespace aliquot::conformance {

// Of the groups in run-groups, sorted.
std::vector<std::string> CaseNames();
// It stands in pending.txt.
bool IsPending(const std::string& name);
nlohmann::json ReadCase(const std::string& name);

// Those of the folder metrics, sorted.
std::vector<std::string> MetricsCaseNames();
nlohmann::json ReadMetricsCase(const std::string& name);

// The daemon's vendors instead of those that its configuration gives.
using ChangeVendors = std::function<core::Registry(const core::Registry&)>;

// What is wrong with how the case went, and with the scrape at its end if it has one;
// empty if nothing is.
std::string Play(const nlohmann::json& test, const ChangeVendors& change = nullptr);

// All vendors of the default device configuration.
core::Registry DefaultVendors();

}  // namespace aliquot::conformance
