#include "aliquot/checks/checks.h"

#include <gtest/gtest.h>

#include "aliquot/base/fake_clock.h"
#include "support/kube_builders.h"

namespace aliquot::checks {
namespace {

using testing::ChartRegistry;
using testing::KubeNode;
using testing::KubePod;

constexpr char kSchedulerConfig[] = R"(kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 100
profiles: [{schedulerName: hami-scheduler}]
extenders:
- filterVerb: filter
  bindVerb: bind
  nodeCacheCapable: true
  httpTimeout: 30s
  managedResources:
  - {name: nvidia.com/gpu, ignoredByScheduler: true}
  - {name: nvidia.com/gpumem, ignoredByScheduler: true}
  - {name: nvidia.com/gpumem-percentage, ignoredByScheduler: true}
  - {name: nvidia.com/gpucores, ignoredByScheduler: true}
)";

class ChecksTest : public ::testing::Test {
 protected:
  // A cluster in which nothing is wrong.
  ChecksTest() {
    at_.now = FakeClock().Now();
    at_.server_version = "v1.33.1";
    at_.nodes = {KubeNode("n1", {{"G0"}})};
    at_.pods = {KubePod("held").App({"1", "1000"}).On("n1", "G0,NVIDIA,1000,0:;")};
    at_.config_maps = {{{}, {{"config.yaml", kSchedulerConfig}}}};
    at_.daemon_sets = {{{}, {"docker.io/projecthami/hami:v2.10.0"}}};
    at_.webhooks = {{{}, {{"vgpu.hami.io", true}}}};
  }
  // "error registration" of every finding.
  std::vector<std::string> Found() const {
    std::vector<std::string> found;
    for (const Finding& finding : RunChecks(at_, ChartRegistry()).findings)
      found.push_back(std::string(Word(finding.severity)) + " " + std::string(finding.check));
    return found;
  }
  void Configure(const std::string& from, const std::string& to) {
    std::string& text = at_.config_maps[0].data["config.yaml"];
    text.replace(text.find(from), from.size(), to);
  }
  using List = std::vector<std::string>;

  Snapshot at_;
};

TEST_F(ChecksTest, FindsNothingInACleanCluster) {
  const Report report = RunChecks(at_, ChartRegistry());
  EXPECT_TRUE(report.findings.empty()) << report.findings[0].what;
  EXPECT_TRUE(report.not_checked.empty());
}

TEST_F(ChecksTest, FindsARegistrationThatCannotBeRead) {
  at_.pods.clear();
  at_.nodes[0].meta.annotations[testing::kRegisterKey] = "not JSON";
  EXPECT_EQ(Found(), List{"error registration"});
}

TEST_F(ChecksTest, FindsAnOldHandshake) {
  at_.nodes[0].meta.annotations[testing::kHandshakeKey] = "Requesting_2025-12-31 23:00:00";
  EXPECT_EQ(Found(), List{"warning handshake"});
}

TEST_F(ChecksTest, FindsALockOfAPodThatIsGoneAndAnOldOne) {
  at_.nodes[0].meta.annotations["hami.io/mutex.lock"] = "2025-12-31T23:59:50Z,team,gone";
  EXPECT_EQ(Found(), List{"warning node-lock"});
  at_.nodes[0].meta.annotations["hami.io/mutex.lock"] = "2025-12-31T23:50:00Z,team,held";
  EXPECT_EQ(Found(), List{"warning node-lock"});
  at_.nodes[0].meta.annotations["hami.io/mutex.lock"] = "2025-12-31T23:59:50Z,team,held";
  EXPECT_EQ(Found(), List{});
}

TEST_F(ChecksTest, FindsAllocationsThatCannotBeReadOrDoNotFit) {
  at_.pods[0].meta.annotations[testing::kAllocatedKey] = "G0,NVIDIA,x,0:;";
  EXPECT_EQ(Found(), List{"error allocation"});
  at_.pods[0].meta.annotations[testing::kAllocatedKey] = "G0,NVIDIA,50000,0:;";
  EXPECT_EQ(Found(), List{"error held-cards"});
}

TEST_F(ChecksTest, FindsForeignUnservedAndUnreadablePods) {
  kube::Pod foreign = KubePod("foreign").App({"1"});
  foreign.node_name = "n1";
  at_.pods = {foreign};
  EXPECT_EQ(Found(), List{"error foreign-pod"});
  at_.pods = {KubePod("typo").App({"1", "16Gi"})};
  EXPECT_EQ(Found(), List{"error request"});
  at_.pods = {KubePod("waits").App({"1"})};
  EXPECT_EQ(Found(), List{});
  at_.nodes.clear();
  EXPECT_EQ(Found(), List{"error unserved"});
}

TEST_F(ChecksTest, FindsWhatIsWrongWithTheExtender) {
  Configure("nodeCacheCapable: true", "ignorable: true");
  EXPECT_EQ(Found(), (List{"error extender", "error extender"}));
  Configure("httpTimeout: 30s", "httpTimeout: 5s");
  Configure("percentageOfNodesToScore: 100", "percentageOfNodesToScore: 0");
  EXPECT_EQ(Found(),
            (List{"error extender", "error extender", "warning extender", "note extender"}));
}

TEST_F(ChecksTest, FindsWhatIsWrongAroundTheScheduler) {
  at_.server_version = "v1.24.0";
  at_.daemon_sets[0].images = {"projecthami/hami:v2.4.1"};
  at_.webhooks.push_back(at_.webhooks[0]);
  at_.device_classes = {{{}, "nvidia.com/gpu"}};
  EXPECT_EQ(Found(), (List{"error device-class", "warning server-version", "warning device-plugin",
                           "warning webhook"}));
}

TEST_F(ChecksTest, TellsWhatAMoveChangesForPods) {
  at_.pods = {KubePod("policy").Annotate("hami.io/gpu-scheduler-policy", "binpak")};
  EXPECT_EQ(Found(), List{"note move-pods"});
  at_.pods = {KubePod("weights").Annotate("hami.io/device-scoring-weights", "slot=1")};
  EXPECT_EQ(Found(), List{"warning move-pods"});
  at_.pods = {KubePod("promise").Annotate(testing::kAllocatedKey, "G0,NVIDIA,1,0:;")};
  EXPECT_EQ(Found(), List{"note move-pods"});
  at_.pods = {KubePod("sidecar").Sidecar({"1"}).App().On("n1", "G0,NVIDIA,1,0:;;")};
  EXPECT_EQ(Found(), List{"note move-pods"});
}

TEST_F(ChecksTest, TellsWhatAMoveChangesForQuotas) {
  kube::ResourceQuota quota;
  quota.meta.ns = "team";
  quota.hard["limits.nvidia.com/gpumem"] = "1000";
  at_.quotas = {quota};
  EXPECT_EQ(Found(), List{});
  at_.quotas = {quota, quota};
  EXPECT_EQ(Found(), List{"note move-quotas"});
  quota.scoped = true;
  at_.quotas = {quota};
  EXPECT_EQ(Found(), List{"note move-quotas"});
}

TEST_F(ChecksTest, FindsManagedResourcesThatAreMissing) {
  Configure("  - {name: nvidia.com/gpucores, ignoredByScheduler: true}\n", "");
  EXPECT_EQ(Found(), List{"error extender"});
  Configure("gpu, ignoredByScheduler: true", "gpu");
  EXPECT_EQ(Found(), (List{"error extender", "warning extender"}));
}

TEST_F(ChecksTest, SaysWhatItCouldNotCheck) {
  at_.missing[Source::kQuotas] = "forbidden";
  const Report report = RunChecks(at_, ChartRegistry());
  ASSERT_EQ(report.not_checked.size(), 1U);
  EXPECT_EQ(report.not_checked[0].check, "move-quotas");
}

}  // namespace
}  // namespace aliquot::checks
