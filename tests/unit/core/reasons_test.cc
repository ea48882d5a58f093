#include "aliquot/core/reasons.h"

#include <gtest/gtest.h>

namespace aliquot::core {
namespace {

Refusal Of(std::initializer_list<std::pair<Reason, uint32_t>> counts, size_t cards) {
  ReasonCounts all;
  for (const auto& [reason, times] : counts) all.Add(reason, times);
  return Refusal::Counted(all, cards);
}

TEST(RefusalTest, CountsEachWordAmongTheCards) {
  EXPECT_EQ(Of({{Reason::kCardInsufficientMemory, 1}}, 1).ToString(), "1/1 CardInsufficientMemory");
}

TEST(RefusalTest, OrdersItsItemsAsTexts) {
  // '1' < '2', whatever the numbers are.
  EXPECT_EQ(
      Of({{Reason::kCardUuidMismatch, 2}, {Reason::kCardInsufficientMemory, 10}}, 12).ToString(),
      "10/12 CardInsufficientMemory, 2/12 CardUuidMismatch");
  EXPECT_EQ(Of({{Reason::kCardNotHealth, 2},
                {Reason::kCardInsufficientCore, 2},
                {Reason::kCardTypeMismatch, 10}},
               14)
                .ToString(),
            "10/14 CardTypeMismatch, 2/14 CardInsufficientCore, 2/14 CardNotHealth");
}

TEST(RefusalTest, BareWordsAndTextsStandAlone) {
  EXPECT_EQ(Refusal::Bare(Reason::kNodeInsufficientDevice).ToString(), "NodeInsufficientDevice");
  const Refusal text = Refusal::Text("node unregistered", true);
  EXPECT_EQ(text.ToString(), "node unregistered");
  EXPECT_EQ(text.Words(), std::vector<std::string_view>{"node unregistered"});
}

TEST(RefusalTest, NamesItsWordsWithoutTheirCounts) {
  EXPECT_EQ(Of({{Reason::kCardUuidMismatch, 2}, {Reason::kCardInsufficientMemory, 10}}, 12).Words(),
            (std::vector<std::string_view>{"CardInsufficientMemory", "CardUuidMismatch"}));
}

struct Resolvable {
  Reason reason;
  std::string_view word;
  bool unresolvable;  // removing pods from the node cannot change it
};

class ReasonTest : public ::testing::TestWithParam<Resolvable> {};

TEST_P(ReasonTest, HasItsWordAndItsMap) {
  const auto& [reason, word, unresolvable] = GetParam();
  EXPECT_EQ(Word(reason), word);
  EXPECT_EQ(IsUnresolvable(reason), unresolvable);
  EXPECT_EQ(Of({{reason, 1}}, 1).unresolvable(), unresolvable);
  EXPECT_EQ(Refusal::Bare(reason).unresolvable(), unresolvable);
}

INSTANTIATE_TEST_SUITE_P(
    AllWords, ReasonTest,
    ::testing::Values(
        Resolvable{Reason::kAllocatedCardsInsufficientRequest, "AllocatedCardsInsufficientRequest",
                   true},
        Resolvable{Reason::kCardAllocationUnreadable, "CardAllocationUnreadable", false},
        Resolvable{Reason::kCardAppClassMismatch, "CardAppClassMismatch", false},
        Resolvable{Reason::kCardComputeUnitsExhausted, "CardComputeUnitsExhausted", false},
        Resolvable{Reason::kCardCordoned, "CardCordoned", true},
        Resolvable{Reason::kCardInsufficientCore, "CardInsufficientCore", false},
        Resolvable{Reason::kCardInsufficientMemory, "CardInsufficientMemory", false},
        Resolvable{Reason::kCardMigTopologyInfeasible, "CardMigTopologyInfeasible", false},
        Resolvable{Reason::kCardNotFoundCustomFilterRule, "CardNotFoundCustomFilterRule", false},
        Resolvable{Reason::kCardNotHealth, "CardNotHealth", true},
        Resolvable{Reason::kCardQosPolicyMismatch, "CardQosPolicyMismatch", false},
        Resolvable{Reason::kCardTimeSlicingExhausted, "CardTimeSlicingExhausted", false},
        Resolvable{Reason::kCardTypeMismatch, "CardTypeMismatch", true},
        Resolvable{Reason::kCardUnhealthy, "CardUnhealthy", true},
        Resolvable{Reason::kCardUuidMismatch, "CardUuidMismatch", true},
        Resolvable{Reason::kExclusiveDeviceAllocateConflict, "ExclusiveDeviceAllocateConflict",
                   false},
        Resolvable{Reason::kModeNotFit, "ModeNotFit", true},
        Resolvable{Reason::kNodeInsufficientDevice, "NodeInsufficientDevice", true},
        Resolvable{Reason::kNumaNotFit, "NumaNotFit", true},
        Resolvable{Reason::kResourceQuotaNotFit, "ResourceQuotaNotFit", false}),
    [](const auto& row) { return std::string(row.param.word); });

TEST(ReasonTest, NoBlockIsWrittenAsNumaNotFitButMayChange) {
  EXPECT_EQ(Word(Reason::kNoBlock), "NumaNotFit");
  EXPECT_FALSE(IsUnresolvable(Reason::kNoBlock));
}

TEST(ReasonTest, TheTableAboveNamesEveryReason) {
  EXPECT_EQ(static_cast<size_t>(Reason::kCount), 22U);  // kNone, kNoBlock and the 20 of the table
}

TEST(RefusalTest, IsUnresolvableOnlyIfAllOfItsWordsAre) {
  EXPECT_TRUE(
      Of({{Reason::kCardTypeMismatch, 1}, {Reason::kCardUuidMismatch, 1}}, 2).unresolvable());
  EXPECT_FALSE(Of({{Reason::kCardTypeMismatch, 9}, {Reason::kCardInsufficientMemory, 1}}, 10)
                   .unresolvable());
}

}  // namespace
}  // namespace aliquot::core
