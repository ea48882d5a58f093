// DebugServer: what a running process says of itself, and how much it logs, for those
// who look into it. Plain HTTP without a password: on loopback. It has its own sockets,
// one thread and limits; whoever reaches this port takes nothing from the scheduler's.
//   GET /debug/ledger            nodes, cards and who holds what of them, as JSON
//   GET /debug/ledger/diff       where the ledger and the API objects differ now
//   GET, PUT /debug/flags/v      verbosity of the log, as klog has it
//   GET /v1/shadow               with --shadow: how often we agree, and the last differences
// ?node=NAME limits the first two to one node.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "aliquot/base/result.h"
#include "aliquot/scheduler/scheduler.h"

namespace aliquot::server {

// Thread safety: one thread at a time.
class DebugServer {
 public:
  struct Options {
    std::string bind = "127.0.0.1:9396";  // as Server::Options::bind
    size_t max_connections = 16;
  };

  // `scheduler` outlives it.
  DebugServer(const scheduler::Scheduler& scheduler, Options options);

  // Waits for the answer that is being made.
  ~DebugServer();

  // Listening when it returns. Errors name the address. Only once.
  Result<void> Start();

  // As bound. REQUIRES: Start succeeded.
  int port() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace aliquot::server
