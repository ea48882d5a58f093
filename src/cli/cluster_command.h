// `aliquot cluster`: the embedded stand-in for kube-apiserver, for trying things
// out without a cluster.
#pragma once

#include "cli/command.h"

namespace aliquot::cli {

Command ClusterCommand();

}  // namespace aliquot::cli
