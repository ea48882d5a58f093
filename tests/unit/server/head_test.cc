#include "server/head.h"

#include <gtest/gtest.h>

#include <random>

#include "aliquot/base/strings.h"

namespace aliquot::server {
namespace {

constexpr std::string_view kLine = "POST /filter HTTP/1.1\r\n";
constexpr std::string_view kHost = "Host: x\r\n";

// The status of a head of a good request line, `fields`, and its end.
std::string Status(std::string_view fields) {
  Head head;
  const auto rejection = ParseHead(std::string(kLine) + std::string(fields) + "\r\n", head);
  return rejection ? std::string(rejection->status.substr(0, 3)) : "";
}

std::string LineStatus(std::string_view line) {
  Head head;
  const auto rejection = ParseHead(std::string(line) + "\r\nHost: x\r\n\r\n", head);
  return rejection ? std::string(rejection->status.substr(0, 3)) : "";
}

Head Good(std::string_view text) {
  Head head;
  const auto rejection = ParseHead(text, head);
  return rejection ? Head{"rejected: " + rejection->text, {}, {}} : head;
}

TEST(ParseHead, ReadsWhatFramesTheRequest) {
  const Head head = Good(
      "POST /filter?x=1 HTTP/1.1\r\nhost:x\r\nCONTENT-LENGTH: \t 12 \r\nexpect: "
      "100-Continue\r\n\r\n");
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.target, "/filter?x=1");
  EXPECT_EQ(head.content_length, 12u);
  EXPECT_TRUE(head.keep_alive);
  EXPECT_TRUE(head.expects_continue);
}

TEST(ParseHead, KeepsTheConnectionAsTheVersionSays) {
  EXPECT_TRUE(Good("GET / HTTP/1.1\r\nHost: x\r\n\r\n").keep_alive);
  EXPECT_FALSE(Good("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, Close\r\n\r\n").keep_alive);
  EXPECT_FALSE(Good("GET / HTTP/1.0\r\n\r\n").keep_alive);
  EXPECT_TRUE(Good("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").keep_alive);
}

TEST(ParseHead, KnowsWhetherTheAnswerMayBeCompressed) {
  const auto accepts = [](const std::string& list) {
    return Good("GET / HTTP/1.1\r\nHost: x\r\nAccept-Encoding: " + list + "\r\n\r\n").accepts_gzip;
  };
  for (const char* list : {"gzip", "GZIP", "deflate, gzip;q=0.5", "*", "br;q=1.0, * ; q=0.1"})
    EXPECT_TRUE(accepts(list)) << list;
  for (const char* list :
       {"", "identity", "gzip;q=0", "gzip; q=0.000", "*, gzip;q=0", "*;q=0", "gzipx"})
    EXPECT_FALSE(accepts(list)) << list;
  EXPECT_FALSE(Good("GET / HTTP/1.1\r\nHost: x\r\n\r\n").accepts_gzip);
}

TEST(ParseHead, AcceptsOneLengthOnly) {
  const std::string host(kHost);
  EXPECT_EQ(Status(host + "Content-Length: 5\r\nContent-Length: 5\r\n"), "");
  EXPECT_EQ(Status(host + "Content-Length: 5\r\nContent-Length: 6\r\n"), "400");
  for (std::string_view bad : {"", "-1", "+5", "5, 5", "0x5", "5 5", "99999999999999999999", "a"}) {
    EXPECT_EQ(Status(host + "Content-Length: " + std::string(bad) + "\r\n"), "400") << bad;
  }
}

TEST(ParseHead, RefusesBodiesThatAreNotPlain) {
  const std::string host(kHost);
  EXPECT_EQ(Status(host + "Transfer-Encoding: chunked\r\n"), "411");
  EXPECT_EQ(Status(host + "Transfer-Encoding: identity\r\nContent-Length: 1\r\n"), "411");
  EXPECT_EQ(Status(host + "Content-Encoding: gzip\r\n"), "415");
  EXPECT_EQ(Status(host + "Content-Encoding: identity\r\n"), "");
  EXPECT_EQ(Status(host + "Expect: magic\r\n"), "417");
}

TEST(ParseHead, WantsExactlyOneHost) {
  EXPECT_EQ(Status(kHost), "");
  EXPECT_EQ(Status(""), "400");
  EXPECT_EQ(Status("Host: a\r\nHost: a\r\n"), "400");
}

TEST(ParseHead, RefusesWhatTwoParsersMightReadDifferently) {
  const std::string host(kHost);
  for (std::string_view bad :
       {"Content-Length : 5\r\n", " folded: x\r\n", "no colon\r\n", ": empty\r\n", "a b: c\r\n",
        "x: a\rb\r\n", "x: a\x01\r\n", "x\x80: y\r\n"}) {
    EXPECT_EQ(Status(host + std::string(bad)), "400") << bad;
  }
  EXPECT_EQ(Status(host + std::string("x: a\0b\r\n", 8)), "400");
  EXPECT_EQ(Status(host + "x: \xc3\xa9\r\n"), "");
}

TEST(ParseHead, RefusesOtherRequestLines) {
  EXPECT_EQ(LineStatus("GET / HTTP/1.1"), "");
  for (std::string_view bad :
       {"", "GET", "GET /", "GET  / HTTP/1.1", "GET / HTTP/1.1 ", "G(T / HTTP/1.1",
        "GET x HTTP/1.1", "GET * HTTP/1.1", "GET http://x/ HTTP/1.1", "GET /\x01 HTTP/1.1",
        "GET /\t HTTP/1.1x"}) {
    EXPECT_NE(LineStatus(bad), "") << bad;
  }
  EXPECT_EQ(LineStatus("GET / HTTP/2.0"), "505");
  EXPECT_EQ(LineStatus("PRI * HTTP/2.0"), "505");
}

TEST(ParseHead, SaysWhichRequestItRejects) {
  Head head;
  ASSERT_TRUE(ParseHead("POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", head));
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.target, "/x");
}

TEST(ParseHead, SurvivesAnyChangedByte) {
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  const std::string good = std::string(kLine) + "Host: x\r\nContent-Length: 5\r\nA: b\r\n";
  for (int i = 0; i < 50'000; ++i) {
    std::string bad = good;
    bad[random() % bad.size()] = static_cast<char>(random());
    bad += "\r\n\r\n";  // what the connection looks for before it calls
    Head head;
    const auto rejection = ParseHead(bad, head);
    EXPECT_TRUE(!rejection || !rejection->text.empty());
  }
}

}  // namespace
}  // namespace aliquot::server
