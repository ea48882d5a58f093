#include "cli/demo_command.h"

#include <stdlib.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <utility>

#include "aliquot/base/log.h"
#include "aliquot/cluster/http_front.h"
#include "cli/demo.h"
#include "cli/demo_objects.h"
#include "cli/examples.h"
#include "cli/manifests.h"

namespace aliquot::cli {
namespace {

constexpr const char* kOwn = "the demo's own";  // in place of a file's name

struct Flags {
  std::string vendor = "nvidia";
  std::string nodes;
  std::string pods;
  std::string device_config;
  bool keep = false;
  std::string print;
  std::string log_file = "/dev/null";
};

void Define(CLI::App& app, Flags& flags) {
  app.add_option("--vendor", flags.vendor, "whose nodes and pods; all: every vendor's")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--nodes", flags.nodes, "your nodes, instead of the demo's own")
      ->type_name("FILE");
  app.add_option("--pods", flags.pods, "your pods, placed in the order of the file")
      ->type_name("FILE");
  app.add_option("--device-config-file", flags.device_config,
                 "which resources stand for which devices; without it, the usual ones")
      ->type_name("FILE");
  app.add_flag("--keep", flags.keep, "stay there at the end and place new pods, until Ctrl-C");
  app.add_option("--print", flags.print,
                 "only print what the demo itself uses, as YAML; all: nodes and pods")
      ->type_name("all|nodes|pods|device-config")
      ->check(CLI::IsMember({"all", "nodes", "pods", "device-config"}).description(""));
  app.add_option("--log-file", flags.log_file, "where the scheduler's log goes")
      ->type_name("FILE")
      ->capture_default_str();
}

std::string Help(std::string_view program) {
  Flags flags;
  CLI::App app(
      "Places pods on shared cards before your eyes. All in this process: an API server\n"
      "in memory, the real scheduler extender against it over HTTP on loopback, and\n"
      "somebody who plays kube-scheduler and the device plugins. Needs no Kubernetes, no\n"
      "network and no GPU.\n"
      "\n"
      "Files hold YAML or JSON as `kubectl get -o yaml` prints it; several documents and\n"
      "lists are fine. A pod that names its node runs there already; the others are\n"
      "placed, whatever their schedulerName. Taints, affinity and CPU are not looked at.\n",
      std::string(program));
  Define(app, flags);
  app.footer("Vendors: " + KnownVendors());
  return app.help();
}

Result<config::DeviceConfig> ReadDeviceConfig(const std::string& file) {
  return file.empty() ? config::ParseDeviceConfig(std::string(ExampleDeviceConfig()), kOwn)
                      : config::LoadDeviceConfig(file);
}

Result<std::vector<Manifest>> ReadManifests(const std::string& file, const std::string& own,
                                            const std::string& kind) {
  return file.empty() ? ParseManifests(own, kOwn, kind) : LoadManifests(file, kind);
}

// Creates all objects of both files; the pods that are to be placed.
Result<std::vector<kube::Pod>> Create(const std::vector<Manifest>& nodes,
                                      const std::vector<Manifest>& pods, Sandbox& sandbox) {
  for (const Manifest& node : nodes)
    if (const Result<void> created = sandbox.CreateNode(node.object); !created)
      return InvalidError(node.place + ": " + created.error().message);
  std::vector<kube::Pod> waiting;
  for (const Manifest& pod : pods) {
    Result<kube::Pod> created = sandbox.CreatePod(pod.object);
    if (!created) return InvalidError(pod.place + ": " + created.error().message);
    if (created->node_name.empty() && !created->terminal()) waiting.push_back(*std::move(created));
  }
  return waiting;
}

// A kubeconfig in a file of its own, which goes away with it.
class KubeconfigFile {
 public:
  explicit KubeconfigFile(const std::string& url)
      : path_(std::filesystem::temp_directory_path() / "aliquot-demo-XXXXXX") {
    const int file = mkstemp(path_.data());
    if (file < 0) return;
    close(file);
    std::ofstream out(path_);
    out << cluster::Kubeconfig(url);
    written_ = static_cast<bool>(out.flush());
  }
  ~KubeconfigFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  KubeconfigFile(const KubeconfigFile&) = delete;
  KubeconfigFile& operator=(const KubeconfigFile&) = delete;

  const std::string& path() const { return path_; }
  bool written() const { return written_; }

 private:
  std::string path_;
  bool written_ = false;
};

Result<void> Keep(Demo& demo, const Sandbox& sandbox, std::ostream& out) {
  const std::string api = sandbox.api_url();
  const std::string extender = "http://127.0.0.1:" + std::to_string(sandbox.extender_port());
  const KubeconfigFile kubeconfig(api);
  if (!kubeconfig.written())
    return Error{ErrorCode::kUnavailable, "cannot write " + kubeconfig.path()};
  out << "\nEverything is still there; Ctrl-C ends it. In another terminal:\n\n"
      << "  export KUBECONFIG=" << kubeconfig.path() << "\n"
      << "  kubectl get pods -A -o custom-columns="
         "POD:.metadata.name,NODE:.spec.nodeName,PHASE:.status.phase\n"
      << "  kubectl describe pod POD             # annotations and events\n"
      << "  kubectl apply -f your-pod.yaml       # is placed here\n"
      << "  kubectl delete pod POD               # gives its share back\n\n"
      << "  curl " << api << "/api/v1/nodes\n"
      << "  curl " << api << "/api/v1/namespaces/default/pods/POD |\n"
      << "    sed '1s/^/{\"NodeNames\": [\"NODE\"], \"Pod\": /; $s/$/}/' | curl -d @- " << extender
      << "/filter\n\n"
      << std::flush;
  return demo.KeepPlacing();
}

Result<void> Show(const Flags& flags, const DemoObjects& own, std::ostream& out) {
  StopSignals signals;
  const Result<config::DeviceConfig> devices = ReadDeviceConfig(flags.device_config);
  if (!devices) return devices.error();
  const Result<std::vector<Manifest>> nodes = ReadManifests(flags.nodes, own.nodes, "Node");
  if (!nodes) return nodes.error();
  const Result<std::vector<Manifest>> pods = ReadManifests(flags.pods, own.pods, "Pod");
  if (!pods) return pods.error();

  Sandbox sandbox(*devices);
  const Result<std::vector<kube::Pod>> waiting = Create(*nodes, *pods, sandbox);
  if (!waiting) return waiting.error();
  if (const Result<void> started = sandbox.Start(); !started) return started.error();
  out << "Nodes: " << nodes->size() << ", pods to place: " << waiting->size() << ". API server "
      << sandbox.api_url() << ", scheduler extender http://127.0.0.1:" << sandbox.extender_port()
      << "\n\n";

  const Screen screen(out);
  Demo demo(sandbox, screen, signals);
  if (const Result<void> placed = demo.Place(*waiting); !placed) return placed.error();
  if (signals.Within(std::chrono::milliseconds(0))) return {};
  demo.Report();
  if (!flags.keep) return {};
  return Keep(demo, sandbox, out);
}

void Print(const std::string& what, const DemoObjects& own, std::ostream& out) {
  if (what == "all")
    out << own.all;
  else if (what == "nodes")
    out << own.nodes;
  else if (what == "pods")
    out << own.pods;
  else
    out << ExampleDeviceConfig();
}

int Run(const Invocation& invocation) {
  Flags flags;
  CLI::App app;
  Define(app, flags);
  try {
    app.parse(std::vector<std::string>(invocation.args.rbegin(), invocation.args.rend()));
  } catch (const CLI::ParseError& problem) {
    return UsageError(invocation, problem.what());
  }
  const Result<DemoObjects> own = ObjectsOf(flags.vendor);
  if (!own) return UsageError(invocation, "--vendor: " + own.error().message);
  if (!flags.print.empty()) {
    Print(flags.print, *own, invocation.io.out);
    return kExitOk;
  }
  log::SetUp({.file = flags.log_file});
  const Result<void> shown = Show(flags, *own, invocation.io.out);
  if (shown) return kExitOk;
  invocation.io.err << "error: " << shown.error().message << "\n";
  return kExitFailure;
}

}  // namespace

Command DemoCommand() {
  return {"demo", "place pods on shared cards, without a cluster", Help, Run};
}

}  // namespace aliquot::cli
