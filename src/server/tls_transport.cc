#include "server/tls_transport.h"

#include <openssl/bio.h>
#include <openssl/sslerr.h>

#include <string>
#include <utility>

#include "aliquot/base/check.h"
#include "server/openssl.h"

namespace aliquot::server {
namespace {

// The socket as OpenSSL sees it. OpenSSL's own would let a peer that has gone
// raise SIGPIPE.
Transport& SocketOf(BIO* bio) { return *static_cast<Transport*>(BIO_get_data(bio)); }

int ReadSocket(BIO* bio, char* into, int size) {
  BIO_clear_retry_flags(bio);
  const IoResult got = SocketOf(bio).Read({into, static_cast<size_t>(size)});
  if (got.status == Io::kWantRead) BIO_set_retry_read(bio);
  if (got.status == Io::kEnd) return 0;
  return got.status == Io::kOk ? static_cast<int>(got.bytes) : -1;
}

int WriteSocket(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const IoResult sent = SocketOf(bio).Write({bytes, static_cast<size_t>(size)});
  if (sent.status == Io::kWantWrite) BIO_set_retry_write(bio);
  return sent.status == Io::kOk ? static_cast<int>(sent.bytes) : -1;
}

long ControlSocket(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

const BIO_METHOD* SocketMethod() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "transport");
    BIO_meth_set_read(made, ReadSocket);
    BIO_meth_set_write(made, WriteSocket);
    BIO_meth_set_ctrl(made, ControlSocket);
    return made;
  }();
  return method;
}

class Tls final : public Transport {
 public:
  Tls(std::unique_ptr<Transport> socket, SSL_CTX& context)
      : socket_(std::move(socket)), ssl_(SSL_new(&context)) {
    BIO* bio = BIO_new(SocketMethod());
    ALIQUOT_CHECK(ssl_ && bio != nullptr);  // only memory can be missing
    BIO_set_data(bio, socket_.get());
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);
    SSL_set_accept_state(ssl_.get());
  }

  ~Tls() override { CloseNotify(); }

  IoResult Read(std::span<char> into) override {
    if (state_ == State::kPlain) return socket_->Read(into);
    ERR_clear_error();
    size_t bytes = 0;
    const int outcome = SSL_read_ex(ssl_.get(), into.data(), into.size(), &bytes);
    return Outcome(outcome, bytes);
  }

  IoResult Write(std::string_view bytes) override {
    if (state_ == State::kPlain) return socket_->Write(bytes);
    ERR_clear_error();
    size_t sent = 0;
    const int outcome = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &sent);
    return Outcome(outcome, sent);
  }

  void ShutDownWrites() override {
    CloseNotify();
    socket_->ShutDownWrites();
  }

  int fd() const override { return socket_->fd(); }
  bool handshaking() const override { return state_ == State::kHandshake; }
  bool holds_part() const override {
    return state_ == State::kEstablished && SSL_has_pending(ssl_.get()) == 1;
  }
  std::string_view failure() const override { return failure_; }

 private:
  enum class State { kHandshake, kEstablished, kPlain, kFailed };

  IoResult Outcome(int outcome, size_t bytes) {
    if (state_ == State::kHandshake && SSL_is_init_finished(ssl_.get())) {
      state_ = State::kEstablished;
    }
    if (outcome == 1) return {Io::kOk, bytes};
    switch (SSL_get_error(ssl_.get(), outcome)) {
      case SSL_ERROR_WANT_READ:
        return {Io::kWantRead};
      case SSL_ERROR_WANT_WRITE:
        return {Io::kWantWrite};
      case SSL_ERROR_ZERO_RETURN:
        return {Io::kEnd};
      default:
        return Fail();
    }
  }

  IoResult Fail() {
    const unsigned long code = ERR_peek_error();
    const std::string reason = TakeOpenSslError();
    if (state_ == State::kHandshake && ERR_GET_REASON(code) == SSL_R_HTTP_REQUEST) {
      state_ = State::kPlain;
      return {Io::kPlainHttp};
    }
    // Without a code the peer has just gone, as port scans and TCP probes do.
    if (state_ == State::kHandshake && code != 0) failure_ = reason;
    state_ = State::kFailed;
    return {Io::kFailed};
  }

  // One attempt: a peer that does not read will see the end of the socket.
  void CloseNotify() {
    const bool sent = (SSL_get_shutdown(ssl_.get()) & SSL_SENT_SHUTDOWN) != 0;
    if (state_ != State::kEstablished || sent) return;
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
    ERR_clear_error();
  }

  const std::unique_ptr<Transport> socket_;
  const OpenSslPtr<SSL, SSL_free> ssl_;
  State state_ = State::kHandshake;
  std::string failure_;
};

}  // namespace

std::unique_ptr<Transport> TlsTransport(std::unique_ptr<Transport> socket,
                                        const TlsContext& context) {
  return std::make_unique<Tls>(std::move(socket), *context);
}

}  // namespace aliquot::server
