// Random sequences of everything that can happen to a ledger. After every step
// what is kept equals what is computed afresh.
#include <chrono>
#include <iostream>
#include <map>
#include <random>

#include "unit/ledger/fixture.h"

namespace aliquot::ledger {
namespace {

using namespace std::chrono_literals;

constexpr int kSteps = 4000;
constexpr VendorId kVendors[] = {kA, kB};

class Walk {
 public:
  // Without trouble nobody but the ledger gives out shares, and cards stay.
  Walk(uint64_t seed, bool trouble) : random_(seed), trouble_(trouble) {
    for (const std::string& node : nodes_) SetNode(node);
  }

  void Step() {
    switch (Upto(trouble_ ? 11 : 7)) {
      case 0:
      case 1:
      case 2:
        return Filter();
      case 3:
        return Bind();
      case 4:
        return FinishInit();
      case 5:
        ledger_.Remove(AnyPod());
        return;
      case 6:
        return EndReservations();
      case 7:
        return SetQuota();
      case 8:
        return Reregister();
      case 9:
        return ledger_.Observe(ForeignHolding());
      case 10:
        return Adopt();
      default:
        return ledger_.MarkBound(AnyPod());
    }
  }

  void Check() {
    const UsageTable kept = ledger_.Usage();
    ASSERT_EQ(kept, ledger_.RebuildUsage());
    for (const std::string& name : ledger_.NodeNames()) ASSERT_TRUE(ledger_.Agrees(name)) << name;
    Ledger::Counts counted{.nodes = ledger_.NodeNames().size()};
    ledger_.ForEachPod([&](const Ledger::Held& pod) {
      ++(pod.bound ? counted.bound : counted.reservations);
      return true;
    });
    ASSERT_EQ(ledger_.Count(), counted);
    if (trouble_) return;
    for (const std::string& name : nodes_) {
      const auto node = ledger_.Node(name);
      for (size_t i = 0; i < node->devices().size(); ++i) {
        const core::Device& card = node->devices()[i];
        const DeviceUse& use = node->use()[i];
        ASSERT_LE(use.slots, card.slots) << name << " " << card.id;
        ASSERT_LE(use.memory, card.memory) << name << " " << card.id;
        ASSERT_LE(use.cores, card.cores) << name << " " << card.id;
      }
    }
  }

  void RemoveAll() {
    for (const std::string& pod : pods_) ledger_.Remove(pod);
    for (const auto& [node, cards] : ledger_.Usage().nodes)
      for (const DeviceUse& use : cards) EXPECT_EQ(use, DeviceUse{}) << node;
    EXPECT_TRUE(ledger_.Usage().namespaces.empty());
    EXPECT_TRUE(ledger_.Usage().closed.empty());
  }

  int placed() const { return placed_; }

 private:
  int64_t Upto(int64_t most) { return std::uniform_int_distribution<int64_t>(0, most)(random_); }
  bool OneIn(int64_t n) { return Upto(n - 1) == 0; }
  template <typename Container>
  const auto& Any(const Container& from) {
    return from[static_cast<size_t>(Upto(static_cast<int64_t>(std::size(from)) - 1))];
  }
  const std::string& AnyPod() { return Any(pods_); }
  std::string NamespaceOf(const std::string& pod) { return pod < "p20" ? "team" : "others"; }

  // Both vendors use the ids "0" to "3".
  void SetNode(const std::string& name) {
    std::vector<core::Device> cards;
    for (const VendorId vendor : kVendors)
      for (int id = 0; id < 4; ++id)
        if (!OneIn(4)) cards.push_back(Card(vendor, std::to_string(id), 500 + 100 * Upto(5)));
    if (cards.empty()) cards.push_back(Card(kA, "0"));
    ledger_.SetNode({name, std::move(cards)});
  }

  core::PodRequest AnyRequest(const std::string& pod) {
    core::PodRequest request = Request(pod, {}, NamespaceOf(pod));
    const int64_t sidecars_and_inits = Upto(2);
    const int64_t containers = sidecars_and_inits + 1 + Upto(1);
    for (int64_t i = 0; i < containers; ++i) {
      const auto kind = i >= sidecars_and_inits ? ContainerKind::kApp
                        : OneIn(2)              ? ContainerKind::kSidecar
                                                : ContainerKind::kInit;
      core::ContainerDemand demand =
          Request("", {{kind, Any(kVendors), 1 + Upto(1), Upto(300), Upto(40)}}).containers[0];
      request.containers.push_back(std::move(demand));
    }
    return request;
  }

  void Filter() {
    const std::string& pod = AnyPod();
    const auto before = ledger_.Find(pod);
    std::vector<std::string_view> names = {"unregistered"};
    for (const std::string& node : nodes_)
      if (OneIn(2)) names.push_back(node);
    const core::PodRequest request = AnyRequest(pod);
    Ledger::Outcome outcome = ledger_.Schedule(request, names, {});
    ASSERT_EQ(outcome.decision.fits(), outcome.reservation.armed());
    if (before && before->bound) {
      ASSERT_FALSE(outcome.decision.fits());
      ASSERT_TRUE(ledger_.Find(pod)->bound);
      return;
    }
    ASSERT_EQ(outcome.decision.fits(), ledger_.Find(pod).has_value());
    if (!outcome.decision.fits()) return;
    ++placed_;
    ASSERT_TRUE(ledger_.StillFits(pod)) << "overcommitted by a decision";
    const auto room = ledger_.QuotaRoom(request.pod.ns);
    for (const core::ContainerDemand& container : request.containers) {
      if (room.empty()) break;
      const core::QuotaRoom& left = room[container.requests[0].vendor];
      ASSERT_GE(left.memory.value_or(0), 0);
      ASSERT_GE(left.cores.value_or(0), 0);
    }
    requests_[pod] = request;
    if (!OneIn(4)) outcome.reservation.Commit();  // else it reverts
  }

  // The pod as it would be seen after its reservation was bound.
  std::optional<Holding> AsPlaced(const std::string& pod) {
    const auto held = ledger_.Find(pod);
    if (!held || !requests_.contains(pod)) return std::nullopt;
    Holding holding{held->pod, held->node, held->allocation, {}, false, {}};
    for (const core::ContainerDemand& container : requests_[pod].containers)
      holding.kinds.push_back(container.kind);
    return holding;
  }

  void Bind() {
    const std::string& pod = AnyPod();
    if (OneIn(2)) return ledger_.MarkBound(pod);
    if (const auto holding = AsPlaced(pod)) ledger_.Observe(*holding);
  }

  void FinishInit() {
    std::optional<Holding> holding = AsPlaced(AnyPod());
    if (!holding) return;
    holding->init_done = true;
    ledger_.Observe(*std::move(holding));
  }

  void EndReservations() {
    if (OneIn(2)) {
      ledger_.Forget(AnyPod());
    } else {
      clock_.Advance(std::chrono::seconds(Upto(60)));
      ledger_.ExpireReservations(5min);
    }
  }

  void SetQuota() {
    const std::string ns = OneIn(2) ? "team" : "others";
    const std::string name = OneIn(2) ? "q1" : "q2";
    if (OneIn(3)) return ledger_.RemoveQuota(ns, name);
    StringMap hard;
    if (OneIn(2)) hard["limits.alpha/mem"] = std::to_string(Upto(6000));
    if (OneIn(2)) hard["limits.alpha/cores"] = std::to_string(Upto(900));
    if (OneIn(2)) hard["limits.beta/mem"] = std::to_string(Upto(24));
    ledger_.SetQuota(ns, name, hard);
  }

  void Reregister() {
    const std::string& node = Any(nodes_);
    if (OneIn(3)) return ledger_.RemoveNode(node);
    SetNode(node);
  }

  // Anything that a pod's annotations may claim.
  Holding ForeignHolding() {
    const std::string& pod = AnyPod();
    Holding holding = Hold(pod, Any(nodes_), {});
    holding.pod.ns = NamespaceOf(pod);
    holding.kinds = {ContainerKind::kInit, ContainerKind::kSidecar, ContainerKind::kApp};
    holding.init_done = OneIn(2);
    for (const VendorId vendor : kVendors) {
      if (OneIn(4)) {
        holding.unreadable.push_back(vendor);
      } else if (OneIn(2)) {
        Shares shares(3);
        for (auto& container : shares)
          for (int64_t i = Upto(2); i > 0; --i)
            container.push_back(ShareOf(std::to_string(Upto(5)), Upto(400) - 100, Upto(60) - 10));
        holding.allocation.push_back({vendor, std::move(shares)});
      }
    }
    return holding;
  }

  void Adopt() {
    const Holding holding = ForeignHolding();
    const auto before = ledger_.Find(holding.pod.uid);
    Reservation adopted = ledger_.Adopt(holding);
    const auto after = ledger_.Find(holding.pod.uid);
    if (!adopted.armed()) {
      ASSERT_EQ(before.has_value(), after.has_value());
      if (before) {
        ASSERT_EQ(before->allocation, after->allocation);
      }
      return;
    }
    ASSERT_TRUE(ledger_.StillFits(holding.pod.uid));
    ASSERT_EQ(after->allocation, holding.allocation);
    requests_.erase(holding.pod.uid);
    if (OneIn(2)) adopted.Commit();
  }

  std::mt19937_64 random_;
  const bool trouble_;
  const std::vector<std::string> nodes_ = {"n0", "n1", "n2", "n3", "n4"};
  const std::vector<std::string> pods_ = [] {
    std::vector<std::string> names;
    for (int i = 10; i < 40; ++i) names.push_back("p" + std::to_string(i));
    return names;
  }();
  std::map<std::string, core::PodRequest> requests_;  // of the last reservation
  int placed_ = 0;
  FakeClock clock_;
  const core::Registry registry_ = MakeRegistry();
  Ledger ledger_{registry_, clock_};
};

class RandomWalkTest : public testing::TestWithParam<std::tuple<uint64_t, bool>> {};

TEST_P(RandomWalkTest, WhatIsKeptEqualsWhatIsComputedAfresh) {
  const auto [seed, trouble] = GetParam();
  std::cout << "seed " << seed << (trouble ? ", with trouble" : "") << std::endl;
  Walk walk(seed, trouble);
  for (int step = 0; step < kSteps; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    walk.Step();
    walk.Check();
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(walk.placed(), kSteps / 20);  // the walk reaches what it is about
  walk.RemoveAll();
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomWalkTest,
                         testing::Combine(testing::Values(1, 2, 3, 4), testing::Bool()));

}  // namespace
}  // namespace aliquot::ledger
