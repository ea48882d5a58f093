// The embedded API server with a made-up cluster in it, for `aliquot serve` to
// be measured on. Serves until SIGTERM or SIGINT. From SIGUSR1 to SIGUSR2 it answers every
// event and every patch of a node with 429.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <utility>
#include <vector>

#include "aliquot/cluster/cluster.h"
#include "aliquot/cluster/http_front.h"
#include "aliquot/cluster/local_client.h"
#include "manifests.h"

namespace aliquot::bench {
namespace {

struct Options {
  size_t nodes = 1000;
  size_t running = 0;
  std::string kubeconfig;
};

Result<void> Create(cluster::LocalClient& api, const std::string& path, const std::string& object) {
  const Result<std::string> created = api.Call("POST", path, object);
  if (!created) return created.error();
  return {};
}

Result<void> Fill(cluster::LocalClient& api, const Options& options) {
  if (Result<void> made = Create(api, "/api/v1/namespaces", R"({"metadata":{"name":"load"}})");
      !made)
    return made;
  for (size_t node = 0; node < options.nodes; ++node) {
    if (Result<void> made = Create(api, "/api/v1/nodes", NodeManifest(node)); !made) return made;
    for (size_t pod = 0; pod < options.running; ++pod)
      if (Result<void> made =
              Create(api, "/api/v1/namespaces/load/pods", RunningPodManifest(node, pod));
          !made)
        return made;
  }
  return {};
}

int Fail(const std::string& why) {
  std::cerr << "error: " << why << "\n";
  return 1;
}

// All that the daemon writes beside decisions is told to come again later.
std::vector<cluster::Cluster::FaultId> BeginStorm(cluster::Cluster& cluster) {
  constexpr std::pair<const char*, const char*> kBackground[] = {
      {"create", "events"}, {"patch", "events"}, {"patch", "nodes"}};
  std::vector<cluster::Cluster::FaultId> faults;
  for (const auto& [verb, resource] : kBackground) {
    cluster::Fault fault{.verb = verb, .resource = resource};
    fault.times = 0;
    fault.effect = cluster::Fault::Effect::kAnswer;
    fault.status = 429;
    fault.reason = "TooManyRequests";
    fault.retry_after = 1;
    faults.push_back(cluster.AddFault(fault));
  }
  return faults;
}

int Serve(const Options& options) {
  // Blocked in every thread that is started from here on, so that sigwait gets them.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal_number : {SIGTERM, SIGINT, SIGUSR1, SIGUSR2})
    sigaddset(&signals, signal_number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  cluster::Cluster cluster({});
  cluster::LocalClient api(cluster);
  if (const Result<void> filled = Fill(api, options); !filled) return Fail(filled.error().message);
  cluster::HttpFront front(cluster, {});
  if (const Result<void> started = front.Start(); !started) return Fail(started.error().message);
  std::ofstream file(options.kubeconfig);
  file << cluster::Kubeconfig(front.url());
  if (!file.flush()) return Fail("cannot write " + options.kubeconfig);
  std::cout << "port=" << front.port() << std::endl;
  std::vector<cluster::Cluster::FaultId> storm;
  for (int signal_number = 0;;) {
    sigwait(&signals, &signal_number);
    if (signal_number == SIGTERM || signal_number == SIGINT) return 0;
    for (const auto fault : std::exchange(storm, {})) cluster.RemoveFault(fault);
    if (signal_number == SIGUSR1) storm = BeginStorm(cluster);
  }
}

}  // namespace
}  // namespace aliquot::bench

int main(int argc, char** argv) {
  aliquot::bench::Options options;
  CLI::App app("A made-up cluster in an API server in memory. Prints port=N once it answers.");
  app.add_option("--nodes", options.nodes)->check(CLI::Range(1, 100'000));
  app.add_option("--running", options.running, "pods that run on each node")
      ->check(CLI::Range(0, 80));
  app.add_option("--kubeconfig-out", options.kubeconfig, "a kubeconfig for it")->required();
  CLI11_PARSE(app, argc, argv);
  return aliquot::bench::Serve(options);
}
