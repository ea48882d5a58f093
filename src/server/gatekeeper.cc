#include "server/gatekeeper.h"

#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "aliquot/base/log.h"
#include "server/listen_socket.h"
#include "server/responder.h"
#include "server/tls_transport.h"

namespace aliquot::server {
namespace {

using Next = Connection::Next;

constexpr Duration kAcceptPause = std::chrono::milliseconds(100);
constexpr Duration kWarnInterval = std::chrono::seconds(10);
constexpr int kAcceptsPerTurn = 64;

SteadyTime Now() { return std::chrono::steady_clock::now(); }

bool PeerClosed(int fd) {
  pollfd socket{fd, POLLRDHUP, 0};
  return ::poll(&socket, 1, 0) > 0;
}

std::string PeerAddress(int fd) {
  sockaddr_storage peer{};
  socklen_t size = sizeof(peer);
  auto* address = reinterpret_cast<sockaddr*>(&peer);
  char host[NI_MAXHOST] = "";
  if (::getpeername(fd, address, &size) == 0) {
    ::getnameinfo(address, size, host, sizeof(host), nullptr, 0, NI_NUMERICHOST);
  }
  return host;
}

}  // namespace

Gatekeeper::Gatekeeper(Options options)
    : options_(std::move(options)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

Gatekeeper::~Gatekeeper() {
  if (thread_.joinable()) Stop(Duration::zero());
}

Result<int> Gatekeeper::Listen(std::string_view address, const RouteTable& routes,
                               const CertificateWatcher* certificate) {
  Result<ListenSocket> socket = server::Listen(address);
  if (!socket) return socket.error();
  const int port = socket->port;
  const int fd = socket->fd.get();
  if (!wake_ || !Watch(fd, EPOLLIN, EPOLL_CTL_ADD)) {
    return Error{ErrorCode::kUnavailable,
                 "listening on " + std::string(address) + ": no descriptors for epoll and eventfd"};
  }
  listeners_.emplace(fd, Listener{std::move(socket->fd), routes, certificate});
  log::Info("Listened", {{"address", address}, {"port", port}, {"tls", certificate != nullptr}});
  return port;
}

void Gatekeeper::Start() {
  Watch(wake_.get(), EPOLLIN, EPOLL_CTL_ADD);
  thread_ = std::thread([this] { Loop(); });
}

bool Gatekeeper::Stop(Duration grace) {
  {
    MutexLock lock(mutex_);
    stop_by_ = Now() + std::chrono::duration_cast<SteadyTime::duration>(grace);
  }
  stopping_ = true;
  Wake();
  if (thread_.joinable()) thread_.join();
  return !cut_off_;
}

void Gatekeeper::Loop() {
  ::pthread_setname_np(::pthread_self(), "gatekeeper");
  std::array<epoll_event, 256> events;
  while (!Finished()) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                   MillisecondsToWait());
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<size_t>(i)].data.fd;
      if (fd == wake_.get()) {
        uint64_t wakes = 0;
        [[maybe_unused]] const ssize_t got = ::read(fd, &wakes, sizeof(wakes));
      } else if (const auto listener = listeners_.find(fd); listener != listeners_.end()) {
        Accept(listener->second);
      } else if (const auto it = connections_.find(fd); it != connections_.end()) {
        Settle(fd, it->second.connection->Advance());
      }
    }
    for (const int fd : std::exchange(yielded_, {})) {
      const auto it = connections_.find(fd);
      if (it == connections_.end() || it->second.running) continue;
      Settle(fd, it->second.connection->Advance());
    }
    TakeBack();
    ExpireDue();
    if (stopping_ && !draining_) BeginStop();
  }
}

void Gatekeeper::Accept(const Listener& listener) {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    Fd fd(::accept4(listener.fd.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
      const std::string reason = std::generic_category().message(errno);
      if (MayWarn()) {
        log::Warn("Could not accept", {{"open", connections_.size()}, {"error", reason}});
      }
      // The listener stays readable meanwhile, and the loop would spin.
      return WatchListeners(0, Now() + kAcceptPause);
    }
    if (!fd) return;
    if (connections_.size() >= options_.max_connections) {
      if (MayWarn()) {
        log::Warn("Refused connections over the limit", {{"limit", options_.max_connections}});
      }
      if (!listener.certificate) {
        const std::string answer =
            ToAnswer({"503 Service Unavailable", "too many connections are open"});
        ::send(fd.get(), answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      }
      continue;
    }
    const int id = fd.get();
    if (!Watch(id, EPOLLIN | EPOLLONESHOT, EPOLL_CTL_ADD)) continue;
    Entry& entry = connections_[id];
    std::unique_ptr<Transport> transport = PlainTransport(std::move(fd));
    if (listener.certificate) {
      entry.peer = PeerAddress(id);
      transport = TlsTransport(std::move(transport), listener.certificate->context());
    }
    entry.connection =
        std::make_unique<Connection>(std::move(transport), listener.routes, options_.limits);
    SetDeadline(id, entry, entry.connection->deadline());
  }
}

void Gatekeeper::WatchListeners(uint32_t events, SteadyTime accept_again) {
  for (const auto& [fd, listener] : listeners_) Watch(fd, events);
  accept_again_ = accept_again;
}

// Does what the connection asks for.
void Gatekeeper::Settle(int fd, Next next) {
  Entry& entry = connections_.at(fd);
  Connection& connection = *entry.connection;
  // A request that runs keeps its part until its worker gives the connection back.
  buffered_bytes_ += connection.buffered_bytes() - entry.buffered_bytes;
  entry.buffered_bytes = connection.buffered_bytes();
  if (buffered_bytes_ > options_.max_buffered_bytes &&
      entry.buffered_bytes > options_.limits.unrouted_body_bytes && next != Next::kWrite &&
      next != Next::kClose) {
    if (MayWarn()) {
      log::Warn("Refused a request over the limit of all requests together",
                {{"limitBytes", options_.max_buffered_bytes}});
    }
    connection.Reject({"503 Service Unavailable", "too many requests are being received"});
    return Settle(fd, connection.Advance());
  }

  if (next == Next::kClose || (draining_ && next == Next::kRead && connection.idle())) {
    return Close(fd);
  }
  entry.running = next == Next::kRun;
  SetDeadline(fd, entry, entry.running ? SteadyTime::max() : connection.deadline());
  if (next == Next::kRead) Watch(fd, EPOLLIN | EPOLLONESHOT);
  if (next == Next::kWrite) Watch(fd, EPOLLOUT | EPOLLONESHOT);
  if (next == Next::kYield) yielded_.push_back(fd);
  if (next == Next::kRun) connection.pool().Run([this, &connection] { Serve(connection); });
}

void Gatekeeper::Close(int fd) {
  const auto it = connections_.find(fd);
  Entry& entry = it->second;
  const std::string_view failure = entry.connection->failure();
  if (!failure.empty() && MayWarn()) {
    log::Warn("TLS handshake failed", {{"peer", entry.peer}, {"error", failure}});
  }
  SetDeadline(fd, entry, SteadyTime::max());
  buffered_bytes_ -= entry.buffered_bytes;
  connections_.erase(it);
}

void Gatekeeper::TakeBack() {
  std::vector<std::pair<int, Next>> returned;
  {
    MutexLock lock(mutex_);
    returned.swap(returned_);
  }
  for (const auto& [fd, next] : returned) Settle(fd, next);
}

void Gatekeeper::ExpireDue() {
  const SteadyTime now = Now();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const int fd = deadlines_.begin()->second;
    Connection& connection = *connections_.at(fd).connection;
    Settle(fd, connection.TimeOut() ? connection.Advance() : Next::kClose);
  }
  if (accept_again_ <= now) WatchListeners(EPOLLIN, SteadyTime::max());
}

void Gatekeeper::BeginStop() {
  draining_ = true;
  accept_again_ = SteadyTime::max();
  {
    MutexLock lock(mutex_);
    drain_until_ = stop_by_;
  }
  listeners_.clear();
  std::vector<int> waiting;
  for (const auto& [fd, entry] : connections_) {
    if (!entry.running) waiting.push_back(fd);
  }
  // Reads first: what the kernel already holds of a request has begun.
  for (const int fd : waiting) Settle(fd, connections_.at(fd).connection->Advance());
}

bool Gatekeeper::Finished() {
  if (!draining_) return false;
  if (connections_.empty()) return true;
  if (Now() < drain_until_) return false;
  for (auto it = connections_.begin(); it != connections_.end();) {
    if (it->second.running) {
      cut_off_ = true;
      ::shutdown(it->first, SHUT_RDWR);
      ++it;
    } else {
      it = connections_.erase(it);
    }
  }
  return true;
}

int Gatekeeper::MillisecondsToWait() const {
  if (!yielded_.empty()) return 0;
  SteadyTime until = accept_again_;
  if (!deadlines_.empty()) until = std::min(until, deadlines_.begin()->first);
  if (draining_) until = std::min(until, drain_until_);
  if (until == SteadyTime::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 60'000));
}

void Gatekeeper::SetDeadline(int fd, Entry& entry, SteadyTime deadline) {
  if (entry.deadline == deadline) return;
  if (entry.deadline != SteadyTime::max()) deadlines_.erase({entry.deadline, fd});
  if (deadline != SteadyTime::max()) deadlines_.emplace(deadline, fd);
  entry.deadline = deadline;
}

bool Gatekeeper::Watch(int fd, uint32_t events, int operation) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  return ::epoll_ctl(epoll_.get(), operation, fd, &event) == 0;
}

bool Gatekeeper::MayWarn() {
  const SteadyTime now = Now();
  if (now < warned_ + kWarnInterval) return false;
  warned_ = now;
  return true;
}

void Gatekeeper::Serve(Connection& connection) {
  const int fd = connection.fd();
  WorkerPool& pool = connection.pool();
  Next next = Next::kRun;
  while (next == Next::kRun && &connection.pool() == &pool) {
    Outgoing answer = Respond(
        connection.TakeRequest(), [fd] { return PeerClosed(fd); }, stopping_);
    connection.Answer(std::move(answer.bytes), answer.last);
    next = connection.Advance();
    if (pool.Crowded()) break;
    const SteadyTime until =
        Now() + std::chrono::duration_cast<SteadyTime::duration>(options_.linger);
    while (next == Next::kRead && !stopping_ && WaitForMore(connection, until)) {
      next = connection.Advance();
    }
  }
  {
    MutexLock lock(mutex_);
    returned_.emplace_back(fd, next);
  }
  Wake();
}

bool Gatekeeper::WaitForMore(Connection& connection, SteadyTime until) const {
  const auto left = std::chrono::duration_cast<Duration>(until - Now());
  if (left <= Duration::zero()) return false;
  const timespec wait{0, static_cast<long>(left.count())};
  pollfd socket{connection.fd(), POLLIN, 0};
  return ::ppoll(&socket, 1, &wait, nullptr) > 0;
}

void Gatekeeper::Wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t sent = ::write(wake_.get(), &one, sizeof(one));
}

}  // namespace aliquot::server
