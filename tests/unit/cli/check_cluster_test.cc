#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "aliquot/base/fake_clock.h"
#include "aliquot/base/files.h"
#include "aliquot/base/strings.h"
#include "aliquot/cluster/cluster.h"
#include "aliquot/cluster/local_client.h"
#include "cli/check_cluster_command.h"
#include "cli/cluster_reader.h"

namespace aliquot::cli {
namespace {

using Json = nlohmann::json;

// An API server that forbids one list.
class Forbidding : public cluster::LocalClient {
 public:
  using LocalClient::LocalClient;
  std::string forbidden = "-";

  Result<std::string> List(const std::string& target, const std::stop_token& stop) override {
    if (target.starts_with(forbidden)) return Error{ErrorCode::kForbidden, "you may not"};
    return LocalClient::List(target, stop);
  }
};

class CheckClusterTest : public ::testing::Test {
 protected:
  CheckClusterTest() {
    Create("/api/v1/namespaces", {{"metadata", {{"name", "ml"}}}});
    CreateNode("gpu-17", {{"hami.io/node-nvidia-register", "GPU-0"},
                          {"hami.io/mutex.lock", "2025-12-31T23:47:57Z,ml,train-0"}});
    CreateNode("gpu-18", {{"hami.io/node-nvidia-register",
                           R"([{"id":"GPU-0","count":10,"devmem":40960,"devcore":100,)"
                           R"("type":"NVIDIA A100","health":true}])"}});
    CreatePod("stray", "gpu-18", {{"nvidia.com/gpu", "1"}});
    CreatePod("typo", "", {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "16Gi"}});
  }

  void Create(const std::string& target, const Json& object) {
    const Result<std::string> done = api_.Call("POST", target, object.dump());
    ASSERT_TRUE(done) << done.error().message;
  }
  void CreateNode(const std::string& name, const Json& annotations) {
    Create("/api/v1/nodes", {{"metadata", {{"name", name}, {"annotations", annotations}}}});
  }
  void CreatePod(const std::string& name, const std::string& node, const Json& limits) {
    const Json container{{"name", "c"}, {"image", "i"}, {"resources", {{"limits", limits}}}};
    Create("/api/v1/namespaces/ml/pods",
           {{"metadata", {{"name", name}}},
            {"spec", {{"nodeName", node}, {"containers", Json::array({container})}}}});
  }
  int Check(const Result<checks::Snapshot>& read, bool json = false) {
    out_.str("");
    return CheckCluster(read, {.device_config_file = "", .json = json}, {out_, err_});
  }
  int Check(bool json = false) { return Check(ReadCluster(api_, clock_.Now()), json); }

  FakeClock clock_;
  cluster::Cluster cluster_{{}};
  Forbidding api_{cluster_};
  std::ostringstream out_, err_;
};

TEST_F(CheckClusterTest, TheReportIsTheOneInTheDocumentation) {
  EXPECT_EQ(Check(), 1);
  const Result<std::string> page = ReadFile(SOURCE_DIR "/docs/operations.md");
  ASSERT_TRUE(page);
  EXPECT_TRUE(Contains(*page, "$ aliquot check-cluster\n" + out_.str() + "```")) << out_.str();
}

TEST_F(CheckClusterTest, FilesGiveTheSameFindings) {
  EXPECT_EQ(Check(true), 1);
  Json live = Json::parse(out_.str())["findings"];
  ASSERT_EQ(live.back()["check"], "webhook");
  live.erase(live.size() - 1);  // files of nodes and pods tell nothing of webhooks
  const auto folder = std::filesystem::temp_directory_path();
  std::vector<std::string> files;
  for (const std::string name : {"nodes", "pods"}) {
    files.push_back(folder / (name + std::to_string(getpid()) + ".json"));
    std::ofstream(files.back()) << *api_.Call("GET", "/api/v1/" + name);
  }
  const Result<checks::Snapshot> read = ReadClusterFiles(files, clock_.Now());
  for (const std::string& file : files) std::filesystem::remove(file);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(Check(read, true), 1);
  const Json from_files = Json::parse(out_.str());
  EXPECT_EQ(from_files["findings"], live);
  EXPECT_EQ(from_files["findings"].size(), 4U);
}

TEST_F(CheckClusterTest, WhatIsForbiddenIsSaid) {
  api_.forbidden = "/api/v1/pods";
  EXPECT_EQ(Check(), 1);
  EXPECT_TRUE(Contains(out_.str(), "pods: you may not")) << out_.str();
  api_.forbidden = "/api/v1/";
  EXPECT_EQ(Check(), 2);
}

TEST_F(CheckClusterTest, WithoutAnApiServerNothingIsChecked) {
  EXPECT_EQ(Check(Error{ErrorCode::kUnavailable, "nobody there"}), 2);
  EXPECT_EQ(err_.str(), "error: nobody there\n");
}

}  // namespace
}  // namespace aliquot::cli
