// The daemon's HTTP server with a /filter that does nothing: its body is read, and
// answered at once with what a refusal looks like. What is left of a /filter
// beside this is the daemon's own work. Serves until SIGTERM or SIGINT.
#include <httplib.h>
#include <signal.h>

#include <chrono>
#include <iostream>

#include "aliquot/server/server.h"
#include "server/gatekeeper.h"
#include "server/routes.h"
#include "server/worker_pool.h"

namespace {

constexpr const char* kAnswer =
    R"({"Nodes":null,"NodeNames":null,"FailedNodes":null,"FailedAndUnresolvableNodes":null,)"
    R"("Error":""})";

}  // namespace

int main() {
  using namespace aliquot::server;
  sigset_t stop_signals;
  sigemptyset(&stop_signals);
  sigaddset(&stop_signals, SIGTERM);
  sigaddset(&stop_signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop_signals, nullptr);

  const Server::Options as_the_daemon;
  WorkerPool filters({.name = "filter", .max_threads = as_the_daemon.filter_threads});
  const Handler handler = [](Call&, httplib::Response& response) {
    response.set_content(kAnswer, "application/json");
  };
  const RouteTable routes({{"POST", "/filter", &filters, as_the_daemon.filter_body_bytes, handler}},
                          filters);
  Gatekeeper gatekeeper({});
  const aliquot::Result<int> port = gatekeeper.Listen("127.0.0.1:0", routes);
  if (!port) {
    std::cerr << "error: " << port.error().message << "\n";
    return 1;
  }
  gatekeeper.Start();
  std::cout << "port=" << *port << std::endl;
  int signal_number = 0;
  sigwait(&stop_signals, &signal_number);
  gatekeeper.Stop(std::chrono::seconds(1));
  filters.Stop();
}
