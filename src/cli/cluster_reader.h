// Reads what the checks look at: from an API server, or from files.
#pragma once

#include <string>
#include <vector>

#include "aliquot/base/clock.h"
#include "aliquot/base/result.h"
#include "aliquot/checks/checks.h"
#include "aliquot/kube/list_watcher.h"

namespace aliquot::cli {

// Lists, and nothing else; what may not be read is said in the snapshot. Error: there is no
// API server that knows us.
Result<checks::Snapshot> ReadCluster(kube::ListWatcher& api, WallTime now);

// JSON as `kubectl get -o json` (single objects and lists, of several kinds too) and
// `kubectl version -o json` print it. Kinds that no check looks at are passed over. Errors
// name the file.
Result<checks::Snapshot> ReadClusterFiles(const std::vector<std::string>& paths, WallTime now);

}  // namespace aliquot::cli
