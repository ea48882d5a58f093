// ServeFlags: the command line of `aliquot serve`, which is also the command
// line of HAMi's `scheduler`: the same names, defaults and spellings.
//
// Accepted forms, as of Go's flag packages: --name=value, --name value, a bare
// --name for switches (or =true, =false, =1, =0, =t, =f), one dash in place of
// two, and -v4. A flag given twice takes the later value, except that
// --node-label-selector merges.
//
// Thread safety: plain values and pure functions.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aliquot/base/clock.h"
#include "aliquot/base/log.h"
#include "aliquot/base/object_ref.h"
#include "aliquot/base/result.h"
#include "aliquot/base/string_map.h"

namespace aliquot::config {

// When the allocation annotations of a pod are written.
enum class AssignmentWrite {
  kFilter,  // by /filter, before it answers
  kBind,    // with the Binding
};

// Which binds wait for a node lock that another pod holds.
enum class BindWait { kAll, kGroup, kNone };

// How the caches follow the API server.
enum class CacheMode { kWatch, kPoll };

// Where the certificate of /webhook comes from.
enum class WebhookCerts {
  kFiles,  // cert_file and key_file
  kAuto,   // made here, kept in a Secret
};

// One field per flag, named after it. Addresses are "host:port"; an empty host
// means all interfaces.
struct ServeFlags {
  // Server.
  std::string http_bind = "127.0.0.1:8080";
  std::string webhook_bind;  // empty: /webhook is served on http_bind
  std::string metrics_bind_address = ":9395";
  std::string debug_bind = "127.0.0.1:9396";  // empty: off
  std::string cert_file;                      // TLS only with both files
  std::string key_file;
  WebhookCerts webhook_certs = WebhookCerts::kFiles;
  ObjectRef webhook_certs_secret;  // these three: of kAuto
  std::vector<std::string> webhook_certs_hosts;
  std::string webhook_configuration;  // empty: none
  bool legacy_metrics = false;
  bool profiling = false;

  // Scheduling.
  std::string device_config_file;
  std::string scheduler_name;
  std::string node_scheduler_policy = "binpack";  // as written, perhaps unknown
  std::string gpu_scheduler_policy = "spread";    // as written, perhaps unknown
  StringMap node_label_selector;                  // all must match; empty: every node
  bool force_overwrite_default_scheduler = true;
  AssignmentWrite assignment_write = AssignmentWrite::kFilter;
  BindWait bind_wait = BindWait::kAll;
  std::optional<Duration> node_lock_timeout;                    // see NodeLockTimeout below
  Duration node_lock_retry_timeout = std::chrono::seconds(28);  // 0 or less: do not wait
  Duration reservation_timeout = std::chrono::minutes(15);
  Duration filter_deadline = std::chrono::seconds(20);
  bool enable_ascend = false;
  bool enable_iluvatar = false;
  bool shadow = false;

  // Kubernetes client. Rates that were not given leave scheduling writes
  // unbounded; 0 asks for the client library's default (5 and 10), a negative
  // rate for no limit.
  std::optional<double> kube_qps;
  std::optional<int> kube_burst;
  Duration kube_timeout{};  // 0: none

  // Caches.
  CacheMode cache_mode = CacheMode::kWatch;
  Duration poll_interval = std::chrono::seconds(5);
  Duration sync_wait = std::chrono::seconds(5);

  // Leader election.
  bool leader_elect = false;
  std::string leader_elect_resource_name;
  std::string leader_elect_resource_namespace;

  // Logging.
  int v = 0;
  log::Format log_format = log::Format::kText;
  bool logtostderr = true;
  std::string log_file;  // only with logtostderr=false

  // Flags that have no effect, as given: name to text.
  StringMap ignored;

  // Values that are accepted but hardly meant; for the log, once it is set up.
  std::vector<std::string> warnings;

  // Every flag with its value as text, by name. A flag that has no default and
  // was not given has an empty text.
  std::vector<std::pair<std::string, std::string>> Listing() const;

  log::Options LogOptions() const;
};

// `args` without the program's name. The error names the flag and what it takes.
Result<ServeFlags> ParseServeFlags(std::span<const std::string> args);

// The flags in groups, with defaults, at most 100 columns wide. `program` is
// what the user typed, e.g. "aliquot serve".
std::string ServeFlagsHelp(std::string_view program);

// The age from which a node lock counts as abandoned: the flag, else the Go
// duration in `expire_variable` (the value of HAMI_NODELOCK_EXPIRE; null or
// empty: not set), else 5 minutes. A variable that is no positive duration is
// reported in the log and passed over.
Duration NodeLockTimeout(const ServeFlags& flags, const char* expire_variable);

}  // namespace aliquot::config
