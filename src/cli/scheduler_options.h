// From the flags and the process's surroundings to the scheduler's options.
#pragma once

#include <string>

#include "aliquot/base/object_ref.h"
#include "aliquot/config/flags.h"
#include "aliquot/scheduler/options.h"

namespace aliquot::cli {

// Who this process is in its cluster.
struct Identity {
  std::string host;  // what the machine or pod is called: gethostname
  ObjectRef pod;     // POD_NAMESPACE and POD_NAME; empty: no pod, or not known
};

// `lock_expiry`: HAMI_NODELOCK_EXPIRE of the environment, or null.
scheduler::Options SchedulerOptions(const config::ServeFlags& flags, const char* lock_expiry,
                                    const Identity& self);

}  // namespace aliquot::cli
