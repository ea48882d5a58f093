// From the flags to the scheduler's options.
#pragma once

#include "aliquot/config/flags.h"
#include "aliquot/scheduler/options.h"

namespace aliquot::cli {

// `lock_expiry`: HAMI_NODELOCK_EXPIRE of the environment, or null.
scheduler::Options SchedulerOptions(const config::ServeFlags& flags, const char* lock_expiry);

}  // namespace aliquot::cli
