#include "aliquot/config/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>

#include "aliquot/base/strings.h"
#include "aliquot/base/time_text.h"
#include "aliquot/config/suggest.h"
#include "aliquot/core/policy.h"

namespace aliquot::config {
namespace {

// How the text of a flag reaches its field, and how the field is shown.
struct Binding {
  std::string type;     // for the help; empty: a switch, which means true when bare
  std::string expects;  // for errors
  std::function<bool(const std::string&)> read;  // false: not what is expected
  std::function<std::string()> show;
};

struct Flag {
  std::string name;
  std::string group;
  Binding value;
  std::string help;

  bool IsSwitch() const { return value.type.empty(); }
};

// `read` gives an optional of the field's value, `show` takes the field.
template <typename Field, typename Read, typename Show>
Binding Bind(Field& field, std::string type, std::string expects, Read read, Show show) {
  return {std::move(type), std::move(expects),
          [&field, read](const std::string& text) {
            auto value = read(text);
            if (value) field = *std::move(value);
            return value.has_value();
          },
          [&field, show] { return show(field); }};
}

Binding Switch(bool& field) {
  return Bind(field, "", "true or false", ParseBool,
              [](bool value) { return std::string(value ? "true" : "false"); });
}

Binding Text(std::string& field, std::string type = "text") {
  return Bind(
      field, std::move(type), "any text",
      [](const std::string& text) { return std::optional(text); },
      [](const std::string& value) { return value; });
}

bool IsAddress(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return false;
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (Contains(host, ":")) {
    return false;  // an IPv6 address without its brackets
  }
  if (host.find_first_of(" /[]") != std::string_view::npos) return false;
  const bool digits = port.find_first_not_of("0123456789") == std::string_view::npos;
  const std::optional<int64_t> number = ParseInt64(port);
  return digits && number && *number <= 65535;
}

enum class MayBeEmpty { kNo, kYes };

Binding Address(std::string& field, MayBeEmpty may_be_empty) {
  const bool optional = may_be_empty == MayBeEmpty::kYes;
  return Bind(
      field, "address",
      std::string("host:port, :port or [IPv6]:port with a port up to 65535") +
          (optional ? ", or empty" : ""),
      [optional](const std::string& text) {
        const bool good = text.empty() ? optional : IsAddress(text);
        return good ? std::optional(text) : std::nullopt;
      },
      [](const std::string& value) { return value; });
}

std::string ShowDuration(Duration value) { return FormatGoDuration(value); }
std::string ShowDuration(std::optional<Duration> value) {
  return value ? FormatGoDuration(*value) : "";
}

// Field: Duration or std::optional<Duration>.
template <typename Field>
Binding DurationFrom(Field& field, Duration least, const std::string& expects) {
  return Bind(
      field, "duration", expects + " such as 300ms, 1m30s or 2h",
      [least](const std::string& text) {
        std::optional<Duration> value = ParseGoDuration(text);
        return value && *value >= least ? value : std::nullopt;
      },
      [](const Field& value) { return ShowDuration(value); });
}
template <typename Field>
Binding PositiveDuration(Field& field) {
  return DurationFrom(field, Duration{1}, "a positive duration");
}
Binding DurationOrZero(Duration& field) {
  return DurationFrom(field, Duration{0}, "zero or a positive duration");
}
Binding AnyDuration(Duration& field) { return DurationFrom(field, Duration::min(), "a duration"); }

std::optional<int> ParseCount(const std::string& text) {
  const std::optional<int64_t> value = ParseInt64(text);
  if (!value || *value < 0 || *value > std::numeric_limits<int>::max()) return std::nullopt;
  return static_cast<int>(*value);
}

Binding Seconds(Duration& field) {
  return Bind(
      field, "seconds", "a whole number of seconds, 0 or more",
      [](const std::string& text) {
        const std::optional<int> value = ParseCount(text);
        return value ? std::optional<Duration>(std::chrono::seconds(*value)) : std::nullopt;
      },
      [](Duration value) {
        return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(value).count());
      });
}

Binding Count(int& field) {
  return Bind(field, "number", "a whole number, 0 or more", ParseCount,
              [](int value) { return std::to_string(value); });
}

Binding Count(std::optional<int>& field) {
  return Bind(field, "number", "a whole number, 0 or more", ParseCount,
              [](std::optional<int> value) { return value ? std::to_string(*value) : ""; });
}

Binding Rate(std::optional<double>& field) {
  return Bind(
      field, "number", "a number such as 5 or 0.5",
      [](const std::string& text) {
        double value = 0;
        const char* end = text.data() + text.size();
        const auto [stop, problem] = std::from_chars(text.data(), end, value);
        const bool good = problem == std::errc() && stop == end && std::isfinite(value);
        return good ? std::optional(value) : std::nullopt;
      },
      [](std::optional<double> value) {
        if (!value) return std::string();
        std::array<char, 32> text;
        return std::string(text.data(), std::to_chars(text.begin(), text.end(), *value).ptr);
      });
}

template <typename Enum>
Binding Word(Enum& field, const std::vector<std::pair<std::string, Enum>>& words) {
  std::vector<std::string> names;
  for (const auto& [name, value] : words) names.push_back(name);
  return Bind(
      field, Join(names, "|"), "one of " + Join(names, ", "),
      [words](const std::string& text) {
        for (const auto& [name, value] : words)
          if (name == text) return std::optional(value);
        return std::optional<Enum>();
      },
      [words](Enum shown) {
        for (const auto& [name, value] : words)
          if (value == shown) return name;
        return std::string();
      });
}

Binding NamespacedName(ObjectRef& field) {
  return Bind(field, "namespace/name", "NAMESPACE/NAME", ParseNamespacedName,
              [](const ObjectRef& value) { return Display(value); });
}

Binding Hosts(std::vector<std::string>& field) {
  return Bind(
      field, "host,...", "DNS names and IP addresses, separated by commas",
      [](const std::string& text) -> std::optional<std::vector<std::string>> {
        std::vector<std::string> hosts;
        for (const std::string_view host : Split(text, ',')) {
          if (host.empty() || host.find_first_of(" /") != std::string_view::npos)
            return std::nullopt;
          hosts.emplace_back(host);
        }
        return hosts;
      },
      [](const std::vector<std::string>& value) { return Join(value, ","); });
}

// Adds to what earlier flags gave.
Binding Labels(StringMap& field) {
  return Bind(
      field, "key=value,...", "key=value pairs separated by commas",
      [&field](const std::string& text) {
        StringMap labels = field;
        for (const std::string_view item : Split(text, ',')) {
          const size_t equals = item.find('=');
          if (equals == std::string_view::npos || equals == 0) return std::optional<StringMap>();
          labels.insert_or_assign(std::string(item.substr(0, equals)),
                                  std::string(item.substr(equals + 1)));
        }
        return std::optional(labels);
      },
      [](const StringMap& labels) {
        std::vector<std::string> items;
        for (const auto& [key, value] : labels) items.push_back(key + "=" + value);
        return Join(items, ",");
      });
}

constexpr char kCompatibility[] = "Compatibility (accepted, without effect)";

// An empty `type` makes it a switch.
Flag Ignored(StringMap& ignored, const std::string& name, const std::string& fallback,
             const std::string& type) {
  return {name,
          kCompatibility,
          {type, type.empty() ? "true or false" : "any text",
           [&ignored, name, type](const std::string& text) {
             ignored.insert_or_assign(name, text);
             return !type.empty() || ParseBool(text).has_value();
           },
           [&ignored, name, fallback] {
             const std::string* given = Find(ignored, name);
             return given ? *given : fallback;
           }},
          ""};
}

// Every flag of `aliquot serve`, bound to the fields of `f`.
std::vector<Flag> FlagsOf(ServeFlags& f) {
  constexpr char kServer[] = "Server";
  constexpr char kScheduling[] = "Scheduling";
  constexpr char kClient[] = "Kubernetes client";
  constexpr char kCaches[] = "Caches";
  constexpr char kLeader[] = "Leader election";
  constexpr char kLogging[] = "Logging";
  const auto ignored = [&f](const char* name, const char* fallback) {
    return Ignored(f.ignored, name, fallback, "text");
  };
  const auto ignored_switch = [&f](const char* name) {
    return Ignored(f.ignored, name, "false", "");
  };
  return {
      {"http_bind", kServer, Address(f.http_bind, MayBeEmpty::kNo),
       "where /filter, /bind, /webhook and the probes are served"},
      {"webhook-bind", kServer, Address(f.webhook_bind, MayBeEmpty::kYes),
       "TLS listener of its own for /webhook; empty: it is served on http_bind"},
      {"metrics-bind-address", kServer, Address(f.metrics_bind_address, MayBeEmpty::kNo),
       "where Prometheus reads /metrics, over plain HTTP"},
      {"debug-bind", kServer, Address(f.debug_bind, MayBeEmpty::kYes),
       "where /debug is served, for people who look into the process; empty: nowhere"},
      {"cert_file", kServer, Text(f.cert_file, "file"),
       "server certificate (PEM); TLS needs this and key_file"},
      {"key_file", kServer, Text(f.key_file, "file"), "private key of the certificate (PEM)"},
      {"webhook-certs", kServer,
       Word<WebhookCerts>(f.webhook_certs,
                          {{"files", WebhookCerts::kFiles}, {"auto", WebhookCerts::kAuto}}),
       "certificate of /webhook: cert_file and key_file, or one that is made here"},
      {"webhook-certs-secret", kServer, NamespacedName(f.webhook_certs_secret),
       "Secret in which webhook-certs=auto keeps the certificate; needed"},
      {"webhook-certs-hosts", kServer, Hosts(f.webhook_certs_hosts),
       "names and addresses by which the API server calls /webhook; needed with auto"},
      {"webhook-configuration", kServer, Text(f.webhook_configuration, "name"),
       "MutatingWebhookConfiguration into which auto writes the caBundle; empty: none"},
      {"legacy-metrics", kServer, Switch(f.legacy_metrics),
       "also expose metrics under their old names"},
      {"profiling", kServer, Switch(f.profiling), "accepted, without effect: no /debug/pprof"},

      {"device-config-file", kScheduling, Text(f.device_config_file, "file"),
       "device configuration (YAML); needed"},
      {"scheduler-name", kScheduling, Text(f.scheduler_name),
       "name the webhook writes into pods, and the source of our events"},
      {"node-scheduler-policy", kScheduling, Text(f.node_scheduler_policy),
       "which node is taken by default: binpack or spread"},
      {"gpu-scheduler-policy", kScheduling, Text(f.gpu_scheduler_policy),
       "default for cards: binpack, spread, mutex, topology-aware, numa, or a comma list"},
      {"node-label-selector", kScheduling, Labels(f.node_label_selector),
       "only nodes with all these labels take part; may be repeated"},
      {"force-overwrite-default-scheduler", kScheduling,
       Switch(f.force_overwrite_default_scheduler),
       "let the webhook replace the scheduler name default-scheduler"},
      {"assignment-write", kScheduling,
       Word<AssignmentWrite>(f.assignment_write, {{"filter", AssignmentWrite::kFilter},
                                                  {"bind", AssignmentWrite::kBind}}),
       "write allocation annotations in /filter, or together with the Binding"},
      {"bind-wait", kScheduling,
       Word<BindWait>(
           f.bind_wait,
           {{"all", BindWait::kAll}, {"group", BindWait::kGroup}, {"0", BindWait::kNone}}),
       "which binds wait for a node lock held by another pod; group: pod groups, 0: none"},
      {"node-lock-timeout", kScheduling, PositiveDuration(f.node_lock_timeout),
       "age at which a node lock is abandoned; default: HAMI_NODELOCK_EXPIRE, else 5m"},
      {"node-lock-retry-timeout", kScheduling, AnyDuration(f.node_lock_retry_timeout),
       "how long a bind waits for a node lock, 0: not; stay below the extender's httpTimeout"},
      {"reservation-timeout", kScheduling, PositiveDuration(f.reservation_timeout),
       "age at which the reservation of a pod that was never bound expires"},
      {"filter-deadline", kScheduling, PositiveDuration(f.filter_deadline),
       "time in which /filter must decide; stay below the extender's httpTimeout"},
      {"enable-ascend", kScheduling, Switch(f.enable_ascend),
       "schedule the Ascend NPUs listed under vnpus in the device configuration"},
      {"enable-iluvatar", kScheduling, Switch(f.enable_iluvatar),
       "schedule the Iluvatar GPUs listed under iluvatars in the device configuration"},
      {"shadow", kScheduling, Switch(f.shadow),
       "watch and decide beside another extender, write nothing, report differences"},

      {"kube-qps", kClient, Rate(f.kube_qps),
       "calls per second; 0: 5, negative: no limit; not given: 5 for background calls only"},
      {"kube-burst", kClient, Count(f.kube_burst), "calls that may be made at once; 0: 10"},
      {"kube-timeout", kClient, Seconds(f.kube_timeout),
       "limit of each call in seconds, watches included; 0: none"},

      {"cache-mode", kCaches,
       Word<CacheMode>(f.cache_mode, {{"watch", CacheMode::kWatch}, {"poll", CacheMode::kPoll}}),
       "follow the API server by watching, or by listing again where proxies cut watches"},
      {"poll-interval", kCaches, PositiveDuration(f.poll_interval),
       "time between lists with cache-mode=poll"},
      {"sync-wait", kCaches, DurationOrZero(f.sync_wait),
       "how long /filter waits for complete caches before it answers an error"},

      {"leader-elect", kLeader, Switch(f.leader_elect),
       "follow the lease of kube-scheduler instead of assuming leadership"},
      {"leader-elect-resource-name", kLeader, Text(f.leader_elect_resource_name),
       "name of the lease"},
      {"leader-elect-resource-namespace", kLeader, Text(f.leader_elect_resource_namespace),
       "namespace of the lease"},

      {"v", kLogging, Count(f.v), "verbosity; 4 and above adds debug lines"},
      {"log-format", kLogging,
       Word<log::Format>(f.log_format,
                         {{"text", log::Format::kText}, {"json", log::Format::kJson}}),
       "form of a log line"},
      {"logtostderr", kLogging, Switch(f.logtostderr), "log to standard error, not to log_file"},
      {"log_file", kLogging, Text(f.log_file, "file"), "log file, with logtostderr=false"},

      ignored_switch("debug"),
      ignored("cambricon-mlu-name", "cambricon.com/mlu"),
      ignored("cambricon-mlu-memory", "cambricon.com/mlu.smlu.vmemory"),
      ignored("cambricon-mlu-cores", "cambricon.com/mlu.smlu.vcore"),
      ignored("dcu-name", "hygon.com/dcunum"),
      ignored("dcu-memory", "hygon.com/dcumem"),
      ignored("dcu-cores", "hygon.com/dcucores"),
      ignored("mthreads-name", "mthreads.com/vgpu"),
      ignored("mthreads-memory", "mthreads.com/sgpu-memory"),
      ignored("mthreads-cores", "mthreads.com/sgpu-core"),
      ignored("enflame-gcu-resource-name", "enflame.com/gcu"),
      ignored("enflame-drs-gcu-resource-name", "enflame.com/drs-gcu"),
      ignored("enflame-gcu-memory-resource-name", "enflame.com/gcu-memory"),
      ignored("enflame-gcu-core-resource-name", "enflame.com/gcu-core"),
      ignored("enflame-vgcu-resource-name", "enflame.com/drs-gcu"),
      ignored("enflame-vgcu-legacy-resource-name", "enflame.com/vgcu"),
      ignored("enflame-vgcu-percentage-resource-name", "enflame.com/vgcu-percentage"),
      ignored("metax-name", "metax-tech.com/gpu"),
      ignored("metax-vcount", "metax-tech.com/sgpu"),
      ignored("metax-vcore", "metax-tech.com/vcore"),
      ignored("metax-vmemory", "metax-tech.com/vmemory"),
      ignored_switch("sgpu-topology-aware"),
      ignored("kunlun-name", "kunlunxin.com/xpu"),
      ignored("kunlun-vcount", "kunlunxin.com/vxpu"),
      ignored("kunlun-vmemory", "kunlunxin.com/vxpu-memory"),
      ignored("vmodule", ""),
      ignored_switch("alsologtostderr"),
      ignored("stderrthreshold", "2"),
      ignored_switch("legacy_stderr_threshold_behavior"),
      ignored("log_dir", ""),
      ignored("log_file_max_size", "1800"),
      ignored_switch("add_dir_header"),
      ignored_switch("skip_headers"),
      ignored_switch("skip_log_headers"),
      ignored_switch("one_output"),
      ignored("log_backtrace_at", ":0"),
  };
}

// The name in "--name", "-name=value" and so on.
std::string_view NameIn(std::string_view arg) {
  arg.remove_prefix(std::min(arg.find_first_not_of('-'), arg.size()));
  return arg.substr(0, arg.find('='));
}

// Rewrites the forms that Go's flag packages read into the one form that CLI11
// reads alike for every flag and every value: "--name" and then its value. What
// is no flag of ours stays as it is.
std::vector<std::string> Normalised(std::span<const std::string> args,
                                    const std::vector<Flag>& flags) {
  std::vector<std::string> out;
  bool value_follows = false;
  for (const std::string& arg : args) {
    const std::string_view name = NameIn(arg);
    const auto flag = std::find_if(flags.begin(), flags.end(),
                                   [name](const Flag& each) { return each.name == name; });
    if (value_follows || !arg.starts_with('-') || arg.starts_with("---")) {
      out.push_back(arg);
      value_follows = false;
    } else if (flag != flags.end()) {
      out.push_back("--" + flag->name);
      const size_t equals = arg.find('=');
      value_follows = equals == std::string::npos && !flag->IsSwitch();
      if (equals != std::string::npos)
        out.push_back(arg.substr(equals + 1));
      else if (flag->IsSwitch())
        out.push_back("true");
    } else if (arg.size() > 2 && arg.starts_with("-v") && ParseCount(arg.substr(2))) {
      out.insert(out.end(), {"--v", arg.substr(2)});
    } else {
      out.push_back(arg);
    }
  }
  return out;
}

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* /*app*/, std::string program) const override {
    return "Usage: " + program + " [flags]\n\n";
  }
  std::string make_group(std::string group, bool /*is_positional*/,
                         std::vector<const CLI::Option*> options) const override {
    std::string text = group + ":\n";
    for (const CLI::Option* option : options) {
      text += "  " + option->get_name() + option->get_option_text() + "\n";
      if (!option->get_description().empty()) text += "      " + option->get_description() + "\n";
    }
    return text;
  }
};

// `problem` takes the first text that a flag refuses while `app` parses.
void AddFlags(CLI::App& app, const std::vector<Flag>& flags, std::string& problem) {
  app.set_help_flag();
  for (const Flag& flag : flags) {
    const auto read = [&flag, &problem](const CLI::results_t& texts) {
      for (const std::string& text : texts) {
        if (flag.value.read(text) || !problem.empty()) continue;
        problem = "--" + flag.name + "=\"" + text + "\": must be " + flag.value.expects;
      }
      return true;
    };
    const std::string shown = flag.value.show();
    app.add_option("--" + flag.name, CLI::callback_t(read), flag.help)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->group(flag.group)
        ->option_text((flag.IsSwitch() ? "" : " " + flag.value.type) +
                      (shown.empty() ? "" : " (default " + shown + ")"));
  }
}

// A device plugin may need this long for a pod.
constexpr Duration kShortLock = std::chrono::seconds(30);
constexpr char kShortLockIsTaken[] =
    "a lock may be taken over while its pod still gets its devices";

// What concerns more than one flag, or is odd without being wrong.
Result<void> CheckTogether(ServeFlags& flags) {
  const bool made_here = flags.webhook_certs == WebhookCerts::kAuto;
  const bool files = !flags.cert_file.empty() && !flags.key_file.empty();
  if (!flags.webhook_bind.empty() && !files && !made_here)
    return InvalidError("--webhook-bind needs --cert_file and --key_file, or --webhook-certs=auto");
  if (made_here && (!flags.cert_file.empty() || !flags.key_file.empty()))
    return InvalidError("--webhook-certs=auto goes without --cert_file and --key_file");
  if (made_here && (flags.webhook_certs_secret.name.empty() || flags.webhook_certs_hosts.empty()))
    return InvalidError(
        "--webhook-certs=auto needs --webhook-certs-secret and --webhook-certs-hosts");

  auto& warnings = flags.warnings;
  const std::string& node_policy = flags.node_scheduler_policy;
  if (!core::IsNodePolicy(node_policy))
    warnings.push_back("--node-scheduler-policy=\"" + node_policy +
                       "\" is no known policy and acts as binpack");
  if (!core::IsCardPolicy(flags.gpu_scheduler_policy))
    warnings.push_back("--gpu-scheduler-policy=\"" + flags.gpu_scheduler_policy +
                       "\" is no known policy and acts as spread");
  if (flags.cert_file.empty() != flags.key_file.empty())
    warnings.push_back("only one of --cert_file and --key_file is given: plain HTTP is served");
  if (flags.leader_elect &&
      (flags.leader_elect_resource_name.empty() || flags.leader_elect_resource_namespace.empty()))
    warnings.push_back(
        "--leader-elect without --leader-elect-resource-name and "
        "--leader-elect-resource-namespace: this process never leads");
  if (flags.node_lock_timeout && *flags.node_lock_timeout < kShortLock)
    warnings.push_back("--node-lock-timeout=" + FormatGoDuration(*flags.node_lock_timeout) +
                       " is short: " + kShortLockIsTaken);
  if (!flags.log_file.empty() && flags.logtostderr)
    warnings.push_back("--log_file has no effect without --logtostderr=false");
  return {};
}

}  // namespace

std::vector<std::pair<std::string, std::string>> ServeFlags::Listing() const {
  ServeFlags copy = *this;  // a Flag can also write
  std::vector<std::pair<std::string, std::string>> listing;
  for (const Flag& flag : FlagsOf(copy)) listing.emplace_back(flag.name, flag.value.show());
  std::sort(listing.begin(), listing.end());
  return listing;
}

log::Options ServeFlags::LogOptions() const {
  return {.format = log_format, .verbosity = v, .file = logtostderr ? "" : log_file};
}

Result<ServeFlags> ParseServeFlags(std::span<const std::string> args) {
  ServeFlags out;
  const std::vector<Flag> flags = FlagsOf(out);
  std::string problem;
  CLI::App app;
  AddFlags(app, flags, problem);
  app.allow_extras();
  std::vector<std::string> normalised = Normalised(args, flags);
  std::reverse(normalised.begin(), normalised.end());  // CLI11 takes arguments from the back
  try {
    app.parse(normalised);
  } catch (const CLI::ArgumentMismatch&) {
    // Only the last argument can lack its value.
    return InvalidError("--" + std::string(NameIn(args.back())) + " needs a value");
  } catch (const CLI::ParseError& error) {
    return InvalidError(error.what());
  }
  if (!problem.empty()) return InvalidError(problem);
  if (const std::vector<std::string> rest = app.remaining(); !rest.empty()) {
    if (!rest[0].starts_with('-')) return InvalidError("unexpected argument \"" + rest[0] + "\"");
    std::vector<std::string> known;
    for (const Flag& flag : flags) known.push_back("--" + flag.name);
    const std::string name = rest[0].substr(0, rest[0].find('='));
    return InvalidError("unknown flag " + name +
                        Suggestion("--" + std::string(NameIn(name)), known));
  }
  if (Result<void> checked = CheckTogether(out); !checked) return checked.error();
  return out;
}

std::string ServeFlagsHelp(std::string_view program) {
  ServeFlags defaults;
  const std::vector<Flag> flags = FlagsOf(defaults);
  std::string unused;
  CLI::App app("", std::string(program));
  AddFlags(app, flags, unused);
  app.formatter(std::make_shared<HelpFormatter>());
  return app.help();
}

Duration NodeLockTimeout(const ServeFlags& flags, const char* expire_variable) {
  constexpr Duration kDefault = std::chrono::minutes(5);
  if (flags.node_lock_timeout) return *flags.node_lock_timeout;
  const std::string_view text = expire_variable ? expire_variable : "";
  if (text.empty()) return kDefault;
  const std::optional<Duration> value = ParseGoDuration(text);
  if (value && *value > Duration{0}) {
    if (*value < kShortLock)
      log::Warn(std::string("HAMI_NODELOCK_EXPIRE is short: ") + kShortLockIsTaken,
                {{"value", text}});
    return *value;
  }
  log::Warn("Passed over HAMI_NODELOCK_EXPIRE, which is no positive duration",
            {{"value", text}, {"used", FormatGoDuration(kDefault)}});
  return kDefault;
}

}  // namespace aliquot::config
