// `aliquot check-cluster`: what would go wrong in a cluster, before or after it moves from
// HAMi's scheduler to ours. Only reads.
#pragma once

#include <string>

#include "aliquot/base/result.h"
#include "aliquot/checks/checks.h"
#include "cli/command.h"

namespace aliquot::cli {

Command CheckClusterCommand();

struct CheckClusterOptions {
  std::string device_config_file;  // empty: that of the cluster, else the built-in one
  bool json = false;
};

// Checks what was read and prints the report. The exit status: 0 no errors, 1 errors,
// 2 could not check, because there is no snapshot, or none of nodes and pods.
int CheckCluster(const Result<checks::Snapshot>& read, const CheckClusterOptions& options,
                 Streams io);

}  // namespace aliquot::cli
