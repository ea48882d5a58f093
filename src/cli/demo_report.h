// The tables at the end of the demo: nodes, cards, pods, and why some wait.
#pragma once

#include <vector>

#include "cli/demo_screen.h"
#include "cli/kube_scheduler.h"
#include "cli/sandbox.h"

namespace aliquot::cli {

// `attempts`: the last one of every pod that was tried.
void WriteReport(Sandbox& sandbox, const std::vector<Attempt>& attempts, const Screen& screen);

}  // namespace aliquot::cli
