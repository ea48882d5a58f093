#include "aliquot/base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

namespace aliquot {
namespace {

TEST(Result, HoldsAValue) {
  Result<std::string> result("x");
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(*result, "x");
  EXPECT_EQ(result->size(), 1U);
  result->append("y");
  EXPECT_EQ(result.value(), "xy");
}

TEST(Result, HoldsAnError) {
  const Result<int> result = InvalidError("no number");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error(), (Error{ErrorCode::kInvalid, "no number"}));
}

TEST(Result, MovesItsValueOut) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(3));
  const std::unique_ptr<int> value = *std::move(result);
  EXPECT_EQ(*value, 3);
}

TEST(Result, OfNothingIsOkUnlessGivenAnError) {
  EXPECT_TRUE(Result<void>().ok());
  const Result<void> failed = Error{ErrorCode::kConflict, "taken"};
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kConflict);
}

TEST(ResultDeathTest, TouchingTheOtherSideIsABug) {
  Result<int> value(1);
  Result<int> error = InvalidError("bad");
  EXPECT_DEATH((void)value.error(), "Check failed");
  EXPECT_DEATH((void)error.value(), "Check failed");
  EXPECT_DEATH((void)Result<void>().error(), "Check failed");
}

TEST(ErrorCode, NamesAreDifferent) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(ErrorCode::kCancelled); ++code)
    names.insert(ErrorCodeName(static_cast<ErrorCode>(code)));
  EXPECT_EQ(names.size(), static_cast<size_t>(ErrorCode::kCancelled) + 1);
  EXPECT_EQ(ErrorCodeName(ErrorCode::kNotFound), "not-found");
}

}  // namespace
}  // namespace aliquot
