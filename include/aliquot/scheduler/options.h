// What the scheduler's services are told at start; values of the flags.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "aliquot/base/clock.h"
#include "aliquot/base/object_ref.h"
#include "aliquot/base/string_map.h"
#include "aliquot/core/policy.h"

namespace aliquot::scheduler {

// When the allocation annotations are written: before /filter answers, or with
// the Binding object (atomic with the binding; nothing stale if it never comes).
enum class AssignmentWrite { kFilter, kBind };

// Which binds wait for a node lock that another pod holds.
enum class BindWait { kAll, kGroup, kNone };

// The lease by which the kube-schedulers elect their leader, and the name of the
// machine or pod that we share with one of them. No lease has an empty name.
struct Election {
  std::string ns;
  std::string lease;
  std::string host;
};

struct Options {
  core::PolicyDefaults policy;
  std::string scheduler_name;  // that /webhook writes into pods; empty: into none
  bool force_overwrite_default_scheduler = true;  // also where default-scheduler stands
  StringMap node_label_selector;                  // only nodes with all these labels are registered
  AssignmentWrite assignment_write = AssignmentWrite::kFilter;
  BindWait bind_wait = BindWait::kAll;
  Duration node_lock_timeout = std::chrono::minutes(5);         // expiry of a node lock
  Duration node_lock_retry_timeout = std::chrono::seconds(28);  // how long a bind waits for it
  Duration reservation_timeout = std::chrono::minutes(15);
  Duration sync_wait = std::chrono::seconds(5);
  Duration filter_deadline = std::chrono::seconds(20);
  std::optional<Election> election;                   // none: this process always leads
  ObjectRef own_pod;                                  // gets the role label; empty: none does
  bool legacy_metrics = false;                        // HAMi's old names as well
  bool shadow = false;                                // looks on, see Shadow; never leads
  Duration bind_deadline = std::chrono::seconds(29);  // below the extender's httpTimeout of 30 s
};

// Tells people about a pod: an event on it. Never blocks. `warning` false: Normal.
using RecordEvent = std::function<void(const ObjectRef& pod, bool warning, std::string_view reason,
                                       std::string message)>;

}  // namespace aliquot::scheduler
