#include "aliquot/codec/json_quote.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>

namespace aliquot::codec {
namespace {

TEST(JsonQuoteTest, WritesAsGoDoes) {
  EXPECT_EQ(JsonQuote(""), R"("")");
  EXPECT_EQ(JsonQuote("node-1/a.b c"), R"("node-1/a.b c")");
  EXPECT_EQ(JsonQuote("\"\\/"), R"("\"\\/")");
  EXPECT_EQ(JsonQuote("\b\f\n\r\t\x01\x1f"), R"("\b\f\n\r\t\u0001\u001f")");
  EXPECT_EQ(JsonQuote("<a>&\x7f"), "\"\\u003ca\\u003e\\u0026\x7f\"");
  EXPECT_EQ(JsonQuote("\u00e9\u2027\u2028\u2029\U0001f600"),
            "\"\u00e9\u2027\\u2028\\u2029\U0001f600\"");
  EXPECT_EQ(JsonQuote("a\xff\xc3"), "\"a\ufffd\ufffd\"");
  std::string json = "[";
  AppendJsonQuoted(json, "x");
  EXPECT_EQ(json, "[\"x\"");
}

// Whatever the bytes, it is JSON, and UTF-8 comes back as it was.
TEST(JsonQuoteTest, IsReadBack) {
  std::mt19937 random(20261130);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    std::string bytes;
    for (uint32_t left = random() % 12; left > 0; --left) {
      const std::string kinds[] = {std::string(1, static_cast<char>(random() % 128)), "\u00e9",
                                   "\u2028", "\U0001f600"};
      text += kinds[random() % std::size(kinds)];
      bytes += static_cast<char>(random() % 256);
    }
    ASSERT_EQ(nlohmann::json::parse(JsonQuote(text)), text);
    ASSERT_TRUE(nlohmann::json::accept(JsonQuote(bytes))) << JsonQuote(bytes);
  }
}

}  // namespace
}  // namespace aliquot::codec
