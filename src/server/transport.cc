#include "server/transport.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

namespace aliquot::server {
namespace {

class Plain final : public Transport {
 public:
  explicit Plain(Fd fd) : fd_(std::move(fd)) {
    // An answer is written in one piece; waiting for more only delays its end.
    const int on = 1;
    ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }

  IoResult Read(std::span<char> into) override {
    const ssize_t got = ::recv(fd_.get(), into.data(), into.size(), 0);
    if (got == 0) return {Io::kEnd};
    return Outcome(got, Io::kWantRead);
  }

  IoResult Write(std::string_view bytes) override {
    return Outcome(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), Io::kWantWrite);
  }

  void ShutDownWrites() override { ::shutdown(fd_.get(), SHUT_WR); }

  int fd() const override { return fd_.get(); }

 private:
  static IoResult Outcome(ssize_t moved, Io blocked) {
    if (moved >= 0) return {Io::kOk, static_cast<size_t>(moved)};
    const bool later = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    return {later ? blocked : Io::kFailed};
  }

  Fd fd_;
};

}  // namespace

std::unique_ptr<Transport> PlainTransport(Fd fd) { return std::make_unique<Plain>(std::move(fd)); }

}  // namespace aliquot::server
