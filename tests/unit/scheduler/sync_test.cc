#include "aliquot/scheduler/sync.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace aliquot::scheduler {
namespace {

using namespace std::chrono_literals;

SteadyTime In(Duration time) { return std::chrono::steady_clock::now() + time; }

TEST(SyncStateTest, IsSyncedWhenEveryCacheIs) {
  SyncState sync;
  EXPECT_EQ(sync.Missing(), "waiting for the first complete list of nodes, pods, resourcequotas");
  sync.SetSynced(SyncState::kPods);
  EXPECT_FALSE(sync.synced());
  EXPECT_EQ(sync.Missing(), "waiting for the first complete list of nodes, resourcequotas");
  sync.SetSynced(SyncState::kNodes);
  sync.SetSynced(SyncState::kNodes);
  EXPECT_FALSE(sync.synced());
  sync.SetSynced(SyncState::kQuotas);
  EXPECT_TRUE(sync.synced());
  EXPECT_EQ(sync.Missing(), "");
}

void SetAll(SyncState& sync) {
  for (const auto cache : {SyncState::kNodes, SyncState::kPods, SyncState::kQuotas})
    sync.SetSynced(cache);
}

TEST(SyncStateTest, ASyncedStateDoesNotWait) {
  SyncState sync;
  SetAll(sync);
  EXPECT_TRUE(sync.Wait(In(-1s), [] { return true; }));
  sync.Stop();
  EXPECT_TRUE(sync.Wait(In(-1s), nullptr));
}

TEST(SyncStateTest, WaitsUntilTheLastCacheIsComplete) {
  SyncState sync;
  std::thread waiter([&] { EXPECT_TRUE(sync.Wait(In(60s), nullptr)); });
  SetAll(sync);
  waiter.join();
}

TEST(SyncStateTest, GivesUpAtTheDeadline) {
  SyncState sync;
  EXPECT_FALSE(sync.Wait(In(-1s), nullptr));
  EXPECT_FALSE(sync.Wait(In(20ms), [] { return false; }));
}

TEST(SyncStateTest, GivesUpWhenNobodyWaitsForTheAnswer) {
  SyncState sync;
  int asked = 0;
  EXPECT_FALSE(sync.Wait(In(60s), [&] { return ++asked == 2; }));
  EXPECT_EQ(asked, 2);
}

TEST(SyncStateTest, StopEndsAllWaiting) {
  SyncState sync;
  std::thread waiter([&] { EXPECT_FALSE(sync.Wait(In(60s), nullptr)); });
  sync.Stop();
  waiter.join();
  EXPECT_FALSE(sync.Wait(In(60s), nullptr));
}

}  // namespace
}  // namespace aliquot::scheduler
