#include "cluster/patch.h"

#include <gtest/gtest.h>

namespace aliquot::cluster {
namespace {

constexpr const char* kStrategic = "application/strategic-merge-patch+json";

Json Patched(const char* type, const char* object, const char* patch) {
  Outcome<Json> result = ApplyPatch(Json::parse(object), type, patch);
  EXPECT_TRUE(bool(result)) << (result ? "" : result.error().message);
  return result ? *result : Json();
}

int CodeOf(const char* type, const char* patch) {
  const Outcome<Json> result = ApplyPatch(Json::parse(R"({"a":{"b":1}})"), type, patch);
  return result ? 200 : result.error().code;
}

TEST(StrategicPatch, MergesContainersAndTheirVariablesByName) {
  const char* object = R"({"containers":[{"name":"a","image":"x","env":[{"name":"E","value":"1"}]},
                                         {"name":"b","image":"y"}]})";
  const char* patch = R"({"containers":[{"name":"a","env":[{"name":"E","value":"2"},
                                                           {"name":"F","value":"3"}]},
                                        {"name":"c","image":"z"}]})";
  EXPECT_EQ(Patched(kStrategic, object, patch), Json::parse(R"({"containers":[
      {"name":"a","image":"x","env":[{"name":"E","value":"2"},{"name":"F","value":"3"}]},
      {"name":"b","image":"y"},{"name":"c","image":"z"}]})"));
}

TEST(StrategicPatch, ObeysDirectives) {
  EXPECT_EQ(Patched(kStrategic, R"({"env":[{"name":"A"},{"name":"B"}]})",
                    R"({"env":[{"name":"A","$patch":"delete"}]})"),
            Json::parse(R"({"env":[{"name":"B"}]})"));
  EXPECT_EQ(Patched(kStrategic, R"({"env":[{"name":"A"}]})",
                    R"({"env":[{"name":"B"},{"$patch":"replace"}]})"),
            Json::parse(R"({"env":[{"name":"B"}]})"));
  EXPECT_EQ(Patched(kStrategic, R"({"finalizers":["a","b"]})",
                    R"({"$deleteFromPrimitiveList/finalizers":["a"]})"),
            Json::parse(R"({"finalizers":["b"]})"));
  EXPECT_EQ(Patched(kStrategic, R"({"env":[{"name":"A"},{"name":"B"}]})",
                    R"({"$setElementOrder/env":[{"name":"B"},{"name":"A"}]})"),
            Json::parse(R"({"env":[{"name":"B"},{"name":"A"}]})"));
  EXPECT_EQ(Patched(kStrategic, R"({"s":{"a":1,"b":2}})", R"({"s":{"$retainKeys":["b"],"b":3}})"),
            Json::parse(R"({"s":{"b":3}})"));
}

TEST(MergePatch, ReplacesListsAndDeletesByNull) {
  EXPECT_EQ(Patched("application/merge-patch+json; charset=utf-8",
                    R"({"a":1,"l":[1,2],"o":{"x":1}})", R"({"a":null,"l":[3],"o":{"y":2}})"),
            Json::parse(R"({"l":[3],"o":{"x":1,"y":2}})"));
}

TEST(JsonPatch, RefusesAFailedTestAndAMissingPlace) {
  constexpr const char* kOperations = "application/json-patch+json";
  EXPECT_EQ(Patched(kOperations, R"({"a":{"b":1}})", R"([{"op":"add","path":"/a/c","value":2}])"),
            Json::parse(R"({"a":{"b":1,"c":2}})"));
  EXPECT_EQ(CodeOf(kOperations, R"([{"op":"test","path":"/a/b","value":2}])"), 422);
  EXPECT_EQ(CodeOf(kOperations, R"([{"op":"remove","path":"/a/x"}])"), 422);
  EXPECT_EQ(CodeOf(kOperations, R"([{"op":"dance","path":"/a"}])"), 422);
  EXPECT_EQ(CodeOf(kOperations, R"([5])"), 422);
}

TEST(JsonPatch, RefusesToGrowWithoutBounds) {
  std::string doubled = "[";
  for (int i = 0; i < 40; ++i) {
    doubled += R"({"op":"copy","from":"","path":"/a)" + std::to_string(i) + "\"},";
  }
  doubled.back() = ']';
  EXPECT_EQ(CodeOf("application/json-patch+json", doubled.c_str()), 422);
}

TEST(ApplyPatch, RefusesWhatItCannotRead) {
  EXPECT_EQ(CodeOf("application/apply-patch+yaml", "{}"), 415);
  EXPECT_EQ(CodeOf("application/merge-patch+json", "{"), 400);
  EXPECT_EQ(CodeOf("application/merge-patch+json", "[]"), 400);
  EXPECT_EQ(CodeOf("application/json-patch+json", "{}"), 400);
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_EQ(CodeOf("application/merge-patch+json", deep.c_str()), 400);
}

}  // namespace
}  // namespace aliquot::cluster
