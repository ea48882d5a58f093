#include "aliquot/kube/setup_objects.h"

#include <gtest/gtest.h>

namespace aliquot::kube {
namespace {

TEST(SetupObjectsTest, ReadsAConfigMap) {
  const auto map = ParseConfigMap(
      R"({"kind":"ConfigMap","metadata":{"namespace":"a","name":"b"},"data":{"k":"v"}})");
  ASSERT_TRUE(map) << map.error().message;
  EXPECT_EQ(map->meta.name, "b");
  EXPECT_EQ(map->data, (StringMap{{"k", "v"}}));
}

TEST(SetupObjectsTest, ReadsTheImagesOfADaemonSet) {
  const auto set = ParseDaemonSet(R"({"metadata":{"name":"d"},"spec":{"template":{"spec":{
      "initContainers":[{"image":"init"}],"containers":[{"name":"c","image":"a:1"},{"image":"b"}]}}}})");
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->images, (std::vector<std::string>{"a:1", "b"}));
}

TEST(SetupObjectsTest, ReadsWhichWebhooksSeeNewPods) {
  const auto read = ParseMutatingWebhookConfiguration(R"({"metadata":{"name":"w"},"webhooks":[
      {"name":"new","rules":[{"apiGroups":[""],"operations":["CREATE"],"resources":["pods"]}]},
      {"name":"all","rules":[{"apiGroups":["*"],"operations":["*"],"resources":["*/*"]}]},
      {"name":"gone","rules":[{"apiGroups":[""],"operations":["DELETE"],"resources":["pods"]}]},
      {"name":"jobs","rules":[{"apiGroups":["batch"],"operations":["*"],"resources":["jobs"]}]},
      {"name":"none"}]})");
  ASSERT_TRUE(read) << read.error().message;
  std::vector<std::string> names;
  for (const MutatingWebhook& webhook : read->webhooks)
    if (webhook.sees_new_pods) names.push_back(webhook.name);
  EXPECT_EQ(read->webhooks.size(), 5U);
  EXPECT_EQ(names, (std::vector<std::string>{"new", "all"}));
}

TEST(SetupObjectsTest, ReadsTheResourceOfADeviceClass) {
  EXPECT_EQ(ParseDeviceClass(R"({"metadata":{"name":"c"},"spec":{"extendedResourceName":"a/b"}})")
                ->extended_resource,
            "a/b");
  EXPECT_EQ(ParseDeviceClass(R"({"metadata":{"name":"c"},"spec":{}})")->extended_resource, "");
  EXPECT_EQ(ParseDeviceClass(R"({"spec":{"extendedResourceName":1}})").error().message,
            "DeviceClass: spec.extendedResourceName: not a string");
}

TEST(SetupObjectsTest, ReadsTheServersVersionInBothForms) {
  EXPECT_EQ(*ParseServerVersion(R"({"major":"1","gitVersion":"v1.33.1"})"), "v1.33.1");
  EXPECT_EQ(*ParseServerVersion(
                R"({"clientVersion":{"gitVersion":"v1"},"serverVersion":{"gitVersion":"v2"}})"),
            "v2");
  EXPECT_EQ(*ParseServerVersion(R"({"clientVersion":{"gitVersion":"v1"}})"), "");
}

}  // namespace
}  // namespace aliquot::kube
