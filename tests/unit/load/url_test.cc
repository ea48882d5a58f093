#include "load/url.h"

#include <gtest/gtest.h>

namespace aliquot::load {
namespace {

TEST(UrlTest, HostPortAndPath) {
  const Result<Url> url = ParseUrl("http://127.0.0.1:8080/filter");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->host, "127.0.0.1");
  EXPECT_EQ(url->port, "8080");
  EXPECT_EQ(url->path, "/filter");
  EXPECT_EQ(url->authority(), "127.0.0.1:8080");
}

TEST(UrlTest, WhatIsLeftOutHasItsDefault) {
  const Result<Url> url = ParseUrl("http://extender");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->authority(), "extender:80");
  EXPECT_EQ(url->path, "/");
}

TEST(UrlTest, AddressesInBrackets) {
  const Result<Url> url = ParseUrl("http://[::1]:8080/filter");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->host, "::1");
  EXPECT_EQ(url->authority(), "[::1]:8080");
}

TEST(UrlTest, ErrorsNameTheText) {
  for (const char* text :
       {"", "127.0.0.1:80", "https://x/filter", "http://", "http://:80/", "http://x:/",
        "http://x:0/", "http://x:65536/", "http://x:y/", "http://[::1/", "http://[::1]80/"}) {
    const Result<Url> url = ParseUrl(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_EQ(url.error().code, ErrorCode::kInvalid);
    EXPECT_NE(url.error().message.find("\"" + std::string(text) + "\""), std::string::npos);
  }
}

}  // namespace
}  // namespace aliquot::load
