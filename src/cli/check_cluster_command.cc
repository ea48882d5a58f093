#include "cli/check_cluster_command.h"

#include <CLI/CLI.hpp>
#include <utility>
#include <vector>

#include "aliquot/kube/client.h"
#include "aliquot/vendors/registry.h"
#include "cli/build_info.h"
#include "cli/check_report.h"
#include "cli/cluster_reader.h"
#include "cli/examples.h"
#include "cli/vendor_configs.h"

namespace aliquot::cli {
namespace {

constexpr int kExitErrors = 1;
constexpr int kExitCouldNotCheck = 2;

// The key under which both charts keep the device configuration in a ConfigMap.
constexpr std::string_view kDeviceConfigKey = "device-config.yaml";

struct Flags {
  CheckClusterOptions options;
  std::vector<std::string> files;
  std::string output = "text";
};

void Define(CLI::App& app, Flags& flags) {
  app.add_option("--files", flags.files,
                 "look at these files instead of a cluster: JSON of `kubectl get -o json`\n"
                 "and `kubectl version -o json`")
      ->expected(1, -1);
  app.add_option("--device-config-file", flags.options.device_config_file,
                 "which resources stand for devices; without it what a ConfigMap of the\n"
                 "cluster has under device-config.yaml, else HAMi's usual names");
  app.add_option("-o,--output", flags.output, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
}

std::string Help(std::string_view program) {
  Flags flags;
  CLI::App app(
      "Tells what would go wrong with shared devices in a cluster, before or after it moves\n"
      "from HAMi's scheduler. Changes nothing. The exit status is 0 if there are no errors, 1\n"
      "if there are some, 2 if it could not be checked.",
      std::string(program));
  Define(app, flags);
  return app.help();
}

struct DeviceNames {
  std::string source;
  config::DeviceConfig config;
};

Result<DeviceNames> ParseNames(std::string source, const std::string& text) {
  Result<config::DeviceConfig> config = config::ParseDeviceConfig(text, source);
  if (!config) return config.error();
  return DeviceNames{std::move(source), *std::move(config)};
}

Result<DeviceNames> FindNames(const checks::Snapshot& snapshot, const std::string& file) {
  if (!file.empty()) {
    Result<config::DeviceConfig> config = config::LoadDeviceConfig(file);
    if (!config) return config.error();
    return DeviceNames{file, *std::move(config)};
  }
  for (const kube::ConfigMap& map : snapshot.config_maps)
    if (const std::string* text = Find(map.data, kDeviceConfigKey))
      return ParseNames("configmap " + map.meta.ns + "/" + map.meta.name, *text);
  return ParseNames("the built-in device configuration", std::string(ExampleDeviceConfig()));
}

// All vendors that the configuration names: which of them the scheduler's flags turn on is
// not known here.
core::Registry RegistryOf(const config::DeviceConfig& devices) {
  config::ServeFlags flags;
  flags.enable_ascend = true;
  flags.enable_iluvatar = true;
  return vendors::MakeRegistry(VendorConfigs(flags, devices));
}

Result<checks::Snapshot> Read(const Flags& flags) {
  const WallTime now = SystemClock().Now();
  if (!flags.files.empty()) return ReadClusterFiles(flags.files, now);
  Result<kube::ClientConfig> config = kube::LoadClientConfig(kube::ProcessEnvironment());
  if (!config) return config.error();
  kube::Client client(*std::move(config),
                      {.user_agent = "aliquot/" + std::string(GetBuildInfo().version)});
  return ReadCluster(client, now);
}

int Run(const Invocation& invocation) {
  Flags flags;
  CLI::App app;
  Define(app, flags);
  std::vector<std::string> args(invocation.args.rbegin(), invocation.args.rend());
  try {
    app.parse(std::move(args));
  } catch (const CLI::ParseError& problem) {
    return UsageError(invocation, problem.what());
  }
  flags.options.json = flags.output == "json";
  return CheckCluster(Read(flags), flags.options, invocation.io);
}

}  // namespace

int CheckCluster(const Result<checks::Snapshot>& read, const CheckClusterOptions& options,
                 Streams io) {
  const auto could_not = [&](const Error& error) {
    io.err << "error: " << error.message << "\n";
    return kExitCouldNotCheck;
  };
  if (!read) return could_not(read.error());
  const Result<DeviceNames> names = FindNames(*read, options.device_config_file);
  if (!names) return could_not(names.error());
  const checks::Report report = checks::RunChecks(*read, RegistryOf(names->config));
  (options.json ? WriteReportJson : WriteReport)(report, *read, names->source, io.out);
  if (read->missing.contains(checks::Source::kNodes) &&
      read->missing.contains(checks::Source::kPods))
    return could_not({ErrorCode::kInvalid, "neither nodes nor pods could be read"});
  return report.Count(checks::Severity::kError) > 0 ? kExitErrors : kExitOk;
}

Command CheckClusterCommand() {
  return {"check-cluster", "tell what would go wrong in a cluster", Help, Run};
}

}  // namespace aliquot::cli
