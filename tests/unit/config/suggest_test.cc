#include "aliquot/config/suggest.h"

#include <gtest/gtest.h>

#include <vector>

namespace aliquot::config {
namespace {

const std::vector<std::string> kKnown{"serve", "version", "config"};

TEST(Suggestion, IsTheNearestKnownWord) {
  EXPECT_EQ(Suggestion("srve", kKnown), " (did you mean \"serve\"?)");
  EXPECT_EQ(Suggestion("verson", kKnown), " (did you mean \"version\"?)");
  EXPECT_EQ(Suggestion("cofnig", kKnown), " (did you mean \"config\"?)");
}

TEST(Suggestion, DoesNotMindCase) {
  EXPECT_EQ(Suggestion("SERVE", kKnown), " (did you mean \"serve\"?)");
}

TEST(Suggestion, IsTheFirstOfEquallyNearWords) {
  EXPECT_EQ(Suggestion("bats", std::vector<std::string>{"cats", "hats"}),
            " (did you mean \"cats\"?)");
}

TEST(Suggestion, IsEmptyWhenNothingIsNear) {
  EXPECT_EQ(Suggestion("completion", kKnown), "");
  EXPECT_EQ(Suggestion("--x", std::vector<std::string>{"--v"}), "");
  EXPECT_EQ(Suggestion("", kKnown), "");
  EXPECT_EQ(Suggestion("serve", {}), "");
}

}  // namespace
}  // namespace aliquot::config
