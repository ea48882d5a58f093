// The daemon among replicas, on an API server in memory.
#include "cli/daemon.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "aliquot/base/fake_clock.h"
#include "aliquot/base/strings.h"
#include "aliquot/cluster/cluster.h"
#include "aliquot/cluster/local_client.h"
#include "aliquot/vendors/registry.h"

namespace aliquot::cli {
namespace {

using namespace std::chrono_literals;

constexpr char kLeases[] = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
constexpr size_t kWatches = 4;  // nodes, quotas, pods, the lease

SteadyTime Soon() { return std::chrono::steady_clock::now() + 20s; }

class DaemonTest : public ::testing::Test {
 protected:
  ~DaemonTest() override {
    if (!daemon_) return;
    daemon_->Drain();
    client_.Shutdown();
    daemon_->Stop();
  }

  void Start(config::ServeFlags flags = {}) {
    flags.leader_elect = true;
    flags.leader_elect_resource_namespace = "kube-system";
    flags.leader_elect_resource_name = "hami-scheduler";
    daemon_.emplace(ApiServer{client_, client_}, registry_, flags, nullptr, clock_,
                    Identity{"us", {"kube-system", "us", ""}});
    daemon_->Start();
  }
  void CreateLease(const std::string& name, const std::string& holder) {
    Call("POST", kLeases,
         R"({"metadata":{"name":")" + name + R"("},"spec":{"leaseDurationSeconds":15,)" +
             R"("holderIdentity":")" + holder + R"("}})");
  }
  void GiveLeaseTo(const std::string& holder) {
    Call("PATCH", std::string(kLeases) + "/hami-scheduler",
         R"({"spec":{"holderIdentity":")" + holder + R"("}})");
  }
  void Call(const std::string& method, const std::string& target, const std::string& body) {
    const Result<std::string> done = admin_.Call(method, target, body);
    ASSERT_TRUE(done) << done.error().message;
  }

  bool Leads() { return daemon_->scheduler().leader().Leads(); }
  bool BeginsToLead() { return daemon_->scheduler().leader().Wait(Soon(), nullptr); }
  // Everything that was written so far has been seen.
  bool CatchesUp() { return cluster_.WaitForWatches(kWatches, Soon()); }
  std::string Metrics() {
    MetricsText text;
    daemon_->WriteMetrics(text);
    return text.Take();
  }

  FakeClock clock_;
  cluster::Cluster cluster_{{}};
  cluster::LocalClient admin_{cluster_};
  cluster::LocalClient client_{cluster_};
  const core::Registry registry_ = vendors::MakeRegistry({});
  std::optional<Daemon> daemon_;
};

TEST_F(DaemonTest, FollowsTheLeaseOfItsKubeScheduler) {
  CreateLease("another", "us_1");
  Start();
  ASSERT_TRUE(CatchesUp());
  EXPECT_FALSE(Leads());
  EXPECT_TRUE(Contains(Metrics(), "\naliquot_leader 0\n"));

  CreateLease("hami-scheduler", "us_1");
  EXPECT_TRUE(BeginsToLead());
  EXPECT_TRUE(Contains(Metrics(), "\naliquot_leader 1\n"));
  EXPECT_TRUE(Contains(Metrics(), "\naliquot_cache_objects{resource=\"leases\"} 1\n"));

  GiveLeaseTo("other_1");
  ASSERT_TRUE(CatchesUp());
  EXPECT_FALSE(Leads());

  GiveLeaseTo("us_2");
  EXPECT_TRUE(BeginsToLead());
  Call("DELETE", std::string(kLeases) + "/hami-scheduler", "");
  ASSERT_TRUE(CatchesUp());
  EXPECT_FALSE(Leads());
}

TEST_F(DaemonTest, FollowsItByPollingToo) {
  CreateLease("hami-scheduler", "other_1");
  config::ServeFlags flags;
  flags.cache_mode = config::CacheMode::kPoll;
  flags.poll_interval = 5ms;
  Start(flags);
  GiveLeaseTo("us_1");
  EXPECT_TRUE(BeginsToLead());
  GiveLeaseTo("other_1");
  const SteadyTime deadline = Soon();
  while (Leads() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_FALSE(Leads());
}

TEST_F(DaemonTest, IsReadyAndReviewsPodsAlsoWhileItFollows) {
  CreateLease("hami-scheduler", "other_1");
  Start();
  EXPECT_TRUE(daemon_->scheduler().sync().Wait(Soon(), nullptr));
  EXPECT_EQ(daemon_->scheduler().sync().Missing(), "");
  ASSERT_TRUE(CatchesUp());
  EXPECT_FALSE(Leads());
  EXPECT_EQ(daemon_->scheduler().Admit({"default", "CREATE", {}}).code, 403);  // no containers
}

TEST_F(DaemonTest, LabelsItsPodWhenItLeads) {
  Call("POST", "/api/v1/namespaces/kube-system/pods",
       R"({"metadata":{"name":"us"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  CreateLease("hami-scheduler", "us_1");
  Start();
  const auto labelled = [&] {
    const Result<kube::Pod> pod = admin_.GetPod("kube-system", "us", {});
    return pod && pod->meta.labels.contains("hami.io/scheduler-role");
  };
  const SteadyTime deadline = Soon();
  while (!labelled() && cluster_.WaitForChange(cluster_.resource_version(), deadline)) {
  }
  EXPECT_TRUE(labelled());
}

TEST_F(DaemonTest, WithoutTheLeasesNameItNeverLeads) {
  CreateLease("hami-scheduler", "us_1");
  config::ServeFlags flags;
  flags.leader_elect = true;
  flags.leader_elect_resource_namespace = "kube-system";
  daemon_.emplace(ApiServer{client_, client_}, registry_, flags, nullptr, clock_,
                  Identity{"us", {}});
  daemon_->Start();
  ASSERT_TRUE(cluster_.WaitForWatches(kWatches - 1, Soon()));
  EXPECT_EQ(daemon_->scheduler().leader().Obstacle(), "lease kube-system/ is not there");
}

}  // namespace
}  // namespace aliquot::cli
