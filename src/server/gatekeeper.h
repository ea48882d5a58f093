// Gatekeeper: the sockets of the server. One thread accepts connections, reads
// requests and finishes slow answers, on epoll; only a request that is complete
// takes a thread of its route's pool. So a connection that is idle, slow or
// hostile costs a file descriptor and its buffer, never a thread.
//
// After an answer the worker stays with its connection for a moment, because
// kube-scheduler calls back to back, and then gives it back.
#pragma once

#include <sys/epoll.h>

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aliquot/base/clock.h"
#include "aliquot/base/mutex.h"
#include "aliquot/base/result.h"
#include "server/certificate_watcher.h"
#include "server/connection.h"
#include "server/fd.h"
#include "server/routes.h"

namespace aliquot::server {

// Thread safety: one thread at a time.
class Gatekeeper {
 public:
  struct Options {
    Connection::Limits limits;
    size_t max_connections = 4096;
    size_t max_buffered_bytes = 512 << 20;  // of all requests that arrive, wait or run
    Duration linger = std::chrono::milliseconds(2);
  };

  explicit Gatekeeper(Options options);

  // REQUIRES: the pools of the routes run no jobs any more.
  ~Gatekeeper();

  // Serves `routes` on `address` (listen_socket.h), over TLS if there is a
  // certificate. Answers the port. Routes and certificate outlive the gatekeeper.
  Result<int> Listen(std::string_view address, const RouteTable& routes,
                     const CertificateWatcher* certificate = nullptr);

  void Start();

  // Accepts no more, closes idle connections, and waits until the requests that
  // have begun are answered, up to `grace`; then cuts the connections of the
  // others. False: some handlers still run.
  bool Stop(Duration grace);

 private:
  struct Listener {
    Fd fd;
    const RouteTable& routes;
    const CertificateWatcher* certificate;  // null: plain
  };
  struct Entry {
    std::unique_ptr<Connection> connection;
    std::string peer;                         // of TLS: its address, for warnings
    SteadyTime deadline = SteadyTime::max();  // its place in deadlines_
    size_t buffered_bytes = 0;                // its part of buffered_bytes_
    bool running = false;                     // a worker has it
  };
  using Connections = std::unordered_map<int, Entry>;

  // On the loop's thread.
  void Loop();
  void Accept(const Listener& listener);
  void WatchListeners(uint32_t events, SteadyTime accept_again);
  void Settle(int fd, Connection::Next next);
  void TakeBack();
  void ExpireDue();
  void BeginStop();
  bool Finished();
  int MillisecondsToWait() const;
  void Close(int fd);
  void SetDeadline(int fd, Entry& entry, SteadyTime deadline);
  bool Watch(int fd, uint32_t events, int operation = EPOLL_CTL_MOD);
  bool MayWarn();

  // On a worker's thread.
  void Serve(Connection& connection);
  bool WaitForMore(Connection& connection, SteadyTime until) const;

  void Wake();

  const Options options_;
  const Fd epoll_;
  const Fd wake_;
  std::thread thread_;

  // The loop's own.
  std::unordered_map<int, Listener> listeners_;
  Connections connections_;
  std::set<std::pair<SteadyTime, int>> deadlines_;  // and the connection's fd
  std::vector<int> yielded_;
  SteadyTime accept_again_ = SteadyTime::max();
  size_t buffered_bytes_ = 0;
  SteadyTime warned_{};
  bool draining_ = false;
  SteadyTime drain_until_{};
  bool cut_off_ = false;

  std::atomic<bool> stopping_ = false;
  Mutex mutex_;
  std::vector<std::pair<int, Connection::Next>> returned_ GUARDED_BY(mutex_);
  SteadyTime stop_by_ GUARDED_BY(mutex_) = SteadyTime::max();
};

}  // namespace aliquot::server
