// What the ledger keeps because a vendor's hooks ask for it: who is on a card, how
// many slots a share takes, and cores in the unit of the quota.
#include <iostream>
#include <random>

#include "unit/ledger/fixture.h"

namespace aliquot::ledger {
namespace {

// A share takes a slot for every 10 cores; the quota counts tens of cores; of cards
// of type "watched" it is told who is there.
constexpr core::VendorSpec kOdd = [] {
  core::VendorSpec spec = MakeSpec("Odd", kGates);
  spec.slots_of = [](const core::Device&, const core::Share& share) { return share.cores / 10; };
  spec.quota_cores = [](const core::Device& card, int64_t cores) {
    return cores * 10 / card.cores;
  };
  spec.watches_tenants = [](const core::Device& card) { return card.type == "watched"; };
  return spec;
}();

class LedgerHooksTest : public ::testing::Test {
 protected:
  static core::Device OddCard(std::string id, std::string type = "watched") {
    core::Device card = Card(0, std::move(id));
    card.type = std::move(type);
    card.slots = 10;
    return card;
  }
  static Holding OddHolding(std::string uid, Shares shares,
                            std::vector<core::Instance> instances = {}) {
    Holding holding = Hold(std::move(uid), "n1", std::move(shares), 0);
    holding.allocation[0].instances = std::move(instances);
    holding.notes = {{"class", holding.pod.uid}};
    return holding;
  }
  static core::Instance InstanceOf(std::string id, int64_t start) {
    return {0, 0, std::move(id), "1g", {start, 2}};
  }
  core::NodeUsage Node() { return *ledger_.Node("n1"); }
  std::vector<std::string> TenantsOf(size_t device) {
    const core::NodeUsage node = Node();
    std::vector<std::string> uids;
    for (const core::Tenant& tenant : node.tenants(device)) uids.push_back(tenant.uid);
    return uids;
  }
  void TearDown() override { EXPECT_EQ(ledger_.Usage(), ledger_.RebuildUsage()); }

  FakeClock clock_;
  const core::Registry registry_{{core::Vendor(kOdd, [] {
    core::VendorConfig config;
    config.cores_name = "odd/cores";
    return config;
  }())}};
  Ledger ledger_{registry_, clock_};
};

TEST(LedgerAuditTest, FindsANodeWhoseUsageIsNotWhatItsPodsHold) {
  static int64_t slots = 1;  // a hook that changes its mind is the one way to get there
  core::VendorSpec fickle = MakeSpec("Fickle", kGates);
  fickle.slots_of = [](const core::Device&, const core::Share&) { return slots; };
  const core::Registry registry{{core::Vendor(fickle, {})}};
  FakeClock clock;
  Ledger ledger(registry, clock);
  ledger.SetNode({"n1", {Card(0, "a")}});
  ledger.SetNode({"n2", {Card(0, "a")}});
  ledger.Observe(Hold("p", "n1", {{ShareOf("a", 1)}}, 0));
  EXPECT_TRUE(ledger.Agrees("n1"));
  slots = 2;
  EXPECT_FALSE(ledger.Agrees("n1"));
  EXPECT_TRUE(ledger.Agrees("n2"));
  EXPECT_TRUE(ledger.Agrees("no such node"));

  ledger.Rebuild("n1");
  ledger.Rebuild("no such node");
  EXPECT_TRUE(ledger.Agrees("n1"));
  EXPECT_EQ(ledger.Usage(), ledger.RebuildUsage());
  ledger.Remove("p");
  EXPECT_EQ(ledger.Node("n1")->use()[0], DeviceUse{});
}

using Uids = std::vector<std::string>;

TEST_F(LedgerHooksTest, AShareTakesTheSlotsThatItsCardSays) {
  ledger_.SetNode({"n1", {OddCard("a")}});
  ledger_.Observe(OddHolding("p", {{ShareOf("a", 1, 30)}, {ShareOf("a", 1, 20)}}));
  EXPECT_EQ(Node().use()[0], (DeviceUse{5, 2, 50}));
}

// Pods may be seen before the node is.
TEST_F(LedgerHooksTest, ChargesFollowTheCardWhenTheNodeIsRegistered) {
  ledger_.SetQuota("team", "q", {{"limits.odd/cores", "10"}});
  ledger_.Observe(OddHolding("p", {{ShareOf("a", 1, 30)}}));
  ledger_.SetNode({"n1", {OddCard("a")}});
  EXPECT_EQ(Node().use()[0].slots, 3);
  EXPECT_EQ(ledger_.QuotaRoom("team")[0].cores, 10 - 30 * 10 / 100);
  core::Device larger = OddCard("a");
  larger.cores = 300;
  ledger_.SetNode({"n1", {larger}});
  EXPECT_EQ(ledger_.QuotaRoom("team")[0].cores, 10 - 30 * 10 / 300);
  ledger_.RemoveNode("n1");
  ledger_.Remove("p");
  EXPECT_EQ(ledger_.QuotaRoom("team")[0].cores, 10);
}

TEST_F(LedgerHooksTest, TellsWhoIsOnACardThatIsWatched) {
  ledger_.SetNode({"n1", {OddCard("a"), OddCard("b", "other")}});
  ledger_.Observe(OddHolding("q", {{ShareOf("a", 1, 10), ShareOf("b", 1, 10)}}));
  ledger_.Observe(OddHolding("p", {{ShareOf("a", 1, 20)}, {ShareOf("a", 1, 30)}}));
  EXPECT_EQ(TenantsOf(0), (Uids{"p", "q"}));
  EXPECT_EQ(TenantsOf(1), Uids{});
  const core::NodeUsage node = Node();
  const core::Tenant& p = node.tenants(0)[0];
  EXPECT_EQ(p.use, (DeviceUse{5, 2, 50}));
  EXPECT_EQ(p.largest_cores, 30);
  EXPECT_EQ(p.notes, (StringMap{{"class", "p"}}));
  ledger_.Remove("p");
  EXPECT_EQ(TenantsOf(0), Uids{"q"});
}

TEST_F(LedgerHooksTest, ARebuildLeavesARightNodeAsItIs) {
  ledger_.SetQuota("team", "q", {{"limits.odd/cores", "10"}});
  ledger_.SetNode({"n1", {OddCard("a"), OddCard("b", "other")}});
  ledger_.Observe(OddHolding("q", {{ShareOf("a", 1, 10), ShareOf("b", 1, 10)}}));
  ledger_.Observe(OddHolding("p", {{ShareOf("a", 1, 20)}}, {InstanceOf("a", 0)}));
  ledger_.Observe(Unreadable("r", "n1", 0));
  ledger_.Observe(OddHolding("s", {{ShareOf("no such card", 1, 10)}}));
  const UsageTable before = ledger_.Usage();
  const uint64_t stamp = Node().stamp();
  ledger_.Rebuild("n1");
  EXPECT_EQ(ledger_.Usage(), before);
  EXPECT_NE(Node().stamp(), stamp);  // decisions look again
  for (const char* pod : {"p", "q", "r", "s"}) ledger_.Remove(pod);
  EXPECT_EQ(Node().use()[0], DeviceUse{});
  EXPECT_EQ(ledger_.QuotaRoom("team")[0].cores, 10);
}

TEST_F(LedgerHooksTest, AnInitContainerThatIsOverIsNoTenant) {
  ledger_.SetNode({"n1", {OddCard("a")}});
  Holding holding = OddHolding("p", {{ShareOf("a", 1, 100)}, {ShareOf("a", 1, 30)}});
  holding.kinds = {ContainerKind::kInit, ContainerKind::kApp};
  ledger_.Observe(holding);
  EXPECT_EQ(Node().tenants(0)[0].largest_cores, 100);
  holding.init_done = true;
  ledger_.Observe(holding);
  EXPECT_EQ(Node().tenants(0)[0].largest_cores, 30);
}

TEST_F(LedgerHooksTest, TellsOfInstancesOnAnyCard) {
  ledger_.SetNode({"n1", {OddCard("a"), OddCard("b", "other")}});
  ledger_.Observe(
      OddHolding("p", {{ShareOf("a", 1, 10)}}, {InstanceOf("a", 0), InstanceOf("b", 4)}));
  EXPECT_EQ(TenantsOf(1), Uids{"p"});
  const core::NodeUsage node = Node();
  EXPECT_EQ(node.tenants(1)[0].instances, (std::vector<core::Slices>{{4, 2}}));
  EXPECT_EQ(node.tenants(1)[0].use, DeviceUse{});
  EXPECT_FALSE(node.lost_instance(0));
}

TEST_F(LedgerHooksTest, AnInstanceOfACardThatIsNotThereIsTold) {
  ledger_.SetNode({"n1", {OddCard("a")}});
  ledger_.Observe(OddHolding("p", {{ShareOf("a", 1, 10)}}, {InstanceOf("gone", 0)}));
  EXPECT_TRUE(Node().lost_instance(0));
  ledger_.SetNode({"n1", {OddCard("a"), OddCard("gone")}});
  EXPECT_FALSE(Node().lost_instance(0));
  ledger_.SetNode({"n1", {OddCard("a")}});
  EXPECT_TRUE(Node().lost_instance(0));
  ledger_.Remove("p");
  EXPECT_FALSE(Node().lost_instance(0));
}

TEST_F(LedgerHooksTest, AnInstanceInAnothersPlaceIsNotAdopted) {
  ledger_.SetNode({"n1", {OddCard("a")}});
  ledger_.Observe(OddHolding("p", {{ShareOf("a", 1, 10)}}, {InstanceOf("a", 0)}));
  EXPECT_FALSE(
      ledger_.Adopt(OddHolding("q", {{ShareOf("a", 1, 10)}}, {InstanceOf("a", 1)})).armed());
  EXPECT_TRUE(
      ledger_.Adopt(OddHolding("q", {{ShareOf("a", 1, 10)}}, {InstanceOf("a", 2)})).armed());
}

// Whatever happens, what is kept is what would be computed afresh.
TEST_F(LedgerHooksTest, KeepsWhatARebuildWouldGive) {
  const uint64_t seed = std::random_device()();
  std::cout << "seed " << seed << "\n";
  std::mt19937_64 random(seed);
  const auto upto = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  const auto uid = [&] { return "p" + std::to_string(upto(8)); };
  const auto id = [&] { return std::string(1, static_cast<char>('a' + upto(4))); };
  for (int step = 0; step < 2000; ++step) {
    switch (upto(5)) {
      case 0: {
        std::vector<core::Device> cards;
        for (const char* card : {"a", "b", "c"})
          if (upto(3) != 0) cards.push_back(OddCard(card, upto(2) == 0 ? "watched" : "other"));
        for (core::Device& card : cards) card.cores = 100 * (1 + upto(3));
        ledger_.SetNode({"n1", cards});
        break;
      }
      case 1:
        ledger_.Remove(uid());
        break;
      default: {
        std::vector<core::Instance> instances;
        for (int64_t i = upto(3); i > 0; --i) instances.push_back(InstanceOf(id(), upto(6)));
        Holding holding =
            OddHolding(uid(), {{ShareOf(id(), 1, upto(60))}, {ShareOf(id(), 2, upto(60))}},
                       std::move(instances));
        holding.kinds = {ContainerKind::kInit, ContainerKind::kApp};
        holding.init_done = upto(2) == 0;
        ledger_.Observe(std::move(holding));
      }
    }
    ASSERT_EQ(ledger_.Usage(), ledger_.RebuildUsage()) << "step " << step;
  }
}

}  // namespace
}  // namespace aliquot::ledger
