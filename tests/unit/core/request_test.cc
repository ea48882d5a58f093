#include "aliquot/core/request.h"

#include <gtest/gtest.h>

#include "support/builders.h"
#include "unit/core/test_vendor.h"

namespace aliquot::core {
namespace {

using aliquot::testing::PodWish;

std::string WhyNot(const PodWish& pod, const Registry& registry = TwoVendors()) {
  const auto parsed = pod.Parse(registry);
  const auto* invalid = std::get_if<InvalidRequest>(&parsed);
  return invalid ? invalid->ToString() : "readable";
}

// ---- containers and vendors

TEST(ParseRequestsTest, KeepsEveryContainerInItsPlace) {
  const PodRequest request =
      PodWish().Init().Sidecar({.gpu = "1"}).App().App({.gpu = "2"}).Request();
  ASSERT_EQ(request.containers.size(), 4U);
  EXPECT_EQ(request.pod, (ObjectRef{"team", "p", "uid-p"}));
  EXPECT_EQ(request.containers[0].kind, ContainerKind::kInit);
  EXPECT_EQ(request.containers[1].kind, ContainerKind::kSidecar);
  EXPECT_EQ(request.containers[3].kind, ContainerKind::kApp);
  EXPECT_EQ(request.containers[3].name, "c3");
  EXPECT_TRUE(request.containers[0].requests.empty());
  EXPECT_EQ(request.containers[1].requests[0].count, 1);
  EXPECT_TRUE(request.containers[2].requests.empty());
  EXPECT_EQ(request.containers[3].requests[0].count, 2);
}

TEST(ParseRequestsTest, AsksVendorsByKey) {
  const PodRequest request = PodWish()
                                 .AppWith({{"beta/card", "2"}, {"alpha/card", "1"}})
                                 .AppWith({{"beta/card", "3"}})
                                 .Request(TwoVendors());
  ASSERT_EQ(request.containers[0].requests.size(), 2U);
  EXPECT_EQ(request.containers[0].requests[0].vendor, 0);
  EXPECT_EQ(request.containers[0].requests[1].vendor, 1);
  EXPECT_EQ(request.containers[1].requests[0].vendor, 1);
  EXPECT_TRUE(request.Asks(0));
  EXPECT_TRUE(request.Asks(1));
}

TEST(ParseRequestsTest, APodThatAsksNobodyIsEmpty) {
  const PodRequest request =
      PodWish().Init().AppWith({{"cpu", "2"}, {"alpha/card", "0"}}).Request(TwoVendors());
  EXPECT_TRUE(request.empty());
  EXPECT_FALSE(request.Asks(0));
}

TEST(ParseRequestsTest, ResourcesWithoutAConfiguredNameAreNobodys) {
  const Registry registry({{kAlphaSpec, VendorConfig{}}});
  EXPECT_TRUE(PodWish().AppWith({{"", "1"}, {"alpha/card", "1"}}).Request(registry).empty());
}

TEST(ParseRequestsTest, LimitsWinOverRequestsForEachResource) {
  const PodRequest request =
      PodWish()
          .AppWith({{"alpha/card", "1"}}, {{"alpha/card", "5"}, {"alpha/mem", "300"}})
          .Request(TwoVendors());
  EXPECT_EQ(request.containers[0].requests[0].count, 1);
  EXPECT_EQ(request.containers[0].requests[0].memory, 300);
}

TEST(ParseRequestsTest, SomeVendorsLookAtLimitsOnly) {
  VendorSpec spec = kAlphaSpec;
  spec.limits_only = true;
  const Registry registry({{spec, PlainConfig("alpha")}});
  EXPECT_TRUE(PodWish().AppWith({}, {{"alpha/card", "1"}}).Request(registry).empty());
  EXPECT_FALSE(PodWish().AppWith({{"alpha/card", "1"}}).Request(registry).empty());
}

// ---- what cannot be read

TEST(InvalidRequestTest, NamesContainerResourceValueAndWhy) {
  EXPECT_EQ(WhyNot(PodWish().App().AppWith({{"alpha/card", "1500m"}})),
            "InvalidDeviceRequest: container c1: alpha/card=1500m: not a whole number");
}

struct WholeRow {
  std::string text;
  std::string why;  // empty: it is fine
};

TEST(InvalidRequestTest, AWholeNumberIsOneBetweenZeroAndTheLimit) {
  const std::string kNotWhole = "not a whole number";
  const WholeRow rows[] = {
      {"0", ""},
      {"7", ""},
      {"3k", ""},
      {"1Ki", ""},
      {"2147483647", ""},
      {"2147483648", "out of range"},
      {"16Gi", "out of range"},
      {"9223372036854775808", "out of range"},  // more than 64 bits
      {"1e30", "out of range"},
      {"-1", "negative"},
      {"-3k", "negative"},
      {"-2147483649", "negative"},
      {"16.5", kNotWhole},
      {"1.0", kNotWhole},
      {"16.0Ki", kNotWhole},
      {"1500m", kNotWhole},
      {"1000m", kNotWhole},
      {"", kNotWhole},
      {"many", kNotWhole},
      {"0x10", kNotWhole},
  };
  for (const WholeRow& row : rows) {
    const std::string expected =
        row.why.empty()
            ? "readable"
            : "InvalidDeviceRequest: container c0: alpha/mem=" + row.text + ": " + row.why;
    EXPECT_EQ(WhyNot(PodWish().AppWith({{"alpha/card", "1"}, {"alpha/mem", row.text}})), expected);
  }
}

TEST(InvalidRequestTest, TheFirstOneFoundCounts) {
  const std::string bad = "x";
  // Containers in order, init containers first.
  EXPECT_EQ(WhyNot(PodWish().InitWith({{"beta/card", bad}}).AppWith({{"alpha/card", bad}})),
            "InvalidDeviceRequest: container c0: beta/card=x: not a whole number");
  // Vendors by key.
  EXPECT_EQ(WhyNot(PodWish().AppWith({{"alpha/cores", bad}, {"beta/card", bad}})),
            "InvalidDeviceRequest: container c0: alpha/cores=x: not a whole number");
  // Resources in the order in which the vendor reads them.
  EXPECT_EQ(
      WhyNot(PodWish().AppWith({{"alpha/card", "1"}, {"alpha/cores", "-1"}, {"alpha/mem", bad}})),
      "InvalidDeviceRequest: container c0: alpha/mem=x: not a whole number");
}

// ---- annotations

PodRequest Annotated(std::string key, std::string value) {
  return aliquot::testing::Pod({.gpu = "1"}).Annotate(std::move(key), std::move(value)).Request();
}

TEST(NumaBindTest, IsOnForTrueBooleansOnly) {
  for (const char* on : {"true", "True", "TRUE", "t", "T", "1"})
    EXPECT_TRUE(Annotated("nvidia.com/numa-bind", on).numa_bind) << on;
  for (const char* off : {"false", "0", "F", "notabool", "", "yes", " true"})
    EXPECT_FALSE(Annotated("nvidia.com/numa-bind", off).numa_bind) << off;
  EXPECT_FALSE(aliquot::testing::Pod({.gpu = "1"}).Request().numa_bind);
}

constexpr const char* kUseId = "nvidia.com/use-gpuuuid";
constexpr const char* kNoUseId = "nvidia.com/nouse-gpuuuid";
constexpr const char* kUseType = "nvidia.com/use-gputype";
constexpr const char* kNoUseType = "nvidia.com/nouse-gputype";
constexpr const char* kMode = "nvidia.com/vgpu-mode";

struct SelectorRow {
  StringMap annotations;
  std::string_view value;
  bool allowed;
};

CardSelector SelectorOf(const SelectorRow& row) {
  PodWish pod = aliquot::testing::Pod({.gpu = "1"});
  for (const auto& [key, value] : row.annotations) pod.Annotate(key, value);
  return pod.Request().selectors[0];
}

std::string Show(const SelectorRow& row) {
  std::string text(row.value);
  for (const auto& [key, value] : row.annotations) text += " " + key + "=\"" + value + "\"";
  return text;
}

TEST(CardSelectorTest, ComparesIdsToTheLetter) {
  const SelectorRow rows[] = {
      {{}, "abc", true},
      {{{kUseId, "abc,123"}}, "abc", true},
      {{{kUseId, "abc,123"}}, "1abc", false},
      {{{kUseId, "abc,123"}}, "ABC", false},
      {{{kUseId, "abc,123"}}, "ab", false},
      {{{kUseId, " abc , 123 "}}, "abc", true},
      {{{kNoUseId, "abc,123"}}, "abc", false},
      {{{kNoUseId, "abc,123"}}, "1abc", true},
      {{{kUseId, "abc,123"}, {kNoUseId, "abc"}}, "abc", false},
      {{{kUseId, "abc,123"}, {kNoUseId, "abc"}}, "123", true},
      // Blank is no constraint; a list without members is one.
      {{{kUseId, ""}}, "abc", true},
      {{{kUseId, "   "}}, "abc", true},
      {{{kNoUseId, ""}}, "abc", true},
      {{{kUseId, ","}}, "abc", false},
      {{{kNoUseId, ","}}, "abc", true},
  };
  for (const SelectorRow& row : rows)
    EXPECT_EQ(SelectorOf(row).AllowsId(row.value), row.allowed) << Show(row);
}

TEST(CardSelectorTest, LooksForTypesInsideTheModelInAnyCase) {
  const SelectorRow rows[] = {
      {{}, "NVIDIA-A100", true},
      {{{kUseType, "A100,V100"}}, "NVIDIA-A100", true},
      {{{kUseType, "V100"}}, "NVIDIA-A100", false},
      {{{kNoUseType, "A100"}}, "NVIDIA-A100", false},
      {{{kNoUseType, "V100,"}}, "NVIDIA-A100", true},
      {{{kNoUseType, ",V100"}}, "NVIDIA-A100", true},
      {{{kUseType, "V100,"}}, "NVIDIA-A100", false},
      {{{kUseType, "A100"}, {kNoUseType, "A100"}}, "NVIDIA-A100", false},
      {{{kUseType, "a100, ,"}}, "NVIDIA A100-SXM4-40GB", true},
      {{{kUseType, "A10"}}, "NVIDIA A100", true},  // a part of it is enough
      {{{kUseType, "nvidia a100"}}, "NVIDIA A100", true},
      {{{kUseType, ""}}, "NVIDIA-A100", true},
      {{{kUseType, " "}}, "NVIDIA-A100", true},
      {{{kNoUseType, ""}}, "NVIDIA-A100", true},
      {{{kUseType, ", "}}, "NVIDIA-A100", false},
      {{{kNoUseType, ", "}}, "NVIDIA-A100", true},
  };
  for (const SelectorRow& row : rows)
    EXPECT_EQ(SelectorOf(row).AllowsType(row.value), row.allowed) << Show(row);
}

TEST(CardSelectorTest, ComparesSharingModesAsWords) {
  const SelectorRow rows[] = {
      {{}, "mig", true},
      {{{kMode, "hami-core"}}, "hami-core", true},
      {{{kMode, "mps"}}, "hami-core", false},
      {{{kMode, "mig, hami-core"}}, "hami-core", true},
      {{{kMode, "hami-core-x"}}, "hami-core", false},
      {{{kMode, "HAMI-CORE"}}, "hami-core", false},
      {{{kMode, "mps"}}, "", true},  // a card that names no mode
      {{{kMode, ""}}, "hami-core", true},
      {{{kMode, " "}}, "hami-core", true},
      {{{kMode, ","}}, "hami-core", false},
  };
  for (const SelectorRow& row : rows)
    EXPECT_EQ(SelectorOf(row).AllowsMode(row.value), row.allowed) << Show(row);
}

}  // namespace
}  // namespace aliquot::core
