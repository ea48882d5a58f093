// What a shadow makes of the pods that another scheduler places.
#include "aliquot/scheduler/shadow.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>

#include "aliquot/base/fake_clock.h"
#include "aliquot/scheduler/scheduler.h"
#include "scheduler/shadow_verdict.h"
#include "support/fake_api.h"
#include "support/kube_builders.h"
#include "support/scrape.h"

namespace aliquot::scheduler {
namespace {

using namespace std::chrono_literals;
using testing::Ask;
using testing::ChartRegistry;
using testing::FakeApi;
using testing::kAllocatedKey;
using testing::kNodeKey;
using testing::kTimeKey;
using testing::KubeNode;
using testing::KubePod;

const Ask kAsk{.gpu = "1", .mem = "3000", .cores = "30"};
const Ask kWholeCard{.gpu = "1", .cores = "100"};
constexpr char kG0[] = "G0,NVIDIA,3000,30:;";
constexpr char kG1[] = "G1,NVIDIA,3000,30:;";
constexpr char kWholeG0[] = "G0,NVIDIA,40960,100:;";

// ---- the comparison alone

core::Allocation Shares(std::vector<std::vector<core::Share>> containers) {
  return {{testing::kNvidia, std::move(containers)}};
}

core::Share ShareOf(std::string card, int64_t memory = 3000, int64_t cores = 30) {
  core::Share share;
  share.device_id = std::move(card);
  share.memory = memory;
  share.cores = cores;
  return share;
}

// Two nodes that fit, n2 the better one, and one that does not.
OurDecision Ours(float n1_score, float n2_score) {
  OurDecision ours{{"n1", "n2", "n3"}, {}};
  ours.decision.feasible = {{0, n1_score}, {1, n2_score}};
  ours.decision.refusals = {core::Refusal::Bare(core::Reason::kNodeInsufficientDevice)};
  ours.decision.refused = {{2, 0}};
  ours.decision.allocation = Shares({{ShareOf("G0"), ShareOf("G1")}, {ShareOf("G0")}});
  return ours;
}

TEST(ShadowVerdictTest, TheSameSharesInAnyOrderAgree) {
  const ShadowVerdict agreed{ShadowOutcome::kAgree, "", "n2", 7.5F, 7.5F};
  EXPECT_EQ(
      Compare({"n2", Shares({{ShareOf("G1"), ShareOf("G0")}, {ShareOf("G0")}})}, Ours(1, 7.5F)),
      agreed);
  // Without the containers at the end that got nothing, as well.
  EXPECT_EQ(
      Compare({"n2", Shares({{ShareOf("G0"), ShareOf("G1")}, {ShareOf("G0")}, {}})}, Ours(1, 7.5F)),
      agreed);
}

TEST(ShadowVerdictTest, OtherCardsContainersOrAmountsDiffer) {
  const ShadowVerdict differs{ShadowOutcome::kCards, "other cards or amounts", "n2", 7.5F, 7.5F};
  for (const auto& theirs :
       {Shares({{ShareOf("G0"), ShareOf("G2")}, {ShareOf("G0")}}),
        Shares({{ShareOf("G0")}, {ShareOf("G0"), ShareOf("G1")}}),
        Shares({{ShareOf("G0"), ShareOf("G1", 3001)}, {ShareOf("G0")}}),
        Shares({{ShareOf("G0"), ShareOf("G1", 3000, 31)}, {ShareOf("G0")}}), core::Allocation()})
    EXPECT_EQ(Compare({"n2", theirs}, Ours(1, 7.5F)), differs);
}

TEST(ShadowVerdictTest, AnotherNodeDiffersUnlessItScoresTheSame) {
  EXPECT_EQ(Compare({"n1", {}}, Ours(1, 7.5F)),
            (ShadowVerdict{ShadowOutcome::kNode, "n1 scores 1.00, n2 7.50", "n2", 7.5F, 1.0F}));
  EXPECT_EQ(Compare({"n1", {}}, Ours(2, 2)),
            (ShadowVerdict{ShadowOutcome::kTie, "both score 2.00", "n2", 2.0F, 2.0F}));
}

TEST(ShadowVerdictTest, ANodeThatWeRefuseHasNoScore) {
  EXPECT_EQ(Compare({"n3", {}}, Ours(1, 7.5F)),
            (ShadowVerdict{ShadowOutcome::kNode, "n3: NodeInsufficientDevice", "n2", 7.5F,
                           std::nullopt}));
  EXPECT_EQ(Compare({"n4", {}}, Ours(1, 7.5F)).reason, "n4: node unregistered");
}

TEST(ShadowVerdictTest, WhereWeFindNoNodeTheirsSaysWhy) {
  OurDecision ours = Ours(1, 1);
  ours.decision.feasible.clear();
  EXPECT_EQ(
      Compare({"n3", {}}, ours),
      (ShadowVerdict{ShadowOutcome::kRefused, "n3: NodeInsufficientDevice", "", std::nullopt, {}}));
  ours.objection = "it asks for no device";
  EXPECT_EQ(Compare({"n3", {}}, ours).reason, "it asks for no device");
}

TEST(ShadowVerdictTest, WhatCannotBeReadAndWhatHasNoRoomComeFirst) {
  const auto same = Shares({{ShareOf("G0"), ShareOf("G1")}, {ShareOf("G0")}});
  const ShadowVerdict unreadable = Compare({"n2", same, "nonsense", "full"}, Ours(1, 7.5F));
  EXPECT_EQ(unreadable.outcome, ShadowOutcome::kUnreadable);
  EXPECT_EQ(unreadable.reason, "nonsense");
  const ShadowVerdict full = Compare({"n2", same, "", "full"}, Ours(1, 7.5F));
  EXPECT_EQ(full.outcome, ShadowOutcome::kOvercommitted);
  EXPECT_EQ(full.reason, "full");
  EXPECT_EQ(Compare({"n3", same, "", "full"}, Ours(1, 7.5F)).reason,
            "full; n3: NodeInsufficientDevice");
}

// ---- on a scheduler

Options AsShadow() {
  Options options;
  options.shadow = true;
  return options;
}

class ShadowTest : public ::testing::Test {
 protected:
  ShadowTest() {
    api_.on_pod = [this](const auto& before, const auto& now) {
      if (now)
        scheduler_.pod_events().OnUpsert(before, now);
      else
        scheduler_.pod_events().OnDelete(before);
    };
    api_.on_node = [this](const auto& before, const auto& now) {
      scheduler_.node_events().OnUpsert(before, now);
    };
    api_.Put(KubeNode("n1", {{.id = "G0"}, {.id = "G1"}}));
    api_.Put(KubeNode("n2", {{.id = "G0"}}));
  }
  void SetUp() override { Synced(); }
  void TearDown() override {
    EXPECT_EQ(scheduler_.ledger().Usage(), scheduler_.ledger().RebuildUsage());
    EXPECT_EQ(api_.calls().size(), 0U);
  }
  void Synced() {
    scheduler_.node_events().OnSynced();
    scheduler_.quota_events().OnSynced();
    scheduler_.pod_events().OnSynced();
  }

  // As HAMi's filter does: the pod is there, then the allocation is written on it.
  void Place(const KubePod& pod, const std::string& node, const std::string& allocated) {
    api_.Put(pod);
    api_.Put(Placed(pod, node, allocated));
  }
  static KubePod Placed(KubePod pod, const std::string& node, const std::string& allocated,
                        const std::string& time = "1785542400") {
    return pod.Annotate(kNodeKey, node).Annotate(kAllocatedKey, allocated).Annotate(kTimeKey, time);
  }
  static KubePod Bound(const KubePod& pod, const std::string& node, const std::string& allocated) {
    KubePod bound = Placed(pod, node, allocated);
    bound->node_name = node;
    return bound;
  }
  static KubePod Asking(const std::string& name, const Ask& ask = kAsk) {
    return KubePod(name).App(ask);
  }

  // Outcomes that were counted, "agree tie tie".
  std::string Outcomes() const {
    std::string words;
    for (size_t i = 0; i < static_cast<size_t>(ShadowOutcome::kCount); ++i) {
      const auto outcome = static_cast<ShadowOutcome>(i);
      for (uint64_t n = 0; n < scheduler_.shadow()->count(outcome); ++n)
        words += (words.empty() ? "" : " ") + std::string(Word(outcome));
    }
    return words;
  }
  // Of the latest difference.
  ShadowDifference Last() const { return scheduler_.shadow()->differences().back(); }

  FakeClock clock_;
  FakeApi api_;
  int events_ = 0;
  Scheduler scheduler_{
      api_,
      ChartRegistry(),
      AsShadow(),
      clock_,
      [this](const ObjectRef&, bool, std::string_view, const std::string&) { ++events_; },
      nullptr};
};

TEST_F(ShadowTest, AgreesWithWhatItWouldHaveDone) {
  Place(Asking("p"), "n1", kG1);
  EXPECT_EQ(Outcomes(), "agree");
  EXPECT_TRUE(scheduler_.shadow()->differences().empty());
}

TEST_F(ShadowTest, ANodeWithTheSameScoreIsATie) {
  Place(Asking("p"), "n2", kG0);
  EXPECT_EQ(Outcomes(), "tie");
  EXPECT_TRUE(scheduler_.shadow()->differences().empty());
}

TEST_F(ShadowTest, TellsOfOtherCardsOnTheSameNode) {
  Place(Asking("p"), "n1", kG0);
  EXPECT_EQ(Outcomes(), "cards");
  const ShadowDifference difference = Last();
  EXPECT_EQ(difference.at, clock_.Now());
  EXPECT_EQ(difference.pod.uid, "uid-p");
  EXPECT_EQ(difference.their_node, "n1");
  EXPECT_EQ(difference.their_shares, "NVIDIA/0: G0,3000,30");
  EXPECT_EQ(difference.verdict.node, "n1");
  EXPECT_EQ(difference.shares, "NVIDIA/0: G1,3000,30");
}

TEST_F(ShadowTest, TellsOfAnotherNodeWithBothScores) {
  Place(Asking("first"), "n2", kG0);
  Place(Asking("p"), "n1", kG1);
  EXPECT_EQ(Outcomes(), "tie node");
  // 10 * (slots 1/10 + cores 30/100 + memory 3000/40960) = 4.73
  EXPECT_EQ(Last().verdict.reason, "n1 scores 0.00, n2 4.73");
  EXPECT_EQ(Last().verdict.node, "n2");
  EXPECT_EQ(Last().shares, "NVIDIA/0: G0,3000,30");
}

TEST_F(ShadowTest, TellsWhyItRefuses) {
  Place(Asking("p").Annotate("nvidia.com/use-gputype", "H100"), "n1", kG1);
  EXPECT_EQ(Last().verdict.reason, "n1: 2/2 CardTypeMismatch");
  Place(Asking("typo", {.gpu = "1", .mem = "16Gi"}), "n1", kG1);
  EXPECT_EQ(Last().verdict.reason,
            "InvalidDeviceRequest: container c0: nvidia.com/gpumem=16Gi: out of range");
  Place(Asking("weights").Annotate("hami.io/device-scoring-weights", "x"), "n1", kG1);
  EXPECT_TRUE(Last().verdict.reason.starts_with("invalid hami.io/device-scoring-weights"));
  Place(Asking("nothing", {}), "n2", kG0);
  EXPECT_EQ(Last().verdict.reason, "it asks for no device");
  EXPECT_EQ(Outcomes(), "refused refused refused refused");
  EXPECT_EQ(Last().shares, "");
}

TEST_F(ShadowTest, TellsOfCardsThatHaveNoRoom) {
  Place(Asking("first"), "n2", kG0);
  Place(Asking("p", kWholeCard), "n2", kWholeG0);
  EXPECT_EQ(Outcomes(), "tie overcommitted");
  EXPECT_EQ(Last().verdict.reason,
            "G0 had in use: slots 1/10, memory 3000/40960, cores 30/100; "
            "n2: 1/1 CardInsufficientMemory");
  Place(Asking("q"), "n1", "G7,NVIDIA,3000,30:;");
  EXPECT_EQ(Last().verdict.reason, "G7 is not there");
  Place(Asking("r"), "n7", kG0);
  EXPECT_EQ(Last().verdict.reason, "node n7 is not registered; n7: node unregistered");
}

TEST_F(ShadowTest, AUsedUpQuotaIsNoRoomEither) {
  kube::ResourceQuota quota;
  quota.meta.ns = "team";
  quota.meta.name = "q";
  quota.hard = {{"limits.nvidia.com/gpumem", "1000"}};
  scheduler_.quota_events().OnUpsert(nullptr,
                                     std::make_shared<const kube::ResourceQuota>(std::move(quota)));
  Place(Asking("p"), "n2", kG0);
  EXPECT_EQ(Outcomes(), "overcommitted");
  EXPECT_EQ(Last().verdict.reason,
            "G0 had in use: slots 0/10, memory 0/40960, cores 0/100; n2: 1/1 ResourceQuotaNotFit");
}

TEST_F(ShadowTest, TellsOfWhatItCannotRead) {
  Place(Asking("p"), "n2", "nonsense,");
  EXPECT_EQ(Outcomes(), "unreadable");
  EXPECT_TRUE(Last().verdict.reason.starts_with("NVIDIA: hami.io/vgpu-devices-allocated: "));
}

TEST_F(ShadowTest, DecidesOnWhatWasThereBeforeThePod) {
  Place(Asking("p", kWholeCard), "n2", kWholeG0);  // would not fit beside itself
  EXPECT_EQ(Outcomes(), "tie");
  api_.Put(Bound(Asking("p", kWholeCard), "n2", kWholeG0));
  Place(Asking("q", kWholeCard), "n2", kWholeG0);  // and this one sees it
  EXPECT_EQ(Outcomes(), "tie overcommitted");
  api_.RemovePod("team", "p");
  api_.Put(Placed(Asking("q", kWholeCard), "n2", kWholeG0, "1785542401"));
  EXPECT_EQ(Outcomes(), "tie tie overcommitted");
}

TEST_F(ShadowTest, APlacedPodCountsBeforeItIsBound) {
  Place(Asking("p", kWholeCard), "n2", kWholeG0);
  EXPECT_EQ(scheduler_.ledger().Count().reservations, 1U);
  Place(Asking("q", kWholeCard), "n2", kWholeG0);
  EXPECT_EQ(Outcomes(), "tie overcommitted");
  api_.Put(Asking("p", kWholeCard));  // the other one has taken it back
  EXPECT_EQ(scheduler_.ledger().Count().reservations, 0U);
}

TEST_F(ShadowTest, JudgesAPodOnceForEachTimeItIsPlaced) {
  const KubePod pod = Asking("p");
  Place(pod, "n1", kG1);
  api_.Put(Placed(pod, "n1", kG1).Annotate("hami.io/bind-phase", "allocating"));
  api_.Put(Bound(pod, "n1", kG1).Annotate(kTimeKey, "1785542401"));  // of the binding
  api_.Put(Bound(pod, "n1", kG1).Phase(kube::PodPhase::kRunning));
  api_.Put(Bound(pod, "n1", kG0));  // edited: what it was given counts
  EXPECT_EQ(Outcomes(), "agree");
  Place(Asking("q"), "n1", kG0);  // another pod, until its bind fails and it is placed again
  api_.Put(Placed(Asking("q"), "n1", kG0, "1785542401"));
  EXPECT_EQ(Outcomes(), "agree agree agree");
  api_.Put(Placed(Asking("q"), "n1", kG1, "1785542402"));
  EXPECT_EQ(Outcomes(), "agree agree agree cards");
}

TEST_F(ShadowTest, APodFirstSeenBoundIsJudged) {
  api_.Put(Bound(Asking("p"), "n1", kG1));  // created, placed and bound in between
  api_.Put(Asking("q"));
  api_.Put(Bound(Asking("q"), "n1", kG0));  // placed and bound in between
  EXPECT_EQ(Outcomes(), "agree agree");
  EXPECT_EQ(scheduler_.ledger().Count().bound, 2U);
}

TEST_F(ShadowTest, OnlyPodsWithDevicesAreJudged) {
  kube::Pod pod = KubePod("plain").App();
  pod.node_name = "n1";
  api_.Put(pod);
  api_.Put(Asking("named").Annotate(kNodeKey, "n1"));
  api_.Put(Bound(Asking("over"), "n1", kG1).Phase(kube::PodPhase::kSucceeded));
  EXPECT_EQ(Outcomes(), "");
}

TEST_F(ShadowTest, KeepsTheLastDifferences) {
  for (size_t i = 0; i < Shadow::kKept + 2; ++i)
    Place(Asking("p" + std::to_string(i)), "n1", "nonsense,");
  const std::vector<ShadowDifference> kept = scheduler_.shadow()->differences();
  ASSERT_EQ(kept.size(), Shadow::kKept);
  EXPECT_EQ(kept.front().pod.name, "p2");
  EXPECT_EQ(kept.back().pod.name, "p257");
  EXPECT_EQ(scheduler_.shadow()->count(ShadowOutcome::kUnreadable), Shadow::kKept + 2);
}

TEST_F(ShadowTest, CountsEveryOutcome) {
  Place(Asking("p"), "n1", kG1);
  EXPECT_EQ(testing::Samples(testing::Scrape(scheduler_), "aliquot_shadow_decisions_total"),
            (std::vector<std::string>{R"({outcome="agree"} 1)", R"({outcome="tie"} 0)",
                                      R"({outcome="cards"} 0)", R"({outcome="node"} 0)",
                                      R"({outcome="refused"} 0)", R"({outcome="overcommitted"} 0)",
                                      R"({outcome="unreadable"} 0)"}));
}

TEST_F(ShadowTest, RefusesEveryCallOfTheExtender) {
  FilterRequest filter;
  filter.pod = Asking("p");
  filter.node_names = {"n1"};
  const RequestContext context{std::chrono::steady_clock::now(), nullptr};
  const std::string refusal =
      "this process runs with --shadow: it looks on, places no pods and admits none";
  EXPECT_EQ(scheduler_.Filter(filter, context).error, refusal);
  EXPECT_EQ(scheduler_.Bind({"p", "team", "uid-p", "n1"}, context).error, refusal);
  const AdmissionAnswer answer = scheduler_.Admit({"team", "CREATE", {}});
  EXPECT_FALSE(answer.allowed);
  EXPECT_EQ(answer.code, 503);
  EXPECT_EQ(answer.message, refusal);
}

TEST_F(ShadowTest, NeverLeads) {
  EXPECT_EQ(scheduler_.leader().Obstacle(), "it runs with --shadow");
}

class StartingShadowTest : public ShadowTest {
  void SetUp() override {}
};

TEST_F(StartingShadowTest, WhatWasPlacedBeforeCountsAndIsNotJudged) {
  api_.Put(Bound(Asking("bound", kWholeCard), "n2", kWholeG0));
  api_.Put(Placed(Asking("placed", kWholeCard), "n1", kWholeG0));
  EXPECT_EQ(Outcomes(), "");
  Synced();
  Place(Asking("p", kWholeCard), "n2", kWholeG0);
  Place(Asking("q", kWholeCard), "n1", kWholeG0);
  EXPECT_EQ(Outcomes(), "overcommitted overcommitted");
}

TEST(NoShadowTest, IsNotThereWithoutTheOption) {
  FakeClock clock;
  FakeApi api;
  const Scheduler scheduler{api,
                            ChartRegistry(),
                            {},
                            clock,
                            [](const ObjectRef&, bool, std::string_view, const std::string&) {},
                            nullptr};
  EXPECT_EQ(scheduler.shadow(), nullptr);
  EXPECT_TRUE(
      testing::Samples(testing::Scrape(scheduler), "aliquot_shadow_decisions_total").empty());
}

}  // namespace
}  // namespace aliquot::scheduler
