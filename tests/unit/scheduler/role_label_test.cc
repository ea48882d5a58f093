#include "aliquot/scheduler/role_label.h"

#include <gtest/gtest.h>

#include <chrono>

#include "aliquot/base/fake_clock.h"
#include "scheduler/keys.h"
#include "support/fake_api.h"
#include "support/kube_builders.h"

namespace aliquot::scheduler {
namespace {

using namespace std::chrono_literals;
using testing::FakeApi;
using testing::KubeLease;
using testing::KubePod;

class RoleLabelTest : public ::testing::Test {
 protected:
  RoleLabelTest() {
    api_.on_pod = [this](const auto&, const auto& now) {
      if (now != nullptr && feed_) pods_.Put(now);
    };
    api_.Put(KubePod("us").App());
    api_.Put(Labelled("other", "leader"));
  }

  static kube::Pod Labelled(const std::string& name, const std::string& role) {
    kube::Pod pod = KubePod(name).App();
    pod.meta.labels[std::string(kRoleLabel)] = role;
    return pod;
  }
  std::string Role(const std::string& pod = "us") {
    const auto now = api_.pod("team", pod);
    const std::string* role = Find(now->meta.labels, kRoleLabel);
    return role == nullptr ? "-" : *role;
  }
  void HeldBy(const std::string& holder) { leader_.OnUpsert(nullptr, KubeLease(holder)); }

  FakeClock clock_;
  FakeApi api_;
  kube::Store<kube::Pod> pods_;
  Leader leader_{Election{"kube-system", "hami-scheduler", "us"}, clock_};
  RoleLabel label_{api_, pods_, leader_, {"team", "us", ""}};
  bool feed_ = true;  // the cache follows the API server
};

TEST_F(RoleLabelTest, IsOnOurPodWhileWeLeadAndOnNoOther) {
  EXPECT_TRUE(label_.Write());
  EXPECT_EQ(Role(), "-");
  HeldBy("us_1");
  EXPECT_TRUE(label_.Write());
  EXPECT_EQ(Role(), "leader");
  HeldBy("other_1");
  EXPECT_TRUE(label_.Write());
  EXPECT_EQ(Role(), "-");
  EXPECT_EQ(Role("other"), "leader");
  EXPECT_EQ(api_.CountCalls("PatchPod"), 2U);
}

TEST_F(RoleLabelTest, ComesOffWhenTheLeaseRunsOut) {
  HeldBy("us_1");
  label_.Write();
  clock_.Advance(15s);
  label_.Write();
  EXPECT_EQ(Role(), "-");
}

TEST_F(RoleLabelTest, WhatACrashedLeaderHasLeftComesOff) {
  api_.Put(Labelled("us", "leader"));
  label_.Write();
  EXPECT_EQ(Role(), "-");
}

TEST_F(RoleLabelTest, ARoleThatHamiHasWrittenForAFollowerStays) {
  api_.Put(Labelled("us", "follower"));
  label_.Write();
  EXPECT_EQ(Role(), "follower");
  HeldBy("us_1");
  label_.Write();
  EXPECT_EQ(Role(), "leader");
}

TEST_F(RoleLabelTest, IsWrittenOnceWhileTheCacheIsBehind) {
  feed_ = false;
  HeldBy("us_1");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(label_.Write());
  EXPECT_EQ(api_.CountCalls("PatchPod"), 1U);

  HeldBy("other_1");
  label_.Write();
  pods_.Put(api_.pod("team", "us"));
  feed_ = true;
  label_.Write();
  EXPECT_EQ(Role(), "-");
}

TEST_F(RoleLabelTest, IsTriedAgain) {
  HeldBy("us_1");
  api_.FailNext("PatchPod", {ErrorCode::kForbidden, "no"});
  EXPECT_FALSE(label_.Write());
  EXPECT_TRUE(label_.Write());
  EXPECT_EQ(Role(), "leader");
}

TEST_F(RoleLabelTest, AnotherPodOfOurNameIsNotOurs) {
  HeldBy("us_1");
  feed_ = false;
  api_.Put(KubePod("us").App().Uid("another"));
  EXPECT_FALSE(label_.Write());
  EXPECT_EQ(Role(), "-");
}

TEST_F(RoleLabelTest, WithoutBothNamesNobodyIsLabelled) {
  for (const ObjectRef& pod : {ObjectRef{"team", "", ""}, ObjectRef{"", "us", ""}}) {
    HeldBy("us_1");
    RoleLabel label(api_, pods_, leader_, pod);
    label.Start();
    label.Stop();
    EXPECT_EQ(Role(), "-");
  }
}

}  // namespace
}  // namespace aliquot::scheduler
