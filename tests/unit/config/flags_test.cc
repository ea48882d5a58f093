#include "aliquot/config/flags.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>

#include "aliquot/base/strings.h"

namespace aliquot::config {
namespace {

using namespace std::chrono_literals;

Result<ServeFlags> Parse(std::vector<std::string> args) { return ParseServeFlags(args); }

// The flags of arguments that must be good.
ServeFlags Parsed(std::vector<std::string> args) {
  Result<ServeFlags> flags = Parse(std::move(args));
  EXPECT_TRUE(flags.ok()) << (flags.ok() ? "" : flags.error().message);
  return flags.ok() ? *flags : ServeFlags{};
}

std::string ParseError(std::vector<std::string> args) {
  const Result<ServeFlags> flags = Parse(std::move(args));
  return flags.ok() ? "no error" : flags.error().message;
}

std::map<std::string, std::string> Listed(const ServeFlags& flags) {
  const auto listing = flags.Listing();
  return {listing.begin(), listing.end()};
}

struct Row {
  std::string name;
  std::string fallback;
  std::string set;
  std::string shown;  // after --name=set
};

// Every flag that the program knows.
const std::vector<Row>& Rows() {
  static const std::vector<Row> rows{
      {"http_bind", "127.0.0.1:8080", "0.0.0.0:443", "0.0.0.0:443"},
      {"cert_file", "", "/tls/tls.crt", "/tls/tls.crt"},
      {"key_file", "", "/tls/tls.key", "/tls/tls.key"},
      {"scheduler-name", "", "hami-scheduler", "hami-scheduler"},
      {"node-scheduler-policy", "binpack", "spread", "spread"},
      {"gpu-scheduler-policy", "spread", "binpack", "binpack"},
      {"metrics-bind-address", ":9395", "[::1]:0", "[::1]:0"},
      {"node-label-selector", "", "pool=train,gpu=on", "gpu=on,pool=train"},
      {"kube-qps", "", "0.5", "0.5"},
      {"kube-burst", "", "100", "100"},
      {"kube-timeout", "0", "2", "2"},
      {"profiling", "false", "true", "true"},
      {"node-lock-timeout", "", "876000h", "876000h0m0s"},
      {"node-lock-retry-timeout", "28s", "-1s", "-1s"},
      {"force-overwrite-default-scheduler", "true", "f", "false"},
      {"leader-elect", "false", "1", "true"},
      {"leader-elect-resource-name", "", "hami-scheduler", "hami-scheduler"},
      {"leader-elect-resource-namespace", "", "kube-system", "kube-system"},
      {"legacy-metrics", "false", "true", "true"},
      {"debug", "false", "true", "true"},
      {"device-config-file", "", "/device-config.yaml", "/device-config.yaml"},
      {"assignment-write", "filter", "bind", "bind"},
      {"bind-wait", "all", "0", "0"},
      {"reservation-timeout", "15m0s", "1h", "1h0m0s"},
      {"cache-mode", "watch", "poll", "poll"},
      {"poll-interval", "5s", "300ms", "300ms"},
      {"sync-wait", "5s", "0", "0s"},
      {"filter-deadline", "20s", "1m30s", "1m30s"},
      {"webhook-bind", "", "", ""},
      {"webhook-certs", "files", "files", "files"},
      {"webhook-certs-secret", "", "ns/s", "ns/s"},
      {"webhook-certs-hosts", "", "w.ns.svc,10.0.0.7", "w.ns.svc,10.0.0.7"},
      {"webhook-configuration", "", "w", "w"},
      {"debug-bind", "127.0.0.1:9396", "", ""},
      {"log-format", "text", "json", "json"},
      {"shadow", "false", "true", "true"},
      {"enable-ascend", "false", "true", "true"},
      {"enable-iluvatar", "false", "true", "true"},
      {"cambricon-mlu-name", "cambricon.com/mlu", "x", "x"},
      {"cambricon-mlu-memory", "cambricon.com/mlu.smlu.vmemory", "x", "x"},
      {"cambricon-mlu-cores", "cambricon.com/mlu.smlu.vcore", "x", "x"},
      {"dcu-name", "hygon.com/dcunum", "x", "x"},
      {"dcu-memory", "hygon.com/dcumem", "x", "x"},
      {"dcu-cores", "hygon.com/dcucores", "x", "x"},
      {"mthreads-name", "mthreads.com/vgpu", "x", "x"},
      {"mthreads-memory", "mthreads.com/sgpu-memory", "x", "x"},
      {"mthreads-cores", "mthreads.com/sgpu-core", "x", "x"},
      {"enflame-gcu-resource-name", "enflame.com/gcu", "x", "x"},
      {"enflame-drs-gcu-resource-name", "enflame.com/drs-gcu", "x", "x"},
      {"enflame-gcu-memory-resource-name", "enflame.com/gcu-memory", "x", "x"},
      {"enflame-gcu-core-resource-name", "enflame.com/gcu-core", "x", "x"},
      {"enflame-vgcu-resource-name", "enflame.com/drs-gcu", "x", "x"},
      {"enflame-vgcu-legacy-resource-name", "enflame.com/vgcu", "x", "x"},
      {"enflame-vgcu-percentage-resource-name", "enflame.com/vgcu-percentage", "x", "x"},
      {"metax-name", "metax-tech.com/gpu", "x", "x"},
      {"metax-vcount", "metax-tech.com/sgpu", "x", "x"},
      {"metax-vcore", "metax-tech.com/vcore", "x", "x"},
      {"metax-vmemory", "metax-tech.com/vmemory", "x", "x"},
      {"sgpu-topology-aware", "false", "true", "true"},
      {"kunlun-name", "kunlunxin.com/xpu", "x", "x"},
      {"kunlun-vcount", "kunlunxin.com/vxpu", "x", "x"},
      {"kunlun-vmemory", "kunlunxin.com/vxpu-memory", "", ""},
      {"v", "0", "4", "4"},
      {"vmodule", "", "filter=5,bind=2", "filter=5,bind=2"},
      {"logtostderr", "true", "false", "false"},
      {"alsologtostderr", "false", "true", "true"},
      {"stderrthreshold", "2", "0", "0"},
      {"legacy_stderr_threshold_behavior", "false", "true", "true"},
      {"log_dir", "", "/var/log", "/var/log"},
      {"log_file", "", "/var/log/x", "/var/log/x"},
      {"log_file_max_size", "1800", "10", "10"},
      {"add_dir_header", "false", "true", "true"},
      {"skip_headers", "false", "true", "true"},
      {"skip_log_headers", "false", "true", "true"},
      {"one_output", "false", "true", "true"},
      {"log_backtrace_at", ":0", "x.go:7", "x.go:7"},
  };
  return rows;
}

TEST(ServeFlags, HaveTheDefaultsOfTheDocumentation) {
  std::map<std::string, std::string> expected;
  for (const Row& row : Rows()) expected[row.name] = row.fallback;
  EXPECT_EQ(Listed(Parsed({})), expected);
}

TEST(ServeFlags, AreSetOneByOneInEveryForm) {
  for (const Row& row : Rows()) {
    std::map<std::string, std::string> expected = Listed(ServeFlags{});
    expected[row.name] = row.shown;
    for (const std::string dashes : {"--", "-"})
      EXPECT_EQ(Listed(Parsed({dashes + row.name + "=" + row.set})), expected) << row.name;
    const bool is_switch = row.fallback == "true" || row.fallback == "false";
    const std::vector<std::string> apart{"--" + row.name, row.set};
    if (!is_switch) {
      EXPECT_EQ(Listed(Parsed(apart)), expected) << row.name;
    }
  }
}

TEST(ServeFlags, ReachTheirFields) {
  const ServeFlags flags = Parsed({"--http_bind=:1",
                                   "--webhook-bind=:2",
                                   "--metrics-bind-address=:3",
                                   "--debug-bind=:4",
                                   "--cert_file=c",
                                   "--key_file=k",
                                   "--legacy-metrics",
                                   "--profiling",
                                   "--device-config-file=d",
                                   "--scheduler-name=s",
                                   "--node-scheduler-policy=spread",
                                   "--gpu-scheduler-policy=mutex",
                                   "--node-label-selector=a=b",
                                   "--force-overwrite-default-scheduler=false",
                                   "--assignment-write=bind",
                                   "--bind-wait=group",
                                   "--node-lock-timeout=31s",
                                   "--node-lock-retry-timeout=2s",
                                   "--reservation-timeout=3s",
                                   "--filter-deadline=4s",
                                   "--enable-ascend",
                                   "--enable-iluvatar",
                                   "--shadow",
                                   "--kube-qps=-1",
                                   "--kube-burst=6",
                                   "--kube-timeout=7",
                                   "--cache-mode=poll",
                                   "--poll-interval=8s",
                                   "--sync-wait=9s",
                                   "--leader-elect",
                                   "--leader-elect-resource-name=n",
                                   "--leader-elect-resource-namespace=ns",
                                   "-v=5",
                                   "--log-format=json",
                                   "--logtostderr=false",
                                   "--log_file=l"});
  EXPECT_EQ(flags.http_bind, ":1");
  EXPECT_EQ(flags.webhook_bind, ":2");
  EXPECT_EQ(flags.metrics_bind_address, ":3");
  EXPECT_EQ(flags.debug_bind, ":4");
  EXPECT_EQ(flags.cert_file, "c");
  EXPECT_EQ(flags.key_file, "k");
  EXPECT_TRUE(flags.legacy_metrics);
  EXPECT_TRUE(flags.profiling);
  EXPECT_EQ(flags.device_config_file, "d");
  EXPECT_EQ(flags.scheduler_name, "s");
  EXPECT_EQ(flags.node_scheduler_policy, "spread");
  EXPECT_EQ(flags.gpu_scheduler_policy, "mutex");
  EXPECT_EQ(flags.node_label_selector, (StringMap{{"a", "b"}}));
  EXPECT_FALSE(flags.force_overwrite_default_scheduler);
  EXPECT_EQ(flags.assignment_write, AssignmentWrite::kBind);
  EXPECT_EQ(flags.bind_wait, BindWait::kGroup);
  EXPECT_EQ(flags.node_lock_timeout, std::optional<Duration>(31s));
  EXPECT_EQ(flags.node_lock_retry_timeout, 2s);
  EXPECT_EQ(flags.reservation_timeout, 3s);
  EXPECT_EQ(flags.filter_deadline, 4s);
  EXPECT_TRUE(flags.enable_ascend);
  EXPECT_TRUE(flags.enable_iluvatar);
  EXPECT_TRUE(flags.shadow);
  EXPECT_EQ(flags.kube_qps, std::optional(-1.0));
  EXPECT_EQ(flags.kube_burst, std::optional(6));
  EXPECT_EQ(flags.kube_timeout, 7s);
  EXPECT_EQ(flags.cache_mode, CacheMode::kPoll);
  EXPECT_EQ(flags.poll_interval, 8s);
  EXPECT_EQ(flags.sync_wait, 9s);
  EXPECT_TRUE(flags.leader_elect);
  EXPECT_EQ(flags.leader_elect_resource_name, "n");
  EXPECT_EQ(flags.leader_elect_resource_namespace, "ns");
  EXPECT_EQ(flags.LogOptions().verbosity, 5);
  EXPECT_EQ(flags.LogOptions().format, log::Format::kJson);
  EXPECT_EQ(flags.LogOptions().file, "l");
  EXPECT_TRUE(flags.warnings.empty());
}

TEST(ServeFlags, TakeTheArgumentsOfTheChart) {
  const ServeFlags flags = Parsed(
      {"--http_bind=0.0.0.0:443", "--cert_file=/tls/tls.crt", "--key_file=/tls/tls.key",
       "--scheduler-name=hami-scheduler", "--metrics-bind-address=:9395",
       "--node-scheduler-policy=binpack", "--gpu-scheduler-policy=spread",
       "--force-overwrite-default-scheduler=true", "--device-config-file=/device-config.yaml",
       "--leader-elect=true", "--leader-elect-resource-name=hami-scheduler",
       "--leader-elect-resource-namespace=kube-system", "--enable-ascend=true",
       "--enable-iluvatar=true", "--node-label-selector=gpu=on", "--legacy-metrics=true", "--debug",
       "-v=4"});
  EXPECT_EQ(flags.http_bind, "0.0.0.0:443");
  EXPECT_EQ(flags.device_config_file, "/device-config.yaml");
  EXPECT_TRUE(flags.enable_ascend);
  EXPECT_TRUE(flags.legacy_metrics);
  EXPECT_EQ(flags.v, 4);
  EXPECT_TRUE(flags.warnings.empty());
}

TEST(ServeFlags, ReadTheFormsOfGo) {
  EXPECT_EQ(Parsed({"-v", "4"}).v, 4);
  EXPECT_EQ(Parsed({"-v4"}).v, 4);
  EXPECT_EQ(Parsed({"--v=4"}).v, 4);
  const ServeFlags flags = Parsed({"-debug=true", "-device-config-file=test-config-file.yaml"});
  EXPECT_EQ(Listed(flags)["debug"], "true");
  EXPECT_EQ(flags.device_config_file, "test-config-file.yaml");
}

TEST(ServeFlags, TakeAnyValueThatFollows) {
  EXPECT_EQ(Parsed({"--scheduler-name", "-debug"}).scheduler_name, "-debug");
  EXPECT_EQ(Parsed({"--scheduler-name", "--"}).scheduler_name, "--");
  EXPECT_EQ(Parsed({"--scheduler-name", ""}).scheduler_name, "");
  EXPECT_EQ(Parsed({"--scheduler-name=[a,b]"}).scheduler_name, "[a,b]");
  EXPECT_EQ(Parsed({"--scheduler-name=a=b"}).scheduler_name, "a=b");
  EXPECT_EQ(Parsed({"--kube-qps", "-1"}).kube_qps, std::optional(-1.0));
}

TEST(ServeFlags, DoNotTakeAValueAfterASwitch) {
  EXPECT_EQ(ParseError({"--debug", "true"}), "unexpected argument \"true\"");
  EXPECT_TRUE(Parsed({"--shadow", "--debug"}).shadow);
}

TEST(ServeFlags, TakeTheLaterOfTwoValues) {
  EXPECT_EQ(Parsed({"--scheduler-name=a", "--scheduler-name=b"}).scheduler_name, "b");
  EXPECT_FALSE(Parsed({"--shadow", "--shadow=false"}).shadow);
}

TEST(ServeFlags, MergeNodeLabelSelectors) {
  const ServeFlags flags =
      Parsed({"--node-label-selector=a=1,b=2", "--node-label-selector", "b=3,c="});
  EXPECT_EQ(flags.node_label_selector, (StringMap{{"a", "1"}, {"b", "3"}, {"c", ""}}));
}

TEST(ServeFlags, NameTheFlagAndWhatItTakes) {
  const std::vector<std::pair<std::string, std::string>> rows{
      {"--node-label-selector=gpu", "key=value pairs separated by commas"},
      {"--node-label-selector=a=b,gpu", "key=value pairs separated by commas"},
      {"--node-label-selector==on", "key=value pairs separated by commas"},
      {"--node-label-selector=", "key=value pairs separated by commas"},
      {"--http_bind=", "host:port, :port or [IPv6]:port with a port up to 65535"},
      {"--http_bind=localhost", "host:port, :port or [IPv6]:port with a port up to 65535"},
      {"--http_bind=:65536", "host:port, :port or [IPv6]:port with a port up to 65535"},
      {"--http_bind=:-1", "host:port, :port or [IPv6]:port with a port up to 65535"},
      {"--http_bind=::1:80", "host:port, :port or [IPv6]:port with a port up to 65535"},
      {"--http_bind=a b:80", "host:port, :port or [IPv6]:port with a port up to 65535"},
      {"--debug-bind=x", "host:port, :port or [IPv6]:port with a port up to 65535, or empty"},
      {"--kube-qps=fast", "a number such as 5 or 0.5"},
      {"--kube-qps=nan", "a number such as 5 or 0.5"},
      {"--kube-qps=5x", "a number such as 5 or 0.5"},
      {"--kube-burst=1.5", "a whole number, 0 or more"},
      {"--kube-burst=2147483648", "a whole number, 0 or more"},
      {"--kube-burst=-1", "a whole number, 0 or more"},
      {"--kube-timeout=30s", "a whole number of seconds, 0 or more"},
      {"--kube-timeout=-1", "a whole number of seconds, 0 or more"},
      {"--node-lock-timeout=0", "a positive duration such as 300ms, 1m30s or 2h"},
      {"--node-lock-timeout=5", "a positive duration such as 300ms, 1m30s or 2h"},
      {"--node-lock-retry-timeout=x", "a duration such as 300ms, 1m30s or 2h"},
      {"--reservation-timeout=-1s", "a positive duration such as 300ms, 1m30s or 2h"},
      {"--poll-interval=0s", "a positive duration such as 300ms, 1m30s or 2h"},
      {"--filter-deadline=0s", "a positive duration such as 300ms, 1m30s or 2h"},
      {"--sync-wait=-1s", "zero or a positive duration such as 300ms, 1m30s or 2h"},
      {"--webhook-certs=on", "one of files, auto"},
      {"--webhook-certs-secret=s", "NAMESPACE/NAME"},
      {"--webhook-certs-secret=/s", "NAMESPACE/NAME"},
      {"--webhook-certs-secret=ns/s/t", "NAMESPACE/NAME"},
      {"--webhook-certs-hosts=", "DNS names and IP addresses, separated by commas"},
      {"--webhook-certs-hosts=a,,b", "DNS names and IP addresses, separated by commas"},
      {"--webhook-certs-hosts=https://a", "DNS names and IP addresses, separated by commas"},
      {"--assignment-write=later", "one of filter, bind"},
      {"--bind-wait=none", "one of all, group, 0"},
      {"--cache-mode=Watch", "one of watch, poll"},
      {"--log-format=", "one of text, json"},
      {"--shadow=yes", "true or false"},
      {"--shadow=", "true or false"},
      {"--sgpu-topology-aware=2", "true or false"},
      {"--v=-1", "a whole number, 0 or more"},
  };
  for (const auto& [arg, expects] : rows) {
    const size_t equals = arg.find('=');
    EXPECT_EQ(ParseError({arg}),
              arg.substr(0, equals) + "=\"" + arg.substr(equals + 1) + "\": must be " + expects);
  }
}

TEST(ServeFlags, SuggestAFlagForAnUnknownOne) {
  EXPECT_EQ(ParseError({"--scheduler-nam=x"}),
            "unknown flag --scheduler-nam (did you mean \"--scheduler-name\"?)");
  EXPECT_EQ(ParseError({"--http-bind", ":1"}),
            "unknown flag --http-bind (did you mean \"--http_bind\"?)");
  EXPECT_EQ(ParseError({"-debgu"}), "unknown flag -debgu (did you mean \"--debug\"?)");
  EXPECT_EQ(ParseError({"--something-else-altogether"}),
            "unknown flag --something-else-altogether");
  EXPECT_EQ(ParseError({"-x"}), "unknown flag -x");
}

TEST(ServeFlags, MissAValue) {
  EXPECT_EQ(ParseError({"--debug", "--cert_file"}), "--cert_file needs a value");
  EXPECT_EQ(ParseError({"-v"}), "--v needs a value");
}

TEST(ServeFlags, RefuseArgumentsWithoutADash) {
  EXPECT_EQ(ParseError({"extender"}), "unexpected argument \"extender\"");
}

TEST(ServeFlags, RefuseAWebhookListenerWithoutACertificate) {
  EXPECT_EQ(ParseError({"--webhook-bind=:443", "--cert_file=c"}),
            "--webhook-bind needs --cert_file and --key_file, or --webhook-certs=auto");
}

TEST(ServeFlags, LetTheWebhooksCertificateBeMadeHere) {
  const ServeFlags flags =
      Parsed({"--webhook-bind=:443", "--webhook-certs=auto", "--webhook-certs-secret=ns/s",
              "--webhook-certs-hosts=w.ns.svc,10.0.0.7", "--webhook-configuration=w"});
  EXPECT_EQ(flags.webhook_certs, WebhookCerts::kAuto);
  EXPECT_EQ(flags.webhook_certs_secret, (ObjectRef{"ns", "s", ""}));
  EXPECT_EQ(flags.webhook_certs_hosts, (std::vector<std::string>{"w.ns.svc", "10.0.0.7"}));
  EXPECT_EQ(flags.webhook_configuration, "w");
  EXPECT_TRUE(flags.warnings.empty());
  const std::string missing =
      "--webhook-certs=auto needs --webhook-certs-secret and --webhook-certs-hosts";
  EXPECT_EQ(ParseError({"--webhook-certs=auto", "--webhook-certs-secret=ns/s"}), missing);
  EXPECT_EQ(ParseError({"--webhook-certs=auto", "--webhook-certs-hosts=w.ns.svc"}), missing);
  EXPECT_EQ(ParseError({"--webhook-certs=auto", "--key_file=k"}),
            "--webhook-certs=auto goes without --cert_file and --key_file");
}

TEST(ServeFlags, WarnOfValuesThatAreHardlyMeant) {
  using Warnings = std::vector<std::string>;
  EXPECT_EQ(Parsed({"--node-scheduler-policy=spraed"}).warnings,
            Warnings{"--node-scheduler-policy=\"spraed\" is no known policy and acts as binpack"});
  EXPECT_EQ(Parsed({"--gpu-scheduler-policy="}).warnings,
            Warnings{"--gpu-scheduler-policy=\"\" is no known policy and acts as spread"});
  EXPECT_EQ(Parsed({"--gpu-scheduler-policy=numa, bogus"}).warnings, Warnings{});
  EXPECT_EQ(Parsed({"--key_file=k"}).warnings,
            Warnings{"only one of --cert_file and --key_file is given: plain HTTP is served"});
  EXPECT_EQ(Parsed({"--leader-elect", "--leader-elect-resource-name=x"}).warnings,
            Warnings{"--leader-elect without --leader-elect-resource-name and "
                     "--leader-elect-resource-namespace: this process never leads"});
  EXPECT_EQ(Parsed({"--node-lock-timeout=29s"}).warnings,
            Warnings{"--node-lock-timeout=29s is short: a lock may be taken over while its pod "
                     "still gets its devices"});
  EXPECT_EQ(Parsed({"--node-lock-timeout=30s"}).warnings, Warnings{});
  EXPECT_EQ(Parsed({"--log_file=x"}).warnings,
            Warnings{"--log_file has no effect without --logtostderr=false"});
}

TEST(ServeFlags, LogToAFileOnlyWithoutStandardError) {
  EXPECT_EQ(Parsed({"--log_file=x"}).LogOptions().file, "");
  EXPECT_EQ(Parsed({"--log_file=x", "--logtostderr=false"}).LogOptions().file, "x");
}

TEST(NodeLockTimeout, ComesFromTheFlagThenTheEnvironmentThenTheDefault) {
  const ServeFlags given = Parsed({"--node-lock-timeout=2m"});
  const ServeFlags absent = Parsed({});
  EXPECT_EQ(NodeLockTimeout(given, "7m"), 2min);
  EXPECT_EQ(NodeLockTimeout(absent, "7m"), 7min);
  EXPECT_EQ(NodeLockTimeout(absent, nullptr), 5min);
  EXPECT_EQ(NodeLockTimeout(absent, ""), 5min);
}

TEST(NodeLockTimeout, PassesOverAnEnvironmentThatIsNoPositiveDuration) {
  for (const char* bad : {"five", "7", "0s", "-1m"})
    EXPECT_EQ(NodeLockTimeout(ServeFlags{}, bad), 5min) << bad;
}

TEST(ServeFlagsHelp, NamesEveryFlagWithin100Columns) {
  const std::string help = ServeFlagsHelp("aliquot serve");
  EXPECT_TRUE(
      help.starts_with("Usage: aliquot serve [flags]\n\nServer:\n  --http_bind address "
                       "(default 127.0.0.1:8080)\n"))
      << help;
  for (const std::string_view line : Split(help, '\n')) EXPECT_LE(line.size(), 100U) << line;
  for (const Row& row : Rows()) EXPECT_TRUE(Contains(help, "  --" + row.name)) << row.name;
  size_t position = 0;
  for (const char* group : {"Server", "Scheduling", "Kubernetes client", "Caches",
                            "Leader election", "Logging", "Compatibility"}) {
    position = help.find("\n" + std::string(group), position);
    ASSERT_NE(position, std::string::npos) << group;
  }
}

}  // namespace
}  // namespace aliquot::config
