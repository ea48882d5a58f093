// Which NVIDIA cards a container gets, and the reasons for the others.
#include <gtest/gtest.h>

#include "support/builders.h"

namespace aliquot::vendors {
namespace {

using aliquot::testing::Ask;
using aliquot::testing::Card;
using aliquot::testing::Fit;
using aliquot::testing::Pod;
using aliquot::testing::PodWish;

constexpr const char* kCardPolicy = "hami.io/gpu-scheduler-policy";
constexpr const char* kNumaBind = "nvidia.com/numa-bind";

// ---- single cards

struct Row {
  std::string name;
  Ask ask;
  Card card;
  std::string expected;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class NvidiaCardTest : public ::testing::TestWithParam<Row> {};

TEST_P(NvidiaCardTest, FitsOrSaysWhyNot) {
  EXPECT_EQ(Fit(Pod(GetParam().ask), {GetParam().card}), GetParam().expected);
}

const Row kRows[] = {
    {"MemoryToTheLastMib",
     {.gpu = "1", .mem = "512"},
     {.id = "a", .memory = 512},
     "a,NVIDIA,512,0:;"},
    {"TooLittleMemory",
     {.gpu = "1", .mem = "512"},
     {.id = "a", .memory = 128},
     "1/1 CardInsufficientMemory"},
    {"MemoryInUseCounts",
     {.gpu = "1", .mem = "1001"},
     {.id = "a", .used = {1, 1000, 0}, .memory = 2000},
     "1/1 CardInsufficientMemory"},
    {"NoCoresLeft",
     {.gpu = "1", .mem = "1", .cores = "50"},
     {.id = "a", .used = {1, 1, 100}},
     "1/1 CardInsufficientCore"},
    {"CoresToTheLastPercent",
     {.gpu = "1", .mem = "1", .cores = "50"},
     {.id = "a", .used = {1, 1, 50}},
     "a,NVIDIA,1,50:;"},
    {"SlotsUsedUp",
     {.gpu = "1", .mem = "1"},
     {.id = "a", .used = {100, 0, 0}, .slots = 100},
     "1/1 CardTimeSlicingExhausted"},
    {"TheLastSlot",
     {.gpu = "1", .mem = "1"},
     {.id = "a", .used = {99, 0, 0}, .slots = 100},
     "a,NVIDIA,1,0:;"},
    // Above a whole card's cores is a whole card's.
    {"CoresAreCutToTheCard",
     {.gpu = "1", .mem = "1", .cores = "120"},
     {.id = "a"},
     "a,NVIDIA,1,100:;"},
    // 100 > 4 - 1
    {"CutCoresStillHaveToFit",
     {.gpu = "1", .mem = "1", .cores = "200"},
     {.id = "a", .used = {1, 0, 1}, .cores = 4},
     "1/1 CardInsufficientCore"},
    {"AllCoresWantTheCardForThemselves",
     {.gpu = "1", .mem = "1", .cores = "100"},
     {.id = "a", .used = {20, 0, 0}, .slots = 100},
     "1/1 ExclusiveDeviceAllocateConflict"},
    // Of a card with scaled cores, 100 percent is a part.
    {"AHundredOfTwoHundredCoresIsAShare",
     {.gpu = "1", .mem = "1", .cores = "100"},
     {.id = "a", .used = {1, 0, 100}, .cores = 200},
     "a,NVIDIA,1,100:;"},
    {"NoShareBesideAllCores",
     {.gpu = "1", .mem = "1"},
     {.id = "a", .used = {1, 0, 100}},
     "1/1 CardComputeUnitsExhausted"},
    {"ACardWithoutCoresHasNoneToUseUp",
     {.gpu = "1", .mem = "1"},
     {.id = "a", .cores = 0},
     "a,NVIDIA,1,0:;"},
    // 1280 * 10 / 100
    {"APercentageOfTheCard",
     {.gpu = "1", .percent = "10"},
     {.id = "a", .memory = 1280},
     "a,NVIDIA,128,0:;"},
    // 11264 * 33 / 100 = 3717.12
    {"APercentageIsRoundedDown",
     {.gpu = "1", .percent = "33"},
     {.id = "a", .memory = 11264},
     "a,NVIDIA,3717,0:;"},
    {"NoPercentageIsTheWholeCard",
     {.gpu = "1", .percent = "0"},
     {.id = "a", .memory = 11264},
     "a,NVIDIA,11264,0:;"},
    {"TheWholeCardOfAFullOne",
     {.gpu = "1", .percent = "0"},
     {.id = "a", .used = {1, 11260, 0}, .memory = 11264},
     "1/1 CardInsufficientMemory"},
    {"MemoryWinsOverPercentage",
     {.gpu = "1", .mem = "2000", .percent = "50"},
     {.id = "a"},
     "a,NVIDIA,2000,0:;"},
    {"Unhealthy", {.gpu = "1"}, {.id = "a", .healthy = false}, "1/1 CardNotHealth"},
    {"Cordoned", {.gpu = "1"}, {.id = "a", .cordoned = true}, "1/1 CardCordoned"},
    {"OvercommittedAlready",
     {.gpu = "1", .mem = "1"},
     {.id = "a", .used = {1, 50000, 0}},
     "1/1 CardInsufficientMemory"},
};

INSTANTIATE_TEST_SUITE_P(Rows, NvidiaCardTest, ::testing::ValuesIn(kRows),
                         [](const auto& row) { return row.param.name; });

// ---- the order of the gates

TEST(NvidiaGatesTest, TheFirstObjectionIsTheReason) {
  // Everything is wrong with this card; what is put right uncovers the next.
  Card card{.id = "a",
            .numa = 1,
            .used = {10, 40960, 100},
            .slots = 10,
            .healthy = false,
            .cordoned = true};
  const std::vector<core::QuotaRoom> no_room = {{.memory = 0, .cores = 0}};
  PodWish pod = Pod({.gpu = "1", .mem = "1000", .cores = "100"})
                    .Annotate("nvidia.com/use-gputype", "T4")
                    .Annotate("nvidia.com/use-gpuuuid", "b")
                    .Annotate(kCardPolicy, "mutex");
  std::vector<core::QuotaRoom> quota = no_room;
  const auto reason = [&] { return Fit(pod, {card}, quota); };

  EXPECT_EQ(reason(), "1/1 CardNotHealth");
  card.healthy = true;
  EXPECT_EQ(reason(), "1/1 CardCordoned");
  card.cordoned = false;
  EXPECT_EQ(reason(), "1/1 CardTypeMismatch");
  pod.Annotate("nvidia.com/use-gputype", "A100");
  EXPECT_EQ(reason(), "1/1 CardUuidMismatch");
  pod.Annotate("nvidia.com/use-gpuuuid", "a");
  EXPECT_EQ(reason(), "1/1 CardTimeSlicingExhausted");
  card.slots = 20;
  EXPECT_EQ(reason(), "1/1 ExclusiveDeviceAllocateConflict");  // mutex
  pod.Annotate(kCardPolicy, "spread");
  EXPECT_EQ(reason(), "1/1 ResourceQuotaNotFit");
  quota = {};
  EXPECT_EQ(reason(), "1/1 CardInsufficientMemory");
  card.used.memory = 0;
  EXPECT_EQ(reason(), "1/1 CardInsufficientCore");
  card.used.cores = 0;
  EXPECT_EQ(reason(), "1/1 ExclusiveDeviceAllocateConflict");  // all cores
  pod = Pod({.gpu = "1", .mem = "1000"});
  card.used.cores = 100;
  EXPECT_EQ(reason(), "1/1 CardComputeUnitsExhausted");
  card.used.cores = 99;
  EXPECT_EQ(reason(), "a,NVIDIA,1000,0:;");
}

TEST(NvidiaGatesTest, AWrongTypeComesBeforeNumaAndAWrongIdAfterIt) {
  // c and b are picked on NUMA node 1. A card of another node that is not of the
  // chosen type leaves them alone; one that only has the wrong id does not.
  const std::vector<Card> cards = {{.id = "a", .numa = 0, .type = "NVIDIA T4"},
                                   {.id = "b", .numa = 1},
                                   {.id = "x", .numa = 0},
                                   {.id = "c", .numa = 1}};
  const auto pod = [](const char* policy) {
    return Pod({.gpu = "3", .mem = "1"}).Annotate(kNumaBind, "true").Annotate(kCardPolicy, policy);
  };
  EXPECT_EQ(Fit(pod("spread").Annotate("nvidia.com/use-gputype", "A100"), cards),
            "1/4 AllocatedCardsInsufficientRequest, 1/4 CardTypeMismatch, 2/4 NumaNotFit");
  EXPECT_EQ(Fit(pod("spread").Annotate("nvidia.com/nouse-gpuuuid", "x"), cards),
            "1/4 AllocatedCardsInsufficientRequest, 1/4 CardUuidMismatch, 2/4 NumaNotFit");
  EXPECT_EQ(Fit(pod("spread").Annotate("nvidia.com/nouse-gpuuuid", "x,a"), cards),
            "2/4 CardUuidMismatch, 2/4 NumaNotFit");
}

TEST(NvidiaGatesTest, EveryCardHasItsOwnReason) {
  EXPECT_EQ(
      Fit(Pod({.gpu = "1", .mem = "1000", .cores = "10"}).Annotate("nvidia.com/nouse-gpuuuid", "c"),
          {{.id = "a", .healthy = false},
           {.id = "b", .memory = 10},
           {.id = "c"},
           {.id = "d", .used = {0, 0, 95}},
           {.id = "e", .memory = 20}}),
      "1/5 CardInsufficientCore, 1/5 CardNotHealth, 1/5 CardUuidMismatch, "
      "2/5 CardInsufficientMemory");
}

// ---- selection by annotation, as people write it

TEST(NvidiaSelectionTest, PicksAmongModelsAndIds) {
  const std::vector<Card> cards = {{.id = "Ga"}, {.id = "Gb", .type = "NVIDIA-Tesla T4"}};
  struct {
    StringMap annotations;
    const char* expected;
  } const rows[] = {
      {{{"nvidia.com/use-gpuuuid", ""}}, "Gb,NVIDIA,1,0:;"},
      {{{"nvidia.com/use-gpuuuid", "Ga"}, {"nvidia.com/nouse-gpuuuid", "Ga"}},
       "2/2 CardUuidMismatch"},
      {{{"nvidia.com/use-gpuuuid", " Gb , Gx"}}, "Gb,NVIDIA,1,0:;"},
      {{{"nvidia.com/nouse-gputype", ""}}, "Gb,NVIDIA,1,0:;"},
      {{{"nvidia.com/use-gputype", "a100, ,"}}, "Ga,NVIDIA,1,0:;"},
      {{{"nvidia.com/nouse-gputype", "T4,"}}, "Ga,NVIDIA,1,0:;"},
      {{{"nvidia.com/vgpu-mode", "mps"}}, "2/2 CardTypeMismatch"},
      {{{"nvidia.com/vgpu-mode", "hami-core"}}, "Gb,NVIDIA,1,0:;"},
  };
  for (const auto& row : rows) {
    PodWish pod = Pod({.gpu = "1", .mem = "1"});
    for (const auto& [key, value] : row.annotations) pod.Annotate(key, value);
    EXPECT_EQ(Fit(pod, cards), row.expected) << row.annotations.begin()->first;
  }
}

TEST(NvidiaSelectionTest, PassesOverCordonedCards) {
  EXPECT_EQ(
      Fit(Pod({.gpu = "1", .mem = "1"}), {{.id = "dev-0"}, {.id = "dev-1", .cordoned = true}}),
      "dev-0,NVIDIA,1,0:;");
  EXPECT_EQ(Fit(Pod({.gpu = "1", .mem = "1"}),
                {{.id = "dev-0", .cordoned = true}, {.id = "dev-1", .cordoned = true}}),
            "2/2 CardCordoned");
}

// ---- several cards

TEST(NvidiaSeveralCardsTest, TakesThemFromTheEnd) {
  const std::vector<Card> cards = {{.id = "dev-0"}, {.id = "dev-1"}};
  EXPECT_EQ(Fit(Pod({.gpu = "1", .mem = "1"}), cards), "dev-1,NVIDIA,1,0:;");
  // 50 percent of each of two different cards.
  EXPECT_EQ(Fit(Pod({.gpu = "2", .percent = "50"}), {{.id = "a", .memory = 32768}, {.id = "b"}}),
            "b,NVIDIA,20480,0:a,NVIDIA,16384,0:;");
}

TEST(NvidiaSeveralCardsTest, SaysHowManyWereSuitable) {
  EXPECT_EQ(Fit(Pod({.gpu = "2", .mem = "100"}), {{.id = "a"}, {.id = "b", .memory = 10}}),
            "1/2 AllocatedCardsInsufficientRequest, 1/2 CardInsufficientMemory");
  EXPECT_EQ(
      Fit(Pod({.gpu = "3", .mem = "100"}), {{.id = "a"}, {.id = "b"}, {.id = "c", .memory = 10}}),
      "1/3 CardInsufficientMemory, 2/3 AllocatedCardsInsufficientRequest");
}

TEST(NvidiaSeveralCardsTest, ANodeWithTooFewCardsIsNotLookedAt) {
  EXPECT_EQ(Fit(Pod({.gpu = "2"}), {{.id = "a", .healthy = false}}), "NodeInsufficientDevice");
  EXPECT_EQ(Fit(Pod({.gpu = "1"}), {}), "NodeInsufficientDevice");
}

TEST(NvidiaMutexTest, WantsIdleCards) {
  const std::vector<Card> cards = {{.id = "idle"}, {.id = "used", .used = {1, 10, 0}}};
  EXPECT_EQ(Fit(Pod({.gpu = "1", .mem = "1"}).Annotate(kCardPolicy, "mutex"), cards),
            "idle,NVIDIA,1,0:;");
  EXPECT_EQ(Fit(Pod({.gpu = "2", .mem = "1"}).Annotate(kCardPolicy, "mutex"), cards),
            "1/2 AllocatedCardsInsufficientRequest, 1/2 ExclusiveDeviceAllocateConflict");
  // As a word of a list as well; a word that only contains it is none.
  EXPECT_EQ(Fit(Pod({.gpu = "1", .mem = "1"}).Annotate(kCardPolicy, "binpack, mutex"), cards),
            "idle,NVIDIA,1,0:;");
  EXPECT_EQ(Fit(Pod({.gpu = "1", .mem = "1"}).Annotate(kCardPolicy, "binpack,mutexed"), cards),
            "used,NVIDIA,1,0:;");
}

// ---- NUMA

TEST(NvidiaNumaTest, TakesAllCardsFromOneNumaNode) {
  const std::vector<Card> cards = {
      {.id = "dev-0", .numa = 1}, {.id = "dev-1", .numa = 1}, {.id = "dev-2"}};
  EXPECT_EQ(Fit(Pod({.gpu = "2", .mem = "1"}).Annotate(kNumaBind, "true"), cards),
            "dev-1,NVIDIA,1,0:dev-0,NVIDIA,1,0:;");
}

TEST(NvidiaNumaTest, GivesUpTheGroupThatIsTooSmall) {
  // The walk begins at NUMA node 1, which has one card.
  EXPECT_EQ(Fit(Pod({.gpu = "2", .mem = "1"}).Annotate(kNumaBind, "true"),
                {{.id = "a"}, {.id = "b"}, {.id = "c", .numa = 1}}),
            "b,NVIDIA,1,0:a,NVIDIA,1,0:;");
}

TEST(NvidiaNumaTest, CountsThePicksItGaveUp) {
  EXPECT_EQ(Fit(Pod({.gpu = "2", .mem = "1"}).Annotate(kNumaBind, "true"),
                {{.id = "a"}, {.id = "b", .numa = 1}}),
            "1/2 AllocatedCardsInsufficientRequest, 1/2 NumaNotFit");
}

TEST(NvidiaNumaTest, EachContainerMayHaveItsOwnNumaNode) {
  // Two of 30000 fit on each of the NUMA nodes only once.
  const Ask two{.gpu = "2", .mem = "30k"};
  EXPECT_EQ(Fit(PodWish().App(two).App(two).Annotate(kNumaBind, "true"),
                {{.id = "a"}, {.id = "b"}, {.id = "c", .numa = 1}, {.id = "d", .numa = 1}}),
            "d,NVIDIA,30000,0:c,NVIDIA,30000,0:;b,NVIDIA,30000,0:a,NVIDIA,30000,0:;");
}

TEST(NvidiaNumaTest, WithoutTheAnnotationNumaDoesNotBind) {
  EXPECT_EQ(Fit(Pod({.gpu = "2", .mem = "1"}).Annotate(kNumaBind, "notabool"),
                {{.id = "a"}, {.id = "b", .numa = 1}}),
            "b,NVIDIA,1,0:a,NVIDIA,1,0:;");
}

TEST(NvidiaNumaTest, ANegativeNumaNodeIsAGroupLikeAnyOther) {
  EXPECT_EQ(Fit(Pod({.gpu = "2", .mem = "1"}).Annotate(kNumaBind, "true"),
                {{.id = "a", .numa = -1}, {.id = "b", .numa = -1}}),
            "b,NVIDIA,1,0:a,NVIDIA,1,0:;");
}

// ---- quota

std::vector<core::QuotaRoom> Memory(int64_t room) { return {{.memory = room, .cores = {}}}; }
std::vector<core::QuotaRoom> Room(int64_t memory, int64_t cores) {
  return {{.memory = memory, .cores = cores}};
}

TEST(NvidiaQuotaTest, LimitsOneShare) {
  EXPECT_EQ(Fit(Pod({.gpu = "1", .mem = "2000", .cores = "100"}),
                {{.id = "a"}, {.id = "b"}, {.id = "c"}, {.id = "d"}}, Room(2000, 100)),
            "d,NVIDIA,2000,100:;");
  EXPECT_EQ(Fit(Pod({.gpu = "1", .mem = "2000", .cores = "100"}),
                {{.id = "a"}, {.id = "b"}, {.id = "c"}, {.id = "d"}}, Room(1500, 100)),
            "4/4 ResourceQuotaNotFit");
  EXPECT_EQ(Fit(Pod({.gpu = "1", .mem = "2000", .cores = "100"}), {{.id = "a"}}, Room(2000, 99)),
            "1/1 ResourceQuotaNotFit");
  // Cores count as they are cut to a card.
  EXPECT_EQ(Fit(Pod({.gpu = "1", .mem = "1", .cores = "120"}), {{.id = "a"}}, Room(1, 100)),
            "a,NVIDIA,1,100:;");
}

TEST(NvidiaQuotaTest, NoRoomAtAllBlocksEveryShare) {
  EXPECT_EQ(Fit(Pod({.gpu = "1"}), {{.id = "a"}}, Memory(0)), "1/1 ResourceQuotaNotFit");
  EXPECT_EQ(Fit(Pod({.gpu = "1", .percent = "1"}), {{.id = "a"}}, Memory(0)),
            "1/1 ResourceQuotaNotFit");
  EXPECT_EQ(Fit(Pod({.gpu = "1", .mem = "1"}), {{.id = "a"}}, Memory(-5)),
            "1/1 ResourceQuotaNotFit");
}

TEST(NvidiaQuotaTest, AddsUpThePicksOfOneContainer) {
  const std::vector<Card> cards = {{.id = "a", .memory = 2000},
                                   {.id = "b", .memory = 8000},
                                   {.id = "c", .memory = 4000},
                                   {.id = "d", .memory = 6000}};
  EXPECT_EQ(Fit(Pod({.gpu = "2", .mem = "2000", .cores = "100"}), cards, Room(4000, 200)),
            "d,NVIDIA,2000,100:c,NVIDIA,2000,100:;");
  // d is picked; a second share would make 6000 of 4000.
  EXPECT_EQ(Fit(Pod({.gpu = "2", .mem = "3000", .cores = "60"}), cards, Room(4000, 200)),
            "1/4 AllocatedCardsInsufficientRequest, 3/4 ResourceQuotaNotFit");
  // 3 * 1024 of 3071
  EXPECT_EQ(Fit(Pod({.gpu = "3", .mem = "1024"}), cards, Memory(3071)),
            "2/4 AllocatedCardsInsufficientRequest, 2/4 ResourceQuotaNotFit");
}

TEST(NvidiaQuotaTest, AddsUpContainersPicksAndCandidate) {
  const std::vector<Card> cards = {{.id = "a"}, {.id = "b"}};
  // 2048 of room: 3000; 1024 + 2000; 1024 by the first container, then 1024 + 100.
  EXPECT_EQ(Fit(Pod({.gpu = "1", .mem = "3000"}), cards, Memory(2048)), "2/2 ResourceQuotaNotFit");
  EXPECT_EQ(Fit(PodWish().App({.gpu = "1", .mem = "1024"}).App({.gpu = "1", .mem = "2000"}), cards,
                Memory(2048)),
            "2/2 ResourceQuotaNotFit");
  EXPECT_EQ(Fit(PodWish().App({.gpu = "1", .mem = "1024"}).App({.gpu = "2", .mem = "562"}), cards,
                Memory(2048)),
            "1/2 AllocatedCardsInsufficientRequest, 1/2 ResourceQuotaNotFit");
  EXPECT_EQ(Fit(PodWish().App({.gpu = "1", .mem = "1024"}).App({.gpu = "2", .mem = "512"}), cards,
                Memory(2048)),
            "b,NVIDIA,1024,0:;a,NVIDIA,512,0:b,NVIDIA,512,0:;");
}

TEST(NvidiaQuotaTest, InitContainersOnOneCardCountByTheirPeak) {
  const std::vector<Card> one = {{.id = "gpu-0"}};
  const Ask ask{.gpu = "1", .mem = "1500"};
  EXPECT_EQ(Fit(PodWish().Init(ask).Init(ask).App(), one, Memory(2048)),
            "gpu-0,NVIDIA,1500,0:;gpu-0,NVIDIA,1500,0:;;");
  // Beside a sidecar they add up.
  EXPECT_EQ(Fit(PodWish().Sidecar(ask).Init(ask).App(), one, Memory(2048)),
            "1/1 ResourceQuotaNotFit");
  EXPECT_EQ(Fit(PodWish().Sidecar(ask).App(ask), one, Memory(2048)), "1/1 ResourceQuotaNotFit");
  // An init container and an app do not.
  EXPECT_EQ(Fit(PodWish().Init(ask).App(ask), one, Memory(2048)),
            "gpu-0,NVIDIA,1500,0:;gpu-0,NVIDIA,1500,0:;");
}

TEST(NvidiaQuotaTest, AnInitContainersShareOnAnotherCardCountsAsWell) {
  // The init container has 2000 of gpu-0; the app's 100 have to go to gpu-1, for
  // its cores, and would make 2100 of 2048 there. On gpu-0 they would be free.
  const std::vector<Card> cards = {{.id = "gpu-0", .used = {1, 0, 50}},
                                   {.id = "gpu-1", .memory = 1000}};
  const PodWish pod =
      PodWish().Init({.gpu = "1", .mem = "2000"}).App({.gpu = "1", .mem = "100", .cores = "60"});
  EXPECT_EQ(Fit(pod, cards, Memory(2048)), "1/2 CardInsufficientCore, 1/2 ResourceQuotaNotFit");
  EXPECT_EQ(Fit(pod, cards, Memory(2100)), "gpu-0,NVIDIA,2000,0:;gpu-1,NVIDIA,100,60:;");
}

TEST(NvidiaQuotaTest, AnInitContainerWithoutACardChangesNothing) {
  // 40 percent of 40000 twice is 32000 of 24000; 30 percent twice is just that.
  const std::vector<Card> one = {{.id = "a", .memory = 40000}};
  const Ask forty{.gpu = "1", .percent = "40"};
  const Ask thirty{.gpu = "1", .percent = "30"};
  EXPECT_EQ(Fit(PodWish().App(forty).App(forty), one, Memory(24000)), "1/1 ResourceQuotaNotFit");
  EXPECT_EQ(Fit(PodWish().Init().App(forty).App(forty), one, Memory(24000)),
            "1/1 ResourceQuotaNotFit");
  EXPECT_EQ(Fit(PodWish().App(thirty).App(thirty), one, Memory(24000)),
            "a,NVIDIA,12000,0:;a,NVIDIA,12000,0:;");
  EXPECT_EQ(Fit(PodWish().Init().App(thirty).App(thirty), one, Memory(24000)),
            ";a,NVIDIA,12000,0:;a,NVIDIA,12000,0:;");
}

TEST(NvidiaQuotaTest, IsAskedBeforeFreeMemory) {
  EXPECT_EQ(Fit(Pod({.gpu = "1", .mem = "5000"}), {{.id = "a", .memory = 10}}, Memory(100)),
            "1/1 ResourceQuotaNotFit");
}

}  // namespace
}  // namespace aliquot::vendors
