#include "cli/ledger_log.h"

#include <gtest/gtest.h>

#include "aliquot/base/fake_clock.h"
#include "aliquot/base/log.h"
#include "support/fake_api.h"
#include "support/kube_builders.h"

namespace aliquot::cli {
namespace {

using testing::ChartRegistry;
using testing::FakeApi;
using testing::KubeNode;
using testing::KubePod;

class LedgerLogTest : public ::testing::Test {
 protected:
  LedgerLogTest() {
    log::SetUp({});
    scheduler_.node_events().OnSynced();
    scheduler_.pod_events().OnSynced();
    scheduler_.quota_events().OnSynced();
  }

  void ShowNode(const std::string& name) {
    const auto node = std::make_shared<const kube::Node>(KubeNode(name, {{.id = "G0"}}));
    scheduler_.nodes().Put(node);
    scheduler_.node_events().OnUpsert(nullptr, node);
  }
  // Known to the cache alone.
  void LosePod(const std::string& name, const std::string& node) {
    scheduler_.pods().Put(std::make_shared<const kube::Pod>(
        KubePod(name).App({.gpu = "1"}).On(node, "G0,NVIDIA,1,1:;")));
  }
  std::string Logged() {
    ::testing::internal::CaptureStderr();
    LogLedger(scheduler_);
    return ::testing::internal::GetCapturedStderr();
  }
  static bool Has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  }

  FakeApi api_;
  FakeClock clock_;
  scheduler::Scheduler scheduler_{
      api_,
      ChartRegistry(),
      {},
      clock_,
      [](const ObjectRef&, bool, std::string_view, const std::string&) {},
      nullptr};
};

TEST_F(LedgerLogTest, SumsUpAndNamesTheNodesThatDiffer) {
  for (const char* node : {"n1", "n2", "n3"}) ShowNode(node);
  LosePod("p", "n1");
  LosePod("q", "n1");
  scheduler_.nodes().Remove("", "n2");
  const std::string text = Logged();
  EXPECT_TRUE(
      Has(text, "Looked at the ledger hash=" + std::to_string(scheduler_.ledger().HoldingsHash()) +
                    " nodes=3 boundPods=0 reservations=0 foreignPods=0 nodesThatDiffer=2"))
      << text;
  EXPECT_TRUE(Has(text, "node=n1 differences=\"2 missing\"\n")) << text;
  EXPECT_TRUE(Has(text, "node=n2 differences=\"1 registration\"\n")) << text;
  EXPECT_FALSE(Has(text, "node=n3")) << text;
}

TEST_F(LedgerLogTest, NamesFiftyNodesAtMost) {
  for (int i = 0; i < 60; ++i) LosePod("p" + std::to_string(i), "n" + std::to_string(i));
  const std::string text = Logged();
  EXPECT_TRUE(Has(text, "nodesThatDiffer=60")) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 51);
}

}  // namespace
}  // namespace aliquot::cli
