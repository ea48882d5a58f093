#include "cli/scheduler_options.h"

namespace aliquot::cli {

scheduler::Options SchedulerOptions(const config::ServeFlags& flags, const char* lock_expiry,
                                    const Identity& self) {
  scheduler::Options options;
  options.policy = {flags.node_scheduler_policy, flags.gpu_scheduler_policy};
  options.scheduler_name = flags.scheduler_name;
  options.force_overwrite_default_scheduler = flags.force_overwrite_default_scheduler;
  options.node_label_selector = flags.node_label_selector;
  options.assignment_write = flags.assignment_write == config::AssignmentWrite::kBind
                                 ? scheduler::AssignmentWrite::kBind
                                 : scheduler::AssignmentWrite::kFilter;
  options.bind_wait = flags.bind_wait == config::BindWait::kAll     ? scheduler::BindWait::kAll
                      : flags.bind_wait == config::BindWait::kGroup ? scheduler::BindWait::kGroup
                                                                    : scheduler::BindWait::kNone;
  options.node_lock_timeout = config::NodeLockTimeout(flags, lock_expiry);
  options.node_lock_retry_timeout = flags.node_lock_retry_timeout;
  options.reservation_timeout = flags.reservation_timeout;
  options.sync_wait = flags.sync_wait;
  options.filter_deadline = flags.filter_deadline;
  options.shadow = flags.shadow;
  if (flags.leader_elect && !flags.shadow)
    options.election = {flags.leader_elect_resource_namespace, flags.leader_elect_resource_name,
                        self.host};
  options.own_pod = self.pod;
  options.legacy_metrics = flags.legacy_metrics;
  return options;
}

}  // namespace aliquot::cli
