// The ledger as JSON, for people who look into a running process. No decision waits for
// it for longer than a piece of the ledger takes to copy; so it is no single moment.
//
// Thread safety: any thread.
#pragma once

#include <string>
#include <string_view>

#include "aliquot/scheduler/scheduler.h"

namespace aliquot::server {

// Who holds what, of all nodes or of one. Hash and counts are of the whole ledger.
std::string LedgerJson(const scheduler::Scheduler& scheduler, std::string_view node);

// Where it differs from the API objects in the caches now. An event may be on its way.
std::string DifferencesJson(const scheduler::Scheduler& scheduler, std::string_view node);

}  // namespace aliquot::server
