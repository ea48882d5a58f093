// The vendors that hand out slots, or shares of memory and cores, and nothing else:
// Hygon, Biren, Cambricon, Moore Threads, Iluvatar.
#include <gtest/gtest.h>

#include "unit/vendors/all_vendors.h"

namespace aliquot::testing {
namespace {

TEST(HygonTest, WithoutCoresWantsAllOfThem) {
  const auto wish = [](StringMap limits) { return Wish("DCU", std::move(limits)); };
  EXPECT_EQ(wish({{"hygon.com/dcunum", "1"}}), "1: 0, 100%, 100");
  EXPECT_EQ(wish({{"hygon.com/dcunum", "1"}, {"hygon.com/dcumem", "2k"}}), "1: 2000, -, 100");
  EXPECT_EQ(wish({{"hygon.com/dcunum", "1"}, {"hygon.com/dcucores", "0"}}), "1: 0, 100%, 0");
  EXPECT_EQ(wish({{"hygon.com/dcunum", "1"}, {"hygon.com/dcumem", "16Gi"}}), "16Gi: out of range");
  EXPECT_EQ(wish({{"hygon.com/dcunum", "1"}, {"hygon.com/dcumem", "1500m"}}),
            "1500m: not a whole number");
  EXPECT_EQ(Wish("DCU", {{"hygon.com/dcunum", "1"}}, {{"hygon.com/dcumem", "1024"}}),
            "1: 1024, -, 100");
}

TEST(HygonTest, ReadsTheOldFormOfTheRegisterText) {
  EXPECT_EQ(CardsOf("DCU", {.annotations = {{"hami.io/node-dcu-register",
                                             "T0,4,65520,100,DCU-K100_AI,1,true:"}}}),
            "T0 4/65520/100 1");
}

TEST(BirenTest, HandsOutSlotsOnly) {
  const Offer offer{.annotations = {{"hami.io/node-biren-register",
                                     R"([{"id":"7-0","count":1,"devmem":32768,"devcore":7,)"
                                     R"("type":"Biren","health":true}])"}}};
  EXPECT_EQ(CardsOf("Biren", offer), "7-0 1/32768/100 0");
  const PodWish pod = PodWish().AppWith({{"birentech.com/gpu", "1"}});
  core::NodeUsage node = Offered(offer);
  EXPECT_EQ(FitText(pod, node), "7-0,Biren,0,0:;");
  Use(node, "Biren", "7-0", {1, 0, 0});
  EXPECT_EQ(FitText(pod, node), "1/1 CardTimeSlicingExhausted");
  EXPECT_EQ(Wish("Biren", {{"birentech.com/gpu", "4294967297"}}), "4294967297: out of range");
}

TEST(CambriconTest, MemoryIsInUnitsOf256) {
  const auto wish = [](StringMap limits) { return Wish("MLU", std::move(limits)); };
  EXPECT_EQ(wish({{"cambricon.com/vmlu", "1"},
                  {"cambricon.com/vmemory", "20"},
                  {"cambricon.com/vcore", "10"}}),
            "1: 5120, -, 10");
  EXPECT_EQ(wish({{"cambricon.com/vmlu", "1"}, {"cambricon.com/vmemory", "8388607"}}),
            "1: 2147483392, -, 100");
  EXPECT_EQ(wish({{"cambricon.com/vmlu", "1"}, {"cambricon.com/vmemory", "8388608"}}),
            "8388608: out of range");
  EXPECT_EQ(wish({{"cambricon.com/vcore", "10"}}), "10: needs cambricon.com/vmlu");
}

// 256 MiB * units * 100 / cores each, one card for every 100 cores begun.
TEST(CambriconTest, ReadsCardsFromTheCapacity) {
  const auto cards = [](const std::string& cores, const std::string& memory) {
    return CardsOf(
        "MLU", {.capacity = {{"cambricon.com/vcore", cores}, {"cambricon.com/vmemory", memory}}});
  };
  EXPECT_EQ(cards("200", "192"),
            "n-cambricon-mlu-0 100/24576/100 0; n-cambricon-mlu-1 100/24576/100 0");
  EXPECT_EQ(cards("1", "1"), "n-cambricon-mlu-0 100/25600/100 0");
  EXPECT_EQ(cards("0", "96"), "");
  EXPECT_EQ(cards("-100", "96"), "");
  EXPECT_EQ(cards("102401", "1"), "error: cambricon.com/vcore: more than 1024 cards");
}

TEST(CambriconTest, DescribesTheShareOfAnAppContainer) {
  const auto share = [](const std::string& units) {
    return StringMap{{"cambricon.com/vmlu", "1"},
                     {"cambricon.com/vmemory", units},
                     {"cambricon.com/vcore", "5"}};
  };
  const core::NodeUsage node =
      Offered({.capacity = {{"cambricon.com/vcore", "200"}, {"cambricon.com/vmemory", "192"}}});
  StringMap written = Written(PodWish().InitWith(share("8")).AppWith(share("20")), node);
  EXPECT_EQ(written["CAMBRICON_DSMLU_PROFILE"], "1_5_20");
  EXPECT_EQ(written["CAMBRICON_DSMLU_ASSIGNED"], "false");
  written = Written(PodWish().InitWith(share("8")).AppWith({}), node);
  EXPECT_EQ(written["CAMBRICON_DSMLU_PROFILE"], "1_5_8");
}

TEST(MthreadsTest, AmountsAreSumsOverTheCards) {
  const auto wish = [](const std::string& count, const std::string& memory,
                       const std::string& cores) {
    return Wish("Mthreads", {{"mthreads.com/vgpu", count},
                             {"mthreads.com/sgpu-memory", memory},
                             {"mthreads.com/sgpu-core", cores}});
  };
  EXPECT_EQ(wish("1", "32", "8"), "1: 16384, -, 8");
  EXPECT_EQ(wish("2", "192", "32"), "2: 49152, -, 16");
  EXPECT_EQ(wish("3", "1", "1"), "3: 171, -, 1");  // 512 / 3 and 1 / 3, rounded up
  EXPECT_EQ(wish("1", "4194304", "1"), "4194304: out of range");
}

// 512 MiB * 768 units * 16 / 128 cores; what is left of 16 cores makes no card.
TEST(MthreadsTest, ReadsCardsFromTheCapacity) {
  const auto cards = [](const std::string& cores, const std::string& memory) {
    return CardsOf("Mthreads", {.capacity = {{"mthreads.com/sgpu-core", cores},
                                             {"mthreads.com/sgpu-memory", memory}}});
  };
  EXPECT_EQ(cards("32", "192"), "n-mthreads-0 100/49152/16 0; n-mthreads-1 100/49152/16 0");
  EXPECT_EQ(cards("1", "1"), "n-mthreads-0 100/8192/16 0");
  EXPECT_EQ(cards("31", "96"), "n-mthreads-0 100/25368/16 0");
  EXPECT_EQ(cards("0", "96"), "");
}

class MthreadsPodTest : public ::testing::Test {
 protected:
  static StringMap Half() {
    return {{"mthreads.com/vgpu", "1"},
            {"mthreads.com/sgpu-memory", "32"},
            {"mthreads.com/sgpu-core", "8"}};
  }
  core::NodeUsage node_ = Offered(
      {.capacity = {{"mthreads.com/sgpu-core", "32"}, {"mthreads.com/sgpu-memory", "192"}}});
};

TEST_F(MthreadsPodTest, AllContainersShareOneCard) {
  EXPECT_EQ(FitText(PodWish().AppWith(Half()).AppWith(Half()), node_),
            "n-mthreads-1,Mthreads,16384,8:;n-mthreads-1,Mthreads,16384,8:;");
  EXPECT_EQ(FitText(PodWish().AppWith(Half()).AppWith(Half()).AppWith(Half()), node_),
            "1/2 CardInsufficientCore, 1/2 CardNotFoundCustomFilterRule");
}

TEST_F(MthreadsPodTest, TheFirstContainersCardHasRoomForAll) {
  Use(node_, "Mthreads", "n-mthreads-1", {1, 1024, 4});
  EXPECT_EQ(FitText(PodWish().AppWith(Half()).AppWith(Half()).Annotate(
                        "hami.io/gpu-scheduler-policy", "binpack"),
                    node_),
            "n-mthreads-0,Mthreads,16384,8:;n-mthreads-0,Mthreads,16384,8:;");
}

TEST_F(MthreadsPodTest, InitContainersMayHaveOtherCardsThanApps) {
  const StringMap both{{"mthreads.com/vgpu", "2"}};
  EXPECT_EQ(FitText(PodWish().InitWith(both).AppWith(both), node_),
            "n-mthreads-1,Mthreads,49152,0:n-mthreads-0,Mthreads,49152,0:;"
            "n-mthreads-1,Mthreads,49152,0:n-mthreads-0,Mthreads,49152,0:;");
}

TEST_F(MthreadsPodTest, NamesTheLastContainersCards) {
  StringMap written = Written(PodWish().AppWith(Half()).AppWith({{"amd.com/other", "1"}}), node_);
  EXPECT_EQ(written["mthreads.com/gpu-index"], "1");
  EXPECT_EQ(written["mthreads.com/predicate-node"], "n");
  EXPECT_EQ(written["mthreads.com/predicate-time"], "1700000000000000000");
}

TEST(IluvatarTest, WithoutCoresReservesNone) {
  const auto wish = [](StringMap limits) { return Wish("MR-V100", std::move(limits)); };
  EXPECT_EQ(wish({{"iluvatar.ai/MR-V100-vgpu", "1"}}), "1: 0, 100%, 0");
  EXPECT_EQ(wish({{"iluvatar.ai/MR-V100-vgpu", "1"},
                  {"iluvatar.ai/MR-V100.vMem", "64"},
                  {"iluvatar.ai/MR-V100.vCore", "50"}}),
            "1: 16384, -, 50");
  // The webhook has written the sum over two cards.
  EXPECT_EQ(wish({{"iluvatar.ai/MR-V100-vgpu", "2"}, {"iluvatar.ai/MR-V100.vCore", "200"}}),
            "2: 0, 100%, 100");
}

TEST(IluvatarTest, KeysAreMadeOfTheChipsName) {
  const core::VendorSpec& spec = VendorOf("MR-V100").spec();
  EXPECT_EQ(spec.node_register, "hami.io/node-MR-V100-register");
  EXPECT_EQ(spec.node_handshake, "hami.io/node-handshake-MR-V100");
  EXPECT_EQ(spec.to_allocate, "hami.io/MR-V100-devices-to-allocate");
  EXPECT_EQ(spec.allocated, "hami.io/MR-V100-devices-allocated");
  EXPECT_EQ(spec.use_id, "hami.io/use-MR-V100-uuid");
  EXPECT_EQ(spec.nouse_id, "hami.io/no-use-MR-V100-uuid");
}

TEST(RegistryTest, OfChipsWithOneNameTheLastCounts) {
  vendors::Configs configs;
  configs.iluvatar = {{"X", Names("first")}, {"X", Names("last")}};
  EXPECT_EQ(vendors::MakeRegistry(configs).Find("X")->config().count_name, "last");
}

}  // namespace
}  // namespace aliquot::testing
