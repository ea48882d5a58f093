#include "aliquot/scheduler/leader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "aliquot/base/fake_clock.h"
#include "support/kube_builders.h"

namespace aliquot::scheduler {
namespace {

using namespace std::chrono_literals;
using testing::KubeLease;

SteadyTime In(Duration time) { return std::chrono::steady_clock::now() + time; }

class LeaderTest : public ::testing::Test {
 protected:
  void See(const std::shared_ptr<const kube::Lease>& lease) { leader_.OnUpsert(nullptr, lease); }
  // Why it does not lead; "" if it does.
  std::string Obstacle() { return leader_.Obstacle().value_or(""); }

  FakeClock clock_;
  Leader leader_{Election{"kube-system", "hami-scheduler", "gpu-1"}, clock_};
};

TEST_F(LeaderTest, WithoutAnElectionItLeads) {
  const Leader alone(std::nullopt, clock_);
  EXPECT_TRUE(alone.Leads());
  EXPECT_TRUE(alone.Wait(In(-1s), [] { return true; }));
}

TEST_F(LeaderTest, WithoutALeaseItDoesNot) {
  EXPECT_EQ(Obstacle(), "lease kube-system/hami-scheduler is not there");
}

TEST_F(LeaderTest, LeadsWhileItsHostHoldsTheLease) {
  for (const char* holder : {"gpu-1", "gpu-1_", "gpu-1_5f0c"}) {
    See(KubeLease(holder));
    EXPECT_EQ(Obstacle(), "") << holder;
  }
  for (const char* holder : {"", "gpu-10_5f0c", "gpu-1.lab_5f0c", "gpu-2_5f0c", "gpu", "_gpu-1"}) {
    See(KubeLease(holder));
    EXPECT_EQ(Obstacle(),
              "lease kube-system/hami-scheduler is held by \"" + std::string(holder) + "\"");
  }
}

TEST_F(LeaderTest, ALeaseRunsOutWithoutAnEvent) {
  See(KubeLease("gpu-1_5f0c"));
  clock_.Advance(15s - 1ns);
  EXPECT_TRUE(leader_.Leads());
  clock_.Advance(1ns);
  EXPECT_FALSE(leader_.Leads());
  clock_.Advance(5s);
  EXPECT_EQ(Obstacle(), "lease kube-system/hami-scheduler was last renewed 20s ago");
}

TEST_F(LeaderTest, EveryChangeThatIsSeenRenewsIt) {
  for (int i = 0; i < 3; ++i) {
    See(KubeLease("gpu-1_5f0c"));
    clock_.Advance(14s);
    EXPECT_TRUE(leader_.Leads());
  }
}

TEST_F(LeaderTest, ALeaseWithoutDurationIsNotValid) {
  kube::Lease lease = *KubeLease("gpu-1_5f0c");
  lease.duration = 0s;
  See(std::make_shared<const kube::Lease>(lease));
  EXPECT_FALSE(leader_.Leads());
}

TEST_F(LeaderTest, ADeletedLeaseIsNobodys) {
  const auto lease = KubeLease("gpu-1_5f0c");
  See(lease);
  leader_.OnDelete(lease);
  EXPECT_EQ(Obstacle(), "lease kube-system/hami-scheduler is not there");
}

TEST_F(LeaderTest, WaitsUntilTheLeaseIsOurs) {
  std::atomic<bool> waiting = false;
  std::thread lease([&] {
    while (!waiting) std::this_thread::yield();
    See(KubeLease("gpu-1_5f0c"));
  });
  EXPECT_TRUE(leader_.Wait(In(60s), [&] {
    waiting = true;
    return false;
  }));
  lease.join();
}

TEST_F(LeaderTest, WaitingEnds) {
  EXPECT_FALSE(leader_.Wait(In(-1s), nullptr));
  EXPECT_FALSE(leader_.Wait(In(60s), [] { return true; }));
  std::thread stop([&] { leader_.Stop(); });
  EXPECT_FALSE(leader_.Wait(In(60s), nullptr));
  stop.join();
  See(KubeLease("gpu-1_5f0c"));
  EXPECT_TRUE(leader_.Wait(In(60s), nullptr));
}

}  // namespace
}  // namespace aliquot::scheduler
