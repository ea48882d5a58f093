#include "aliquot/ledger/ledger.h"

#include <chrono>
#include <limits>
#include <set>

#include "unit/ledger/fixture.h"

namespace aliquot::ledger {
namespace {

using namespace std::chrono_literals;

constexpr DeviceUse kIdle{};
constexpr auto kInit = ContainerKind::kInit;
constexpr auto kSidecar = ContainerKind::kSidecar;
constexpr auto kApp = ContainerKind::kApp;

// ---- nodes

TEST_F(LedgerTest, KnowsANodeFromItsRegistrationToItsRemoval) {
  EXPECT_FALSE(ledger_.Node("n1").has_value());
  SetNode("n1", {Card(kA, "0")});
  EXPECT_EQ(ledger_.Node("n1")->name(), "n1");
  EXPECT_EQ(ledger_.Count().nodes, 1U);
  ledger_.RemoveNode("n1");
  EXPECT_FALSE(ledger_.Node("n1").has_value());
  EXPECT_EQ(ledger_.Count().nodes, 0U);
  EXPECT_EQ(Place(Request("p", {{}}), {"n1"}), "node unregistered");
}

TEST_F(LedgerTest, NamesRegisteredNodesInOrder) {
  for (const char* name : {"n2", "n10", "n1"}) SetNode(name, {Card(kA, "0")});
  ledger_.Observe(Hold("p", "unknown", {{ShareOf("0", 100)}}));
  EXPECT_EQ(ledger_.NodeNames(), (std::vector<std::string>{"n1", "n10", "n2"}));
}

TEST_F(LedgerTest, GivesPodsOutInPieces) {
  for (const char* uid : {"c", "a", "d", "b"})
    ledger_.Observe(Hold(uid, "n1", {{ShareOf("0", 100)}}));
  std::vector<std::vector<std::string>> pieces;
  for (std::string last;;) {
    std::vector<std::string>& piece = pieces.emplace_back();
    for (const Ledger::Held& held : ledger_.PodsAfter(last, 3)) piece.push_back(held.pod.uid);
    if (piece.empty()) break;
    last = piece.back();
  }
  EXPECT_EQ(pieces, (std::vector<std::vector<std::string>>{{"a", "b", "c"}, {"d"}, {}}));
}

TEST_F(LedgerTest, VisitsEveryPodAndNodeOfALargeCluster) {
  constexpr int kMany = 1000;  // more than are read at a time
  for (int i = 0; i < kMany; ++i) {
    const std::string name = std::to_string(i);
    SetNode(name, {Card(kA, "0")});
    ledger_.Observe(Hold(name, name, {{ShareOf("0", 100)}}));
  }
  for (int i = 0; i < kMany; i += 2) ledger_.RemoveNode(std::to_string(i));
  EXPECT_EQ(ledger_.NodeNames().size(), kMany / 2U);
  std::set<std::string> uids;
  ledger_.ForEachPod([&](const Ledger::Held& held) { return uids.insert(held.pod.uid).second; });
  EXPECT_EQ(uids.size(), kMany + 0U);
  int visits = 0;
  ledger_.ForEachPod([&](const Ledger::Held&) { return ++visits < 70; });
  EXPECT_EQ(visits, 70);
}

TEST_F(LedgerTest, TheHashIsOfWhatBoundPodsHoldInWhateverOrderTheyCame) {
  const Ledger empty(registry_, clock_);
  EXPECT_EQ(ledger_.HoldingsHash(), empty.HoldingsHash());
  Ledger other(registry_, clock_);
  for (int i = 0; i < 200; ++i) {
    const auto hold = [](int pod) {
      return Hold(std::to_string(pod), "n1", {{ShareOf("0", pod)}});
    };
    ledger_.Observe(hold(i));
    other.Observe(hold(199 - i));
  }
  const uint32_t hash = ledger_.HoldingsHash();
  EXPECT_EQ(other.HoldingsHash(), hash);
  SetNode("n1", {Card(kA, "1")});
  EXPECT_EQ(Place(Request("reserved", {{.memory = 100}}), {"n1"}), "n1");
  EXPECT_EQ(ledger_.HoldingsHash(), hash);
  ledger_.MarkBound("reserved");
  EXPECT_NE(ledger_.HoldingsHash(), hash);
  ledger_.Remove("reserved");
  EXPECT_EQ(ledger_.HoldingsHash(), hash);
  ledger_.Remove("150");
  EXPECT_NE(ledger_.HoldingsHash(), hash);
}

TEST_F(LedgerTest, CountsNodesThatAreClosedToAVendor) {
  for (const char* name : {"n1", "n2"}) SetNode(name, {Card(kA, "0")});
  for (const char* uid : {"p1", "p2"}) ledger_.Observe(Unreadable(uid, "n1", kB));
  ledger_.Observe(Unreadable("p3", "unknown", kB));
  EXPECT_EQ(ledger_.ClosedNodes(), (std::vector<size_t>{0, 1, 0}));
}

TEST_F(LedgerTest, AnInventoryWithoutCardsUnregistersTheNode) {
  SetNode("n1", {Card(kA, "0")});
  SetNode("n1", {});
  EXPECT_FALSE(ledger_.Node("n1").has_value());
}

TEST_F(LedgerTest, ChargesWhatItRemembersWhenANodeComesBack) {
  ledger_.Observe(Hold("early", "n1", {{ShareOf("0", 100)}}));  // before the node is known
  SetNode("n1", {Card(kA, "0")});
  EXPECT_EQ(Use("n1", "0"), (DeviceUse{1, 100, 0}));

  ledger_.RemoveNode("n1");
  ledger_.Observe(Hold("meanwhile", "n1", {{ShareOf("0", 20)}}));
  ledger_.Remove("early");
  SetNode("n1", {Card(kA, "0")});
  EXPECT_EQ(Use("n1", "0"), (DeviceUse{1, 20, 0}));
}

TEST_F(LedgerTest, ReRegistrationChargesTheCardsThatAreThere) {
  SetNode("n1", {Card(kA, "0"), Card(kA, "1")});
  ledger_.Observe(Hold("p", "n1", {{ShareOf("0", 100), ShareOf("1", 200)}}));
  SetNode("n1", {Card(kA, "1"), Card(kA, "2")});
  EXPECT_EQ(Use("n1", "1"), (DeviceUse{1, 200, 0}));
  EXPECT_EQ(Use("n1", "2"), kIdle);
  SetNode("n1", {Card(kA, "2"), Card(kA, "0")});
  EXPECT_EQ(Use("n1", "0"), (DeviceUse{1, 100, 0}));
}

TEST_F(LedgerTest, KeepsEqualIdsOfTwoVendorsApart) {
  SetNode("n1", {Card(kA, "7-0"), Card(kB, "7-0")});
  ledger_.Observe(Hold("p", "n1", {{ShareOf("7-0", 300)}}, kB));
  EXPECT_EQ(Use("n1", "7-0", kA), kIdle);
  EXPECT_EQ(Use("n1", "7-0", kB), (DeviceUse{1, 300, 0}));
}

// ---- bound pods

TEST_F(LedgerTest, ABoundPodHoldsItsCardsUntilItIsRemoved) {
  SetNode("n1", {Card(kA, "0")});
  clock_.Advance(5s);
  ledger_.Observe(Hold("p", "n1", {{ShareOf("0", 100, 10)}, {ShareOf("0", 200, 20)}}));
  EXPECT_EQ(Use("n1", "0"), (DeviceUse{2, 300, 30}));
  const auto held = ledger_.Find("p");
  ASSERT_TRUE(held.has_value());
  EXPECT_TRUE(held->bound);
  EXPECT_EQ(held->node, "n1");
  EXPECT_EQ(held->pod, (ObjectRef{"team", "pod-p", "p"}));
  EXPECT_EQ(held->since, clock_.Steady());
  EXPECT_EQ(ledger_.Count().bound, 1U);

  EXPECT_FALSE(ledger_.Forget("p"));  // only reservations are forgotten
  EXPECT_TRUE(ledger_.Remove("p"));
  EXPECT_FALSE(ledger_.Remove("p"));
  EXPECT_FALSE(ledger_.Find("p").has_value());
  EXPECT_EQ(Use("n1", "0"), kIdle);
}

TEST_F(LedgerTest, LaterEditsOfABoundPodMoveNothing) {
  SetNode("n1", {Card(kA, "0"), Card(kA, "1"), Card(kB, "0")});
  ledger_.Observe(Hold("p", "n1", {{ShareOf("0", 100)}}));
  ledger_.Observe(Hold("p", "n1", {{ShareOf("1", 900)}}));
  ledger_.Observe(Hold("p", "n1", {{ShareOf("0", 900)}}, kB));
  ledger_.Observe(Hold("p", "n1", {}));
  ledger_.Observe(Unreadable("p", "n1", kA));
  EXPECT_EQ(Use("n1", "0"), (DeviceUse{1, 100, 0}));
  EXPECT_EQ(Use("n1", "1"), kIdle);
  EXPECT_EQ(Use("n1", "0", kB), kIdle);
  EXPECT_FALSE(ledger_.Node("n1")->unreadable(kA));
}

TEST_F(LedgerTest, ABoundPodSeenOnAnotherNodeMovesThere) {
  SetNode("n1", {Card(kA, "0")});
  SetNode("n2", {Card(kA, "0")});
  ledger_.Observe(Hold("p", "n1", {{ShareOf("0", 100)}}));
  const SteadyTime first = clock_.Steady();
  clock_.Advance(1min);
  ledger_.Observe(Hold("p", "n2", {{ShareOf("0", 300)}}));
  EXPECT_EQ(Use("n1", "0"), kIdle);
  EXPECT_EQ(Use("n2", "0"), (DeviceUse{1, 300, 0}));
  EXPECT_EQ(ledger_.Find("p")->since, first);
}

TEST_F(LedgerTest, DoesNotKeepPodsThatHoldNothing) {
  ledger_.Observe(Hold("p", "n1", {}));
  EXPECT_FALSE(ledger_.Find("p").has_value());
  EXPECT_EQ(ledger_.Count().bound, 0U);
}

TEST_F(LedgerTest, ShrinksToTheAppContainersOnceInitIsDone) {
  SetNode("n1", {Card(kA, "0"), Card(kA, "1")});
  Holding holding =
      Hold("p", "n1", {{ShareOf("0", 800)}, {ShareOf("1", 500)}, {ShareOf("0", 300)}});
  holding.kinds = {kInit, kInit, kApp};
  ledger_.Observe(holding);
  EXPECT_EQ(Use("n1", "0"), (DeviceUse{1, 800, 0}));
  EXPECT_EQ(Use("n1", "1"), (DeviceUse{1, 500, 0}));

  Holding done = holding;
  done.init_done = true;
  ledger_.Observe(done);
  EXPECT_EQ(Use("n1", "0"), (DeviceUse{1, 300, 0}));
  EXPECT_EQ(Use("n1", "1"), kIdle);

  ledger_.Observe(holding);  // an older sight does not bring the peak back
  EXPECT_EQ(Use("n1", "0"), (DeviceUse{1, 300, 0}));
}

TEST_F(LedgerTest, APodWhoseInitIsDoneAtFirstSightCountsItsAppsOnly) {
  SetNode("n1", {Card(kA, "0")});
  Holding holding = Hold("p", "n1", {{ShareOf("0", 800)}, {ShareOf("0", 300)}});
  holding.kinds = {kInit, kApp};
  holding.init_done = true;
  ledger_.Observe(holding);
  EXPECT_EQ(Use("n1", "0"), (DeviceUse{1, 300, 0}));
}

TEST_F(LedgerTest, SidecarsCountBesideTheInitContainersAfterThemAndTheApps) {
  SetNode("n1", {Card(kA, "0")});
  Holding holding =
      Hold("p", "n1", {{ShareOf("0", 400)}, {ShareOf("0", 500)}, {ShareOf("0", 100)}});
  holding.kinds = {kSidecar, kInit, kApp};
  ledger_.Observe(holding);
  EXPECT_EQ(Use("n1", "0"), (DeviceUse{2, 900, 0}));  // sidecar 400 + init 500
  holding.init_done = true;
  ledger_.Observe(holding);
  EXPECT_EQ(Use("n1", "0"), (DeviceUse{2, 500, 0}));  // sidecar 400 + app 100
}

TEST_F(LedgerTest, NegativeAmountsFreeNothing) {
  SetNode("n1", {Card(kA, "0")});
  ledger_.Observe(Hold("honest", "n1", {{ShareOf("0", 500, 50)}}));
  ledger_.Observe(Hold("forged", "n1", {{ShareOf("0", -400, -40)}}));
  EXPECT_EQ(Use("n1", "0"), (DeviceUse{2, 500, 50}));
}

TEST_F(LedgerTest, AbsurdAmountsAreGivenBackExactly) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  SetNode("n1", {Card(kA, "0")});
  ledger_.Observe(Hold("honest", "n1", {{ShareOf("0", 100)}}));
  ledger_.Observe(Hold("forged1", "n1", {{ShareOf("0", kMax)}}));
  ledger_.Observe(Hold("forged2", "n1", {{ShareOf("0", kMax)}}));
  EXPECT_EQ(Use("n1", "0").memory, kMax);
  EXPECT_EQ(ledger_.Usage(), ledger_.RebuildUsage());
  ledger_.Remove("forged1");
  ledger_.Remove("forged2");
  EXPECT_EQ(Use("n1", "0"), (DeviceUse{1, 100, 0}));
}

// ---- texts that cannot be read

TEST_F(LedgerTest, AnUnreadableTextClosesTheNodeForItsVendorOnly) {
  SetNode("n1", {Card(kA, "0"), Card(kB, "0")});
  SetNode("n2", {Card(kA, "0")});
  ledger_.Observe(Unreadable("broken", "n1", kA));
  EXPECT_EQ(Place(Request("a", {{.memory = 10}}), {"n1"}), "1/1 CardAllocationUnreadable");
  EXPECT_EQ(Place(Request("b", {{.vendor = kB, .memory = 10}}), {"n1"}), "n1");
  EXPECT_EQ(Place(Request("c", {{.memory = 10}}), {"n2"}), "n2");
  EXPECT_EQ(ledger_.Usage().closed, (std::map<std::string, std::vector<VendorId>>{{"n1", {kA}}}));
}

TEST_F(LedgerTest, ANodeOpensWhenTheLastUnreadablePodIsGone) {
  ledger_.Observe(Unreadable("broken1", "n1", kA));
  SetNode("n1", {Card(kA, "0")});
  ledger_.Observe(Unreadable("broken2", "n1", kA));
  ledger_.Remove("broken1");
  EXPECT_EQ(Place(Request("p", {{}}), {"n1"}), "1/1 CardAllocationUnreadable");
  ledger_.Remove("broken2");
  EXPECT_EQ(Place(Request("p", {{}}), {"n1"}), "n1");
}

TEST_F(LedgerTest, ANodeIsStillClosedAfterItComesBack) {
  SetNode("n1", {Card(kA, "0")});
  ledger_.Observe(Unreadable("broken", "n1", kA));
  ledger_.RemoveNode("n1");
  SetNode("n1", {Card(kA, "0")});
  EXPECT_TRUE(ledger_.Node("n1")->unreadable(kA));
}

TEST_F(LedgerTest, ATextThatBecomesReadableIsTakenOverBesideWhatWasKnown) {
  SetNode("n1", {Card(kA, "0"), Card(kB, "0")});
  Holding holding = Hold("p", "n1", {{ShareOf("0", 300)}}, kB);
  holding.unreadable = {kA};
  ledger_.Observe(holding);
  ledger_.Observe(holding);
  EXPECT_EQ(Use("n1", "0", kB), (DeviceUse{1, 300, 0}));

  Holding readable = Hold("p", "n1", {{ShareOf("0", 100)}}, kA);
  readable.allocation.push_back({kB, {{ShareOf("0", 999)}}});  // an edit: moves nothing
  ledger_.Observe(readable);
  EXPECT_EQ(Use("n1", "0", kA), (DeviceUse{1, 100, 0}));
  EXPECT_EQ(Use("n1", "0", kB), (DeviceUse{1, 300, 0}));
  EXPECT_FALSE(ledger_.Node("n1")->unreadable(kA));
  EXPECT_EQ(ledger_.Find("p")->allocation.front().vendor, kA);
}

TEST_F(LedgerTest, InitStaysDoneWhenATextBecomesReadable) {
  SetNode("n1", {Card(kA, "0")});
  Holding holding = Unreadable("p", "n1", kA);
  holding.kinds = {kInit, kApp};
  holding.init_done = true;
  ledger_.Observe(holding);
  ledger_.Observe(Hold("p", "n1", {{ShareOf("0", 800)}, {ShareOf("0", 300)}}));
  EXPECT_EQ(Use("n1", "0"), (DeviceUse{1, 300, 0}));
}

TEST_F(LedgerTest, APodWhoseUnreadableTextIsTakenAwayHoldsNothing) {
  SetNode("n1", {Card(kA, "0")});
  ledger_.Observe(Unreadable("p", "n1", kA));
  ledger_.Observe(Hold("p", "n1", {}));
  EXPECT_FALSE(ledger_.Find("p").has_value());
  EXPECT_FALSE(ledger_.Node("n1")->unreadable(kA));
}

// ---- reservations

TEST_F(LedgerTest, TheNextDecisionSeesAReservation) {
  SetNode("n1", {Card(kA, "0")});
  auto first = Schedule(Request("p1", {{.memory = 600, .cores = 30}}), {"n1"});
  ASSERT_TRUE(first.reservation.armed());
  EXPECT_EQ(Use("n1", "0"), (DeviceUse{1, 600, 30}));
  EXPECT_EQ(ledger_.Find("p1")->allocation, first.decision.allocation);
  EXPECT_FALSE(ledger_.Find("p1")->bound);
  EXPECT_EQ(ledger_.Count().reservations, 1U);

  const auto second = Schedule(Request("p2", {{.memory = 600}}), {"n1"});
  EXPECT_FALSE(second.decision.fits());
  EXPECT_FALSE(second.reservation.armed());
  EXPECT_EQ(second.decision.refusals.front().ToString(), "1/1 CardInsufficientMemory");
  EXPECT_FALSE(ledger_.Find("p2").has_value());
}

TEST_F(LedgerTest, AReservationChargesTheInitPeak) {
  SetNode("n1", {Card(kA, "0")});
  const auto request = Request("p", {{.kind = kInit, .memory = 700}, {.memory = 200}});
  EXPECT_EQ(Place(request, {"n1"}), "n1");
  EXPECT_EQ(Use("n1", "0"), (DeviceUse{1, 700, 0}));
}

TEST_F(LedgerTest, ADroppedReservationReverts) {
  SetNode("n1", {Card(kA, "0")});
  {
    const auto outcome = Schedule(Request("p", {{.memory = 600}}), {"n1"});
    EXPECT_EQ(Use("n1", "0").slots, 1);
  }
  EXPECT_EQ(Use("n1", "0"), kIdle);
  EXPECT_FALSE(ledger_.Find("p").has_value());
}

TEST_F(LedgerTest, ACommittedReservationStays) {
  SetNode("n1", {Card(kA, "0")});
  {
    auto outcome = Schedule(Request("p", {{.memory = 600}}), {"n1"});
    outcome.reservation.Commit();
    EXPECT_FALSE(outcome.reservation.armed());
  }
  EXPECT_EQ(Use("n1", "0").memory, 600);
  EXPECT_TRUE(ledger_.Forget("p"));
  EXPECT_FALSE(ledger_.Forget("p"));
  EXPECT_EQ(Use("n1", "0"), kIdle);
}

TEST_F(LedgerTest, AMovedReservationRevertsOnce) {
  SetNode("n1", {Card(kA, "0")});
  Reservation kept;
  {
    auto outcome = Schedule(Request("p", {{.memory = 600}}), {"n1"});
    kept = std::move(outcome.reservation);
    EXPECT_FALSE(outcome.reservation.armed());
  }
  EXPECT_EQ(Use("n1", "0").memory, 600);
  Reservation moved(std::move(kept));
  moved.Forget();
  moved.Forget();
  EXPECT_EQ(Use("n1", "0"), kIdle);
}

TEST_F(LedgerTest, AssigningOverAReservationRevertsIt) {
  SetNode("n1", {Card(kA, "0")});
  Reservation reservation = Schedule(Request("p1", {{.memory = 100}}), {"n1"}).reservation;
  reservation = Schedule(Request("p2", {{.memory = 200}}), {"n1"}).reservation;
  EXPECT_EQ(Use("n1", "0"), (DeviceUse{1, 200, 0}));
  reservation = Reservation();
  EXPECT_EQ(Use("n1", "0"), kIdle);
}

TEST_F(LedgerTest, ARepeatedDecisionStartsClean) {
  SetNode("n1", {Card(kA, "0")});
  EXPECT_EQ(Place(Request("p", {{.memory = 900}}), {"n1"}), "n1");
  EXPECT_EQ(Place(Request("p", {{.memory = 900}}), {"n1"}), "n1");
  EXPECT_EQ(Use("n1", "0"), (DeviceUse{1, 900, 0}));
}

TEST_F(LedgerTest, ARepeatedDecisionThatFailsLeavesNothing) {
  SetNode("n1", {Card(kA, "0")});
  EXPECT_EQ(Place(Request("p", {{.memory = 900}}), {"n1"}), "n1");
  EXPECT_EQ(Place(Request("p", {{.memory = 1100}}), {"n1"}), "1/1 CardInsufficientMemory");
  EXPECT_EQ(Use("n1", "0"), kIdle);
  EXPECT_FALSE(ledger_.Find("p").has_value());
}

TEST_F(LedgerTest, TheObjectOfAReplacedReservationTouchesNothing) {
  SetNode("n1", {Card(kA, "0")});
  auto old = Schedule(Request("p", {{.memory = 100}}), {"n1"});
  auto current = Schedule(Request("p", {{.memory = 200}}), {"n1"});
  old.reservation.Forget();
  EXPECT_EQ(Use("n1", "0"), (DeviceUse{1, 200, 0}));
}

TEST_F(LedgerTest, BindingReplacesAReservation) {
  SetNode("n1", {Card(kA, "0")});
  SetNode("n2", {Card(kA, "0")});
  auto outcome = Schedule(Request("p", {{.memory = 100}}), {"n1"});
  ledger_.Observe(Hold("p", "n2", {{ShareOf("0", 300)}}));
  outcome.reservation.Forget();
  EXPECT_EQ(Use("n1", "0"), kIdle);
  EXPECT_EQ(Use("n2", "0"), (DeviceUse{1, 300, 0}));
  EXPECT_EQ(ledger_.Count().reservations, 0U);
}

TEST_F(LedgerTest, APodSeenBoundWithoutSharesEndsItsReservation) {
  SetNode("n1", {Card(kA, "0")});
  EXPECT_EQ(Place(Request("p", {{.memory = 100}}), {"n1"}), "n1");
  ledger_.Observe(Hold("p", "n2", {}));
  EXPECT_EQ(Use("n1", "0"), kIdle);
}

TEST_F(LedgerTest, MarkBoundKeepsTheChargeAndEndsTheReservation) {
  SetNode("n1", {Card(kA, "0")});
  auto outcome = Schedule(Request("p", {{.memory = 100}}), {"n1"});
  clock_.Advance(1h);
  ledger_.MarkBound("p");
  outcome.reservation.Forget();
  EXPECT_FALSE(ledger_.Forget("p"));
  clock_.Advance(1h);
  EXPECT_TRUE(ledger_.ExpireReservations(1min).empty());
  EXPECT_EQ(Use("n1", "0"), (DeviceUse{1, 100, 0}));
  EXPECT_TRUE(ledger_.Find("p")->bound);
  EXPECT_EQ(ledger_.Find("p")->since, clock_.Steady() - 1h);

  ledger_.MarkBound("p");
  EXPECT_EQ(ledger_.Find("p")->since, clock_.Steady() - 1h);
  ledger_.MarkBound("unknown");
  EXPECT_FALSE(ledger_.Find("unknown").has_value());
}

TEST_F(LedgerTest, APodFoundBoundCountsWithWhatIsWrittenOnIt) {
  SetNode("n1", {Card(kA, "0"), Card(kA, "1")});
  auto outcome = Schedule(Request("p", {{.memory = 100}}), {"n1"});
  const std::string chosen =
      outcome.decision.allocation.front().containers.front().front().device_id;
  const std::string other = chosen == "0" ? "1" : "0";
  ledger_.MarkBound(Hold("p", "n1", {{ShareOf(other, 70)}}));
  outcome.reservation.Forget();
  EXPECT_EQ(Use("n1", chosen), kIdle);
  EXPECT_EQ(Use("n1", other), (DeviceUse{1, 70, 0}));
  EXPECT_TRUE(ledger_.Find("p")->bound);

  ledger_.MarkBound(Hold("p", "n1", {{ShareOf(other, 7)}}));
  ledger_.MarkBound(Hold("unknown", "n1", {{ShareOf(other, 7)}}));
  EXPECT_EQ(Use("n1", other), (DeviceUse{1, 70, 0}));
  EXPECT_FALSE(ledger_.Find("unknown").has_value());
}

TEST_F(LedgerTest, ABoundPodIsRefusedEverywhereAndKeepsWhatItHolds) {
  SetNode("n1", {Card(kA, "0")});
  ledger_.Observe(Hold("p", "n1", {{ShareOf("0", 100)}}));
  const auto outcome = Schedule(Request("p", {{.memory = 300}}), {"n1", "n9"});
  ASSERT_EQ(outcome.decision.refused.size(), 2U);
  EXPECT_EQ(outcome.decision.Why(outcome.decision.refused[1]).ToString(),
            "pod is bound to node n1");
  EXPECT_TRUE(outcome.decision.Why(outcome.decision.refused[1]).unresolvable());
  EXPECT_FALSE(outcome.reservation.armed());
  EXPECT_EQ(Use("n1", "0"), (DeviceUse{1, 100, 0}));
}

TEST_F(LedgerTest, ReservationsExpireAndBoundPodsDoNot) {
  SetNode("n1", {Card(kA, "0"), Card(kA, "1")});
  ledger_.Observe(Hold("bound", "n1", {{ShareOf("0", 1)}}));
  EXPECT_EQ(Place(Request("old", {{.memory = 10}}), {"n1"}), "n1");
  clock_.Advance(1min);
  EXPECT_EQ(Place(Request("young", {{.memory = 10}}), {"n1"}), "n1");

  EXPECT_TRUE(ledger_.ExpireReservations(1min).empty());  // not older yet
  clock_.Advance(1s);
  const auto expired = ledger_.ExpireReservations(1min);
  ASSERT_EQ(expired.size(), 1U);
  EXPECT_EQ(expired[0].pod.uid, "old");
  EXPECT_EQ(expired[0].node, "n1");
  EXPECT_FALSE(ledger_.Find("old").has_value());
  EXPECT_TRUE(ledger_.Find("young").has_value());
  EXPECT_TRUE(ledger_.Find("bound").has_value());
}

TEST_F(LedgerTest, ARepeatedDecisionRenewsTheAge) {
  SetNode("n1", {Card(kA, "0")});
  EXPECT_EQ(Place(Request("p", {{}}), {"n1"}), "n1");
  clock_.Advance(50s);
  EXPECT_EQ(Place(Request("p", {{}}), {"n1"}), "n1");
  clock_.Advance(50s);
  EXPECT_TRUE(ledger_.ExpireReservations(1min).empty());
}

// ---- decisions

TEST_F(LedgerTest, PositionsAreThoseOfTheNamesGiven) {
  SetNode("n1", {Card(kA, "0")});
  const auto outcome =
      Schedule(Request("p", {{.memory = 10}}), {"cpu-1", "n1", "cpu-2", "n1", "cpu-1"});
  ASSERT_EQ(outcome.decision.feasible.size(), 2U);  // a name given twice is looked at twice
  std::vector<size_t> refused;
  for (const core::RefusedNode& node : outcome.decision.refused) refused.push_back(node.node);
  EXPECT_EQ(refused, (std::vector<size_t>{0, 2, 4}));
  EXPECT_EQ(ledger_.Find("p")->node, "n1");
}

TEST_F(LedgerTest, NoNamesDropTheReservationAndFitNowhere) {
  SetNode("n1", {Card(kA, "0")});
  EXPECT_EQ(Place(Request("p", {{}}), {"n1"}), "n1");
  const auto outcome = Schedule(Request("p", {{}}), {});
  EXPECT_FALSE(outcome.decision.fits());
  EXPECT_TRUE(outcome.decision.refused.empty());
  EXPECT_EQ(Use("n1", "0"), kIdle);
}

// ---- still fits

TEST_F(LedgerTest, AReservationFitsAsLongAsItsCardsSuffice) {
  SetNode("n1", {Card(kA, "0", 1000)});
  EXPECT_EQ(Place(Request("p", {{.memory = 600}}), {"n1"}), "n1");
  EXPECT_TRUE(ledger_.StillFits("p"));

  auto sick = Card(kA, "0", 1000);
  sick.healthy = false;
  SetNode("n1", {sick});
  EXPECT_TRUE(ledger_.StillFits("p"));
  SetNode("n1", {Card(kA, "0", 500)});
  EXPECT_FALSE(ledger_.StillFits("p"));
  SetNode("n1", {Card(kA, "1", 1000)});
  EXPECT_FALSE(ledger_.StillFits("p"));
  SetNode("n1", {Card(kB, "0", 1000)});
  EXPECT_FALSE(ledger_.StillFits("p"));
  ledger_.RemoveNode("n1");
  EXPECT_FALSE(ledger_.StillFits("p"));
  EXPECT_FALSE(ledger_.StillFits("unknown"));
}

TEST_F(LedgerTest, AReservationNoLongerFitsWhenAForeignPodTookTheCard) {
  SetNode("n1", {Card(kA, "0")});
  EXPECT_EQ(Place(Request("p", {{.memory = 600}}), {"n1"}), "n1");
  ledger_.Observe(Hold("foreign", "n1", {{ShareOf("0", 300)}}));
  EXPECT_TRUE(ledger_.StillFits("p"));
  ledger_.Observe(Hold("greedy", "n1", {{ShareOf("0", 200)}}));
  EXPECT_FALSE(ledger_.StillFits("p"));
}

TEST_F(LedgerTest, SlotsAndCoresCountForStillFitsToo) {
  SetNode("n1", {Card(kA, "0"), Card(kA, "1")});
  ledger_.Observe(Hold("cores", "n1", {{ShareOf("0", 0, 101)}}));
  const core::Share share = ShareOf("1", 0);
  ledger_.Observe(Hold("slots", "n1", {{share}, {share}, {share}, {share}}));
  EXPECT_FALSE(ledger_.StillFits("cores"));
  EXPECT_TRUE(ledger_.StillFits("slots"));
  ledger_.Observe(Hold("fifth", "n1", {{share}}));
  EXPECT_FALSE(ledger_.StillFits("slots"));
}

TEST_F(LedgerTest, WhatAVendorDoesNotGuardMayBeExceeded) {
  SetNode("n1", {Card(kGamma, "0", 0)});
  const core::Share share = ShareOf("0", 500, 500);
  ledger_.Observe(Hold("p", "n1", {{share}, {share}, {share}, {share}}, kGamma));
  EXPECT_TRUE(ledger_.StillFits("p"));
  ledger_.Observe(Hold("fifth", "n1", {{share}}, kGamma));
  EXPECT_FALSE(ledger_.StillFits("p"));
}

// ---- adoption

TEST_F(LedgerTest, AdoptsAWrittenAllocationThatHasRoom) {
  SetNode("n1", {Card(kA, "0")});
  {
    Reservation adopted = ledger_.Adopt(Hold("p", "n1", {{ShareOf("0", 600)}}));
    ASSERT_TRUE(adopted.armed());
    EXPECT_EQ(Use("n1", "0").memory, 600);
    EXPECT_FALSE(ledger_.Find("p")->bound);
    EXPECT_TRUE(ledger_.StillFits("p"));
  }
  EXPECT_EQ(Use("n1", "0"), kIdle);
}

TEST_F(LedgerTest, RefusesToAdoptWithoutRoom) {
  SetNode("n1", {Card(kA, "0")});
  ledger_.Observe(Hold("other", "n1", {{ShareOf("0", 500)}}));
  EXPECT_FALSE(ledger_.Adopt(Hold("p", "n1", {{ShareOf("0", 501)}})).armed());
  EXPECT_FALSE(ledger_.Adopt(Hold("p", "n1", {{ShareOf("1", 1)}})).armed());  // no such card
  EXPECT_FALSE(ledger_.Adopt(Hold("p", "n2", {{ShareOf("0", 1)}})).armed());  // no such node
  EXPECT_FALSE(ledger_.Adopt(Hold("p", "n1", {{ShareOf("0", 1)}}, kB)).armed());
  EXPECT_FALSE(ledger_.Adopt(Hold("p", "n1", {})).armed());
  EXPECT_FALSE(ledger_.Find("p").has_value());
  EXPECT_EQ(Use("n1", "0"), (DeviceUse{1, 500, 0}));
  EXPECT_TRUE(ledger_.Adopt(Hold("p", "n1", {{ShareOf("0", 500)}})).armed());
}

TEST_F(LedgerTest, RefusesToAdoptOnANodeClosedToTheVendor) {
  SetNode("n1", {Card(kA, "0"), Card(kB, "0")});
  ledger_.Observe(Unreadable("broken", "n1", kA));
  EXPECT_FALSE(ledger_.Adopt(Hold("p", "n1", {{ShareOf("0", 1)}})).armed());
  EXPECT_TRUE(ledger_.Adopt(Hold("p", "n1", {{ShareOf("0", 1)}}, kB)).armed());
  Holding half_read = Hold("p", "n1", {{ShareOf("0", 1)}}, kB);
  half_read.unreadable = {kA};
  EXPECT_FALSE(ledger_.Adopt(half_read).armed());
}

TEST_F(LedgerTest, RefusesToAdoptBeyondTheQuota) {
  SetNode("n1", {Card(kA, "0")});
  ledger_.SetQuota("team", "q", {{"limits.alpha/mem", "500"}});
  EXPECT_FALSE(ledger_.Adopt(Hold("p", "n1", {{ShareOf("0", 501)}})).armed());
  EXPECT_TRUE(ledger_.Adopt(Hold("p", "n1", {{ShareOf("0", 500)}})).armed());
  ledger_.SetQuota("team", "q", {{"limits.alpha/cores", "10"}});
  EXPECT_FALSE(ledger_.Adopt(Hold("p", "n1", {{ShareOf("0", 500, 11)}})).armed());
  EXPECT_TRUE(ledger_.Adopt(Hold("p", "n1", {{ShareOf("0", 500, 10)}})).armed());
}

TEST_F(LedgerTest, AdoptReplacesAReservationOrLeavesItAlone) {
  SetNode("n1", {Card(kA, "0")});
  auto outcome = Schedule(Request("p", {{.memory = 700}}), {"n1"});
  EXPECT_FALSE(ledger_.Adopt(Hold("p", "n1", {{ShareOf("0", 1001)}})).armed());
  EXPECT_EQ(Use("n1", "0"), (DeviceUse{1, 700, 0}));

  Reservation adopted = ledger_.Adopt(Hold("p", "n1", {{ShareOf("0", 600)}}));
  ASSERT_TRUE(adopted.armed());
  outcome.reservation.Forget();  // of the old generation
  EXPECT_EQ(Use("n1", "0"), (DeviceUse{1, 600, 0}));
}

TEST_F(LedgerTest, ARefusedAdoptionLeavesTheReservationRevertible) {
  SetNode("n1", {Card(kA, "0")});
  auto outcome = Schedule(Request("p", {{.memory = 700}}), {"n1"});
  EXPECT_FALSE(ledger_.Adopt(Hold("p", "n1", {{ShareOf("0", 1001)}})).armed());
  outcome.reservation.Forget();
  EXPECT_EQ(Use("n1", "0"), kIdle);
}

TEST_F(LedgerTest, DoesNotAdoptForABoundPod) {
  SetNode("n1", {Card(kA, "0")});
  ledger_.Observe(Hold("p", "n1", {{ShareOf("0", 100)}}));
  EXPECT_FALSE(ledger_.Adopt(Hold("p", "n1", {{ShareOf("0", 200)}})).armed());
  EXPECT_EQ(Use("n1", "0"), (DeviceUse{1, 100, 0}));
}

// ---- simulation

class SimulateTest : public LedgerTest {
 protected:
  // The names that fit.
  std::vector<std::string> Fitting(const core::PodRequest& pod,
                                   const std::vector<core::NodeInventory>& nodes) {
    const core::Decision decision = ledger_.Simulate(pod, nodes, {});
    std::vector<std::string> names;
    for (const core::ScoredNode& node : decision.feasible) names.push_back(nodes[node.node].name);
    std::ranges::sort(names);
    return names;
  }
};

TEST_F(SimulateTest, ChargesNothing) {
  SetNode("n1", {Card(kA, "0")});
  const UsageTable before = ledger_.Usage();
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(Fitting(Request("p", {{.memory = 900}}), {{"n1", {Card(kA, "0")}}}),
              std::vector<std::string>{"n1"});
  EXPECT_EQ(ledger_.Usage(), before);
  EXPECT_FALSE(ledger_.Find("p").has_value());
}

TEST_F(SimulateTest, JudgesKnownNamesWithTheirUseAndOthersFromZero) {
  SetNode("n1", {Card(kA, "0"), Card(kB, "1")});
  SetNode("closed", {Card(kA, "0")});
  ledger_.Observe(Hold("p1", "n1", {{ShareOf("0", 500)}}));
  ledger_.Observe(Unreadable("p2", "closed", kA));
  ledger_.Observe(Hold("p3", "gone", {{ShareOf("0", 500)}}));
  const std::vector<core::Device> cards = {Card(kA, "0")};
  EXPECT_EQ(Fitting(Request("p", {{.memory = 600}}),
                    {{"n1", cards}, {"template", cards}, {"closed", cards}, {"gone", cards}}),
            (std::vector<std::string>{"gone", "template"}));
  // Cards as they are given: a new one is idle.
  EXPECT_EQ(Fitting(Request("p", {{.memory = 600}}), {{"n1", {Card(kA, "0"), Card(kA, "1")}}}),
            std::vector<std::string>{"n1"});
}

TEST_F(SimulateTest, ANodeWithoutCardsIsUnregistered) {
  const std::vector<core::NodeInventory> nodes = {{"cpu-1", {}}};
  const core::Decision decision = ledger_.Simulate(Request("p", {{}}), nodes, {});
  EXPECT_EQ(decision.refusals.front().ToString(), "node unregistered");
}

TEST_F(SimulateTest, WhatThePodHoldsDoesNotCountAgainstIt) {
  const std::vector<core::Device> cards = {Card(kA, "0")};
  SetNode("n1", cards);
  SetNode("n2", cards);
  ledger_.SetQuota("team", "q", {{"limits.alpha/mem", "900"}, {"limits.alpha/cores", "50"}});
  ledger_.Observe(Hold("other", "n2", {{ShareOf("0", 200)}}));
  ledger_.Observe(Hold("p", "n1", {{ShareOf("0", 700, 50)}}));
  const std::vector<core::NodeInventory> nodes = {{"n1", cards}, {"n2", cards}};
  EXPECT_EQ(Fitting(Request("p", {{.memory = 700, .cores = 50}}), nodes),
            (std::vector<std::string>{"n1", "n2"}));
  EXPECT_EQ(Fitting(Request("q", {{.memory = 1}}), nodes), std::vector<std::string>{});
}

}  // namespace
}  // namespace aliquot::ledger
