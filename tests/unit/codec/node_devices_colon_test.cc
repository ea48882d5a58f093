#include <gtest/gtest.h>

#include "aliquot/codec/node_devices.h"
#include "unit/codec/random_text.h"

namespace aliquot::codec {
namespace {

core::Device TeslaP4() {
  core::Device device;
  device.id = "GPU-ebe7c3f7-303d-558d-435e-99a160631fe4";
  device.slots = 10;
  device.memory = 7680;
  device.cores = 100;
  device.type = "NVIDIA-Tesla P4";
  device.numa = 0;
  device.healthy = true;
  device.index = 1;
  device.mode = "hami-core";
  return device;
}

constexpr std::string_view kTeslaP4 =
    "GPU-ebe7c3f7-303d-558d-435e-99a160631fe4,10,7680,100,NVIDIA-Tesla P4,0,true,1,hami-core:";

TEST(NodeDevicesColon, ReadsAndWritesNineFields) {
  const std::vector<core::Device> want = {TeslaP4(), TeslaP4()};
  const std::string text = std::string(kTeslaP4) + std::string(kTeslaP4);
  const Result<std::vector<core::Device>> devices = ParseNodeDevicesColon(text);
  ASSERT_TRUE(devices);
  EXPECT_EQ(*devices, want);
  EXPECT_EQ(FormatNodeDevicesColon(want), text);
  EXPECT_EQ(FormatNodeDevicesColon({}), "");
}

TEST(NodeDevicesColon, SevenFieldsMeanIndexZeroAndHamiCore) {
  const Result<std::vector<core::Device>> devices =
      ParseNodeDevicesColon("GPU-bad51c5a-ed4c-591d-91bf-c04a12e19eae,10,8192,100,MR-V100,0,true:");
  ASSERT_TRUE(devices);
  ASSERT_EQ(devices->size(), 1U);
  EXPECT_EQ(devices->front().id, "GPU-bad51c5a-ed4c-591d-91bf-c04a12e19eae");
  EXPECT_EQ(devices->front().slots, 10);
  EXPECT_EQ(devices->front().memory, 8192);
  EXPECT_EQ(devices->front().cores, 100);
  EXPECT_EQ(devices->front().type, "MR-V100");
  EXPECT_EQ(devices->front().numa, 0);
  EXPECT_TRUE(devices->front().healthy);
  EXPECT_EQ(devices->front().index, 0U);
  EXPECT_EQ(devices->front().mode, "hami-core");
}

TEST(NodeDevicesColon, EmptySegmentsArePassedOver) {
  for (const std::string_view text : {":", "::"}) {
    const Result<std::vector<core::Device>> devices = ParseNodeDevicesColon(text);
    ASSERT_TRUE(devices) << text;
    EXPECT_TRUE(devices->empty()) << text;
  }
  const Result<std::vector<core::Device>> devices = ParseNodeDevicesColon(":a,1,2,3,T,0,f::");
  ASSERT_TRUE(devices);
  EXPECT_EQ(devices->size(), 1U);
}

TEST(NodeDevicesColon, NegativeNumbersAndAnEmptyIdAreHandedOn) {
  const Result<std::vector<core::Device>> devices =
      ParseNodeDevicesColon(",-1,-2,+3,T,-9223372036854775808,F,4294967295,:");
  ASSERT_TRUE(devices);
  const core::Device& device = devices->front();
  EXPECT_EQ(device.id, "");
  EXPECT_EQ(device.slots, -1);
  EXPECT_EQ(device.memory, -2);
  EXPECT_EQ(device.cores, 3);
  EXPECT_EQ(device.numa, INT64_MIN);
  EXPECT_EQ(device.index, UINT32_MAX);
  EXPECT_EQ(device.mode, "");
  EXPECT_FALSE(device.healthy);
}

struct BadText {
  std::string_view text;
  std::string_view error;
};

TEST(NodeDevicesColon, ErrorsAreThoseOfThePlugins) {
  constexpr BadText kRows[] = {
      {"", "node annotation missing device separator"},
      {"a", "node annotation missing device separator"},
      {",", "node annotation missing device separator"},
      {"[]", "node annotation missing device separator"},
      {"a:", "malformed node annotation segment: \"a\""},
      {"say \"a\"\n\x01\x7f\xff\u00e9:",
       "malformed node annotation segment: \"say \\\"a\\\"\\n\\x01\\x7f\\xff\u00e9\""},
      {",:", "unexpected field count 2 in node annotation"},
      {"a,1,2,3,T,0:", "unexpected field count 6 in node annotation"},
      {"a,1,2,3,T,0,true,0:", "unexpected field count 8 in node annotation"},
      {"a,1,2,3,T,0,true,0,m,x:", "unexpected field count 10 in node annotation"},
      {"a,x,2,3,T,0,true:", "invalid count field: strconv.ParseInt: parsing \"x\": invalid syntax"},
      {"a,,2,3,T,0,true:", "invalid count field: strconv.ParseInt: parsing \"\": invalid syntax"},
      {"a, 1,2,3,T,0,true:",
       "invalid count field: strconv.ParseInt: parsing \" 1\": invalid syntax"},
      {"a,1.0,2,3,T,0,true:",
       "invalid count field: strconv.ParseInt: parsing \"1.0\": invalid syntax"},
      {"a,2147483648,2,3,T,0,true:",
       "invalid count field: strconv.ParseInt: parsing \"2147483648\": value out of range"},
      {"a,1,-2147483649,3,T,0,true:",
       "invalid memory field: strconv.ParseInt: parsing \"-2147483649\": value out of range"},
      {"a,1,99999999999999999999,3,T,0,true:",
       "invalid memory field: strconv.ParseInt: parsing \"99999999999999999999\": value out of "
       "range"},
      {"a,1,2,+,T,0,true:", "invalid core field: strconv.ParseInt: parsing \"+\": invalid syntax"},
      {"a,1,2,3,T,0,yes:",
       "invalid health field: strconv.ParseBool: parsing \"yes\": invalid syntax"},
      {"a,1,2,3,T,n,true:", "invalid numa field: strconv.Atoi: parsing \"n\": invalid syntax"},
      {"a,1,2,3,T,9223372036854775808,true:",
       "invalid numa field: strconv.Atoi: parsing \"9223372036854775808\": value out of range"},
      {"a,1,2,3,T,0,true,i,m:", "invalid index field: strconv.Atoi: parsing \"i\": invalid syntax"},
      {"a,1,2,3,T,0,true,4294967296,m:",
       "invalid index field: strconv.Atoi: parsing \"4294967296\": value out of range"},
      {"a,1,2,3,T,0,true,-1,m:", "index field must not be negative: -1"},
      // The first problem counts, in the order count, memory, core, health, numa, index.
      {"a,1,x,y,T,n,z,i,m:",
       "invalid memory field: strconv.ParseInt: parsing \"x\": invalid syntax"},
      {"a,1,2,3,T,n,z,i,m:",
       "invalid health field: strconv.ParseBool: parsing \"z\": invalid syntax"},
      {"a,1,2,3,T,n,1,i,m:", "invalid numa field: strconv.Atoi: parsing \"n\": invalid syntax"},
      // One bad segment spoils all.
      {"a,1,2,3,T,0,true:b:", "malformed node annotation segment: \"b\""},
  };
  for (const BadText& row : kRows) {
    const Result<std::vector<core::Device>> devices = ParseNodeDevicesColon(row.text);
    ASSERT_FALSE(devices) << row.text;
    EXPECT_EQ(devices.error(), InvalidError(std::string(row.error))) << row.text;
  }
}

std::vector<core::Device> RandomDevices(RandomText& random) {
  constexpr std::string_view kLetters = "abcGPU-0129 ;\"\\\n";
  std::vector<core::Device> devices(1 + random.Below(3));
  for (core::Device& device : devices) {
    device.id = random.Word(kLetters);
    device.slots = random.Int32();
    device.memory = random.Int32();
    device.cores = random.Int32();
    device.type = random.Word(kLetters);
    device.numa = random.Int32();
    device.healthy = random.Below(2) == 0;
    device.index = static_cast<uint32_t>(random.Below(16));
    device.mode = random.Word(kLetters);
  }
  return devices;
}

TEST(NodeDevicesColon, MoreThanANodeCanHaveIsRefused) {
  const auto error = [](const std::string& text) {
    const Result<std::vector<core::Device>> devices = ParseNodeDevicesColon(text);
    return devices ? std::to_string(devices->size()) + " cards" : devices.error().message;
  };
  std::string text;
  for (int i = 0; i < 1024; ++i) text += "a,1,1,1,t,0,true:";
  EXPECT_EQ(error(text), "1024 cards");
  EXPECT_EQ(error(text + "a,1,1,1,t,0,true:"), "node annotation: more than 1024 devices");
  EXPECT_EQ(error(std::string((256 << 10) + 1, ':')), "node annotation: more than 262144 bytes");
}

TEST(NodeDevicesColon, ReadsBackWhatItWrote) {
  constexpr uint64_t kSeed = 20260805;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RandomText random(kSeed);
  for (int i = 0; i < 2000; ++i) {
    const std::vector<core::Device> devices = RandomDevices(random);
    const Result<std::vector<core::Device>> same =
        ParseNodeDevicesColon(FormatNodeDevicesColon(devices));
    ASSERT_TRUE(same) << FormatNodeDevicesColon(devices);
    ASSERT_EQ(*same, devices) << FormatNodeDevicesColon(devices);
  }
}

TEST(NodeDevicesColon, SurvivesMutatedTexts) {
  constexpr uint64_t kSeed = 20260806;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RandomText random(kSeed);
  int accepted = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string text = random.Mutate(FormatNodeDevicesColon(RandomDevices(random)));
    const Result<std::vector<core::Device>> devices = ParseNodeDevicesColon(text);
    if (!devices || devices->empty()) continue;
    ++accepted;
    const Result<std::vector<core::Device>> same =
        ParseNodeDevicesColon(FormatNodeDevicesColon(*devices));
    ASSERT_TRUE(same) << text;
    ASSERT_EQ(*same, *devices) << text;
  }
  EXPECT_GT(accepted, 250);
  EXPECT_LT(accepted, 4750);
}

}  // namespace
}  // namespace aliquot::codec
