#include "aliquot/server/metrics_server.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client.h"
#include "server/gzip.h"

namespace aliquot::server {
namespace {

constexpr size_t kMostConnections = 8;

std::string Unzip(std::string_view packed) {
  std::string out(64 << 20, '\0');
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

class MetricsServerTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.Start().ok()); }

  HttpAnswer Ask(std::string_view target, std::string_view fields = "") {
    Client client(server_.port());
    const std::string head = "GET " + std::string(target) + " HTTP/1.1\r\nHost: x\r\n";
    return client.Ask(head + std::string(fields) + "\r\n").value_or(HttpAnswer{});
  }

  MetricsServer server_{{.bind = "127.0.0.1:0",
                         .write =
                             [](MetricsText& text) {
                               text.Begin("up", MetricsText::Type::kGauge, "Is there.");
                               text.Sample({Label("node", "a")}, 1);
                             },
                         .max_connections = kMostConnections}};
  const std::string page_ = "# HELP up Is there.\n# TYPE up gauge\nup{node=\"a\"} 1\n";
};

TEST_F(MetricsServerTest, ServesThePage) {
  const HttpAnswer answer = Ask("/metrics");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.Field("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(answer.Field("Content-Encoding"), "");
  EXPECT_EQ(answer.body, page_);
}

TEST_F(MetricsServerTest, CompressesForThoseWhoAcceptIt) {
  const HttpAnswer answer = Ask("/metrics", "Accept-Encoding: gzip\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.Field("Content-Encoding"), "gzip");
  EXPECT_EQ(Unzip(answer.body), page_);
}

TEST_F(MetricsServerTest, HasNothingElse) {
  for (const std::string_view target : {"/", "/healthz", "/filter", "/metrics/x"})
    EXPECT_EQ(Ask(target).status, 404) << target;
}

TEST_F(MetricsServerTest, HasALimitOfConnectionsOfItsOwn) {
  std::vector<std::unique_ptr<Client>> idle;
  for (size_t i = 0; i < kMostConnections; ++i) {
    idle.push_back(std::make_unique<Client>(server_.port()));
    ASSERT_EQ(idle.back()->Ask(Get("/metrics"))->status, 200);
  }
  EXPECT_EQ(Client(server_.port()).Read().value_or(HttpAnswer{}).status, 503);
}

TEST_F(MetricsServerTest, NamesAnAddressThatIsTaken) {
  const std::string taken = "127.0.0.1:" + std::to_string(server_.port());
  MetricsServer second({.bind = taken, .write = [](MetricsText&) {}});
  const Result<void> started = second.Start();
  ASSERT_FALSE(started.ok());
  EXPECT_NE(started.error().message.find(taken), std::string::npos) << started.error().message;
}

TEST(GzipTest, GivesBackWhatItGot) {
  std::string noise;
  uint32_t state = 1;  // does not compress, so that the guess of its size is wrong
  for (int i = 0; i < 100'000; ++i) noise += static_cast<char>((state = state * 1664525 + 1) >> 24);
  const std::string texts[] = {"", "a", std::string(5'000'000, 'b'), noise};
  for (const std::string& text : texts) EXPECT_TRUE(Unzip(Gzip(text)) == text) << text.size();
}

}  // namespace
}  // namespace aliquot::server
