// The server over TLS.
#include <gtest/gtest.h>
#include <malloc.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <future>
#include <iostream>
#include <latch>
#include <thread>
#include <vector>

#include "aliquot/base/log.h"
#include "aliquot/base/strings.h"
#include "server_fixture.h"
#include "support/scrape.h"
#include "tls_files.h"

namespace aliquot::server {
namespace {

using std::chrono::milliseconds;
using testing::TestCertificate;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

class TlsTest : public ServerTest {
 protected:
  TlsTest() {
    log::SetUp({});
    std::signal(SIGPIPE, SIG_IGN);  // the clients' sockets are OpenSSL's own
    options_.tls = FromFiles(volume_.files());
    options_.tls_reload_interval = milliseconds(1);
  }
  ~TlsTest() override { server_.reset(); }  // before its files

  Client Connect() { return Client(server_->port(), *client_tls_); }
  Client ConnectPlain() { return Client(server_->port()); }
  HttpAnswer Ask(std::string_view bytes) { return Connect().Ask(bytes).value_or(HttpAnswer{}); }

  // What a client says first.
  std::string ClientHello() const {
    const OpenSslPtr<SSL, SSL_free> ssl(SSL_new(client_tls_.get()));
    SSL_set_bio(ssl.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_connect(ssl.get());
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(SSL_get_wbio(ssl.get()), &bytes);
    return std::string(bytes, static_cast<size_t>(size));
  }

  SecretVolume volume_{TestCertificate("scheduler", 1)};
  ClientTls client_tls_ = MakeClientTls();
};

TEST_F(TlsTest, AnswersEveryRouteOverOneConnection) {
  options_.ready = []() -> std::optional<std::string> { return "caches are not synced"; };
  Start();
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    client_tls_ = MakeClientTls(version);
    Client client = Connect();
    ASSERT_TRUE(client.connected());
    EXPECT_EQ(SSL_version(client.ssl()), version);
    const auto ask = [&](const std::string& bytes) {
      return client.Ask(bytes).value_or(HttpAnswer{});
    };
    for (int i = 0; i < 100; ++i) {
      ASSERT_EQ(ask(Post("/filter", FilterBody(3))).body, kFiltered) << i;
      ASSERT_EQ(ask(Post("/bind", kBind)).body, R"({"Error":""})") << i;
    }
    EXPECT_EQ(ask(Get("/healthz")).status, 200);
    EXPECT_EQ(ask(Get("/readyz")).body, "caches are not synced");
    EXPECT_EQ(ask(Get("/nothing")).status, 404);
  }
}

TEST_F(TlsTest, ShowsTheCertificateToClientsThatCheckIt) {
  const TestCertificate pair("scheduler");
  volume_.Write(pair);
  Start();
  const OpenSslPtr<BIO, BIO_free> text(BIO_new_mem_buf(pair.certificate.data(), -1));
  const OpenSslPtr<X509, X509_free> root(PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr));
  X509_STORE_add_cert(SSL_CTX_get_cert_store(client_tls_.get()), root.get());
  SSL_CTX_set_verify(client_tls_.get(), SSL_VERIFY_PEER, nullptr);
  X509_VERIFY_PARAM_set1_host(SSL_CTX_get0_param(client_tls_.get()), "scheduler", 0);
  EXPECT_EQ(Ask(Get("/healthz")).status, 200);
  X509_VERIFY_PARAM_set1_host(SSL_CTX_get0_param(client_tls_.get()), "another", 0);
  EXPECT_FALSE(Connect().connected());
}

TEST_F(TlsTest, TellsWhenTheCertificateEnds) {
  const WallTime end = WallTime(std::chrono::seconds(4'000'000'000));
  volume_.Write(TestCertificate("scheduler", 1, end));
  Start();
  EXPECT_EQ(
      testing::Samples(testing::Scrape(*server_), "aliquot_certificate_expiry_timestamp_seconds"),
      std::vector<std::string>{"4e+09"});
}

TEST_F(TlsTest, AgreesOnHttp11) {
  Start();
  const auto agreed = [&](std::string_view offered) -> std::string {
    SSL_CTX_set_alpn_protos(client_tls_.get(),
                            reinterpret_cast<const unsigned char*>(offered.data()),
                            static_cast<unsigned>(offered.size()));
    const Client client = Connect();
    if (!client.connected()) return "refused";
    const unsigned char* chosen = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(client.ssl(), &chosen, &size);
    return std::string(reinterpret_cast<const char*>(chosen), size);
  };
  EXPECT_EQ(agreed(""), "");
  EXPECT_EQ(agreed("\x02h2\x08http/1.1"), "http/1.1");
  EXPECT_EQ(agreed("\x02h2"), "refused");
}

TEST_F(TlsTest, RefusesVersionsBefore12) {
  Start();
  client_tls_ = MakeClientTls(TLS1_1_VERSION);
  SSL_CTX_set_security_level(client_tls_.get(), 0);
  SSL_CTX_set_min_proto_version(client_tls_.get(), TLS1_VERSION);
  EXPECT_FALSE(Connect().connected());
  client_tls_ = MakeClientTls(TLS1_2_VERSION);
  EXPECT_TRUE(Connect().connected());
}

TEST_F(TlsTest, MovesLargeBodiesBothWays) {
  const std::string text(20 << 20, 'x');
  extender_.on_bind = [&](const auto&, const auto&) { return BindAnswer{text}; };
  Start();
  Client client = Connect();
  const std::string body = FilterBody(10) + std::string((64 << 20) - FilterBody(10).size(), ' ');
  EXPECT_EQ(client.Ask(Post("/filter", body)).value_or(HttpAnswer{}).body, kFiltered);
  const HttpAnswer answer = client.Ask(Post("/bind", kBind)).value_or(HttpAnswer{});
  EXPECT_TRUE(answer.body == R"({"Error":")" + text + R"("})");
  // All of it is sent although it will not be read: the answer must still come.
  const auto refused = client.Ask(Post("/bind", std::string(4 << 20, ' ')));
  EXPECT_EQ(refused.value_or(HttpAnswer{}).status, 413);
  EXPECT_TRUE(client.Closed());
}

TEST_F(TlsTest, AnswersPipelinedRequestsInOrder) {
  extender_.on_bind = [](const BindRequest& request, const RequestContext&) {
    return BindAnswer{request.node};
  };
  Start();
  Client client = Connect();
  std::string requests;
  for (int i = 0; i < 200; ++i) {
    requests += Post("/bind", R"({"Node":")" + std::to_string(i) + R"("})");
  }
  ASSERT_TRUE(client.Send(requests));
  for (int i = 0; i < 200; ++i) {
    const auto answer = client.Read();
    ASSERT_TRUE(answer);
    ASSERT_EQ(answer->body, R"({"Error":")" + std::to_string(i) + R"("})");
  }
}

TEST_F(TlsTest, ClosesWithCloseNotify) {
  options_.idle_timeout = milliseconds(50);
  Start();
  const auto said_goodbye = [](Client& client) {
    char byte;
    const int got = SSL_read(client.ssl(), &byte, 1);
    return got == 0 && SSL_get_error(client.ssl(), got) == SSL_ERROR_ZERO_RETURN;
  };
  Client asked = Connect();
  ASSERT_TRUE(asked.Ask("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  EXPECT_TRUE(said_goodbye(asked));
  Client idle = Connect();
  ASSERT_TRUE(idle.Ask(Get("/healthz")));
  EXPECT_TRUE(said_goodbye(idle));
}

TEST_F(TlsTest, StopLetsARunningRequestFinish) {
  std::latch started(1);
  std::latch release(1);
  extender_.on_bind = [&](const auto&, const auto&) {
    started.count_down();
    release.wait();
    return BindAnswer{};
  };
  Start();
  Client greeting = ConnectPlain();
  ASSERT_TRUE(greeting.Send(ClientHello()));
  Client client = Connect();
  ASSERT_TRUE(client.Send(Post("/bind", kBind)));
  started.wait();
  auto stopped =
      std::async(std::launch::async, [&] { return server_->Stop(std::chrono::seconds(30)); });
  while (ConnectPlain().connected()) std::this_thread::yield();
  release.count_down();
  EXPECT_EQ(client.Read().value_or(HttpAnswer{}).body, R"({"Error":""})");
  client.ShutDownWrites();
  EXPECT_TRUE(stopped.get());
}

TEST_F(TlsTest, ClientsThatStopInTheHandshakeDelayNobodyAndAreClosed) {
  options_.head_timeout = milliseconds(300);
  Start();
  const int64_t threads = OfThisProcess("Threads");
  const std::string hello = ClientHello();
  std::vector<Client> stopped;
  for (int i = 0; i < 30; ++i) {
    for (const size_t part : {size_t{0}, size_t{3}, hello.size() / 2, hello.size()}) {
      stopped.push_back(ConnectPlain());
      ASSERT_TRUE(stopped.back().Send(hello.substr(0, part)));
    }
  }
  EXPECT_EQ(Ask(Post("/filter", FilterBody(1))).body, kFiltered);
  EXPECT_LE(OfThisProcess("Threads") - threads, 4);
  for (Client& client : stopped) {
    char bytes[4096];
    ssize_t got = 0;
    while ((got = ::recv(client.fd(), bytes, sizeof(bytes), 0)) > 0) {
    }
    // Ended by the server, not by the client's own patience.
    ASSERT_TRUE(got == 0 || errno == ECONNRESET) << errno;
  }
}

TEST_F(TlsTest, AnIdleConnectionOutlivesTheHandshakesTimeout) {
  options_.head_timeout = milliseconds(100);
  Start();
  Client idle = Connect();
  ASSERT_TRUE(idle.connected());
  ASSERT_TRUE(idle.Ask(Get("/healthz")));
  Client silent = ConnectPlain();
  EXPECT_TRUE(silent.Closed());  // by then the timeout has passed
  EXPECT_EQ(idle.Ask(Get("/healthz")).value_or(HttpAnswer{}).status, 200);
}

TEST_F(TlsTest, SurvivesGarbage) {
  Start();
  const std::string hello = ClientHello();
  CaptureStderr();
  for (std::string bytes : {std::string(5'000, '\0'), std::string(70'000, '\xff'),
                            std::string("\x16\x03\x01\xff\xff\x01", 6) + std::string(70'000, 'x'),
                            hello + hello, hello.substr(0, 60) + std::string(1'000, '\x7f')}) {
    Client client = ConnectPlain();
    client.Send(bytes);
    client.ShutDownWrites();
    char answer[4096];
    while (::recv(client.fd(), answer, sizeof(answer), 0) > 0) {
    }
  }
  EXPECT_EQ(Ask(Post("/filter", FilterBody(1))).body, kFiltered);
  // One line for all of it.
  const std::string log = GetCapturedStderr();
  const size_t warned = log.find("TLS handshake failed peer=127.0.0.1 error=");
  EXPECT_NE(warned, std::string::npos) << log;
  EXPECT_EQ(log.find("TLS handshake failed", warned + 1), std::string::npos) << log;
}

TEST_F(TlsTest, TellsAPlainClientToUseHttps) {
  Start();
  for (const std::string& request : {Get("/healthz"), Post("/filter", FilterBody(5'000))}) {
    Client client = ConnectPlain();
    const auto answer = client.Ask(request);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 400);
    EXPECT_EQ(answer->body, "this port speaks TLS: use https");
    EXPECT_TRUE(client.Closed());
  }
  EXPECT_EQ(extender_.filters, 0);
}

TEST_F(TlsTest, ClosesConnectionsOverTheLimit) {
  options_.max_connections = 2;
  Start();
  {
    Client first = Connect();
    Client second = Connect();
    ASSERT_TRUE(first.Ask(Get("/healthz")) && second.Ask(Get("/healthz")));
    EXPECT_TRUE(ConnectPlain().Closed());
    EXPECT_EQ(first.Ask(Get("/healthz")).value_or(HttpAnswer{}).status, 200);
  }
  while (Ask(Get("/healthz")).status != 200) std::this_thread::yield();
}

TEST_F(TlsTest, CallerGoneFollowsTheConnection) {
  std::promise<bool> before;
  std::promise<void> after;
  extender_.on_bind = [&](const auto&, const RequestContext& context) {
    before.set_value(context.caller_gone());
    while (!context.caller_gone()) std::this_thread::yield();
    after.set_value();
    return BindAnswer{};
  };
  Start();
  {
    Client client = Connect();
    ASSERT_TRUE(client.Send(Post("/bind", kBind)));
    EXPECT_FALSE(before.get_future().get());
  }
  after.get_future().wait();
  EXPECT_EQ(Ask(Get("/healthz")).status, 200);
}

TEST_F(TlsTest, DoesNotStartWithoutAUsablePair) {
  const auto error = [&] {
    Server server(extender_, options_);
    const Result<void> started = server.Start();
    return started.ok() ? "" : started.error().message;
  };
  volume_.Write(TestCertificate("a").certificate, TestCertificate("b").key);
  EXPECT_TRUE(Contains(error(), volume_.files().key + ": does not belong")) << error();
  options_.tls = FromFiles({"/nowhere/tls.crt", volume_.files().key});
  EXPECT_EQ(error(), "certificate /nowhere/tls.crt: No such file or directory");
}

// Several clients ask all the time, over old connections and new ones, while the
// pair is replaced and broken again and again.
TEST_F(TlsTest, ReplacesTheCertificateUnderTraffic) {
  Start();
  Client veteran = Connect();
  ASSERT_TRUE(veteran.Ask(Get("/healthz")));
  std::atomic<bool> done = false;
  std::atomic<int> asked = 0;
  std::atomic<int> failed = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&] {
      const std::string filter = Post("/filter", FilterBody(100));
      while (!done) {
        Client client = Connect();
        int64_t last = client.serial();
        for (int j = 0; j < 5; ++j) {
          ++asked;
          if (client.Ask(filter).value_or(HttpAnswer{}).body != kFiltered) ++failed;
        }
        if (Client next = Connect(); next.serial() < last) ++failed;  // never back to an old one
      }
    });
  }
  for (long serial = 2; serial <= 10; ++serial) {
    if (serial % 3 == 0) volume_.Write("broken", "broken");
    const int before = asked;
    while (asked < before + 20) std::this_thread::yield();
    volume_.Write(TestCertificate("scheduler", serial));
    while (Connect().serial() != serial) std::this_thread::yield();
  }
  done = true;
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(failed, 0) << "of " << asked;
  EXPECT_EQ(veteran.Ask(Post("/filter", FilterBody(1))).value_or(HttpAnswer{}).body, kFiltered);
  EXPECT_EQ(veteran.serial(), 1);
}

TEST_F(TlsTest, IdleConnectionsCostNoThreadsAndLittleMemory) {
  options_.tls_reload_interval = std::chrono::seconds(5);
  Start();
  const std::string filter = Post("/filter", FilterBody(5'000));
  Client beside = Connect();
  ASSERT_TRUE(beside.Ask(filter));
  std::vector<Client> idle;
  idle.reserve(1'000);
  ::malloc_trim(0);  // what earlier tests left would hide the growth
  const int64_t threads = OfThisProcess("Threads");
  const int64_t rss = OfThisProcess("VmRSS");
  for (int i = 0; i < 1'000; ++i) {
    idle.push_back(Connect());
    ASSERT_EQ(idle.back().Ask(filter).value_or(HttpAnswer{}).body, kFiltered) << i;
    idle.back().ForgetTls();  // so that only the server's side is measured
  }
  const int64_t more_kb = OfThisProcess("VmRSS") - rss;
  const int64_t more_threads = OfThisProcess("Threads") - threads;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(beside.Ask(filter).value_or(HttpAnswer{}).body, kFiltered);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  std::cout << "1000 idle TLS connections: threads +" << more_threads << ", RSS +" << more_kb
            << " kB, /filter beside them " << took.count() << " ms\n";
  EXPECT_LE(more_threads, 4);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(more_kb, 25'000);
#endif
}

TEST_F(TlsTest, MeasuresAFilterOfFiveThousandNames) {
  Start();
  Client client = Connect();
  const std::string filter = Post("/filter", FilterBody(5'000));
  const std::vector<double> micros = MicrosOfAThousand(client, filter);
  ASSERT_EQ(micros.size(), 1'000U);
  std::cout << filter.size() << " bytes over TLS: p50 " << micros[500] << " us, p99 " << micros[990]
            << " us\n";
}

}  // namespace
}  // namespace aliquot::server
