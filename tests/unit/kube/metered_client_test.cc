#include "aliquot/kube/metered_client.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "aliquot/base/fake_clock.h"
#include "support/fake_api.h"
#include "support/scrape.h"

namespace aliquot::kube {
namespace {

using namespace std::chrono_literals;
using testing::FakeApi;
using Lines = std::vector<std::string>;

class NoLists : public ListWatcher {
 public:
  Result<std::string> List(const std::string&, const std::stop_token&) override {
    return std::string("{}");
  }
  Result<void> Watch(const std::string&, Duration, const std::function<bool(std::string_view)>&,
                     const std::stop_token&) override {
    return Error{ErrorCode::kGone, "too old"};
  }
};

class MeteredClientTest : public ::testing::Test {
 protected:
  MeteredClientTest() {
    api_.on_call = [this](const auto&) { clock_.Advance(3ms); };
    Pod pod;
    pod.meta.ns = "team";
    pod.meta.name = "p";
    api_.Put(pod);
  }
  Lines Told(std::string_view name) const {
    return testing::Samples(testing::Scrape(client_), name);
  }

  FakeClock clock_;
  FakeApi api_;
  NoLists lists_;
  MeteredClient client_{api_, lists_, clock_};
};

TEST_F(MeteredClientTest, TellsNothingBeforeTheFirstCall) {
  EXPECT_EQ(testing::Scrape(client_), "");
}

TEST_F(MeteredClientTest, CountsCallsByHowTheyEnded) {
  EXPECT_EQ(client_.GetPod("team", "p", {})->meta.name, "p");
  EXPECT_EQ(client_.GetPod("team", "p", {})->meta.name, "p");
  EXPECT_EQ(client_.GetPod("team", "q", {}).error().code, ErrorCode::kNotFound);
  api_.LoseNextAnswer("Bind");
  EXPECT_FALSE(client_.Bind({{"team", "p", ""}, "n1"}, {}).ok());
  EXPECT_EQ(Told("aliquot_api_calls_total"),
            (Lines{R"({code="ok",resource="pods",verb="get"} 2)",
                   R"({code="not-found",resource="pods",verb="get"} 1)",
                   R"({code="unknown-outcome",resource="bindings",verb="create"} 1)"}));
}

TEST_F(MeteredClientTest, TellsListsAndWatchesByTheirResource) {
  EXPECT_TRUE(client_.List("/api/v1/pods?limit=500", {}).ok());
  EXPECT_TRUE(
      client_.List("/apis/coordination.k8s.io/v1/namespaces/lab/leases?limit=500", {}).ok());
  EXPECT_TRUE(client_.List("/apis/apps/v1/deployments", {}).ok());
  EXPECT_FALSE(client_.Watch("/api/v1/resourcequotas?watch=true", 1s, nullptr, {}).ok());
  EXPECT_EQ(Told("aliquot_api_calls_total"),
            (Lines{R"({code="ok",resource="pods",verb="list"} 1)",
                   R"({code="ok",resource="leases",verb="list"} 1)",
                   R"({code="ok",resource="other",verb="list"} 1)",
                   R"({code="gone",resource="resourcequotas",verb="watch"} 1)"}));
}

TEST_F(MeteredClientTest, TimesCalls) {
  EXPECT_TRUE(client_.GetPod("team", "p", {}).ok());
  EXPECT_EQ(Told("aliquot_api_call_duration_seconds_sum"),
            Lines{R"({resource="pods",verb="get"} 0.003)"});
  EXPECT_EQ(Told("aliquot_api_call_duration_seconds_count"),
            Lines{R"({resource="pods",verb="get"} 1)"});
}

}  // namespace
}  // namespace aliquot::kube
