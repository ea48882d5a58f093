#include "aliquot/base/base64.h"

#include <gtest/gtest.h>

namespace aliquot {
namespace {

// The test vectors of RFC 4648.
TEST(Base64, WritesAndReads) {
  const std::pair<std::string, std::string> cases[] = {
      {"", ""},
      {"f", "Zg=="},
      {"fo", "Zm8="},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="},
      {"fooba", "Zm9vYmE="},
      {"foobar", "Zm9vYmFy"},
      {{"\0\xff", 2}, "AP8="},
  };
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(EncodeBase64(bytes), text);
    const Result<std::string> decoded = DecodeBase64(text);
    ASSERT_TRUE(decoded) << text;
    EXPECT_EQ(*decoded, bytes);
  }
}

TEST(Base64, SkipsWhiteSpace) { EXPECT_EQ(*DecodeBase64(" Zm9v\nYmFy\r\n"), "foobar"); }

TEST(Base64, RefusesOtherTexts) {
  for (const char* text : {"Z", "Zg=", "Zm9", "Zm9*", "Z===", "===="}) {
    const Result<std::string> decoded = DecodeBase64(text);
    EXPECT_FALSE(decoded) << text;
  }
}

}  // namespace
}  // namespace aliquot
