#include "aliquot/scheduler/admission.h"

#include <gtest/gtest.h>

#include "aliquot/base/fake_clock.h"
#include "support/builders.h"

namespace aliquot::scheduler {
namespace {

using kube::SubmittedContainer;
using kube::SubmittedPod;

constexpr const char* kForeign = "pod already has different scheduler assigned";

SubmittedContainer Container(StringMap limits = {}) {
  SubmittedContainer container;
  container.name = "c";
  container.limits = std::move(limits);
  return container;
}

SubmittedPod PodOf(std::vector<SubmittedContainer> containers) {
  SubmittedPod pod;
  pod.scheduler_name = "default-scheduler";
  pod.containers = std::move(containers);
  return pod;
}

// A share of one GPU: claimed, and nothing is added.
SubmittedContainer Share(const std::string& mib = "1000", const std::string& cores = "10") {
  return Container(
      {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", mib}, {"nvidia.com/gpucores", cores}});
}

const core::Registry& NvidiaAndMthreads() {
  static const core::Registry registry = [] {
    vendors::Configs configs;
    configs.nvidia = testing::ChartConfig();
    configs.nvidia.overwrite_env = true;
    configs.nvidia.core_policy = "force";
    configs.nvidia.runtime_class = "nvidia";
    configs.mthreads.count_name = "mthreads.com/vgpu";
    const core::Registry all = vendors::MakeRegistry(configs);
    return core::Registry({*all.Find("NVIDIA"), *all.Find("Mthreads")});
  }();
  return registry;
}

class AdmissionTest : public ::testing::Test {
 protected:
  AdmissionTest() { options_.scheduler_name = "hami-scheduler"; }

  AdmissionAnswer Admit(SubmittedPod pod, std::string operation = "CREATE",
                        std::string ns = "team") {
    return service_.Admit({std::move(ns), std::move(operation), std::move(pod)});
  }
  // "403 <message>", or "" if it is allowed.
  std::string Refusal(SubmittedPod pod) {
    const AdmissionAnswer answer = Admit(std::move(pod));
    return answer.allowed ? "" : std::to_string(answer.code) + " " + answer.message;
  }

  FakeClock clock_;
  Options options_;
  ledger::Ledger ledger_{testing::ChartRegistry(), clock_};
  AdmissionService service_{testing::ChartRegistry(), ledger_, options_};
};

// ---- who is routed

TEST_F(AdmissionTest, RoutesAPodWithDevicesAndLeavesOthersAlone) {
  const AdmissionAnswer routed = Admit(PodOf({Container(), Share()}));
  EXPECT_TRUE(routed.allowed);
  EXPECT_EQ(routed.code, 200);
  EXPECT_EQ(routed.message, "");
  EXPECT_EQ(routed.pod.scheduler_name, "hami-scheduler");
  EXPECT_EQ(routed.pod.containers, (std::vector{Container(), Share()}));

  const SubmittedPod plain = PodOf({Container({{"cpu", "1"}})});
  EXPECT_EQ(Admit(plain).pod, plain);
}

TEST_F(AdmissionTest, AnInitContainerIsEnough) {
  SubmittedPod pod = PodOf({Container()});
  pod.init_containers = {Share()};
  EXPECT_EQ(Admit(pod).pod.scheduler_name, "hami-scheduler");
}

TEST_F(AdmissionTest, SchedulerNamesDecideWhoIsForeign) {
  struct Row {
    const char *scheduler, *ours;
    bool force, foreign;
  };
  for (const Row& row : {
           Row{"", "hami-scheduler", false, false},
           Row{"", "", false, false},
           Row{"default-scheduler", "hami-scheduler", true, false},
           Row{"default-scheduler", "hami-scheduler", false, true},
           Row{"hami-scheduler", "hami-scheduler", false, false},
           Row{"hami-scheduler", "", true, true},
           Row{"volcano", "hami-scheduler", true, true},
           Row{"default-scheduler", "default-scheduler", false, false},
       }) {
    options_.scheduler_name = row.ours;
    options_.force_overwrite_default_scheduler = row.force;
    SubmittedPod pod = PodOf({Share()});
    pod.scheduler_name = row.scheduler;
    const AdmissionAnswer answer = Admit(pod);
    EXPECT_TRUE(answer.allowed) << row.scheduler;
    EXPECT_EQ(answer.message, row.foreign ? kForeign : "") << row.scheduler << " " << row.ours;
    const bool renamed = !row.foreign && *row.ours != '\0';
    EXPECT_EQ(answer.pod.scheduler_name, renamed ? row.ours : row.scheduler);
  }
}

// ---- the order of refusals

TEST_F(AdmissionTest, ContainersAreLookedForFirst) {
  SubmittedPod pod = PodOf({});
  pod.scheduler_name = "volcano";
  pod.init_containers = {Share()};
  EXPECT_EQ(Refusal(pod), "403 pod has no containers");
}

TEST_F(AdmissionTest, AVendorsErrorIsToldBeforeAnythingElse) {
  SubmittedPod pod = PodOf({Share(), Container({{"nvidia.com/gpumem-percentage", "101"}})});
  pod.containers[0].privileged = true;
  pod.node_name = "n1";
  EXPECT_EQ(Refusal(pod),
            "500 invalid nvidia.com/gpumem-percentage value 101 in container c: must be an "
            "integer between 0 and 100");
}

TEST_F(AdmissionTest, RefusesARequestThatCannotBeRead) {
  SubmittedPod pod = PodOf({Share("16Gi")});
  pod.containers[0].privileged = true;
  EXPECT_EQ(Refusal(pod),
            "403 InvalidDeviceRequest: container c: nvidia.com/gpumem=16Gi: out of range");
  pod = PodOf({Container()});
  pod.containers[0].requests = {{"nvidia.com/gpu", "0"}, {"nvidia.com/gpumem", "1"}};
  EXPECT_EQ(Refusal(pod),
            "403 InvalidDeviceRequest: container c: nvidia.com/gpumem=1: needs "
            "nvidia.com/gpu");
}

TEST_F(AdmissionTest, RefusesPrivilegedContainersBesideDevicesOnly) {
  SubmittedPod pod = PodOf({Container(), Share()});
  pod.init_containers = {Container()};
  pod.init_containers[0].name = "setup";
  pod.init_containers[0].privileged = pod.containers[0].privileged = true;
  pod.node_name = "n1";
  EXPECT_EQ(Refusal(pod), "403 container setup is privileged");
  pod.containers.pop_back();
  EXPECT_EQ(Refusal(pod), "");
}

TEST_F(AdmissionTest, RefusesAPresetNodeIfThePodIsRouted) {
  SubmittedPod pod = PodOf({Share()});
  pod.node_name = "n1";
  EXPECT_EQ(Refusal(pod), "403 pod has node assigned");
  options_.scheduler_name = "";
  EXPECT_EQ(Refusal(pod), "");
}

// ---- quota

TEST_F(AdmissionTest, RefusesWhatCanNeverFitIntoTheQuota) {
  ledger_.SetQuota("team", "q",
                   {{"limits.nvidia.com/gpumem", "2000"}, {"limits.nvidia.com/gpucores", "100"}});
  const auto cards = [](const std::string& count, const std::string& mib) {
    SubmittedContainer container = Share(mib, "1");
    container.limits["nvidia.com/gpu"] = count;
    return container;
  };
  constexpr const char* kExceeded = "403 exceeding resource quota";
  EXPECT_EQ(Refusal(PodOf({cards("2", "1000")})), "");
  EXPECT_EQ(Refusal(PodOf({cards("2", "1001")})), kExceeded);
  EXPECT_EQ(Refusal(PodOf({cards("1", "1000"), cards("1", "1000")})), "");
  EXPECT_EQ(Refusal(PodOf({cards("1", "1000"), cards("1", "1001")})), kExceeded);
  // Init containers run one after the other, sidecars are counted among them.
  SubmittedPod pod = PodOf({cards("1", "1000")});
  pod.init_containers = {cards("1", "1800"), cards("1", "1800")};
  pod.init_containers[0].restart_always = true;
  EXPECT_EQ(Refusal(pod), "");
  pod.init_containers[1] = cards("1", "2001");
  EXPECT_EQ(Refusal(pod), kExceeded);
  // Cores up to a card's.
  EXPECT_EQ(Refusal(PodOf({Share("1", "120")})), "");
  EXPECT_EQ(Refusal(PodOf({Share("1", "60"), Share("1", "60")})), kExceeded);
  // Nobody knows yet how much a percentage is.
  EXPECT_EQ(Refusal(PodOf({Container({{"nvidia.com/gpu", "1"},
                                      {"nvidia.com/gpumem-percentage", "100"},
                                      {"nvidia.com/gpucores", "1"}})})),
            "");
}

TEST_F(AdmissionTest, TheQuotaIsThatOfTheRequestsNamespace) {
  ledger_.SetQuota("team", "q", {{"limits.nvidia.com/gpumem", "0"}});
  EXPECT_FALSE(Admit(PodOf({Share()}), "CREATE", "team").allowed);
  EXPECT_TRUE(Admit(PodOf({Share()}), "CREATE", "other").allowed);
}

// ---- keys that only we may write

TEST_F(AdmissionTest, RemovesOurKeysFromEveryPodThatIsCreated) {
  SubmittedPod pod = PodOf({Container()});
  pod.scheduler_name = "volcano";
  pod.annotations = {{"hami.io/vgpu-devices-allocated", "G0,NVIDIA,1,1:;"},
                     {"hami.io/vgpu-node", "n1"},
                     {"hami.io/bind-phase", "success"},
                     {"hami.io/bind-time", "1"},
                     {"hami.io/gpu-scheduler-policy", "binpack"},
                     {"nvidia.com/use-gpuuuid", "G0"}};
  pod.labels = {{"hami.io/vgpu-node", "n1"}, {"app", "a"}};

  const AdmissionAnswer answer = Admit(pod);
  EXPECT_TRUE(answer.allowed);
  EXPECT_EQ(answer.message, kForeign);
  EXPECT_EQ(answer.pod.annotations, (StringMap{{"hami.io/gpu-scheduler-policy", "binpack"},
                                               {"nvidia.com/use-gpuuuid", "G0"}}));
  EXPECT_EQ(answer.pod.labels, (StringMap{{"app", "a"}}));
  EXPECT_EQ(Admit(pod, "UPDATE").pod, pod);
}

TEST_F(AdmissionTest, RemovesTheKeysOfEveryVendor) {
  const core::Registry registry = vendors::MakeRegistry({});
  const AdmissionService service(registry, ledger_, options_);
  SubmittedPod pod = PodOf({Container()});
  for (const core::Vendor& vendor : registry.vendors())
    for (const std::string_view key : {vendor.spec().to_allocate, vendor.spec().allocated})
      if (!key.empty()) pod.annotations.emplace(key, ";");
  ASSERT_GT(pod.annotations.size(), registry.size());
  EXPECT_EQ(service.Admit({"team", "CREATE", pod}).pod.annotations, StringMap());
}

// ---- what vendors write

class CompletionTest : public AdmissionTest {
 protected:
  SubmittedPod Complete(SubmittedPod pod) {
    return vendors_.Admit({"team", "CREATE", std::move(pod)}).pod;
  }

  ledger::Ledger all_{NvidiaAndMthreads(), clock_};
  AdmissionService vendors_{NvidiaAndMthreads(), all_, options_};
};

TEST_F(CompletionTest, ASecondCallOnTheResultChangesNothing) {
  SubmittedPod pod = PodOf({Container({{"nvidia.com/gpu", "1"}}), Container()});
  pod.containers[1].env = {{"NVIDIA_VISIBLE_DEVICES", "none"}, {"NVIDIA_VISIBLE_DEVICES", "all"}};
  const SubmittedPod completed = Complete(pod);
  EXPECT_EQ(completed.runtime_class, "nvidia");
  EXPECT_EQ(completed.containers[0].limits,
            (StringMap{{"nvidia.com/gpu", "1"}, {"nvidia.com/gpucores", "100"}}));
  EXPECT_EQ(completed.containers[0].env,
            (std::vector<EnvVar>{{"GPU_CORE_UTILIZATION_POLICY", "force"}}));
  // The last entry of a name counts, so "all" is answered.
  EXPECT_EQ(completed.containers[1].env.size(), 3U);
  EXPECT_EQ(completed.containers[1].env.back(), (EnvVar{"NVIDIA_VISIBLE_DEVICES", "none"}));
  EXPECT_EQ(Complete(completed), completed);
}

TEST_F(CompletionTest, WarningsNameTheContainer) {
  vendors::Configs configs;
  configs.mthreads.count_name = "mthreads.com/vgpu";
  configs.mthreads.memory_name = "mthreads.com/sgpu-memory";
  const core::Registry registry = vendors::MakeRegistry(configs);
  const ledger::Ledger ledger(registry, clock_);
  const AdmissionService service(registry, ledger, options_);
  const auto warnings = [&](const std::string& memory) {
    return service
        .Admit({"team", "CREATE",
                PodOf({Container(
                    {{"mthreads.com/vgpu", "2"}, {"mthreads.com/sgpu-memory", memory}})})})
        .warnings;
  };
  EXPECT_EQ(warnings("2"),
            std::vector<std::string>{"container c: mthreads.com/sgpu-memory 2 becomes 192: the "
                                     "cards are given whole"});
  EXPECT_EQ(warnings("192"), std::vector<std::string>());
}

TEST_F(CompletionTest, ThePodsOwnRuntimeClassStays) {
  SubmittedPod pod = PodOf({Share()});
  pod.runtime_class = "mine";
  EXPECT_EQ(Complete(pod).runtime_class, "mine");
}

TEST_F(CompletionTest, OfSeveralContainersTheLastOneNamesTheCount) {
  const SubmittedPod pod = Complete(
      PodOf({Container({{"mthreads.com/vgpu", "2"}}), Container({{"mthreads.com/vgpu", "4"}})}));
  EXPECT_EQ(pod.annotations, (StringMap{{"mthreads.com/request-gpu-num", "4"}}));
  // Memory and cores have no names in this configuration, so they are not written.
  EXPECT_EQ(pod.containers[0].limits, (StringMap{{"mthreads.com/vgpu", "2"}}));
  EXPECT_EQ(Complete(pod), pod);
}

core::Completion WantsThousand() {
  return {.claimed = true, .limits = {{"a/card", "1000"}}, .requests = {{"a/card", "1000"}}};
}

// An amount that is there already keeps its spelling.
TEST_F(AdmissionTest, EqualAmountsStayAsTheyAreWritten) {
  static constexpr core::VendorSpec kSpec{
      .key = "A",
      .parse_request = [](const core::Vendor&, const core::ResourceReader&,
                          std::optional<core::InvalidRequest>&)
          -> std::optional<core::ContainerRequest> { return std::nullopt; },
      .complete = [](const core::Vendor&, const core::Submitted&) -> Result<core::Completion> {
        return WantsThousand();
      }};
  const core::Registry registry({core::Vendor(kSpec, core::VendorConfig{})});
  const ledger::Ledger ledger(registry, clock_);
  const AdmissionService service(registry, ledger, options_);
  const AdmissionAnswer answer =
      service.Admit({"team", "CREATE", PodOf({Container({{"a/card", "1k"}})})});
  EXPECT_EQ(answer.pod.containers[0].limits, (StringMap{{"a/card", "1k"}}));
  EXPECT_EQ(answer.pod.containers[0].requests, (StringMap{{"a/card", "1000"}}));
}

// A vendor without a hook claims a container whose limits name its count.
TEST_F(AdmissionTest, WithoutAHookTheCountClaims) {
  vendors::Configs configs;
  configs.metax_gpu.count_name = "metax-tech.com/gpu";
  const core::Registry registry = vendors::MakeRegistry(configs);
  const ledger::Ledger ledger(registry, clock_);
  const AdmissionService service(registry, ledger, options_);
  const auto scheduler = [&](const char* resource) {
    return service.Admit({"team", "CREATE", PodOf({Container({{resource, "2"}})})})
        .pod.scheduler_name;
  };
  EXPECT_EQ(scheduler("metax-tech.com/gpu"), "hami-scheduler");
  EXPECT_EQ(scheduler("metax-tech.com/gpus"), "default-scheduler");
}

}  // namespace
}  // namespace aliquot::scheduler
