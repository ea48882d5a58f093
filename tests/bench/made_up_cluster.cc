// The embedded API server with a made-up cluster in it, for `aliquot serve` to
// be measured on. Serves until SIGTERM or SIGINT.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>

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

int Serve(const Options& options) {
  // Blocked in every thread that is started from here on, so that sigwait gets them.
  sigset_t stop_signals;
  sigemptyset(&stop_signals);
  sigaddset(&stop_signals, SIGTERM);
  sigaddset(&stop_signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop_signals, nullptr);

  cluster::Cluster cluster({});
  cluster::LocalClient api(cluster);
  if (const Result<void> filled = Fill(api, options); !filled) return Fail(filled.error().message);
  cluster::HttpFront front(cluster, {});
  if (const Result<void> started = front.Start(); !started) return Fail(started.error().message);
  std::ofstream file(options.kubeconfig);
  file << cluster::Kubeconfig(front.url());
  if (!file.flush()) return Fail("cannot write " + options.kubeconfig);
  std::cout << "port=" << front.port() << std::endl;
  int signal_number = 0;
  sigwait(&stop_signals, &signal_number);
  return 0;
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
