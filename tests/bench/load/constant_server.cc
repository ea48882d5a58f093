#include "load/constant_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include "aliquot/base/strings.h"

namespace aliquot::load {
namespace {

constexpr size_t kReadSize = 256 << 10;

Error Unavailable(std::string_view what) {
  return {ErrorCode::kUnavailable, std::string(what) + ": " + std::strerror(errno)};
}

// The length of the first request in `text`; none while its head is incomplete.
// Our own client wrote it.
std::optional<size_t> RequestLength(std::string_view text) {
  constexpr std::string_view kField = "Content-Length: ";
  const size_t end = text.find("\r\n\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view head = text.substr(0, end);
  const size_t field = head.find(kField);
  if (field == std::string_view::npos) return end + 4;
  const std::string_view digits = head.substr(field + kField.size());
  return end + 4 + static_cast<size_t>(ParseInt64(digits.substr(0, digits.find('\r'))).value_or(0));
}

}  // namespace

ConstantServer::ConstantServer(size_t body_bytes)
    : answer_("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
              std::to_string(body_bytes) + "\r\n\r\n" + std::string(body_bytes, ' ')) {}

ConstantServer::~ConstantServer() {
  if (!acceptor_.joinable()) return;
  ::shutdown(listener_.get(), SHUT_RDWR);
  acceptor_.join();
  for (const Client& client : clients_) ::shutdown(client.fd.get(), SHUT_RDWR);
  for (Client& client : clients_) client.thread.join();
}

Result<void> ConstantServer::Start() {
  listener_ = server::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  if (!listener_ || ::bind(listener_.get(), generic, size) != 0 ||
      ::listen(listener_.get(), SOMAXCONN) != 0 ||
      ::getsockname(listener_.get(), generic, &size) != 0)
    return Unavailable("listening on 127.0.0.1");
  url_ = {"127.0.0.1", std::to_string(ntohs(address.sin_port)), "/"};
  acceptor_ = std::thread([this] { Accept(); });
  return {};
}

void ConstantServer::Accept() {
  while (true) {
    server::Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd) return;
    const int on = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    const int number = fd.get();
    clients_.push_back({std::move(fd), std::thread([this, number] { Serve(number); })});
  }
}

void ConstantServer::Serve(int fd) const {
  std::vector<char> buffer(kReadSize);
  std::optional<size_t> length;
  for (size_t filled = 0;;) {
    if (filled == buffer.size()) buffer.resize(buffer.size() * 2);
    const ssize_t got = ::recv(fd, buffer.data() + filled, buffer.size() - filled, 0);
    if (got <= 0) return;
    filled += static_cast<size_t>(got);
    if (!length) length = RequestLength({buffer.data(), filled});
    if (!length || filled < *length) continue;
    for (std::string_view rest = answer_; !rest.empty();) {
      const ssize_t sent = ::send(fd, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      rest.remove_prefix(static_cast<size_t>(sent));
    }
    filled = 0;  // our client never sends ahead
    length.reset();
  }
}

}  // namespace aliquot::load
