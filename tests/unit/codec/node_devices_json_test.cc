#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "aliquot/codec/node_devices.h"
#include "unit/codec/random_text.h"

namespace aliquot::codec {
namespace {

constexpr int64_t kMax32 = std::numeric_limits<int32_t>::max();
constexpr int64_t kMin32 = std::numeric_limits<int32_t>::min();

std::vector<NodeDevice> Parsed(std::string_view text) {
  Result<std::vector<NodeDevice>> devices = ParseNodeDevicesJson(text);
  EXPECT_TRUE(devices.ok()) << text << ": " << (devices ? "" : devices.error().message);
  return devices ? *std::move(devices) : std::vector<NodeDevice>{};
}

// The only device of a text with one.
NodeDevice ParsedOne(std::string_view text) {
  const std::vector<NodeDevice> devices = Parsed(text);
  EXPECT_EQ(devices.size(), 1U) << text;
  return devices.size() == 1 ? devices[0] : NodeDevice{};
}

std::string ErrorOf(std::string_view text) {
  const Result<std::vector<NodeDevice>> devices = ParseNodeDevicesJson(text);
  if (devices) return "accepted";
  EXPECT_EQ(devices.error().code, ErrorCode::kInvalid);
  return devices.error().message;
}

NodeDevice Card(std::string id) {
  NodeDevice card;
  card.device.id = std::move(id);
  card.device.slots = 10;
  card.device.memory = 32768;
  card.device.cores = 100;
  card.device.type = "NVIDIA-Tesla V100-PCIE-32GB";
  card.device.mode = "hami-core";
  card.device.healthy = true;
  return card;
}

TEST(NodeDevicesJson, ReadsAndWritesPlainCards) {
  const std::string text =
      R"([{"id":"GPU-00552014-5c87-89ac-b1a6-7b53aa24b0ec","count":10,"devmem":32768,"devcore":100,"type":"NVIDIA-Tesla V100-PCIE-32GB","mode":"hami-core","health":true},)"
      R"({"id":"GPU-0fc3eda5-e98b-a25b-5b0d-cf5c855d1448","index":1,"count":10,"devmem":32768,"devcore":100,"type":"NVIDIA-Tesla V100-PCIE-32GB","numa":1,"mode":"hami-core","health":true}])";
  std::vector<NodeDevice> want = {Card("GPU-00552014-5c87-89ac-b1a6-7b53aa24b0ec"),
                                  Card("GPU-0fc3eda5-e98b-a25b-5b0d-cf5c855d1448")};
  want[1].device.index = 1;
  want[1].device.numa = 1;
  EXPECT_EQ(Parsed(text), want);
  EXPECT_EQ(FormatNodeDevicesJson(want), text);
}

TEST(NodeDevicesJson, ReadsAndWritesMigCards) {
  const std::string text =
      R"([{"id":"GPU-a","count":7,"devmem":40960,"devcore":100,"type":"NVIDIA A100-SXM4-40GB","mode":"mig","migProfiles":[{"name":"1g.5gb","memoryMB":4864,"core":15,"sliceCount":1,"placements":[{"start":0,"size":1},{"start":1,"size":1}]}],"health":true}])";
  const NodeDevice card = ParsedOne(text);
  const std::vector<MigProfile> want = {{"1g.5gb", 4864, 15, 1, {{0, 1}, {1, 1}}}};
  EXPECT_EQ(card.mig_profiles, want);
  EXPECT_EQ(card.device.mode, "mig");
  EXPECT_EQ(FormatNodeDevicesJson({{card}}), text);
}

TEST(NodeDevicesJson, ReadsAndWritesCustomInfo) {
  const std::string text =
      R"([{"id":"0-0","count":1,"custominfo":{"AIC":"0","DeviceStrategy":"die","NetworkID":3}}])";
  const NodeDevice card = ParsedOne(text);
  EXPECT_EQ(card.custom_info,
            (CustomInfo{{"AIC", "0"}, {"DeviceStrategy", "die"}, {"NetworkID", int64_t{3}}}));
  EXPECT_EQ(FormatNodeDevicesJson({{card}}), text);
}

TEST(NodeDevicesJson, CustomNumbersAreCutOffAndOddValuesKeepTheirKey) {
  const NodeDevice card = ParsedOne(
      R"([{"custominfo":{"a":1.9,"b":-1.9,"c":1e30,"d":null,"e":[1],"f":true,"g":1e2,"A":"other"}}])");
  EXPECT_EQ(card.custom_info, (CustomInfo{{"a", int64_t{1}},
                                          {"b", int64_t{-1}},
                                          {"c", {}},
                                          {"d", {}},
                                          {"e", {}},
                                          {"f", {}},
                                          {"g", int64_t{100}},
                                          {"A", "other"}}));
}

TEST(NodeDevicesJson, WritesNothingForZeroFields) {
  EXPECT_EQ(FormatNodeDevicesJson({}), "[]");
  EXPECT_EQ(FormatNodeDevicesJson({{NodeDevice{}}}), "[{}]");
  NodeDevice card;
  card.mig_profiles.emplace_back();
  EXPECT_EQ(
      FormatNodeDevicesJson({{card}}),
      R"([{"migProfiles":[{"name":"","memoryMB":0,"core":0,"sliceCount":0,"placements":[]}]}])");
}

TEST(NodeDevicesJson, WritesKeysInTheOrderOfThePlugins) {
  NodeDevice card = Card("g");
  card.device.index = 2;
  card.device.numa = 1;
  card.mig_profiles.push_back({"p", 1, 2, 3, {{4, 5}}});
  card.custom_info["k"] = std::monostate();
  EXPECT_EQ(
      FormatNodeDevicesJson({{card}}),
      R"([{"id":"g","index":2,"count":10,"devmem":32768,"devcore":100,"type":"NVIDIA-Tesla V100-PCIE-32GB","numa":1,"mode":"hami-core","migProfiles":[{"name":"p","memoryMB":1,"core":2,"sliceCount":3,"placements":[{"start":4,"size":5}]}],"health":true,"custominfo":{"k":null}}])");
}

TEST(NodeDevicesJson, WritesTextsThatNeedEscapes) {
  NodeDevice card;
  card.device.id = "a\"b\\c\n\x01\u00e9\xff";
  EXPECT_EQ(FormatNodeDevicesJson({{card}}),
            "[{\"id\":\"a\\\"b\\\\c\\n\\u0001\u00e9\ufffd\"}]");
}

TEST(NodeDevicesJson, KeysMatchInAnyCase) {
  const NodeDevice card = ParsedOne(
      R"([{"ID":"GPU-0","Count":4,"Devmem":8738,"Devcore":8,"Type":"huawei.com/Ascend910","Numa":0,"Health":true,"INDEX":3,"Mode":"m"}])");
  EXPECT_EQ(card.device.id, "GPU-0");
  EXPECT_EQ(card.device.slots, 4);
  EXPECT_EQ(card.device.memory, 8738);
  EXPECT_EQ(card.device.cores, 8);
  EXPECT_EQ(card.device.type, "huawei.com/Ascend910");
  EXPECT_EQ(card.device.index, 3U);
  EXPECT_EQ(card.device.mode, "m");
  EXPECT_TRUE(card.device.healthy);
  EXPECT_EQ(ParsedOne(R"([{"MIGPROFILES":[{"NAME":"p","memorymb":1,"Core":2,"slicecount":3,
                                           "Placements":[{"Start":4,"SIZE":5}]}]}])")
                .mig_profiles,
            (std::vector<MigProfile>{{"p", 1, 2, 3, {{4, 5}}}}));
}

TEST(NodeDevicesJson, UnknownKeysArePassedOver) {
  EXPECT_EQ(ParsedOne(R"([{"id":"a","extra":{"id":"b","x":[1,null]},"devicevendor":7,"idx":"c"}])"),
            ParsedOne(R"([{"id":"a"}])"));
}

TEST(NodeDevicesJson, MissingAndNullFieldsAreZero) {
  EXPECT_EQ(ParsedOne("[{}]"), NodeDevice{});
  EXPECT_EQ(ParsedOne(R"([{"id":null,"index":null,"count":null,"devmem":null,"devcore":null,
                           "type":null,"numa":null,"mode":null,"migProfiles":null,"health":null,
                           "custominfo":null}])"),
            NodeDevice{});
  EXPECT_EQ(ParsedOne(R"([{"migProfiles":[{"name":null,"placements":null}]}])").mig_profiles,
            (std::vector<MigProfile>{MigProfile{}}));
}

TEST(NodeDevicesJson, TheLastOfEqualKeysCounts) {
  EXPECT_EQ(ParsedOne(R"([{"devmem":1,"devmem":40960}])").device.memory, 40960);
  EXPECT_EQ(ParsedOne(R"([{"devmem":1,"DevMem":2}])").device.memory, 2);
  EXPECT_EQ(ParsedOne(R"([{"health":true,"health":null}])").device.healthy, false);
  EXPECT_EQ(
      ParsedOne(R"([{"migProfiles":[{"name":"p"}],"migProfiles":[{"name":"q"}]}])").mig_profiles,
      (std::vector<MigProfile>{{"q", 0, 0, 0, {}}}));
  EXPECT_EQ(ParsedOne(R"([{"custominfo":{"a":1},"custominfo":{"b":2}}])").custom_info,
            (CustomInfo{{"b", int64_t{2}}}));
}

TEST(NodeDevicesJson, NumbersArePlainInt32) {
  EXPECT_EQ(ParsedOne(R"([{"devmem":2147483647}])").device.memory, kMax32);
  EXPECT_EQ(ParsedOne(R"([{"devmem":-2147483648}])").device.memory, kMin32);
  for (const std::string_view field : {"count", "devmem", "devcore", "numa", "index"})
    for (const std::string_view value :
         {"1.0", "1e3", "4096e1", "\"1\"", "2147483648", "-2147483649", "18446744073709551615",
          "99999999999999999999", "true", "[]", "{}", "01", "+1"}) {
      std::string text = R"([{"id":"a"},{"id":"b",")";
      text += field;
      text += "\":";
      text += value;
      text += "}]";
      EXPECT_NE(ErrorOf(text), "accepted") << text;
    }
  EXPECT_NE(ErrorOf(R"([{"index":-1}])"), "accepted");
  EXPECT_NE(ErrorOf(R"([{"migProfiles":[{"core":1.5}]}])"), "accepted");
}

TEST(NodeDevicesJson, ErrorsNameTheField) {
  EXPECT_EQ(ErrorOf(R"([{"id":"a"},{"devmem":1.0}])"),
            "node devices[1].devmem is not a whole number from -2147483648 to 2147483647");
  EXPECT_EQ(ErrorOf(R"([{"index":-1}])"),
            "node devices[0].index is not a whole number from 0 to 2147483647");
  EXPECT_EQ(ErrorOf(R"([{"Health":"true"}])"), "node devices[0].Health is not a boolean");
  EXPECT_EQ(ErrorOf(R"([{"id":7}])"), "node devices[0].id is not a string");
  EXPECT_EQ(ErrorOf(R"([{"migProfiles":[{"placements":[{"start":0},{"size":"1"}]}]}])"),
            "node devices[0].migProfiles[0].placements[1].size is not a whole number from "
            "-2147483648 to 2147483647");
  EXPECT_EQ(ErrorOf(R"([{"custominfo":"x"}])"), "node devices[0].custominfo is not an object");
  EXPECT_EQ(ErrorOf("[3]"), "node devices[0] is not an object");
  EXPECT_EQ(ErrorOf("{}"), "node devices is not a list");
}

TEST(NodeDevicesJson, ANullCardSpoilsTheText) {
  EXPECT_EQ(ErrorOf("[null]"), "node devices[0] is null");
  EXPECT_EQ(ErrorOf(R"([{"id":"a"},null])"), "node devices[1] is null");
}

TEST(NodeDevicesJson, BrokenTextsAreRejected) {
  for (const std::string_view text :
       {"", " ", "[", "[{", "[{\"id\":", "[{\"id\":\"a\"}", "[{\"id\":\"a\"}] x", "[][]", "[{},]",
        "{\"id\":\"a\"}", "\"a\"", "7", "nul", "[{\"x\":tru}]", "[{'id':1}]", "[{\"id\":\"a\nb\"}]",
        "\xef\xbb\xbf[]", "[]\xff", "x"})
    EXPECT_NE(ErrorOf(text), "accepted") << text;
}

TEST(NodeDevicesJson, WhiteSpaceAroundIsFine) {
  EXPECT_EQ(ParsedOne(" \t\r\n[ {\"id\" : \"a\"} ]\n").device.id, "a");
}

TEST(NodeDevicesJson, NullAndTheEmptyListAreNoCards) {
  EXPECT_TRUE(Parsed("null").empty());
  EXPECT_TRUE(Parsed("[]").empty());
}

TEST(NodeDevicesJson, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(ParsedOne("[{\"id\":\"a\xff\xc3z\"}]").device.id, "a\ufffd\ufffdz");
  // A cut off three byte sequence: one mark for each byte.
  EXPECT_EQ(ParsedOne("[{\"id\":\"\xe2\x82\"}]").device.id, "\ufffd\ufffd");
  EXPECT_EQ(ParsedOne("[{\"id\":\"\u20ac\xff\"}]").device.id, "\u20ac\ufffd");
}

TEST(NodeDevicesJson, PlacementsThatLieOnNoCardAreDropped) {
  EXPECT_EQ(ParsedOne(R"([{"migProfiles":[{"name":"p","placements":[{"start":0,"size":0},
                           {"start":2,"size":2},{"start":1},{"start":-1,"size":1},
                           {"start":0,"size":-1},null]}]}])")
                .mig_profiles,
            (std::vector<MigProfile>{{"p", 0, 0, 0, {{2, 2}}}}));
}

TEST(NodeDevicesJson, PlacementsEndWhereTheLargestCardEnds) {
  EXPECT_EQ(ParsedOne(R"([{"migProfiles":[{"name":"p","placements":[{"start":63,"size":1},
                           {"start":63,"size":2},{"start":2147483647,"size":2147483647}]}]}])")
                .mig_profiles,
            (std::vector<MigProfile>{{"p", 0, 0, 0, {{63, 1}}}}));
}

TEST(NodeDevicesJson, MoreThanANodeCanHaveIsRefused) {
  const auto error = [](const std::string& text) {
    const Result<std::vector<NodeDevice>> devices = ParseNodeDevicesJson(text);
    return devices ? std::to_string(devices->size()) + " cards" : devices.error().message;
  };
  const auto list = [](size_t count) {
    std::string text = "[{}";
    for (size_t i = 1; i < count; ++i) text += ",{}";
    return text + "]";
  };
  EXPECT_EQ(error(list(1024)), "1024 cards");
  EXPECT_EQ(error(list(1025)), "node devices: more than 1024 items");
  EXPECT_EQ(error(R"([{"migProfiles":)" + list(1025) + "}]"),
            "node devices[0].migProfiles: more than 1024 items");
  const auto long_id = [](size_t text_size) {
    const std::string frame = R"([{"id":""}])";
    return R"([{"id":")" + std::string(text_size - frame.size(), 'x') + R"("}])";
  };
  EXPECT_EQ(error(long_id(256 << 10)), "1 cards");
  EXPECT_EQ(error(long_id((256 << 10) + 1)), "node devices: more than 262144 bytes");
}

TEST(NodeDevicesJson, ThreadsDoNotDisturbEachOther) {
  std::vector<std::jthread> threads;
  for (const char* id : {"a", "b", "c"})
    threads.emplace_back([id] {
      const std::string text = std::string("[{\"id\":\"") + id + "\"}]";
      for (int i = 0; i < 1000; ++i) {
        const Result<std::vector<NodeDevice>> devices = ParseNodeDevicesJson(text);
        ASSERT_TRUE(devices && devices->size() == 1 && devices->front().device.id == id);
      }
    });
}

NodeDevice RandomCard(RandomText& random) {
  constexpr std::string_view kLetters = "abcGPU-0129 ,:;\"\\{}\n<\x7f";
  NodeDevice card;
  card.device.id = random.Word(kLetters);
  card.device.index = static_cast<uint32_t>(random.Below(3) == 0 ? kMax32 : random.Below(16));
  card.device.slots = random.Int32();
  card.device.memory = random.Int32();
  card.device.cores = random.Int32();
  card.device.type = random.Word(kLetters, 20);
  card.device.numa = random.Int32();
  card.device.mode = random.Word(kLetters);
  card.device.healthy = random.Below(2) == 0;
  for (size_t profiles = random.Below(3); card.mig_profiles.size() < profiles;) {
    MigProfile profile{random.Word(kLetters), random.Int32(), random.Int32(), random.Int32(), {}};
    for (size_t placements = random.Below(3); profile.placements.size() < placements;)
      profile.placements.push_back(
          {static_cast<int64_t>(random.Below(8)), static_cast<int64_t>(random.Below(8) + 1)});
    card.mig_profiles.push_back(std::move(profile));
  }
  for (size_t infos = random.Below(3); infos > 0; --infos) {
    CustomInfo::mapped_type& info = card.custom_info[random.Word(kLetters)];
    if (random.Below(3) == 0) info = random.Word(kLetters);
    if (random.Below(3) == 0) info = random.Int32();
  }
  return card;
}

std::vector<NodeDevice> RandomCards(RandomText& random) {
  std::vector<NodeDevice> cards(random.Below(4));
  for (NodeDevice& card : cards) card = RandomCard(random);
  return cards;
}

TEST(NodeDevicesJson, ReadsBackWhatItWrote) {
  constexpr uint64_t kSeed = 20260802;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RandomText random(kSeed);
  for (int i = 0; i < 2000; ++i) {
    const std::vector<NodeDevice> cards = RandomCards(random);
    ASSERT_EQ(Parsed(FormatNodeDevicesJson(cards)), cards) << FormatNodeDevicesJson(cards);
  }
}

TEST(NodeDevicesJson, SurvivesMutatedTexts) {
  constexpr uint64_t kSeed = 20260803;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RandomText random(kSeed);
  int accepted = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string text = random.Mutate(FormatNodeDevicesJson(RandomCards(random)));
    const Result<std::vector<NodeDevice>> cards = ParseNodeDevicesJson(text);
    if (!cards) continue;
    ++accepted;
    ASSERT_EQ(Parsed(FormatNodeDevicesJson(*cards)), *cards) << text;
  }
  EXPECT_GT(accepted, 250);
  EXPECT_LT(accepted, 4750);
}

TEST(PairScores, AreReadAndWritten) {
  const std::string text =
      R"([{"uuid":"GPU-0","score":{"GPU-1":100,"GPU-2":-5}},{"uuid":"GPU-1","score":{"GPU-0":100}}])";
  const PairScores want = {{"GPU-0", {{"GPU-1", 100}, {"GPU-2", -5}}}, {"GPU-1", {{"GPU-0", 100}}}};
  const Result<PairScores> scores = ParsePairScores(text);
  ASSERT_TRUE(scores);
  EXPECT_EQ(*scores, want);
  EXPECT_EQ(FormatPairScores(want), text);
  EXPECT_EQ(FormatPairScores({}), "[]");
  EXPECT_EQ(FormatPairScores({{"a", {}}}), R"([{"uuid":"a","score":{}}])");
}

TEST(PairScores, NullAndTheEmptyListAreNone) {
  for (const std::string_view text : {"null", "[]", " [ ] "}) {
    const Result<PairScores> scores = ParsePairScores(text);
    ASSERT_TRUE(scores) << text;
    EXPECT_TRUE(scores->empty()) << text;
  }
}

TEST(PairScores, TheFirstEntryOfACardCounts) {
  const Result<PairScores> scores =
      ParsePairScores(R"([{"UUID":"a","Score":{"b":1}},{"uuid":"a","score":{"b":2,"c":3}},
                          {"score":null,"uuid":"d"}])");
  ASSERT_TRUE(scores);
  EXPECT_EQ(*scores, (PairScores{{"a", {{"b", 1}}}, {"d", {}}}));
}

TEST(PairScores, UndecodableTextsAreRejected) {
  for (const std::string_view text :
       {"", "[", "{}", "[null]", R"([{"uuid":"a","score":[1]}])", R"([{"uuid":1}])",
        R"([{"uuid":"a","score":{"b":1.5}}])", R"([{"uuid":"a","score":{"b":"1"}}])",
        R"([{"uuid":"a","score":{"b":9223372036854775808}}])", "[] x"})
    EXPECT_FALSE(ParsePairScores(text)) << text;
  const Result<PairScores> scores = ParsePairScores(R"([{"uuid":"a","score":{"b":1.5}}])");
  EXPECT_TRUE(scores.error().message.starts_with("pair scores[0].score.b is not a whole number"))
      << scores.error().message;
}

TEST(PairScores, SurviveMutatedTexts) {
  constexpr uint64_t kSeed = 20260804;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RandomText random(kSeed);
  for (int i = 0; i < 3000; ++i) {
    PairScores scores;
    for (size_t cards = random.Below(4); cards > 0; --cards)
      scores[random.Word("abc\"")][random.Word("abc\"")] = random.Int32();
    const std::string text = FormatPairScores(scores);
    const Result<PairScores> same = ParsePairScores(text);
    ASSERT_TRUE(same) << text;
    ASSERT_EQ(*same, scores) << text;
    const Result<PairScores> mutated = ParsePairScores(random.Mutate(text));
    if (!mutated) continue;
    const Result<PairScores> again = ParsePairScores(FormatPairScores(*mutated));
    ASSERT_TRUE(again);
    ASSERT_EQ(*again, *mutated);
  }
}

}  // namespace
}  // namespace aliquot::codec
