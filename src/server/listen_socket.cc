#include "server/listen_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "aliquot/base/strings.h"

namespace aliquot::server {
namespace {

// Of connections that the kernel completed and we have not accepted yet.
constexpr int kBacklog = 4096;

struct HostPort {
  std::string host;
  std::string port;
};

std::optional<HostPort> SplitHostPort(std::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = address.substr(0, colon);
  const std::string_view port = address.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    if (host.empty()) return std::nullopt;
  } else if (Contains(host, ":")) {
    return std::nullopt;
  }
  const std::optional<int64_t> number = ParseInt64(port);
  if (!number || *number < 0 || *number > 65535) return std::nullopt;
  return HostPort{std::string(host), std::to_string(*number)};
}

std::string ErrnoText() { return std::generic_category().message(errno); }

// Empty, with errno, if the system refuses.
Fd Open(const addrinfo& where) {
  Fd fd(::socket(where.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!fd) return {};
  const int on = 1;
  const int off = 0;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (where.ai_family == AF_INET6) {
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  }
  if (::bind(fd.get(), where.ai_addr, where.ai_addrlen) != 0) return {};
  if (::listen(fd.get(), kBacklog) != 0) return {};
  return fd;
}

int BoundPort(int fd) {
  sockaddr_storage name{};
  socklen_t size = sizeof(name);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size) != 0) return 0;
  return ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(name).sin6_port
                                          : reinterpret_cast<sockaddr_in&>(name).sin_port);
}

}  // namespace

Result<ListenSocket> Listen(std::string_view address) {
  const std::string prefix = "listening on " + std::string(address) + ": ";
  const std::optional<HostPort> where = SplitHostPort(address);
  if (!where) return InvalidError(prefix + "not of the form host:port or [ipv6]:port");

  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(where->host.empty() ? nullptr : where->host.c_str(),
                                    where->port.c_str(), &hints, &found);
  if (failure != 0) return Error{ErrorCode::kUnavailable, prefix + ::gai_strerror(failure)};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);

  // The wildcard of IPv6 takes IPv4 as well, where the host has IPv6; a name
  // such as localhost means its IPv4 address if it has one.
  const int preferred = where->host.empty() ? AF_INET6 : AF_INET;
  for (const int family : {preferred, preferred == AF_INET ? AF_INET6 : AF_INET}) {
    for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
      if (one->ai_family != family) continue;
      if (Fd fd = Open(*one)) {
        const int port = BoundPort(fd.get());
        return ListenSocket{std::move(fd), port};
      }
    }
  }
  return Error{ErrorCode::kUnavailable, prefix + ErrnoText()};
}

}  // namespace aliquot::server
