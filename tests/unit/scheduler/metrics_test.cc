// What the scheduler tells of itself and of what pods hold.
#include "aliquot/scheduler/metrics.h"

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>

#include "aliquot/base/fake_clock.h"
#include "aliquot/scheduler/scheduler.h"
#include "support/fake_api.h"
#include "support/kube_builders.h"
#include "support/scrape.h"

namespace aliquot::scheduler {
namespace {

using namespace std::chrono_literals;
using testing::Ask;
using testing::ChartRegistry;
using testing::FakeApi;
using testing::KubeNode;
using testing::KubePod;
using testing::Samples;

using Lines = std::vector<std::string>;

const Ask kAsk{.gpu = "1", .mem = "3000", .cores = "30"};

class MetricsTest : public ::testing::Test {
 protected:
  explicit MetricsTest(bool legacy = false) : options_(OptionsWith(legacy)) {
    api_.on_pod = [this](const auto& before, const auto& now) {
      if (now) {
        scheduler_.pods().Put(now);
        scheduler_.pod_events().OnUpsert(before, now);
      } else {
        scheduler_.pods().Remove(before->meta.ns, before->meta.name);
        scheduler_.pod_events().OnDelete(before);
      }
    };
    api_.on_node = [this](const auto& before, const auto& now) {
      scheduler_.nodes().Put(now);
      scheduler_.node_events().OnUpsert(before, now);
    };
    scheduler_.node_events().OnSynced();
    scheduler_.pod_events().OnSynced();
    scheduler_.quota_events().OnSynced();
    api_.Put(KubeNode("n1", {{.id = "G0"}}));
  }

  static Options OptionsWith(bool legacy_metrics) {
    Options options;
    options.filter_deadline = options.bind_deadline = 24h;  // by two clocks in these tests
    options.legacy_metrics = legacy_metrics;
    return options;
  }
  void Filter(const kube::Pod& pod) {
    api_.Put(pod);
    FilterRequest request;
    request.pod = pod;
    request.node_names = {"n1", "n9"};
    scheduler_.Filter(request, {clock_.Steady(), nullptr});
  }
  std::string Bind(const std::string& pod) {
    return scheduler_.Bind({pod, "team", "uid-" + pod, "n1"}, {clock_.Steady(), nullptr}).error;
  }
  Lines Told(std::string_view name) const { return Samples(testing::Scrape(scheduler_), name); }
  // Of a histogram's counts, those above zero.
  Lines Counted(const std::string& name) const {
    Lines lines = Told(name + "_count");
    std::erase_if(lines, [](const std::string& line) { return line.ends_with(" 0"); });
    return lines;
  }

  FakeClock clock_;
  FakeApi api_;
  const Options options_;
  Scheduler scheduler_{api_,
                       ChartRegistry(),
                       options_,
                       clock_,
                       [](const ObjectRef&, bool, std::string_view, const std::string&) {},
                       nullptr};
};

// ---- requests

TEST_F(MetricsTest, RequestsAreCountedByTheirEnd) {
  Filter(KubePod("fits").App(kAsk));
  Filter(KubePod("too-large").App({.gpu = "1", .mem = "999999"}));
  Filter(KubePod("nothing").App());
  Filter(KubePod("nonsense").App({.gpu = "1", .mem = "16Gi"}));
  EXPECT_EQ(Bind("fits"), "");
  EXPECT_EQ(Bind("fits"), "");
  EXPECT_NE(Bind("gone"), "");
  scheduler_.Admit({"team", "CREATE", {}});
  EXPECT_EQ(
      Counted("aliquot_request_duration_seconds"),
      (Lines{R"({outcome="assigned",verb="filter"} 1)", R"({outcome="refused",verb="filter"} 1)",
             R"({outcome="unreadable",verb="filter"} 1)", R"({outcome="passed",verb="filter"} 1)",
             R"({outcome="bound",verb="bind"} 1)", R"({outcome="already_bound",verb="bind"} 1)",
             R"({outcome="refused",verb="bind"} 1)", R"({outcome="denied",verb="webhook"} 1)"}));
}

TEST_F(MetricsTest, StagesAreTimedWhereTheyAreReached) {
  Filter(KubePod("fits").App(kAsk));
  Filter(KubePod("too-large").App({.gpu = "1", .mem = "999999"}));
  EXPECT_EQ(Bind("fits"), "");
  EXPECT_EQ(Counted("aliquot_stage_duration_seconds"),
            (Lines{R"({stage="wait",verb="filter"} 2)", R"({stage="decide",verb="filter"} 2)",
                   R"({stage="write",verb="filter"} 1)", R"({stage="lock",verb="bind"} 1)",
                   R"({stage="write",verb="bind"} 1)"}));
}

TEST_F(MetricsTest, ARefusedPodCountsOncePerReason) {
  for (int i = 0; i < 2; ++i) Filter(KubePod("p").App({.gpu = "1", .mem = "999999"}));
  EXPECT_EQ(Told("aliquot_refusals_total"),
            (Lines{R"({reason="CardInsufficientMemory"} 2)", R"({reason="node unregistered"} 2)"}));
}

// ---- the ledger

TEST_F(MetricsTest, ReservationsAreToldByTheirAge) {
  Filter(KubePod("old").App(kAsk));
  clock_.Advance(5min);
  Filter(KubePod("young").App(kAsk));
  api_.Put(KubePod("bound").App(kAsk).On("n1", "G0,NVIDIA,1000,1:;"));
  EXPECT_EQ(Told("aliquot_ledger_reservations"),
            (Lines{R"({age="under_1m"} 1)", R"({age="1m_to_5m"} 0)", R"({age="over_5m"} 1)"}));
  EXPECT_EQ(Told("aliquot_ledger_bound_pods"), Lines{"1"});
  EXPECT_EQ(Told("aliquot_ledger_nodes"), Lines{"1"});
}

TEST_F(MetricsTest, TheHashFollowsWhatBoundPodsHold) {
  const Lines empty = Told("aliquot_ledger_hash");
  Filter(KubePod("reserved").App(kAsk));
  EXPECT_EQ(Told("aliquot_ledger_hash"), empty);
  const auto pod = KubePod("p").App(kAsk).On("n1", "G0,NVIDIA,1000,1:;");
  api_.Put(pod);
  const Lines with_pod = Told("aliquot_ledger_hash");
  EXPECT_NE(with_pod, empty);
  api_.RemovePod("team", "p");
  EXPECT_EQ(Told("aliquot_ledger_hash"), empty);
  api_.Put(pod);
  EXPECT_EQ(Told("aliquot_ledger_hash"), with_pod);
  api_.RemovePod("team", "p");
  api_.Put(KubePod("p").App(kAsk).On("n1", "G0,NVIDIA,1001,1:;"));
  EXPECT_NE(Told("aliquot_ledger_hash"), with_pod);
}

TEST_F(MetricsTest, ANodeThatIsClosedToAVendorShows) {
  EXPECT_EQ(Told("aliquot_ledger_closed_nodes"), Lines{});
  api_.Put(KubePod("p").App(kAsk).On("n1", "nonsense,"));
  EXPECT_EQ(Told("aliquot_ledger_closed_nodes"), Lines{R"({vendor="NVIDIA"} 1)"});
}

TEST_F(MetricsTest, TheOldestNodeLockIsTold) {
  EXPECT_EQ(Told("aliquot_node_lock_oldest_age_seconds"), Lines{"0"});
  kube::Node node = KubeNode("n2", {});
  node.meta.annotations["hami.io/mutex.lock"] = "2025-12-31T23:59:30Z,team,p";
  api_.Put(node);
  node.meta.name = "n3";
  node.meta.annotations["hami.io/mutex.lock"] = "0001-01-01,nobody";
  api_.Put(node);
  EXPECT_EQ(Told("aliquot_node_locks"), Lines{"2"});
  EXPECT_EQ(Told("aliquot_node_lock_age_seconds"), Lines{R"({node="n2"} 30)"});
  EXPECT_EQ(Told("aliquot_node_lock_oldest_age_seconds"), Lines{"30"});
}

TEST_F(MetricsTest, WithoutAnElectionThisReplicaLeads) {
  EXPECT_EQ(Told("aliquot_leader"), Lines{"1"});
}

// ---- HAMi's

class HamiMetricsTest : public MetricsTest {};

TEST_F(HamiMetricsTest, TellsWhatIsHeldNow) {
  const std::string memory = "hami_gpu_memory_allocated_bytes";
  const std::string labels =
      R"({device_cores="100",device_index="0",device_type="NVIDIA A100-SXM4-40GB",)"
      R"(device_uuid="G0",node="n1",zone="vGPU"} )";
  EXPECT_EQ(Told(memory), Lines{labels + "0"});
  Filter(KubePod("p").App(kAsk));
  EXPECT_EQ(Told(memory), Lines{labels + "3.145728e+09"});
  api_.RemovePod("team", "p");
  EXPECT_EQ(Told(memory), Lines{labels + "0"});
}

TEST_F(HamiMetricsTest, SimulationsChangeNothingAndTakeNothing) {
  const auto page = [&] {
    Lines lines;
    const std::string text = testing::Scrape(scheduler_);
    for (const std::string_view line : Split(text, '\n'))
      if (!Contains(line, "aliquot_")) lines.emplace_back(line);
    return lines;
  };
  const kube::Pod whole_card = KubePod("p").App({.gpu = "1"});
  const Lines before = page();
  FilterRequest request;
  request.pod = *api_.Put(whole_card);
  request.simulation = true;
  request.nodes.push_back({*api_.node("n1"), "{}"});
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(scheduler_.Filter(request, {clock_.Steady(), nullptr}).nodes, std::vector<size_t>{0});
  EXPECT_EQ(page(), before);
  EXPECT_TRUE(api_.calls().empty());
  Filter(whole_card);
  EXPECT_EQ(api_.pod("team", "p")->meta.annotations.at(testing::kAllocatedKey),
            "G0,NVIDIA,40960,0:;");
}

TEST_F(HamiMetricsTest, OfTwoPodsOfOneNameTheLaterOneIsTold) {
  // The first one's end has not been told when the second one is filtered.
  Filter(KubePod("p").Uid("uid-z").App(kAsk));
  clock_.Advance(1s);
  Filter(KubePod("p").Uid("uid-a").App({.gpu = "1", .mem = "1000"}));
  ASSERT_EQ(scheduler_.ledger().Count().reservations, 2U);
  EXPECT_EQ(Told("hami_vgpu_memory_allocated_bytes"),
            Lines{R"({container_index="0",device_uuid="G0",namespace="team",node="n1",pod="p",)"
                  R"(zone="vGPU"} 1.048576e+09)"});
}

class LegacyMetricsTest : public MetricsTest {
 protected:
  LegacyMetricsTest() : MetricsTest(true) {}
};

TEST_F(LegacyMetricsTest, ACardThatIsThereTwiceIsToldOnce) {
  api_.Put(KubeNode("n1", {{.id = "G0"}, {.id = "G1"}}));
  kube::Node node = *api_.node("n1");
  std::string& text = node.meta.annotations[testing::kRegisterKey];
  text.replace(text.find("G1"), 2, "G0");
  text.replace(text.find("\"index\":1"), 9, "\"index\":0");
  api_.Put(node);
  for (const char* name : {"hami_gpu_memory_limit_bytes", "GPUDeviceMemoryLimit",
                           "hami_node_gpu_memory_allocated_ratio", "nodeGPUMemoryPercentage"})
    EXPECT_EQ(Told(name).size(), 1U) << name;
}

TEST_F(HamiMetricsTest, NamesAreEscaped) {
  api_.Put(KubeNode("n1", {{.id = "G\"0\\", .type = "line\nbreak NVIDIA"}}));
  EXPECT_EQ(Told("hami_gpu_shared_count"),
            Lines{R"({device_index="0",device_type="line\nbreak NVIDIA",device_uuid="G\"0\\",)"
                  R"(node="n1",zone="vGPU"} 0)"});
}

// ---- a large cluster

TEST_F(HamiMetricsTest, FortyThousandCardsAreAPageOfMomentsNotSeconds) {
  constexpr int kNodes = 5000, kCards = 8;
  for (int n = 0; n < kNodes; ++n) {
    const std::string name = "gpu-node-pool-a-" + std::to_string(10'000 + n);
    std::vector<testing::Card> cards;
    std::string held;
    for (int c = 0; c < kCards; ++c) {
      cards.push_back(
          {.id = "GPU-" + std::to_string(n) + "-5b2a8c1e-7d4f-4c9b-" + std::to_string(c)});
      held += cards.back().id + ",NVIDIA,3000,30:";
    }
    api_.Put(KubeNode(name, cards));
    api_.Put(KubePod("p" + std::to_string(n)).App(kAsk).On(name, held + ";"));
  }
  const auto began = std::chrono::steady_clock::now();
  const std::string page = testing::Scrape(scheduler_);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
  std::cout << kNodes * kCards << " cards and as many shares: " << page.size() / 1000 << " kB in "
            << took.count() << " ms\n";
  EXPECT_EQ(Samples(page, "hami_gpu_shared_count").size(), kNodes * kCards + 1U);
  EXPECT_EQ(Samples(page, "hami_vgpu_memory_allocated_bytes").size(), kNodes * kCards + 0U);
  EXPECT_LT(took, 10s);  // of a machine that is busy with other tests
}

}  // namespace
}  // namespace aliquot::scheduler
