// How vendors claim and complete containers, by vendor.
#include <gtest/gtest.h>

#include "unit/vendors/all_vendors.h"

namespace aliquot::testing {
namespace {

// ---- vendors that add nothing

TEST(ClaimTest, RefusesWhatTheSchedulerCouldNotRead) {
  const auto of_hygon = [](StringMap limits) {
    return Completed("DCU", {.limits = std::move(limits)});
  };
  EXPECT_EQ(of_hygon({{"hygon.com/dcunum", "1"}, {"hygon.com/dcumem", "2k"}}), "claimed");
  EXPECT_EQ(of_hygon({{"hygon.com/dcumem", "2k"}}), "left alone");
  EXPECT_EQ(of_hygon({{"hygon.com/dcunum", "0"}}), "refused: hygon.com/dcunum 0 is invalid");
  EXPECT_EQ(of_hygon({{"hygon.com/dcunum", "0"}, {"hygon.com/dcumem", "1"}}),
            "refused: hygon.com/dcunum 0 is invalid");
  EXPECT_EQ(of_hygon({{"hygon.com/dcunum", "1500m"}}),
            "refused: hygon.com/dcunum 1500m is invalid");
  EXPECT_EQ(of_hygon({{"hygon.com/dcunum", "1"}, {"hygon.com/dcumem", "16Gi"}}),
            "refused: hygon.com/dcumem 16Gi is invalid");
  EXPECT_EQ(Completed("DCU", {.requests = {{"hygon.com/dcunum", "1"}}}), "left alone");
  EXPECT_EQ(Completed("Biren", {.limits = {{"birentech.com/gpu", "4294967297"}}}),
            "refused: birentech.com/gpu 4294967297 is invalid");
  EXPECT_EQ(Completed("MLU", {.limits = {{"cambricon.com/vmlu", "1"},
                                         {"cambricon.com/vmemory", "8388608"}}}),
            "refused: cambricon.com/vmemory 8388608 is invalid");
}

TEST(ClaimTest, WantsACountAboveZero) {
  EXPECT_EQ(Completed("Vastai", {.limits = {{"vastaitech.com/va", "2"}}}), "claimed");
  EXPECT_EQ(Completed("Vastai", {.limits = {{"vastaitech.com/va", "0"}}}),
            "refused: vastaitech.com/va must be greater than 0");
  EXPECT_EQ(Completed("Vastai", {.limits = {{"vastaitech.com/va", "500m"}}}),
            "refused: vastaitech.com/va must be greater than 0");
  EXPECT_EQ(Completed("Vastai", {.requests = {{"vastaitech.com/va", "2"}}}), "left alone");
  EXPECT_EQ(Completed("GCU", {.requests = {{"enflame.com/gcu", "2"}}}), "claimed");
  EXPECT_EQ(Completed("GCU", {.limits = {{"enflame.com/gcu", "-1"}}}),
            "refused: enflame.com/gcu must be greater than 0");
}

TEST(AmdTest, ChecksThePercentageAtAdmission) {
  constexpr const char* kWrong =
      "refused: amd.com/gpucores must be an integer percentage between 1 and 100";
  EXPECT_EQ(Completed("AMD", {.limits = {{"amd.com/gpu", "2"}}}), "claimed");
  EXPECT_EQ(Completed("AMD", {.limits = {{"amd.com/gpumem", "1024"}}}), "claimed");
  EXPECT_EQ(Completed("AMD", {.limits = {{"amd.com/gpucores", "50"}}}), "claimed");
  EXPECT_EQ(Completed("AMD", {.limits = {{"amd.com/gpu", "1"}, {"amd.com/gpucores", "0"}}}),
            kWrong);
  EXPECT_EQ(Completed("AMD", {.limits = {{"amd.com/gpucores", "500m"}}}), kWrong);
  EXPECT_EQ(Completed("AMD", {.requests = {{"amd.com/gpu", "1"}}}), "left alone");
}

TEST(AwsNeuronTest, RefusesAtAdmissionWithItsOwnWords) {
  const auto of_neuron = [](StringMap limits, StringMap requests = {}) {
    return Completed("AWSNeuron", {.limits = std::move(limits), .requests = std::move(requests)});
  };
  EXPECT_EQ(of_neuron({}, {{"aws.amazon.com/neuron", "2"}}), "claimed");
  EXPECT_EQ(of_neuron({}, {{"aws.amazon.com/neuron", "2147483648"}}),
            "refused: aws.amazon.com/neuron must not exceed 2147483647");
  EXPECT_EQ(of_neuron({{"aws.amazon.com/neuroncore", "3"}}),
            "refused: aws.amazon.com/neuroncore must be 1 or a multiple of 2, got 3");
  EXPECT_EQ(of_neuron({{"aws.amazon.com/neuroncore", "0"}}),
            "refused: aws.amazon.com/neuroncore must be greater than 0");
  EXPECT_EQ(of_neuron({{"aws.amazon.com/neuroncore", "-2"}}),
            "refused: aws.amazon.com/neuroncore must be greater than 0");
  EXPECT_EQ(of_neuron({{"aws.amazon.com/neuroncore", "4294967296"}}),
            "refused: aws.amazon.com/neuroncore must not exceed 4294967294");
  EXPECT_EQ(of_neuron({{"aws.amazon.com/neuroncore", "500m"}}),
            "refused: aws.amazon.com/neuroncore must be an integer");
  // The count wins, and cores are not even looked at.
  EXPECT_EQ(of_neuron({{"aws.amazon.com/neuron", "1"}, {"aws.amazon.com/neuroncore", "3"}}),
            "claimed");
  EXPECT_EQ(of_neuron({{"cpu", "1"}}), "left alone");
}

// ---- NVIDIA

std::string OfNvidia(StringMap limits, StringMap requests = {}) {
  return Completed("NVIDIA", {.limits = std::move(limits), .requests = std::move(requests)});
}

TEST(NvidiaAdmissionTest, GivesAllCoresToAContainerThatTakesWholeCards) {
  constexpr const char* kExclusive = "claimed; limit nvidia.com/gpucores=100";
  EXPECT_EQ(OfNvidia({{"nvidia.com/gpu", "1"}}), kExclusive);
  EXPECT_EQ(OfNvidia({}, {{"nvidia.com/gpu", "1"}}), kExclusive);
  EXPECT_EQ(OfNvidia({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem-percentage", "100"}}),
            kExclusive);
  EXPECT_EQ(OfNvidia({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "0"}}), kExclusive);
  EXPECT_EQ(OfNvidia({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem-percentage", "50"}}), "claimed");
  EXPECT_EQ(OfNvidia({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "8192"}}), "claimed");
  EXPECT_EQ(OfNvidia({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpucores", "70"}}), "claimed");
  EXPECT_EQ(OfNvidia({{"nvidia.com/gpu", "0"}}), "claimed");
}

TEST(NvidiaAdmissionTest, AddsTheDefaultCountToAShare) {
  EXPECT_EQ(OfNvidia({{"nvidia.com/gpumem", "3000"}}), "claimed; limit nvidia.com/gpu=1");
  EXPECT_EQ(OfNvidia({{"nvidia.com/gpucores", "30"}}), "claimed; limit nvidia.com/gpu=1");
  EXPECT_EQ(OfNvidia({{"nvidia.com/gpumem-percentage", "100"}}),
            "claimed; limit nvidia.com/gpu=1; limit nvidia.com/gpucores=100");
  EXPECT_EQ(OfNvidia({}, {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "100"}}), "claimed");
  EXPECT_EQ(OfNvidia({}, {{"nvidia.com/gpumem", "100"}}), "left alone");
}

TEST(NvidiaAdmissionTest, ChecksThePercentageOfAnyContainer) {
  EXPECT_EQ(OfNvidia({{"nvidia.com/gpumem-percentage", "101"}}),
            "refused: invalid nvidia.com/gpumem-percentage value 101 in container main: must be "
            "an integer between 0 and 100");
  EXPECT_EQ(OfNvidia({}, {{"nvidia.com/gpumem-percentage", "-1"}}),
            "refused: invalid nvidia.com/gpumem-percentage value -1 in container main: must be "
            "an integer between 0 and 100");
  EXPECT_EQ(OfNvidia({}, {{"nvidia.com/gpumem-percentage", "0"}}), "left alone");
}

TEST(NvidiaAdmissionTest, SetsWhatTheConfigurationSays) {
  core::VendorConfig config = ChartConfig();
  config.priority_name = "nvidia.com/priority";
  config.core_policy = "force";
  config.runtime_class = "nvidia";
  config.overwrite_env = true;
  const core::Registry registry = NvidiaOnly(config);
  const auto completed = [&](StringMap limits) {
    return Completed(registry.vendors()[0], registry, {.limits = std::move(limits)});
  };
  EXPECT_EQ(
      completed(
          {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "100"}, {"nvidia.com/priority", "1"}}),
      "claimed; env CUDA_TASK_PRIORITY=1; env GPU_CORE_UTILIZATION_POLICY=force; runtime "
      "class nvidia");
  EXPECT_EQ(completed({{"nvidia.com/priority", "0"}}),
            "left alone; env CUDA_TASK_PRIORITY=0; env NVIDIA_VISIBLE_DEVICES=none");
}

// ---- Ascend

std::string OfAscend(std::string_view key, StringMap amounts, StringMap annotations = {}) {
  StringMap limits;  // names after the chip's
  for (const auto& [suffix, amount] : amounts)
    limits.emplace("huawei.com/" + std::string(key) + suffix, amount);
  std::string text =
      Completed(key, {.limits = std::move(limits), .annotations = std::move(annotations)});
  const std::string prefix = "huawei.com/" + std::string(key);
  for (size_t at = 0; (at = text.find(prefix)) != std::string::npos;)
    text.replace(at, prefix.size(), "*");
  return text;
}

const StringMap kSoft = {{"huawei.com/vnpu-mode", "hami-core"}};

TEST(AscendAdmissionTest, RoundsMemoryUpToATemplateOrAWholeCard) {
  const auto of_910a = [](const std::string& memory) {
    return OfAscend("Ascend910A", {{"", "1"}, {"-memory", memory}});
  };
  const auto with = [](const std::string& memory) {
    return "claimed; limit *=1; limit *-memory=" + memory + "; request *-memory=" + memory;
  };
  EXPECT_EQ(OfAscend("Ascend910A", {{"", "1"}}), with("32768"));
  EXPECT_EQ(of_910a("0"), with("2184"));
  EXPECT_EQ(of_910a("2184"), with("2184"));
  EXPECT_EQ(of_910a("2185"), with("8738"));
  EXPECT_EQ(of_910a("8739"), with("32768"));
  EXPECT_EQ(of_910a("32769"), "refused: *-memory 32769 is invalid");
  EXPECT_EQ(of_910a("16Gi"), "refused: *-memory 17179869184 is invalid");
  EXPECT_EQ(of_910a("-1"), "refused: *-memory -1 is invalid");
  EXPECT_EQ(of_910a("-16Ei"), "refused: *-memory -9223372036854775808 is invalid");
  EXPECT_EQ(OfAscend("Ascend910A", {{"-memory", "100"}}), "left alone");
}

TEST(AscendAdmissionTest, SlicesAreOfOneCard) {
  EXPECT_EQ(OfAscend("Ascend910A", {{"", "2"}, {"-memory", "8738"}}),
            "refused: vNPU not supported for multiple devices");
  EXPECT_EQ(OfAscend("Ascend910A", {{"", "2"}, {"-memory", "20000"}}),
            "claimed; limit *=2; limit *-memory=32768; request *-memory=32768");
  EXPECT_EQ(OfAscend("Ascend910A", {{"", "0"}}), "refused: * 0 is invalid");
  EXPECT_EQ(OfAscend("Ascend910A", {{"", "3G"}}), "refused: * 3000000000 is invalid");
}

TEST(AscendAdmissionTest, ModulesHoldTwo) {
  EXPECT_EQ(OfAscend("Ascend910C", {{"", "1"}}),
            "claimed; limit *=2; limit *-memory=65536; request *-memory=65536");
  EXPECT_EQ(OfAscend("Ascend910C", {{"", "1"}, {"-memory", "9000"}}),
            "claimed; limit *=1; limit *-memory=16384; request *-memory=16384");
  EXPECT_EQ(OfAscend("Ascend910C", {{"", "3"}}),
            "refused: Ascend910C device request must be 1 or 2*n, got 3");
}

TEST(AscendAdmissionTest, SoftSplitKeepsWhatIsAskedFor) {
  EXPECT_EQ(OfAscend("Ascend910A", {{"", "2"}, {"-memory", "15000"}, {"-core", "20"}}, kSoft),
            "claimed; limit *=2; limit *-memory=15000; request *-memory=15000");
  EXPECT_EQ(OfAscend("Ascend910A", {{"", "1"}, {"-core", "20"}}),
            "refused: *-core is only supported in hami-core (soft split) mode");
  EXPECT_EQ(OfAscend("Ascend910A", {{"", "1"}, {"-core", "0"}}),
            "claimed; limit *=1; limit *-memory=32768; request *-memory=32768");
  EXPECT_EQ(OfAscend("Ascend910A", {{"", "1"}, {"-memory", "16Gi"}}, kSoft),
            "refused: *-memory 17179869184 is invalid");
}

// A template that is no multiple of the unit: what is written maps to it again.
TEST(AscendAdmissionTest, WritesMemoryInUnitsOfTheResource) {
  vendors::Configs configs;
  configs.ascend = {AscendChip("Ascend910A", 32768, {{"vir02", 2184}})};
  configs.ascend[0].config.memory_factor = 100;
  const core::Registry registry = vendors::MakeRegistry(configs);
  const auto of = [&](const std::string& memory) {
    return Completed(
        *registry.Find("Ascend910A"), registry,
        {.limits = {{"huawei.com/Ascend910A", "1"}, {"huawei.com/Ascend910A-memory", memory}}});
  };
  constexpr const char* kSmallest =
      "claimed; limit huawei.com/Ascend910A=1; limit huawei.com/Ascend910A-memory=21; request "
      "huawei.com/Ascend910A-memory=21";
  EXPECT_EQ(of("5"), kSmallest);
  EXPECT_EQ(of("21"), kSmallest);
}

TEST(AscendAdmissionTest, HidesNpusOfAllKindsOnce) {
  vendors::Configs configs;
  configs.ascend = {AscendChip("Ascend910A", 1, {}), AscendChip("Ascend910B", 1, {})};
  for (vendors::NamedConfig& chip : configs.ascend) chip.config.overwrite_env = true;
  const core::Registry registry = vendors::MakeRegistry(configs);
  const auto of = [&](const NewContainer& container) {
    return Completed(*registry.Find("Ascend910A"), registry, container);
  };
  EXPECT_EQ(of({}), "left alone; env ASCEND_VISIBLE_DEVICES=");
  EXPECT_EQ(of({.env = {{"ASCEND_VISIBLE_DEVICES", "7"}}}), "left alone");
  EXPECT_EQ(of({.limits = {{"huawei.com/Ascend910B", "1"}}}), "left alone");
}

// ---- the others

TEST(EnflameAdmissionTest, CopiesToTheOtherSide) {
  const auto of = [](StringMap limits, StringMap requests = {}) {
    return Completed("Enflame", {.limits = std::move(limits), .requests = std::move(requests)});
  };
  EXPECT_EQ(of({{"enflame.com/drs-gcu", "3"}, {"enflame.com/gcu-core", "500"}}),
            "claimed; request enflame.com/drs-gcu=3");
  EXPECT_EQ(of({}, {{"enflame.com/drs-gcu", "3"}}), "claimed; limit enflame.com/drs-gcu=3");
  EXPECT_EQ(of({{"enflame.com/gcu-memory", "20"}}, {{"enflame.com/gcu-core", "50"}}),
            "claimed; limit enflame.com/gcu-core=50; request enflame.com/gcu-memory=20");
  EXPECT_EQ(of({{"enflame.com/drs-gcu", "0"}}),
            "refused: enflame.com/drs-gcu must be greater than 0");
  EXPECT_EQ(of({{"enflame.com/gcu-memory", "0"}}),
            "refused: enflame.com/gcu-memory must be greater than 0");
  EXPECT_EQ(of({{"enflame.com/gcu-core", "101"}}),
            "refused: enflame.com/gcu-core must be in range (0,100]");
  EXPECT_EQ(of({}), "left alone");
}

TEST(IluvatarAdmissionTest, TellsTheContainerItsNameAndGivesWholeCards) {
  const auto of = [](NewContainer container) { return Completed("MR-V100", std::move(container)); };
  EXPECT_EQ(of({.limits = {{"iluvatar.ai/MR-V100-vgpu", "1"}}}),
            "claimed; env SOL_CONTINER_NAME=main");
  EXPECT_EQ(of({.limits = {{"iluvatar.ai/MR-V100-vgpu", "2"}},
                .requests = {{"iluvatar.ai/MR-V100.vCore", "1"}},
                .env = {{"SOL_CONTINER_NAME", "mine"}}}),
            "claimed; limit iluvatar.ai/MR-V100.vCore=200; request iluvatar.ai/MR-V100.vCore=200");
  EXPECT_EQ(of({.limits = {{"iluvatar.ai/MR-V100-vgpu", "0"}}}),
            "refused: iluvatar.ai/MR-V100-vgpu 0 is invalid");
  EXPECT_EQ(of({.limits = {{"iluvatar.ai/MR-V100.vCore", "1"}}}), "left alone");
}

TEST(KunlunAdmissionTest, RoundsPartsAndWantsACountThatConnects) {
  const auto part = [](const std::string& memory) {
    return Completed(
        "XPU", {.limits = {{"kunlunxin.com/vxpu", "1"}, {"kunlunxin.com/vxpu-memory", memory}}});
  };
  const auto with = [](const std::string& memory) {
    return "claimed; limit kunlunxin.com/vxpu-memory=" + memory +
           "; request kunlunxin.com/vxpu-memory=" + memory;
  };
  EXPECT_EQ(part("30k"), with("49152"));
  EXPECT_EQ(part("24Gi"), with("24576"));
  EXPECT_EQ(part("0"), with("24576"));
  EXPECT_EQ(part("-1"), "claimed");  // and then refused, because it cannot be read
  EXPECT_EQ(Completed("XPU", {.limits = {{"kunlunxin.com/vxpu", "1"}}}), "claimed");
  EXPECT_EQ(Completed("XPU", {.limits = {{"kunlunxin.com/vxpu", "5"}}}),
            "refused: kunlunxin.com/vxpu must be one of [1, 2, 4, 8]");
  EXPECT_EQ(Completed("kunlun", {.limits = {{"kunlunxin.com/xpu", "8"}}}), "claimed");
  EXPECT_EQ(Completed("kunlun", {.limits = {{"kunlunxin.com/xpu", "0"}}}),
            "refused: kunlunxin.com/xpu must be greater than 0");
}

TEST(MetaxAdmissionTest, ChecksAmountsClassAndQos) {
  const auto of = [](StringMap limits, StringMap annotations = {}) {
    return Completed("Metax-SGPU",
                     {.limits = std::move(limits), .annotations = std::move(annotations)});
  };
  constexpr const char* kClass = "metax-tech.com/sgpu-app-class";
  constexpr const char* kQos = "metax-tech.com/sgpu-qos-policy";
  const StringMap one = {{"metax-tech.com/sgpu", "1"}};
  const auto with = [&](const char* resource, const char* amount) {
    StringMap limits = one;
    limits.emplace(resource, amount);
    return of(limits);
  };
  EXPECT_EQ(of(one), "claimed; annotation metax-tech.com/sgpu-qos-policy=best-effort");
  EXPECT_EQ(of(one, {{kQos, "burst-share"}}), "claimed");
  EXPECT_EQ(of(one, {{kQos, ""}}),
            "refused: metax-tech.com/sgpu-qos-policy must be set one of [best-effort, "
            "fixed-share, burst-share]");
  EXPECT_EQ(of(one, {{kClass, "online"}, {kQos, "nonsense"}}), "claimed");
  EXPECT_EQ(of(one, {{kClass, "offline"}}),
            "claimed; annotation metax-tech.com/sgpu-qos-policy=best-effort");
  EXPECT_EQ(of(one, {{kClass, ""}}),
            "refused: metax-tech.com/sgpu-app-class must be set one of [online, offline]");
  EXPECT_EQ(of({{"metax-tech.com/sgpu", "2"}}, {{kClass, "online"}}),
            "refused: app-class pod must request single device");
  EXPECT_EQ(of({{"metax-tech.com/sgpu", "0"}}),
            "refused: metax-tech.com/sgpu must be greater than 0");
  EXPECT_EQ(with("metax-tech.com/vcore", "120"),
            "refused: metax-tech.com/vcore must be in range [0,100]");
  EXPECT_EQ(with("metax-tech.com/vcore", "1500m"),
            "refused: metax-tech.com/vcore must be an integer");
  EXPECT_EQ(with("metax-tech.com/vmemory", "-1"),
            "refused: metax-tech.com/vmemory is out of range");
  EXPECT_EQ(with("metax-tech.com/vmemory", "2097152"),
            "refused: metax-tech.com/vmemory is out of range");
  EXPECT_EQ(of({{"metax-tech.com/vmemory", "4"}}), "left alone");
}

TEST(MthreadsAdmissionTest, CompletesWholeCardsAndChecksShares) {
  const auto of = [](StringMap limits, StringMap requests = {}) {
    return Completed("Mthreads", {.limits = std::move(limits), .requests = std::move(requests)});
  };
  const auto share = [&](const char* memory, const char* cores) {
    return of({{"mthreads.com/vgpu", "1"},
               {"mthreads.com/sgpu-memory", memory},
               {"mthreads.com/sgpu-core", cores}});
  };
  EXPECT_EQ(of({{"mthreads.com/vgpu", "1"}, {"mthreads.com/sgpu-core", "1"}}),
            "claimed; limit mthreads.com/sgpu-core=16; limit mthreads.com/sgpu-memory=96; "
            "warning mthreads.com/sgpu-core 1 becomes 16: the cards are given whole");
  EXPECT_EQ(of({{"mthreads.com/vgpu", "2"}, {"mthreads.com/sgpu-memory", "2"}}),
            "claimed; limit mthreads.com/sgpu-core=32; limit mthreads.com/sgpu-memory=192; "
            "annotation mthreads.com/request-gpu-num=2; "
            "warning mthreads.com/sgpu-memory 2 becomes 192: the cards are given whole");
  // As it was completed before.
  EXPECT_EQ(of({{"mthreads.com/vgpu", "2"},
                {"mthreads.com/sgpu-memory", "192"},
                {"mthreads.com/sgpu-core", "32"}}),
            "claimed; limit mthreads.com/sgpu-core=32; limit mthreads.com/sgpu-memory=192; "
            "annotation mthreads.com/request-gpu-num=2");
  EXPECT_EQ(of({}, {{"mthreads.com/vgpu", "1"}, {"mthreads.com/sgpu-memory", "32"}}),
            "claimed; limit mthreads.com/sgpu-memory=32; limit mthreads.com/vgpu=1");
  EXPECT_EQ(share("32", "8"), "claimed");
  EXPECT_EQ(share("3", "8"),
            "refused: sGPU memory request value is invalid, valid values are [2, 4, 8, 16, 32, "
            "64, 96]");
  EXPECT_EQ(share("32", "17"), "refused: mthreads.com/sgpu-core must be in range [0,16]");
  EXPECT_EQ(of({{"mthreads.com/vgpu", "500m"}}),
            "refused: mthreads.com/vgpu must be greater than 0");
  EXPECT_EQ(of({{"mthreads.com/vgpu", "100000000000000000"}}),
            "claimed; annotation mthreads.com/request-gpu-num=100000000000000000");
  EXPECT_EQ(of({{"mthreads.com/sgpu-memory", "32"}}), "left alone");
}

// ---- quota: what is known before there is a card

core::DeviceUse LeastOf(std::string_view key, const PodWish& pod) {
  return core::LeastQuotaUse(pod.Request(AllVendors()), AllVendors())[VendorOf(key).id()];
}

TEST(LeastQuotaUseTest, CountsCardsInAccountingUnits) {
  EXPECT_EQ(LeastOf("MLU", PodWish().AppWith({{"cambricon.com/vmlu", "2"},
                                              {"cambricon.com/vmemory", "40"},
                                              {"cambricon.com/vcore", "10"}})),
            (core::DeviceUse{0, 2 * 40 * 256, 2 * 10}));
  EXPECT_EQ(LeastOf("AMD", PodWish().AppWith({{"amd.com/gpu", "2"}})),
            (core::DeviceUse{0, 0, 2 * 100}));
}

TEST(LeastQuotaUseTest, ASizeInSlicesIsNoMemory) {
  EXPECT_EQ(LeastOf("Enflame", PodWish().AppWith({{"enflame.com/drs-gcu", "3"}})),
            core::DeviceUse());
  EXPECT_EQ(LeastOf("Enflame", PodWish().AppWith({{"enflame.com/gcu-memory", "20480"},
                                                  {"enflame.com/gcu-core", "50"}})),
            (core::DeviceUse{0, 20480, 50}));
}

TEST(LeastQuotaUseTest, NeuronCountsCores) {
  const auto cores = [](const char* resource, const char* amount) {
    return LeastOf("AWSNeuron", PodWish().AppWith({{resource, amount}})).cores;
  };
  EXPECT_EQ(cores("aws.amazon.com/neuroncore", "1"), 1);
  EXPECT_EQ(cores("aws.amazon.com/neuroncore", "4"), 4);
  EXPECT_EQ(cores("aws.amazon.com/neuron", "3"), 6);
}

TEST(LeastQuotaUseTest, OnlinePodsReserveNoCores) {
  const StringMap share = {{"metax-tech.com/sgpu", "1"}, {"metax-tech.com/vcore", "60"}};
  EXPECT_EQ(LeastOf("Metax-SGPU", PodWish().AppWith(share)).cores, 60);
  EXPECT_EQ(LeastOf("Metax-SGPU",
                    PodWish().AppWith(share).Annotate("metax-tech.com/sgpu-app-class", "online"))
                .cores,
            0);
}

}  // namespace
}  // namespace aliquot::testing
