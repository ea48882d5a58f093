#include "load/http_connection.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "unit/kube/test_server.h"

namespace aliquot::load {
namespace {

using kube::TestServer;

constexpr std::array<std::string_view, 3> kRequest = {
    "POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n", "ab", "cd"};

// The body of the answer to kRequest, or the error.
std::string Ask(HttpConnection& connection) {
  const Result<HttpAnswer> answer = connection.Exchange(kRequest);
  return answer ? std::string(answer->body) : "error: " + answer.error().message;
}

TEST(HttpConnectionTest, PiecesArriveAsOneRequestOnOneConnection) {
  TestServer server([](const TestServer::Request& request, TestServer::Peer& peer) {
    peer.Reply(200, "got " + request.body);
  });
  HttpConnection connection(*ParseUrl(server.url()));
  EXPECT_EQ(Ask(connection), "got abcd");
  EXPECT_EQ(Ask(connection), "got abcd");
  ASSERT_EQ(server.requests().size(), 2u);
  EXPECT_EQ(server.requests()[1].connection, 1);
}

TEST(HttpConnectionTest, LongAnswers) {
  const std::string body(1'000'000, 'x');
  TestServer server(
      [&](const TestServer::Request&, TestServer::Peer& peer) { peer.Reply(503, body); });
  HttpConnection connection(*ParseUrl(server.url()));
  const Result<HttpAnswer> answer = connection.Exchange(kRequest);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->status, 503);
  EXPECT_EQ(answer->body, body);
}

TEST(HttpConnectionTest, AnswersInChunks) {
  const std::string part(100'000, 'y');
  TestServer server([&](const TestServer::Request&, TestServer::Peer& peer) {
    peer.BeginChunks();
    peer.Chunk("one ");
    peer.Chunk(part);
    peer.EndChunks();
  });
  HttpConnection connection(*ParseUrl(server.url()));
  EXPECT_EQ(Ask(connection), "one " + part);
  EXPECT_EQ(Ask(connection), "one " + part);
}

TEST(HttpConnectionTest, ConnectsAnewWhereTheServerCloses) {
  TestServer server([](const TestServer::Request& request, TestServer::Peer& peer) {
    peer.Reply(200, std::to_string(request.connection), "Connection: close\r\n");
    peer.Close();
  });
  HttpConnection connection(*ParseUrl(server.url()));
  EXPECT_EQ(Ask(connection), "1");
  EXPECT_EQ(Ask(connection), "2");
}

TEST(HttpConnectionTest, ConnectsAnewAfterAnAnswerThatWasCutOff) {
  TestServer server([](const TestServer::Request& request, TestServer::Peer& peer) {
    if (request.connection > 1) return peer.Reply(200, "whole");
    peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
    peer.Close();
  });
  HttpConnection connection(*ParseUrl(server.url()));
  EXPECT_EQ(Ask(connection), "error: the connection was closed");
  EXPECT_EQ(Ask(connection), "whole");
}

TEST(HttpConnectionTest, WhatIsNoHttpIsAnError) {
  for (const char* bytes : {"SSH-2.0-x\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n",
                            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
                            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"}) {
    TestServer server(
        [&](const TestServer::Request&, TestServer::Peer& peer) { peer.Send(bytes); });
    HttpConnection connection(*ParseUrl(server.url()));
    const Result<HttpAnswer> answer = connection.Exchange(kRequest);
    ASSERT_FALSE(answer.ok()) << bytes;
    EXPECT_EQ(answer.error().code, ErrorCode::kInvalid) << bytes;
  }
}

TEST(HttpConnectionTest, NobodyListens) {
  Url url;
  {
    TestServer server([](const TestServer::Request&, TestServer::Peer&) {});
    url = *ParseUrl(server.url());
  }
  HttpConnection connection(url);
  const Result<HttpAnswer> answer = connection.Exchange(kRequest);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(answer.error().message.find(url.authority()), std::string::npos);
}

}  // namespace
}  // namespace aliquot::load
