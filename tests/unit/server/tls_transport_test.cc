#include "server/tls_transport.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <optional>
#include <random>
#include <string>

#include "server/openssl.h"
#include "support/certificate.h"
#include "tls_files.h"

namespace aliquot::server {
namespace {

using testing::TestCertificate;

// What the server's socket is, without a socket: it moves as many bytes as the
// test allows at a time.
class Pipe final : public Transport {
 public:
  IoResult Read(std::span<char> into) override {
    if (to_server.empty()) return {closed ? Io::kEnd : Io::kWantRead};
    const size_t size = std::min({into.size(), to_server.size(), Allowed()});
    if (size == 0) return {Io::kWantRead};
    std::memcpy(into.data(), to_server.data(), size);
    to_server.erase(0, size);
    return {Io::kOk, size};
  }
  IoResult Write(std::string_view bytes) override {
    const size_t size = std::min(bytes.size(), Allowed());
    if (size == 0) return {Io::kWantWrite};
    to_client.append(bytes.substr(0, size));
    return {Io::kOk, size};
  }
  void ShutDownWrites() override { shut_down = true; }
  int fd() const override { return -1; }

  std::string to_server;
  std::string to_client;
  bool closed = false;     // by the client
  bool shut_down = false;  // by the server
  std::mt19937* random = nullptr;
  size_t at_most = 0;  // with `random`: pieces from 0 to this

 private:
  size_t Allowed() {
    return random ? std::uniform_int_distribution<size_t>(0, at_most)(*random) : SIZE_MAX;
  }
};

class TlsTransportTest : public ::testing::Test {
 protected:
  // A server's transport, and a client on the other end of its pipe.
  void Connect(int version = TLS1_3_VERSION) {
    const Result<TlsContext> context =
        MakeTlsContext({{"crt", pair_.certificate}, {"key", pair_.key}});
    ASSERT_TRUE(context.ok()) << context.error().message;
    auto pipe = std::make_unique<Pipe>();
    pipe_ = pipe.get();
    server_ = TlsTransport(std::move(pipe), *context);
    const ClientTls settings = MakeClientTls(version);
    client_.reset(SSL_new(settings.get()));
    SSL_set_bio(client_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    BIO_set_mem_eof_return(SSL_get_rbio(client_.get()), -1);
    SSL_set_connect_state(client_.get());
  }

  // Between the client's buffers and the pipe.
  void Carry() {
    char bytes[4096];
    for (int size = 0; (size = BIO_read(SSL_get_wbio(client_.get()), bytes, sizeof(bytes))) > 0;) {
      pipe_->to_server.append(bytes, static_cast<size_t>(size));
    }
    BIO_write(SSL_get_rbio(client_.get()), pipe_->to_client.data(),
              static_cast<int>(pipe_->to_client.size()));
    pipe_->to_client.clear();
  }

  // What the server's next read says, its bytes in read_.
  Io Read() {
    char bytes[8192];
    const IoResult got = server_->Read(bytes);
    if (got.status == Io::kOk) read_.append(bytes, got.bytes);
    return got.status;
  }

  void Handshake() {
    for (int i = 0; i < 10 && server_->handshaking(); ++i) {
      SSL_do_handshake(client_.get());
      Carry();
      ASSERT_EQ(Read(), Io::kWantRead);
      Carry();
    }
    ASSERT_FALSE(server_->handshaking());
  }

  void ClientWrites(std::string_view bytes) {
    ASSERT_EQ(SSL_write(client_.get(), bytes.data(), static_cast<int>(bytes.size())),
              static_cast<int>(bytes.size()));
    Carry();
  }

  const unsigned seed_ = std::random_device{}();
  std::mt19937 random_{seed_};
  const TestCertificate pair_{"scheduler"};
  std::unique_ptr<Transport> server_;
  Pipe* pipe_ = nullptr;
  OpenSslPtr<SSL, SSL_free> client_;
  std::string read_;
};

std::string RandomBytes(std::mt19937& random, size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

TEST_F(TlsTransportTest, MovesBytesInAnyPieces) {
  std::cout << "seed " << seed_ << "\n";
  for (const size_t at_most : {1, 7, 100, 5'000, 60'000}) {
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
      Connect(version);
      pipe_->random = &random_;
      pipe_->at_most = at_most;
      const std::string request = RandomBytes(random_, 40'000);
      const std::string answer = RandomBytes(random_, 50'000);
      size_t asked = 0;
      size_t answered = 0;
      std::string got;
      read_.clear();
      while (got.size() < answer.size()) {
        Carry();
        size_t sent = 0;
        if (asked < request.size() && SSL_write_ex(client_.get(), request.data() + asked,
                                                   request.size() - asked, &sent) == 1) {
          asked += sent;
        }
        char bytes[4096];
        for (size_t size = 0; SSL_read_ex(client_.get(), bytes, sizeof(bytes), &size) == 1;) {
          got.append(bytes, size);
        }
        Carry();
        if (read_.size() < request.size()) {
          const Io status = Read();
          ASSERT_TRUE(status == Io::kOk || status == Io::kWantRead || status == Io::kWantWrite);
        } else if (answered < answer.size()) {
          // From another address every time: the answer's buffer may move.
          const std::string rest = answer.substr(answered);
          const IoResult moved = server_->Write(rest);
          ASSERT_TRUE(moved.status == Io::kOk || moved.status == Io::kWantWrite);
          answered += moved.bytes;
        }
      }
      EXPECT_EQ(read_, request);
      EXPECT_EQ(got, answer);
    }
  }
}

TEST_F(TlsTransportTest, HandshakesUntilTheClientHasFinished) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    Connect(version);
    EXPECT_TRUE(server_->handshaking());
    EXPECT_EQ(Read(), Io::kWantRead);
    SSL_do_handshake(client_.get());
    Carry();
    EXPECT_EQ(Read(), Io::kWantRead);
    EXPECT_TRUE(server_->handshaking());
    Handshake();
    EXPECT_EQ(SSL_version(client_.get()), version);
    EXPECT_EQ(SSL_session_reused(client_.get()), 0);
  }
}

TEST_F(TlsTransportTest, SaysWhetherPartOfARecordIsHere) {
  Connect();
  Handshake();
  EXPECT_FALSE(server_->holds_part());
  ClientWrites("GET / HTTP/1.1");
  const std::string record = std::exchange(pipe_->to_server, {});
  pipe_->to_server = record.substr(0, record.size() - 1);
  EXPECT_EQ(Read(), Io::kWantRead);
  EXPECT_TRUE(server_->holds_part());
  pipe_->to_server = record.substr(record.size() - 1);
  EXPECT_EQ(Read(), Io::kOk);
  EXPECT_EQ(read_, "GET / HTTP/1.1");
  EXPECT_FALSE(server_->holds_part());
}

TEST_F(TlsTransportTest, EndsWithCloseNotify) {
  Connect();
  Handshake();
  EXPECT_EQ(SSL_shutdown(client_.get()), 0);
  Carry();
  EXPECT_EQ(Read(), Io::kEnd);
  // The other direction still works.
  EXPECT_EQ(server_->Write("bye").status, Io::kOk);
  server_->ShutDownWrites();
  EXPECT_TRUE(pipe_->shut_down);
  Carry();
  char bytes[10];
  EXPECT_EQ(SSL_read(client_.get(), bytes, sizeof(bytes)), 3);
  EXPECT_EQ(SSL_read(client_.get(), bytes, sizeof(bytes)), 0);
  EXPECT_EQ(SSL_get_error(client_.get(), 0), SSL_ERROR_ZERO_RETURN);
}

TEST_F(TlsTransportTest, APeerThatGoesWithoutAWordBreaksTheConnection) {
  Connect();
  Handshake();
  pipe_->closed = true;
  EXPECT_EQ(Read(), Io::kFailed);
  EXPECT_EQ(server_->failure(), "");

  Connect();
  pipe_->closed = true;
  EXPECT_EQ(Read(), Io::kFailed);
  EXPECT_EQ(server_->failure(), "");
}

TEST_F(TlsTransportTest, SaysWhyAHandshakeFailed) {
  Connect();
  pipe_->to_server = std::string(100, '\x01');
  EXPECT_EQ(Read(), Io::kFailed);
  EXPECT_EQ(server_->failure(), "wrong version number");

  // A client that does not trust the certificate says so.
  Connect(TLS1_2_VERSION);
  SSL_set_verify(client_.get(), SSL_VERIFY_PEER, nullptr);
  SSL_do_handshake(client_.get());
  Carry();
  EXPECT_EQ(Read(), Io::kWantRead);
  Carry();
  EXPECT_EQ(SSL_do_handshake(client_.get()), -1);
  Carry();
  EXPECT_EQ(Read(), Io::kFailed);
  EXPECT_EQ(server_->failure(), "tlsv1 alert unknown ca");
}

TEST_F(TlsTransportTest, AnswersPlainHttpInKind) {
  Connect();
  pipe_->to_server = "POST /filter HTTP/1.1\r\n";
  EXPECT_EQ(Read(), Io::kPlainHttp);
  EXPECT_FALSE(server_->handshaking());
  EXPECT_EQ(server_->Write("HTTP/1.1 400 ").status, Io::kOk);
  EXPECT_EQ(pipe_->to_client, "HTTP/1.1 400 ");
  pipe_->to_server = "{}";
  EXPECT_EQ(Read(), Io::kOk);
}

// Nobody's reading goes on for as long as the peer likes.
TEST_F(TlsTransportTest, ReadsOneRecordAtATime) {
  Connect();
  Handshake();
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(SSL_key_update(client_.get(), SSL_KEY_UPDATE_REQUESTED), 1);
    ASSERT_EQ(SSL_do_handshake(client_.get()), 1);
  }
  ClientWrites("after the updates");
  int reads = 0;
  while (Read() == Io::kWantRead && !pipe_->to_server.empty()) ++reads;
  EXPECT_GE(reads, 100);
  EXPECT_EQ(read_, "after the updates");
  EXPECT_FALSE(server_->handshaking());
  EXPECT_EQ(server_->Write("answer").status, Io::kOk);
  Carry();
  char bytes[10];
  EXPECT_EQ(SSL_read(client_.get(), bytes, sizeof(bytes)), 6);
}

}  // namespace
}  // namespace aliquot::server
