#include "cli/cluster_command.h"

#include <signal.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <utility>
#include <vector>

#include "aliquot/cluster/cluster.h"
#include "aliquot/cluster/http_front.h"

namespace aliquot::cli {
namespace {

struct Flags {
  int port = 0;
  std::string kubeconfig;
};

void Define(CLI::App& app, Flags& flags) {
  app.add_option("--port", flags.port, "port on 127.0.0.1; 0: one that is free")
      ->check(CLI::Range(0, 65535));
  app.add_option("--kubeconfig-out", flags.kubeconfig, "write a kubeconfig for it to this file");
}

std::string Help(std::string_view program) {
  Flags flags;
  CLI::App app(
      "A stand-in for kube-apiserver, in memory: namespaces, pods, nodes, events, resource\n"
      "quotas, leases, secrets and mutating webhook configurations. Nothing runs the pods,\n"
      "no webhook is called, nobody checks credentials, and all is gone when it ends.",
      std::string(program));
  Define(app, flags);
  return app.help();
}

int Serve(const Flags& flags, Streams io) {
  // Blocked in every thread that is started from here on, so that sigwait gets them.
  sigset_t stop_signals;
  sigemptyset(&stop_signals);
  sigaddset(&stop_signals, SIGTERM);
  sigaddset(&stop_signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop_signals, nullptr);

  cluster::Cluster cluster({});
  cluster::HttpFront front(cluster, {.port = flags.port});
  if (const Result<void> started = front.Start(); !started) {
    io.err << "error: " << started.error().message << "\n";
    return kExitFailure;
  }
  io.out << "The cluster answers on " << front.url() << ". Try\n\n"
         << "  kubectl --server " << front.url() << " get namespaces\n";
  if (!flags.kubeconfig.empty()) {
    std::ofstream file(flags.kubeconfig);
    file << cluster::Kubeconfig(front.url());
    if (!file.flush()) {
      io.err << "error: cannot write " << flags.kubeconfig << "\n";
      return kExitFailure;
    }
    io.out << "  KUBECONFIG=" << flags.kubeconfig << " aliquot serve\n";
  }
  io.out << "\nCtrl-C ends it, and everything in it is gone." << std::endl;
  int signal_number = 0;
  sigwait(&stop_signals, &signal_number);
  return kExitOk;
}

}  // namespace

Command ClusterCommand() {
  const auto run = [](const Invocation& invocation) {
    Flags flags;
    CLI::App app;
    Define(app, flags);
    std::vector<std::string> args(invocation.args.rbegin(), invocation.args.rend());
    try {
      app.parse(std::move(args));
    } catch (const CLI::ParseError& problem) {
      return UsageError(invocation, problem.what());
    }
    return Serve(flags, invocation.io);
  };
  return {"cluster", "run an API server in memory, to try things out", Help, run};
}

}  // namespace aliquot::cli
