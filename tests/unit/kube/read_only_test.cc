#include "aliquot/kube/read_only.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "support/fake_api.h"

namespace aliquot::kube {
namespace {

using testing::FakeApi;

class ReadOnlyApiTest : public ::testing::Test {
 protected:
  ReadOnlyApiTest() {
    Pod pod;
    pod.meta.ns = "team";
    pod.meta.name = "p";
    pod.meta.uid = "uid-p";
    api_.Put(pod);
    Node node;
    node.meta.name = "n1";
    api_.Put(node);
  }

  FakeApi api_;
  ReadOnlyApi read_only_{api_};
};

TEST_F(ReadOnlyApiTest, PassesReadsOn) {
  EXPECT_EQ(read_only_.GetPod("team", "p", {})->meta.uid, "uid-p");
  EXPECT_EQ(read_only_.GetNode("n1", {})->meta.name, "n1");
  EXPECT_EQ(read_only_.GetNode("n2", {}).error().code, ErrorCode::kNotFound);
}

// Every method of kube::Api that is no read.
TEST_F(ReadOnlyApiTest, RefusesEveryWriteBeforeItIsSent) {
  const ObjectRef pod{"team", "p", "uid-p"};
  const std::string patch = R"({"metadata":{"labels":{"a":"b"}}})";
  const auto code = [](const auto& result) {
    return result.ok() ? ErrorCode::kCancelled : result.error().code;
  };
  const std::map<std::string, std::function<ErrorCode()>> writes = {
      {"PatchPod", [&] { return code(read_only_.PatchPod(pod, patch, {})); }},
      {"PatchNode", [&] { return code(read_only_.PatchNode("n1", patch, {})); }},
      {"Bind", [&] { return code(read_only_.Bind({.pod = pod, .node = "n1"}, {})); }},
      {"CreateEvent",
       [&] { return code(read_only_.CreateEvent("team", R"({"metadata":{"name":"e"}})", {})); }},
      {"PatchEvent", [&] { return code(read_only_.PatchEvent("team", "e", patch, {})); }}};
  for (const auto& [method, write] : writes) {
    EXPECT_EQ(write(), ErrorCode::kForbidden) << method;
    EXPECT_EQ(api_.calls().size(), 0U) << method;
  }
}

}  // namespace
}  // namespace aliquot::kube
