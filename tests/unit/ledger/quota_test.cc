#include "aliquot/ledger/quota.h"

#include <limits>

#include "aliquot/vendors/registry.h"
#include "unit/ledger/fixture.h"

namespace aliquot::ledger {
namespace {

constexpr std::string_view kOverQuota = "1/1 ResourceQuotaNotFit";

class QuotaTest : public LedgerTest {
 protected:
  QuotaTest() { SetNode("n1", {Card(kA, "0"), Card(kB, "0", 100'000)}); }

  std::optional<int64_t> MemoryRoom(VendorId vendor = kA, std::string_view ns = "team") {
    const auto room = ledger_.QuotaRoom(ns);
    return room.empty() ? std::nullopt : room[vendor].memory;
  }
};

TEST_F(QuotaTest, ANamespaceWithoutQuotaHasNoLimits) {
  EXPECT_TRUE(ledger_.QuotaRoom("team").empty());
  EXPECT_EQ(Place(Request("p", {{.memory = 1000}}), {"n1"}), "n1");
  EXPECT_TRUE(ledger_.QuotaRoom("team").empty());
}

TEST_F(QuotaTest, LimitsOnlyItsNamespace) {
  ledger_.SetQuota("team", "q", {{"limits.alpha/mem", "500"}});
  EXPECT_EQ(Place(Request("p1", {{.memory = 501}}), {"n1"}), kOverQuota);
  EXPECT_EQ(Place(Request("p2", {{.memory = 501}}, "others"), {"n1"}), "n1");
}

TEST_F(QuotaTest, CountsReservationsAndBoundPodsWhereverTheyAre) {
  ledger_.SetQuota("team", "q", {{"limits.alpha/mem", "500"}});
  EXPECT_EQ(Place(Request("p1", {{.memory = 200}}), {"n1"}), "n1");
  ledger_.Observe(Hold("p2", "unregistered", {{ShareOf("9", 250)}}));
  EXPECT_EQ(MemoryRoom(), 50);
  EXPECT_EQ(Place(Request("p3", {{.memory = 51}}), {"n1"}), kOverQuota);
  ledger_.Remove("p2");
  ledger_.Forget("p1");
  EXPECT_EQ(MemoryRoom(), 500);
}

TEST_F(QuotaTest, RowsTellEveryLimitAndEveryUse) {
  ledger_.SetQuota("team", "q", {{"limits.alpha/mem", "500"}, {"limits.beta/mem", "3"}});
  ledger_.SetQuota("team", "smaller", {{"limits.alpha/mem", "400"}});
  ledger_.SetQuota("idle", "q", {{"limits.alpha/cores", "0"}});
  EXPECT_EQ(Place(Request("p", {{.memory = 200}}), {"n1"}), "n1");
  EXPECT_EQ(Place(Request("q", {{.memory = 100, .cores = 7}}, "unlimited"), {"n1"}), "n1");
  EXPECT_EQ(ledger_.Quotas(),
            (std::vector<QuotaRow>{{"idle", "alpha/cores", 0, 0},
                                   {"team", "alpha/cores", 0, std::nullopt},
                                   {"team", "alpha/mem", 200, 400},
                                   {"team", "beta/mem", 0, 3},  // not in accounting units
                                   {"unlimited", "alpha/cores", 7, std::nullopt},
                                   {"unlimited", "alpha/mem", 100, std::nullopt}}));
}

TEST_F(QuotaTest, APodsOwnReservationIsNotCountedAgainstIt) {
  ledger_.SetQuota("team", "q", {{"limits.alpha/mem", "500"}});
  EXPECT_EQ(Place(Request("p", {{.memory = 500}}), {"n1"}), "n1");
  EXPECT_EQ(Place(Request("p", {{.memory = 500}}), {"n1"}), "n1");
}

TEST_F(QuotaTest, FollowsTheShrinkAfterInit) {
  ledger_.SetQuota("team", "q", {{"limits.alpha/mem", "500"}});
  Holding holding = Hold("p", "n1", {{ShareOf("0", 400)}, {ShareOf("0", 100)}});
  holding.kinds = {ContainerKind::kInit, ContainerKind::kApp};
  ledger_.Observe(holding);
  EXPECT_EQ(MemoryRoom(), 100);
  holding.init_done = true;
  ledger_.Observe(holding);
  EXPECT_EQ(MemoryRoom(), 400);
}

TEST_F(QuotaTest, MemoryLimitsAreMultipliedByTheFactorOfTheVendor) {
  ledger_.SetQuota("team", "q", {{"limits.beta/mem", "2"}});
  EXPECT_EQ(MemoryRoom(kB), 2 * kFactorOfB);
  EXPECT_EQ(Place(Request("p1", {{.vendor = kB, .memory = 512}}), {"n1"}), "n1");
  EXPECT_EQ(Place(Request("p2", {{.vendor = kB, .memory = 1}}), {"n1"}), kOverQuota);
  EXPECT_EQ(Place(Request("p3", {{.vendor = kA, .memory = 900}}), {"n1"}), "n1");
}

TEST_F(QuotaTest, LimitsCores) {
  ledger_.SetQuota("team", "q", {{"limits.alpha/cores", "30"}});
  EXPECT_EQ(Place(Request("p1", {{.memory = 900, .cores = 20}}), {"n1"}), "n1");
  EXPECT_EQ(Place(Request("p2", {{.cores = 11}}), {"n1"}), kOverQuota);
  EXPECT_EQ(Place(Request("p3", {{.cores = 10}}), {"n1"}), "n1");
}

TEST_F(QuotaTest, AnExplicitZeroBlocks) {
  ledger_.SetQuota("team", "q", {{"limits.alpha/mem", "0"}});
  EXPECT_EQ(Place(Request("p", {{.memory = 1}}), {"n1"}), kOverQuota);
}

TEST_F(QuotaTest, TheSmallestOfSeveralLimitsApplies) {
  ledger_.SetQuota("team", "wide", {{"limits.alpha/mem", "800"}, {"limits.alpha/cores", "10"}});
  ledger_.SetQuota("team", "narrow", {{"limits.alpha/mem", "300"}, {"limits.alpha/cores", "20"}});
  EXPECT_EQ(MemoryRoom(), 300);
  EXPECT_EQ(ledger_.QuotaRoom("team")[kA].cores, 10);
  ledger_.RemoveQuota("team", "narrow");
  EXPECT_EQ(MemoryRoom(), 800);
  ledger_.RemoveQuota("team", "wide");
  EXPECT_TRUE(ledger_.QuotaRoom("team").empty());
}

TEST_F(QuotaTest, AChangedObjectReplacesItsLimitsAndKeepsWhatIsUsed) {
  ledger_.SetQuota("team", "q", {{"limits.alpha/mem", "500"}, {"limits.alpha/cores", "10"}});
  EXPECT_EQ(Place(Request("p", {{.memory = 400}}), {"n1"}), "n1");
  ledger_.SetQuota("team", "q", {{"limits.alpha/mem", "600"}});  // raised; cores dropped
  EXPECT_EQ(MemoryRoom(), 200);
  EXPECT_EQ(ledger_.QuotaRoom("team")[kA].cores, std::nullopt);
  ledger_.SetQuota("team", "q", {{"limits.alpha/mem", "300"}});  // below what is used
  EXPECT_EQ(MemoryRoom(), -100);
  ledger_.SetQuota("team", "q", {});
  EXPECT_TRUE(ledger_.QuotaRoom("team").empty());
  ledger_.SetQuota("team", "q", {{"limits.alpha/mem", "600"}});
  EXPECT_EQ(MemoryRoom(), 200);
}

TEST_F(QuotaTest, PassesOverWhatIsNoLimitOfAVendor) {
  ledger_.SetQuota("team", "q",
                   {{"requests.alpha/mem", "1"},  // not the form that is counted
                    {"limits.alpha/card", "1"},   // counts are the API server's
                    {"limits.", "1"},             // Beta has no cores resource
                    {"limits.cpu", "1"},
                    {"alpha/mem", "1"},
                    {"limits.alpha/mem", "1500m"}});
  EXPECT_TRUE(ledger_.QuotaRoom("team").empty());
}

TEST_F(QuotaTest, ReadsKubernetesQuantities) {
  ledger_.SetQuota("team", "q", {{"limits.alpha/mem", "3k"}});
  EXPECT_EQ(MemoryRoom(), 3000);
}

// The memory that a limit leaves a vendor with these names.
std::optional<int64_t> MemoryRoomOf(std::string_view key, const std::string& limit) {
  vendors::Configs configs;
  for (core::VendorConfig* config : {&configs.metax_sgpu, &configs.xpu, &configs.enflame})
    config->memory_name = "mem";
  const core::Registry registry = vendors::MakeRegistry(configs);
  QuotaTable quotas(registry);
  quotas.SetLimits("team", "q", {{"limits.mem", limit}});
  const auto room = quotas.Room("team");
  return room.empty() ? std::nullopt : room[registry.Find(key)->id()].memory;
}

TEST(QuotaUnitsTest, ALimitIsReadAsRequestsAre) {
  EXPECT_EQ(MemoryRoomOf("Metax-SGPU", "64"), 65536);  // GiB
  EXPECT_EQ(MemoryRoomOf("Metax-SGPU", "64Gi"), 65536);
  EXPECT_EQ(MemoryRoomOf("Metax-SGPU", "1k"), 1024000);  // the API server's 1000
  EXPECT_EQ(MemoryRoomOf("Metax-SGPU", "0"), 0);
  EXPECT_EQ(MemoryRoomOf("Metax-SGPU", "-1Gi"), 0);
  EXPECT_EQ(MemoryRoomOf("Metax-SGPU", "1500m"), std::nullopt);
  for (const char* key : {"XPU", "Enflame"}) {
    EXPECT_EQ(MemoryRoomOf(key, "24576"), 24576) << key;  // MiB
    EXPECT_EQ(MemoryRoomOf(key, "24Gi"), 24576) << key;
  }
}

TEST_F(QuotaTest, HugeLimitsSaturate) {
  ledger_.SetQuota("team", "q", {{"limits.beta/mem", "100000000000000000"}});
  EXPECT_EQ(MemoryRoom(kB), std::numeric_limits<int64_t>::max());
}

TEST_F(QuotaTest, RemovingUnknownQuotasIsHarmless) {
  ledger_.SetQuota("team", "q", {{"limits.alpha/mem", "500"}});
  ledger_.RemoveQuota("team", "another");
  ledger_.RemoveQuota("nowhere", "q");
  EXPECT_EQ(MemoryRoom(), 500);
}

TEST_F(QuotaTest, UsageIsPerNamespaceAndVendor) {
  EXPECT_EQ(
      Place(Request("p1", {{.memory = 100, .cores = 5}, {.vendor = kB, .memory = 70}}), {"n1"}),
      "n1");
  EXPECT_EQ(Place(Request("p2", {{.memory = 10}}, "others"), {"n1"}), "n1");
  EXPECT_EQ(ledger_.Usage().namespaces,
            (std::map<std::string, std::vector<DeviceUse>>{{"team", {{0, 100, 5}, {0, 70, 0}, {}}},
                                                           {"others", {{0, 10, 0}, {}, {}}}}));
  ledger_.Forget("p1");
  EXPECT_FALSE(ledger_.Usage().namespaces.contains("team"));
}

}  // namespace
}  // namespace aliquot::ledger
