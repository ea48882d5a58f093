// What SIGUSR2 writes into the log.
#pragma once

#include "aliquot/scheduler/scheduler.h"

namespace aliquot::cli {

// The ledger in one line, and a line for each node where it differs from the API objects,
// 50 at most. Disturbs no request.
void LogLedger(const scheduler::Scheduler& scheduler);

}  // namespace aliquot::cli
