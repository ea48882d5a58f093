// Many threads on one ledger. What ThreadSanitizer does not see, the sums do.
#include <atomic>
#include <thread>

#include "unit/ledger/fixture.h"

namespace aliquot::ledger {
namespace {

constexpr int kWorkers = 4;
constexpr int kRounds = 300;

TEST_F(LedgerTest, ThreadsNeverOvercommitACardAndLeaveNothingBehind) {
  const std::vector<core::Device> cards = {Card(kA, "0"), Card(kA, "1"), Card(kB, "0")};
  SetNode("n1", cards);
  SetNode("n2", cards);
  ledger_.SetQuota("team", "q", {{"limits.alpha/mem", "3500"}});

  // A pod's life, over and over. Several shares compete for each card.
  const auto work = [&](int worker) {
    const std::vector<std::string_view> nodes = {"n1", "n2", "n3"};
    for (int round = 0; round < kRounds; ++round) {
      const std::string uid = std::to_string(worker) + "-" + std::to_string(round % 3);
      const VendorId vendor = round % 2 == 0 ? kA : kB;
      auto outcome = ledger_.Schedule(
          Request(uid, {{.vendor = vendor, .memory = 400, .cores = 30}}), nodes, {});
      if (!outcome.decision.fits() || round % 5 == 0) continue;
      outcome.reservation.Commit();
      if (round % 3 == 0) {
        Holding bound = Hold(uid, ledger_.Find(uid)->node, {});
        bound.allocation = outcome.decision.allocation;
        bound.kinds = {ContainerKind::kApp};
        ledger_.Observe(bound);
      } else if (round % 3 == 1) {
        ledger_.MarkBound(uid);
      }
      EXPECT_TRUE(ledger_.StillFits(uid));
      if (round % 4 != 0) ledger_.Remove(uid);
    }
    for (const char* pod : {"-0", "-1", "-2"}) ledger_.Remove(std::to_string(worker) + pod);
  };

  std::atomic<bool> done = false;
  const auto watch = [&] {
    do {
      for (const char* name : {"n1", "n2"}) {
        const auto node = ledger_.Node(name);
        for (size_t i = 0; i < cards.size(); ++i) {
          EXPECT_LE(node->use()[i].memory, cards[i].memory);
          EXPECT_LE(node->use()[i].cores, cards[i].cores);
          EXPECT_LE(node->use()[i].slots, cards[i].slots);
        }
      }
      const auto room = ledger_.QuotaRoom("team");
      EXPECT_GE(room[kA].memory, 0);
      ledger_.Simulate(Request("s", {{.memory = 400}}),
                       std::vector<core::NodeInventory>{{"n1", cards}}, {});
      SetNode("n2", cards);  // re-registers while pods come and go
      ledger_.SetQuota("team", "q2", {{"limits.beta/mem", "7"}});
      ledger_.ExpireReservations(Duration::max());
      ledger_.Usage();
      ledger_.Count();
    } while (!done);
  };

  std::thread watcher(watch);
  std::vector<std::thread> workers;
  for (int i = 0; i < kWorkers; ++i) workers.emplace_back(work, i);
  for (std::thread& worker : workers) worker.join();
  done = true;
  watcher.join();

  EXPECT_EQ(ledger_.Count().bound + ledger_.Count().reservations, 0U);
  for (const core::Device& card : cards) {
    EXPECT_EQ(Use("n1", card.id, card.vendor), DeviceUse{});
    EXPECT_EQ(Use("n2", card.id, card.vendor), DeviceUse{});
  }
}

}  // namespace
}  // namespace aliquot::ledger
