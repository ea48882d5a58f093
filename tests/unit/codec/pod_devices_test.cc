#include "aliquot/codec/pod_devices.h"

#include <gtest/gtest.h>

#include "unit/codec/random_text.h"

namespace aliquot::codec {
namespace {

core::Share Gpu(std::string id, int64_t memory, int64_t cores) {
  return {.device_id = std::move(id), .type = "NVIDIA", .memory = memory, .cores = cores};
}

ContainerShares Parsed(std::string_view text) {
  Result<ContainerShares> containers = ParsePodDevices(text);
  EXPECT_TRUE(containers.ok()) << text << ": " << (containers ? "" : containers.error().message);
  return containers ? *std::move(containers) : ContainerShares{};
}

struct Row {
  ContainerShares containers;
  std::string_view text;
};

const Row kRows[] = {
    {{}, ""},
    {{{Gpu("GPU-0", 3000, 30)}}, "GPU-0,NVIDIA,3000,30:;"},
    {{{Gpu("GPU-0", 3000, 30), Gpu("GPU-1", 3000, 30)}},
     "GPU-0,NVIDIA,3000,30:GPU-1,NVIDIA,3000,30:;"},
    {{{Gpu("GPU-0", 3000, 0)}, {Gpu("GPU-0", 5000, 0)}},
     "GPU-0,NVIDIA,3000,0:;GPU-0,NVIDIA,5000,0:;"},
    {{{}, {Gpu("GPU-0", 1000, 30)}, {}}, ";GPU-0,NVIDIA,1000,30:;;"},
    {{{}}, ";"},
    {{{Gpu("GPU-1", 16384, 0), Gpu("GPU-0", 16384, 0)}},
     "GPU-1,NVIDIA,16384,0:GPU-0,NVIDIA,16384,0:;"},
    {{{}, {Gpu("GPU-0", 8000, 0)}}, ";GPU-0,NVIDIA,8000,0:;"},
    {{{Gpu("GPU-0", 1000, 30)}, {Gpu("GPU-0", 1000, 30)}, {}},
     "GPU-0,NVIDIA,1000,30:;GPU-0,NVIDIA,1000,30:;;"},
    {{{}, {Gpu("GPU-0", 1000, 30)}, {Gpu("GPU-0", 1000, 30)}},
     ";GPU-0,NVIDIA,1000,30:;GPU-0,NVIDIA,1000,30:;"},
};

TEST(PodDevices, AreWrittenWithOneElementPerContainer) {
  for (const Row& row : kRows) EXPECT_EQ(FormatPodDevices(row.containers), row.text);
}

// The final semicolon gives one empty list more.
TEST(PodDevices, AreReadWithOneListMoreThanSemicolons) {
  for (const Row& row : kRows) {
    ContainerShares want = row.containers;
    want.emplace_back();
    EXPECT_EQ(Parsed(row.text), want) << row.text;
  }
  EXPECT_EQ(Parsed(";;;").size(), 4U);
  EXPECT_EQ(Parsed("A,NVIDIA,500,3:;B,NVIDIA,500,3:;"),
            (ContainerShares{{Gpu("A", 500, 3)}, {Gpu("B", 500, 3)}, {}}));
}

TEST(PodDevices, TheFinalColonAndSemicolonMayBeMissing) {
  EXPECT_EQ(Parsed("A,NVIDIA,1,2"), (ContainerShares{{Gpu("A", 1, 2)}}));
  EXPECT_EQ(Parsed("A,NVIDIA,1,2:;B,NVIDIA,3,4"),
            (ContainerShares{{Gpu("A", 1, 2)}, {Gpu("B", 3, 4)}}));
}

TEST(PodDevices, PiecesWithoutACommaArePassedOver) {
  EXPECT_EQ(Parsed("garbage:A,NVIDIA,1,2::x:;y;"), (ContainerShares{{Gpu("A", 1, 2)}, {}, {}}));
}

TEST(PodDevices, FieldsAfterTheFourthArePassedOver) {
  EXPECT_EQ(Parsed("A,NVIDIA,1,2,3,x:"), (ContainerShares{{Gpu("A", 1, 2)}}));
}

TEST(PodDevices, EmptyIdsAndNegativeNumbersAreHandedOn) {
  EXPECT_EQ(Parsed(",,-1,-2147483648:"),
            (ContainerShares{
                {core::Share{.device_id = "", .type = "", .memory = -1, .cores = INT32_MIN}}}));
  EXPECT_EQ(Parsed("A,NVIDIA,+1,2147483647:"), (ContainerShares{{Gpu("A", 1, INT32_MAX)}}));
}

TEST(PodDevices, ErrorsAreThoseOfThePlugins) {
  struct BadText {
    std::string_view text;
    std::string_view error;
  };
  constexpr std::string_view kMissing =
      "pod annotation format error, missing fields, do not use nodeName in task spec";
  constexpr BadText kBad[] = {
      {"uuid,type,100:;", kMissing},
      {"x,AMD:;", kMissing},
      {",:", kMissing},
      {"A,T,x,1:", "invalid memory field: strconv.ParseInt: parsing \"x\": invalid syntax"},
      {"A,T,,1:", "invalid memory field: strconv.ParseInt: parsing \"\": invalid syntax"},
      {"A,T,2147483648,1:",
       "invalid memory field: strconv.ParseInt: parsing \"2147483648\": value out of range"},
      {"A,T,1,-2147483649:",
       "invalid core field: strconv.ParseInt: parsing \"-2147483649\": value out of range"},
      {"A,T,1, 1:", "invalid core field: strconv.ParseInt: parsing \" 1\": invalid syntax"},
      {"A,T,y,z:", "invalid memory field: strconv.ParseInt: parsing \"y\": invalid syntax"},
      {"A,T,1,2:;;B,T,1:;", kMissing},
  };
  for (const BadText& row : kBad) {
    const Result<ContainerShares> containers = ParsePodDevices(row.text);
    ASSERT_FALSE(containers) << row.text;
    EXPECT_EQ(containers.error(), InvalidError(std::string(row.error))) << row.text;
  }
}

ContainerShares RandomContainers(RandomText& random) {
  constexpr std::string_view kLetters = "abGPU-01 \"\n";
  ContainerShares containers(random.Below(5));
  for (std::vector<core::Share>& shares : containers)
    for (size_t count = random.Below(3); shares.size() < count;)
      shares.push_back({.device_id = random.Word(kLetters),
                        .type = random.Word(kLetters),
                        .memory = random.Int32(),
                        .cores = random.Int32()});
  return containers;
}

TEST(PodDevices, ReadBackWhatWasWritten) {
  constexpr uint64_t kSeed = 20260807;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RandomText random(kSeed);
  for (int i = 0; i < 5000; ++i) {
    ContainerShares containers = RandomContainers(random);
    const std::string text = FormatPodDevices(containers);
    containers.emplace_back();
    ASSERT_EQ(Parsed(text), containers) << text;
  }
}

TEST(PodDevices, SurviveMutatedTexts) {
  constexpr uint64_t kSeed = 20260808;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RandomText random(kSeed);
  int accepted = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string text = random.Mutate(FormatPodDevices(RandomContainers(random)));
    Result<ContainerShares> containers = ParsePodDevices(text);
    if (!containers) continue;
    ++accepted;
    const std::string rewritten = FormatPodDevices(*containers);
    containers->emplace_back();
    ASSERT_EQ(Parsed(rewritten), *containers) << text;
  }
  EXPECT_GT(accepted, 250);
  EXPECT_LT(accepted, 4750);
}

// In the rows below A and B are cards, and asks is "01": the second of two
// containers asks.
struct AlignRow {
  std::string_view text;
  std::string_view asks;
  std::string_view want;  // as written again
  bool mismatch;
};

TEST(AlignContainers, FollowsTheTextOrTheContainersThatAsk) {
  constexpr AlignRow kAlign[] = {
      // Full texts: position is container.
      {"A:;", "1", "A:;", false},
      {";A:;", "01", ";A:;", false},
      {"A:;B:;", "11", "A:;B:;", false},
      {"A:;;B:;", "101", "A:;;B:;", false},
      {"A:;;", "10", "A:;;", false},
      // Compacted ones: app0 none and app1 one; init0 none and app0 one; three.
      {"A:;", "01", ";A:;", false},
      {"A:;B:;", "101", "A:;;B:;", false},
      {"A:;B:;", "0101", ";A:;;B:;", false},
      {"A:B:;", "001", ";;A:B:;", false},
      // A full text is believed, whatever the pod asks.
      {"A:;;", "01", "A:;;", false},
      // Compacted, but not for these containers.
      {"A:;", "011", "A:;;;", true},
      {"A:;B:;", "001", "A:;B:;;", true},
      {"A:;", "00", "A:;;", true},
      // Rewritten by the plugin: emptied elements, one more semicolon each time.
      {";;", "1", ";", false},
      {";;;;", "11", ";;", false},
      {";B:;;", "11", ";B:;", false},
      {";B:;;", "10010", ";;;B:;;", false},
      {";;;;", "10010", ";;;;;", false},
      // Nothing at all.
      {"", "", "", false},
      {"", "1", ";", false},
      {"", "111", ";;;", false},
      {"", "000", ";;;", false},
      // The last semicolon may be missing.
      {"A:", "01", ";A:;", false},
      {"A:;B:", "101", "A:;;B:;", false},
      // Shares beyond the pod's containers stay counted.
      {"A:;B:;", "1", "A:;B:;", true},
      {";;B:;;;", "1", ";;B:;", true},
      {"A:;", "", "A:;", true},
  };
  for (const AlignRow& row : kAlign) {
    std::string text;
    for (const char c : row.text)
      text += c == 'A' || c == 'B' ? std::string(1, c) + ",NVIDIA,1,2" : std::string(1, c);
    std::vector<bool> asks;
    for (const char c : row.asks) asks.push_back(c == '1');

    const AlignedShares aligned = AlignContainers(Parsed(text), asks);
    std::string got;
    for (const std::vector<core::Share>& shares : aligned.containers) {
      for (const core::Share& share : shares) got += share.device_id + ":";
      got += ';';
    }
    EXPECT_EQ(got, row.want) << row.text << " asks " << row.asks;
    EXPECT_EQ(aligned.mismatch, row.mismatch) << row.text << " asks " << row.asks;
    EXPECT_GE(aligned.containers.size(), asks.size());
  }
}

// Compacting as HAMi 2.10 does and aligning again gives the full-length list.
TEST(AlignContainers, UndoesCompaction) {
  constexpr uint64_t kSeed = 20260809;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RandomText random(kSeed);
  for (int i = 0; i < 5000; ++i) {
    const ContainerShares full = RandomContainers(random);
    std::vector<bool> asks;
    ContainerShares compacted;
    for (const std::vector<core::Share>& shares : full) {
      asks.push_back(!shares.empty());
      if (!shares.empty()) compacted.push_back(shares);
    }
    for (const ContainerShares& written : {full, compacted}) {
      const std::string text = FormatPodDevices(written);
      const AlignedShares aligned = AlignContainers(Parsed(text), asks);
      ASSERT_EQ(aligned.containers, full) << text;
      ASSERT_FALSE(aligned.mismatch) << text;
    }
  }
}

// Whatever the text, no share is lost or invented.
TEST(AlignContainers, KeepsEveryShare) {
  constexpr uint64_t kSeed = 20260810;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RandomText random(kSeed);
  for (int i = 0; i < 5000; ++i) {
    const ContainerShares parsed = RandomContainers(random);
    std::vector<bool> asks(random.Below(5));
    for (size_t j = 0; j < asks.size(); ++j) asks[j] = random.Below(2) == 0;
    std::vector<core::Share> before, after;
    for (const auto& shares : parsed) before.insert(before.end(), shares.begin(), shares.end());
    for (const auto& shares : AlignContainers(parsed, asks).containers)
      after.insert(after.end(), shares.begin(), shares.end());
    ASSERT_EQ(after, before);
  }
}

}  // namespace
}  // namespace aliquot::codec
