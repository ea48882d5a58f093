// An HTTP/1.1 client over one connection to 127.0.0.1, plain or over TLS, which
// sends exactly the bytes it is told to.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <optional>
#include <string>
#include <string_view>

#include "aliquot/base/strings.h"
#include "server/fd.h"
#include "server/openssl.h"

namespace aliquot::server {

struct HttpAnswer {
  int status = 0;
  std::string head;
  std::string body;

  // Of the first header field with that name; "" without one.
  std::string Field(std::string_view name) const {
    for (std::string_view line : Split(head, '\n')) {
      const size_t colon = line.find(':');
      if (colon != std::string_view::npos && EqualsIgnoreCase(line.substr(0, colon), name)) {
        return std::string(Trim(line.substr(colon + 1)));
      }
    }
    return "";
  }
};

class Client {
 public:
  explicit Client(int port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;
    ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    const timeval patience{30, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    connected_ = ::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }

  // Over TLS; the test ignores SIGPIPE.
  Client(int port, SSL_CTX& settings) : Client(port) {
    ssl_.reset(SSL_new(&settings));
    SSL_set_fd(ssl_.get(), fd_.get());
    connected_ = connected_ && SSL_connect(ssl_.get()) == 1;
  }

  SSL* ssl() const { return ssl_.get(); }

  // Of the server's certificate.
  int64_t serial() const {
    const OpenSslPtr<X509, X509_free> shown(SSL_get1_peer_certificate(ssl_.get()));
    return shown ? ASN1_INTEGER_get(X509_get0_serialNumber(shown.get())) : 0;
  }

  // Frees what TLS needs on this side. The server is not told.
  void ForgetTls() { ssl_.reset(); }

  // The handshake is done, if there is one.
  bool connected() const { return connected_; }
  int fd() const { return fd_.get(); }

  // False: the server has closed.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ssl_
                               ? SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()))
                               : ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  // None: closed, or nothing came for 30 s.
  std::optional<HttpAnswer> Read() {
    size_t end = 0;
    while ((end = in_.find("\r\n\r\n")) == std::string::npos) {
      if (!More()) return std::nullopt;
    }
    HttpAnswer answer;
    answer.head = in_.substr(0, end + 2);
    in_.erase(0, end + 4);
    answer.status = static_cast<int>(ParseInt64(answer.head.substr(9, 3)).value_or(0));
    const auto length = static_cast<size_t>(ParseInt64(answer.Field("Content-Length")).value_or(0));
    while (in_.size() < length) {
      if (!More()) return std::nullopt;
    }
    answer.body = in_.substr(0, length);
    in_.erase(0, length);
    return answer;
  }

  std::optional<HttpAnswer> Ask(std::string_view bytes) {
    if (!Send(bytes)) return std::nullopt;
    return Read();
  }

  // Waits for the server to close without sending anything more.
  bool Closed() { return in_.empty() && !More(); }

  void ShutDownWrites() { ::shutdown(fd_.get(), SHUT_WR); }

 private:
  bool More() {
    char bytes[65536];
    const ssize_t got = ssl_ ? SSL_read(ssl_.get(), bytes, sizeof(bytes))
                             : ::recv(fd_.get(), bytes, sizeof(bytes), 0);
    if (got <= 0) return false;
    in_.append(bytes, static_cast<size_t>(got));
    return true;
  }

  Fd fd_;
  OpenSslPtr<SSL, SSL_free> ssl_;  // null: plain
  bool connected_ = false;
  std::string in_;
};

inline std::string Get(std::string_view path, std::string_view method = "GET") {
  return std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n\r\n";
}

inline std::string Post(std::string_view path, std::string_view body,
                        std::string_view more_fields = "") {
  return "POST " + std::string(path) +
         " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" + std::string(more_fields) +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

}  // namespace aliquot::server
