// TestServer: an HTTP/1.1 server on 127.0.0.1, port 0, with or without TLS,
// that a test scripts down to single bytes: half answers, cut lines, silence.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cctype>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "aliquot/base/check.h"
#include "aliquot/base/mutex.h"
#include "aliquot/base/strings.h"
#include "support/certificate.h"

namespace aliquot::kube {

using testing::TestCertificate;

class TestServer {
 public:
  struct Request {
    std::string method, target, body;
    std::string head;    // as it came
    int connection = 0;  // numbered from 1

    std::string Header(const std::string& name) const {
      for (std::string_view line : Split(head, '\n')) {
        const size_t colon = line.find(':');
        if (colon != std::string_view::npos && EqualsIgnoreCase(line.substr(0, colon), name)) {
          return std::string(Trim(line.substr(colon + 1)));
        }
      }
      return "";
    }
  };

  class Peer {
   public:
    Peer(int fd, SSL* ssl) : fd_(fd), ssl_(ssl) {}
    void Send(std::string_view bytes) {
      while (!bytes.empty()) {
        const ssize_t size = ssl_ ? SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()))
                                  : send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (size <= 0) return Close();
        bytes.remove_prefix(static_cast<size_t>(size));
      }
    }
    void Reply(int status, const std::string& body, const std::string& headers = "") {
      Send("HTTP/1.1 " + std::to_string(status) + " x\r\nContent-Type: application/json\r\n" +
           headers + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    }
    void BeginChunks() { Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"); }
    void Chunk(const std::string& bytes) {
      char size[32];
      std::snprintf(size, sizeof(size), "%zx\r\n", bytes.size());
      Send(size + bytes + "\r\n");
    }
    void EndChunks() { Send("0\r\n\r\n"); }
    void Close() { open_ = false; }
    // Blocks, sending nothing, until the client hangs up or the server stops.
    void Hold() {
      char byte;
      while (Receive(&byte, 1) > 0) continue;
      Close();
    }

    bool open() const { return open_; }
    ssize_t Receive(char* to, size_t size) {
      return ssl_ ? SSL_read(ssl_, to, static_cast<int>(size)) : recv(fd_, to, size, 0);
    }

   private:
    int fd_;
    SSL* ssl_;
    bool open_ = true;
  };

  using Handler = std::function<void(const Request&, Peer&)>;

  // With a certificate: TLS; client certificates are asked for, not needed.
  explicit TestServer(Handler handler, const TestCertificate* tls = nullptr)
      : handler_(std::move(handler)) {
    if (tls != nullptr) SetUpTls(*tls);
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ALIQUOT_CHECK(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
    ALIQUOT_CHECK(listen(listener_, 64) == 0);
    socklen_t size = sizeof(address);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { Accept(); });
  }
  ~TestServer() { Stop(); }

  // Closes everything; a later connection is refused.
  void Stop() {
    if (!acceptor_.joinable()) return;
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      for (int fd : open_) shutdown(fd, SHUT_RDWR);
    }
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    close(listener_);
    for (std::thread& worker : workers_) worker.join();
    if (context_ != nullptr) SSL_CTX_free(context_);
  }

  int port() const { return port_; }
  std::string url() const {
    return std::string(context_ ? "https" : "http") + "://127.0.0.1:" + std::to_string(port_);
  }
  std::vector<Request> requests() const {
    MutexLock lock(mutex_);
    return requests_;
  }

 private:
  void SetUpTls(const TestCertificate& tls) {
    context_ = SSL_CTX_new(TLS_server_method());
    BIO* bio = BIO_new_mem_buf(tls.certificate.data(), static_cast<int>(tls.certificate.size()));
    X509* x509 = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
    BIO_free(bio);
    bio = BIO_new_mem_buf(tls.key.data(), static_cast<int>(tls.key.size()));
    EVP_PKEY* pkey = PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr);
    BIO_free(bio);
    SSL_CTX_use_certificate(context_, x509);
    SSL_CTX_use_PrivateKey(context_, pkey);
    X509_free(x509);
    EVP_PKEY_free(pkey);
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, [](int, X509_STORE_CTX*) { return 1; });
    const unsigned char id[] = "test";
    SSL_CTX_set_session_id_context(context_, id, sizeof(id));
  }

  void Accept() {
    for (int number = 1;; ++number) {
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      const int on = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      MutexLock lock(mutex_);
      if (stopping_) {
        close(fd);
        return;
      }
      open_.push_back(fd);
      workers_.emplace_back([this, fd, number] { Serve(fd, number); });
    }
  }

  void Serve(int fd, int number) {
    SSL* ssl = nullptr;
    bool ready = true;
    if (context_ != nullptr) {
      ssl = SSL_new(context_);
      SSL_set_fd(ssl, fd);
      ready = SSL_accept(ssl) == 1;
    }
    Peer peer(fd, ssl);
    std::string buffer;
    while (ready && peer.open()) {
      Request request;
      request.connection = number;
      if (!Read(peer, buffer, request)) break;
      // "CN" of the client's certificate, as if it were a header.
      if (ssl != nullptr) {
        if (X509* x509 = SSL_get1_peer_certificate(ssl)) {
          char name[256];
          X509_NAME_get_text_by_NID(X509_get_subject_name(x509), NID_commonName, name, 256);
          request.head += std::string("Client-Certificate: ") + name + "\r\n";
          X509_free(x509);
        }
      }
      {
        MutexLock lock(mutex_);
        requests_.push_back(request);
      }
      handler_(request, peer);
    }
    {
      MutexLock lock(mutex_);
      std::erase(open_, fd);
      shutdown(fd, SHUT_RDWR);
    }
    if (ssl != nullptr) SSL_free(ssl);
    close(fd);
  }

  static bool Read(Peer& peer, std::string& buffer, Request& request) {
    size_t head_end;
    while ((head_end = buffer.find("\r\n\r\n")) == std::string::npos) {
      if (!ReadMore(peer, buffer)) return false;
    }
    request.head = buffer.substr(0, head_end + 2);
    buffer.erase(0, head_end + 4);
    const auto words = Split(request.head, ' ');
    request.method = words[0];
    request.target = words[1];
    const size_t length =
        static_cast<size_t>(ParseInt64(request.Header("Content-Length")).value_or(0));
    while (buffer.size() < length) {
      if (!ReadMore(peer, buffer)) return false;
    }
    request.body = buffer.substr(0, length);
    buffer.erase(0, length);
    return true;
  }
  static bool ReadMore(Peer& peer, std::string& buffer) {
    char piece[16384];
    const ssize_t size = peer.Receive(piece, sizeof(piece));
    if (size <= 0) return false;
    buffer.append(piece, static_cast<size_t>(size));
    return true;
  }

  Handler handler_;
  SSL_CTX* context_ = nullptr;
  int listener_ = -1;
  int port_ = 0;
  std::thread acceptor_;

  mutable Mutex mutex_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::vector<int> open_ GUARDED_BY(mutex_);
  std::vector<Request> requests_ GUARDED_BY(mutex_);
  std::list<std::thread> workers_ GUARDED_BY(mutex_);
};

}  // namespace aliquot::kube
