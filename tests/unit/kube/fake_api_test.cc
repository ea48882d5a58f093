#include "support/fake_api.h"

#include <gtest/gtest.h>

namespace aliquot::testing {
namespace {

kube::Pod MakePod(const std::string& name) {
  kube::Pod pod;
  pod.meta.ns = "team-a";
  pod.meta.name = name;
  return pod;
}

class FakeApiTest : public ::testing::Test {
 protected:
  FakeApi api_;
  std::shared_ptr<const kube::Pod> pod_ = api_.Put(MakePod("w"));
  ObjectRef ref_ = pod_->meta.Ref();
};

TEST_F(FakeApiTest, PatchMergesAndDeletesKeysUnderANewVersion) {
  ASSERT_TRUE(api_.PatchPod(ref_, R"({"metadata":{"annotations":{"a":"1","b":"2"}}})", {}));
  const kube::MetadataPatch patch{.uid = ref_.uid,
                                  .annotations = {{"a", std::nullopt}, {"c", "3"}}};
  const Result<kube::Pod> now = api_.PatchPod(ref_, patch.ToJson(), {});
  ASSERT_TRUE(now);
  EXPECT_EQ(now->meta.annotations, (StringMap{{"b", "2"}, {"c", "3"}}));
  EXPECT_NE(now->meta.resource_version, pod_->meta.resource_version);
}

TEST_F(FakeApiTest, PatchThatChangesNothingKeepsTheVersionAndTellsNobody) {
  int told = 0;
  api_.on_pod = [&](const auto&, const auto&) { ++told; };
  const Result<kube::Pod> now = api_.PatchPod(ref_, R"({"metadata":{"labels":{"x":null}}})", {});
  ASSERT_TRUE(now);
  EXPECT_EQ(*now, *pod_);
  EXPECT_EQ(told, 0);
}

TEST_F(FakeApiTest, PatchChecksUidAndVersion) {
  EXPECT_EQ(api_.PatchPod(ref_, R"({"metadata":{"uid":"x"}})", {}).error().code,
            ErrorCode::kOtherObject);
  EXPECT_EQ(api_.PatchPod(ref_, R"({"metadata":{"resourceVersion":"1"}})", {}).error().code,
            ErrorCode::kConflict);
  EXPECT_EQ(api_.PatchPod({"team-a", "x", ""}, R"({"metadata":{}})", {}).error().code,
            ErrorCode::kNotFound);
}

TEST_F(FakeApiTest, BindAssignsOnceAndCarriesAnnotations) {
  EXPECT_EQ(api_.Bind({{"team-a", "w", "other"}, "n1", {}}, {}).error().code, ErrorCode::kConflict);
  ASSERT_TRUE(api_.Bind({ref_, "n1", {{"k", "v"}}}, {}));
  EXPECT_EQ(api_.pod("team-a", "w")->node_name, "n1");
  EXPECT_EQ(api_.pod("team-a", "w")->meta.annotations, (StringMap{{"k", "v"}}));
  EXPECT_EQ(api_.Bind({ref_, "n1", {}}, {}).error().code, ErrorCode::kConflict);
}

TEST_F(FakeApiTest, FailsOnOrderBeforeOrAfterTheChange) {
  const std::string patch = R"({"metadata":{"labels":{"x":"1"}}})";
  api_.FailNext("PatchPod", {ErrorCode::kUnavailable, "down"});
  EXPECT_EQ(api_.PatchPod(ref_, patch, {}).error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(api_.pod("team-a", "w")->meta.labels.empty());

  api_.LoseNextAnswer("PatchPod");
  EXPECT_EQ(api_.PatchPod(ref_, patch, {}).error().code, ErrorCode::kUnknownOutcome);
  EXPECT_EQ(api_.pod("team-a", "w")->meta.labels, (StringMap{{"x", "1"}}));
  EXPECT_EQ(api_.CountCalls("PatchPod"), 2U);
}

}  // namespace
}  // namespace aliquot::testing
