#include "aliquot/config/device_config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "aliquot/base/strings.h"

namespace aliquot::config {
namespace {

using Warnings = std::vector<std::string>;

constexpr char kLoadError[] = "Failed to load device config file d.yaml: ";
constexpr char kAllEmpty[] = "Failed to initialize devices: all configurations are empty";

std::filesystem::path SourceDir() { return SOURCE_DIR; }

// The configuration of a text that must be good.
DeviceConfig Parsed(const std::string& text) {
  Result<DeviceConfig> config = ParseDeviceConfig(text, "d.yaml");
  EXPECT_TRUE(config.ok()) << (config.ok() ? "" : config.error().message);
  return config.ok() ? *config : DeviceConfig{};
}

std::string ParseError(const std::string& text) {
  const Result<DeviceConfig> config = ParseDeviceConfig(text, "d.yaml");
  return config.ok() ? "no error" : config.error().message;
}

NvidiaConfig Nvidia(const std::string& pairs) { return Parsed("nvidia: {" + pairs + "}").nvidia; }

TEST(DeviceConfig, ReadsEveryKeyOfTheNvidiaSection) {
  const DeviceConfig config = Parsed(R"(
nvidia:
  resourceCountName: nvidia.com/gpu
  resourceMemoryName: nvidia.com/gpumem
  resourceMemoryPercentageName: nvidia.com/gpumem-percentage
  resourceCoreName: nvidia.com/gpucores
  resourcePriorityName: nvidia.com/priority
  overwriteEnv: true
  defaultMemory: 4096
  defaultCores: 20
  defaultGPUNum: 2
  memoryFactor: 1024
  disableCoreLimit: true
  gpuCorePolicy: force
  runtimeClassName: nvidia
  migProfileAllowlist:
  - models: [A30, "H200 NVL"]
    profiles: [1g.6gb, 2g.12gb]
  - {models: [B200], profiles: [7g.180gb]}
  deviceSplitCount: 10
  deviceMemoryScaling: 1.5
  deviceCoreScaling: 2
  preConfiguredDeviceMemory: 81920
  libCudaLogLevel: 1
  enableNumaTopology: true
)");
  const NvidiaConfig expected{
      .resource_count_name = "nvidia.com/gpu",
      .resource_memory_name = "nvidia.com/gpumem",
      .resource_memory_percentage_name = "nvidia.com/gpumem-percentage",
      .resource_core_name = "nvidia.com/gpucores",
      .resource_priority_name = "nvidia.com/priority",
      .overwrite_env = true,
      .default_memory_mib = 4096,
      .default_cores = 20,
      .default_gpu_count = 2,
      .memory_factor = 1024,
      .disable_core_limit = true,
      .gpu_core_policy = "force",
      .runtime_class_name = "nvidia",
      .mig_profile_allowlist = {{{"A30", "H200 NVL"}, {"1g.6gb", "2g.12gb"}},
                                {{"B200"}, {"7g.180gb"}}},
      .device_split_count = 10,
      .device_memory_scaling = 1.5,
      .device_core_scaling = 2,
      .preconfigured_device_memory_mib = 81920,
      .lib_cuda_log_level = "1",
      .enable_numa_topology = true};
  EXPECT_EQ(config.nvidia, expected);
  EXPECT_EQ(config.warnings, Warnings{});
}

TEST(DeviceConfig, ReadsEveryKeyOfTheOtherSections) {
  const DeviceConfig config = Parsed(R"(
cambricon: {resourceCountName: c1, resourceMemoryName: c2, resourceCoreName: c3}
mthreads: {resourceCountName: t1, resourceMemoryName: t2, resourceCoreName: t3}
amd: {resourceCountName: a1, resourceMemoryName: a2, resourceCoreName: a3}
hygon: {resourceCountName: h1, resourceMemoryName: h2, resourceCoreName: h3, memoryFactor: 4}
metax:
  resourceCountName: m1
  resourceVCountName: m2
  resourceVMemoryName: m3
  resourceVCoreName: m4
  sgpuTopologyAware: true
enflame:
  resourceNameGCU: e1
  resourceNameDRSGCU: e2
  resourceNameGCUMemory: e3
  resourceNameGCUCore: e4
  resourceNameVGCU: e5
  resourceNameVGCUPercentage: e6
kunlun: {resourceCountName: k1, resourceVCountName: k2, resourceVMemoryName: k3}
awsneuron: {resourceCountName: n1, resourceCoreName: n2}
vastai: {resourceCountName: v1}
biren: {resourceCountName: b1}
iluvatars:
- {chipName: i1, commonWord: i2, resourceCountName: i3, resourceMemoryName: i4, resourceCoreName: i5}
vnpus:
  hamiVnpuCore: true
  configs:
  - chipName: p1
    commonWord: p2
    resourceName: p3
    resourceMemoryName: p4
    resourceCoreName: p5
    memoryAllocatable: 21527
    memoryCapacity: 24576
    memoryFactor: 100
    aiCore: 8
    aiCPU: 7
    runtimeClassName: ascend
    overwriteEnv: true
    superPod: true
    templates:
    - {name: vir01, memory: 3072, aiCore: 1, aiCPU: 2}
)");
  DeviceConfig expected;
  expected.cambricon = {"c1", "c2", "c3"};
  expected.mthreads = {"t1", "t2", "t3"};
  expected.amd = {"a1", "a2", "a3"};
  expected.hygon = {"h1", "h2", "h3", 4};
  expected.metax = {"m1", "m2", "m3", "m4", true};
  expected.enflame = {"e1", "e2", "e3", "e4", "e5", "e6"};
  expected.kunlun = {"k1", "k2", "k3"};
  expected.awsneuron = {"n1", "n2"};
  expected.vastai = {"v1"};
  expected.biren = {"b1"};
  expected.iluvatars = {{"i1", "i2", "i3", "i4", "i5"}};
  expected.vnpus = {true,
                    {{"p1",
                      "p2",
                      "p3",
                      "p4",
                      "p5",
                      21527,
                      24576,
                      100,
                      8,
                      7,
                      "ascend",
                      true,
                      true,
                      {{"vir01", 3072, 1, 2}}}}};
  EXPECT_EQ(config, expected);
}

TEST(DeviceConfig, LeavesFieldsWithoutAValueAtZero) {
  const NvidiaConfig config = Nvidia(
      "resourceCountName: g, resourceMemoryName: ~, resourceCoreName: , defaultCores: null, "
      "overwriteEnv: , deviceSplitCount: , migProfileAllowlist: ~");
  NvidiaConfig expected;
  expected.resource_count_name = "g";
  EXPECT_EQ(config, expected);
  EXPECT_EQ(Parsed("nvidia:\nbiren: {resourceCountName: b}").nvidia, NvidiaConfig{});
}

TEST(DeviceConfig, KeepsTheLiteralTextOfAScalar) {
  EXPECT_EQ(Nvidia("runtimeClassName: 010").runtime_class_name, "010");
  EXPECT_EQ(Nvidia("runtimeClassName: yes").runtime_class_name, "yes");
  EXPECT_EQ(Nvidia("runtimeClassName: '~'").runtime_class_name, "~");
  EXPECT_EQ(Nvidia("libCudaLogLevel: ''").lib_cuda_log_level, "");
}

TEST(DeviceConfig, ReadsTheBooleansOfYaml11) {
  for (const char* yes : {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"})
    EXPECT_TRUE(Nvidia(std::string("overwriteEnv: ") + yes).overwrite_env) << yes;
  for (const char* no : {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "n", "N"})
    EXPECT_EQ(Nvidia(std::string("enableNumaTopology: ") + no).enable_numa_topology, false) << no;
}

TEST(DeviceConfig, ReadsIntegersAsTemplatesAndPeopleWriteThem) {
  const std::vector<std::pair<std::string, int>> rows{{"1024", 1024},
                                                      {"+7", 7},
                                                      {"-7", -7},
                                                      {"1_000", 1000},
                                                      {"0x10", 16},
                                                      {"-0x10", -16},
                                                      {"0o17", 15},
                                                      {"017", 15},
                                                      {"0b101", 5},
                                                      {"1e+06", 1000000},
                                                      {"2147483647", 2147483647},
                                                      {"12.0", 12},
                                                      {"-2147483648", -2147483647 - 1}};
  for (const auto& [text, value] : rows)
    EXPECT_EQ(Nvidia("resourceCountName: g, defaultMemory: " + text).default_memory_mib, value)
        << text;
  EXPECT_EQ(
      Nvidia("preConfiguredDeviceMemory: 9223372036854775807").preconfigured_device_memory_mib,
      INT64_MAX);
  EXPECT_EQ(Nvidia("deviceSplitCount: 4294967295").device_split_count, UINT32_MAX);
}

TEST(DeviceConfig, RefusesValuesOfTheWrongType) {
  const std::string int32 = "must be an integer from -2147483648 to 2147483647, not ";
  const std::vector<std::pair<std::string, std::string>> rows{
      {"defaultMemory: '10'", "nvidia.defaultMemory: " + int32 + "the text \"10\""},
      {"defaultMemory: !!str 10", "nvidia.defaultMemory: " + int32 + "the text \"10\""},
      {"defaultMemory: ten", "nvidia.defaultMemory: " + int32 + "\"ten\""},
      {"defaultMemory: 1.5", "nvidia.defaultMemory: " + int32 + "\"1.5\""},
      {"defaultMemory: 0x-5", "nvidia.defaultMemory: " + int32 + "\"0x-5\""},
      {"defaultMemory: 2147483648", "nvidia.defaultMemory: " + int32 + "\"2147483648\""},
      {"defaultMemory: 1e30", "nvidia.defaultMemory: " + int32 + "\"1e30\""},
      {"defaultMemory: [1]",
       "nvidia.defaultMemory: must be an integer from -2147483648 to 2147483647"},
      {"deviceSplitCount: -1",
       "nvidia.deviceSplitCount: must be an integer from 0 to 4294967295, not \"-1\""},
      {"overwriteEnv: \"false\"",
       "nvidia.overwriteEnv: must be true or false, not the text \"false\""},
      {"overwriteEnv: 1", "nvidia.overwriteEnv: must be true or false, not \"1\""},
      {"deviceMemoryScaling: '1.5'",
       "nvidia.deviceMemoryScaling: must be a number, not the text \"1.5\""},
      {"deviceMemoryScaling: .nan", "nvidia.deviceMemoryScaling: must be a number, not \".nan\""},
      {"resourceCountName: [a]", "nvidia.resourceCountName: must be text"},
      {"migProfileAllowlist: {}", "nvidia.migProfileAllowlist: must be a list"},
      {"migProfileAllowlist: [A30]",
       "nvidia.migProfileAllowlist[0]: must be a mapping of keys to values, not \"A30\""},
      {"migProfileAllowlist: [{models: A30}]",
       "nvidia.migProfileAllowlist[0].models: must be a list, not \"A30\""},
  };
  for (const auto& [pair, problem] : rows)
    EXPECT_EQ(ParseError("nvidia:\n  resourceCountName: g\n  " + pair + "\n"),
              kLoadError + ("line 3: " + problem));
}

TEST(DeviceConfig, RefusesSectionsOfTheWrongType) {
  EXPECT_EQ(ParseError("nvidia: [a]"),
            kLoadError + std::string("line 1: nvidia: must be a mapping of keys to values"));
  EXPECT_EQ(ParseError("iluvatars: {}"),
            kLoadError + std::string("line 1: iluvatars: must be a list"));
  EXPECT_EQ(ParseError("- a"),
            kLoadError + std::string("line 1: the document: must be a mapping of keys to values"));
}

TEST(DeviceConfig, TellsAllThatIsWrongInTheOrderOfTheFile) {
  EXPECT_EQ(
      ParseError("vnpus:\n  configs:\n  - {commonWord: a, aiCore: x}\nnvidia: {overwriteEnv: 2}"),
      kLoadError +
          std::string("line 3: vnpus.configs[0].aiCore: must be an integer from -2147483648 "
                      "to 2147483647, not \"x\"; "
                      "line 4: nvidia.overwriteEnv: must be true or false, not \"2\""));
}

TEST(DeviceConfig, RefusesWhatIsNotYaml) {
  EXPECT_EQ(ParseError("nvidia:\n  a: b: c"),
            kLoadError + std::string("yaml-cpp: error at line 2, column 7: illegal map value"));
  EXPECT_TRUE(ParseError(std::string(100'000, '[')).starts_with(kLoadError));
  EXPECT_TRUE(ParseError("nvidia: *nowhere").starts_with(kLoadError));
}

TEST(DeviceConfig, RefusesAFileThatConfiguresNothing) {
  for (const char* text :
       {"", "# nothing\n", "~", "{}", "nvidia:", "nvidia: {}\namd: {resourceCountName: ''}",
        "nvidia: {defaultMemory: 0, overwriteEnv: false, migProfileAllowlist: []}", "iluvatars: []",
        "vnpus: {hamiVnpuCore: true}", "vnpus: {hamiVnpuCore: true, configs: []}",
        "tpu: {resourceCountName: google.com/tpu}"})
    EXPECT_EQ(ParseError(text), kAllEmpty) << text;
}

TEST(DeviceConfig, AcceptsAFileWithAnyOneValue) {
  for (const char* text : {"nvidia: {resourceCountName: g}", "nvidia: {deviceSplitCount: 0}",
                           "nvidia: {defaultMemory: -1}", "cambricon: {resourceCoreName: x}",
                           "hygon: {memoryFactor: 1}", "enflame: {resourceNameVGCUPercentage: x}",
                           "mthreads: {resourceMemoryName: x}", "metax: {sgpuTopologyAware: true}",
                           "kunlun: {resourceVCountName: x}", "awsneuron: {resourceCoreName: x}",
                           "amd: {resourceCountName: x}", "vastai: {resourceCountName: x}",
                           "biren: {resourceCountName: x}", "vnpus: {configs: [{commonWord: x}]}",
                           "iluvatars: [{commonWord: x}]"})
    EXPECT_EQ(ParseError(text), "no error") << text;
}

TEST(DeviceConfig, ChecksTheMigAllowlist) {
  const auto error = [](const std::string& entry) {
    return ParseError("nvidia: {migProfileAllowlist: [{models: [m], profiles: [1g.5gb]}, " + entry +
                      "]}");
  };
  const std::string prefix = "invalid MIG profile allowlist: ";
  const std::string where = " (nvidia.migProfileAllowlist[1])";
  const std::string both = "MIG profile allowlist must define models and profiles";
  EXPECT_EQ(error("{profiles: [1g.5gb]}"), prefix + both + where);
  EXPECT_EQ(error("{models: [A30]}"), prefix + both + where);
  EXPECT_EQ(error("~"), prefix + both + where);
  for (const std::string bad : {"g.5gb", "1c.2g.10gb", "1g", "", ".", "5gb.1g"})
    EXPECT_EQ(error("{models: [A30], profiles: [1g.5gb, '" + bad + "']}"),
              prefix + "invalid MIG profile \"" + bad + "\"" + where);
  for (const std::string good : {"1g.5gb", "7g.79gb", "10g.x", "1g."})
    EXPECT_EQ(error("{models: [A30], profiles: ['" + good + "']}"), "no error");
}

TEST(DeviceConfig, RefusesAnEntryWithoutACommonWord) {
  EXPECT_EQ(
      ParseError("iluvatars:\n- {commonWord: a}\n- {chipName: b}"),
      kLoadError + std::string("line 3: iluvatars[1].commonWord: must be given, and not empty"));
  EXPECT_EQ(ParseError("vnpus: {configs: [{commonWord: ''}]}"),
            kLoadError +
                std::string("line 1: vnpus.configs[0].commonWord: must be given, and not empty"));
}

TEST(DeviceConfig, TakesTheLaterOfTwoEqualKeys) {
  const DeviceConfig config = Parsed(
      "nvidia:\n  defaultCores: 10\n  defaultCores: 30\n"
      "biren: {resourceCountName: a}\nbiren: {resourceCountName: b}\n");
  EXPECT_EQ(config.nvidia.default_cores, 30);
  EXPECT_EQ(config.biren.resource_count_name, "b");
  EXPECT_EQ(config.warnings,
            (Warnings{"d.yaml:3: nvidia.defaultCores is given again; the later value counts",
                      "d.yaml:5: biren is given again; the later value counts"}));
}

TEST(DeviceConfig, FollowsAnchorsAndMergeKeys) {
  const DeviceConfig config = Parsed(R"(
iluvatars:
- &first {chipName: chip, commonWord: a, resourceCoreName: core}
- {commonWord: b, <<: *first}
- {<<: [{commonWord: c}, *first]}
)");
  EXPECT_EQ(config.iluvatars[1], (IluvatarConfig{"chip", "b", "", "", "core"}));
  EXPECT_EQ(config.iluvatars[2], (IluvatarConfig{"chip", "c", "", "", "core"}));
  EXPECT_EQ(ParseError("amd: {<<: b}"),
            kLoadError + std::string("line 1: amd.<<: must be a mapping, or a list of mappings, "
                                     "not \"b\""));
  EXPECT_EQ(ParseError("amd: &a {<<: *a}"),
            kLoadError + std::string("line 1: amd.<<: must be merged at most 4 deep"));
}

TEST(DeviceConfig, WarnsOfUnknownKeysWithTheNearestKnownOne) {
  EXPECT_EQ(Parsed("apiVersion: v1\n"
                   "NVIDIA: {a: b}\n"
                   "nvidia:\n"
                   "  resourceCountName: g\n"
                   "  resourceCuontName: h\n"
                   "  future: {key: [1]}\n"
                   "  [a]: b\n")
                .warnings,
            (Warnings{"d.yaml:1: unknown key apiVersion",
                      "d.yaml:2: unknown key NVIDIA (did you mean \"nvidia\"?)",
                      "d.yaml:5: unknown key nvidia.resourceCuontName (did you mean "
                      "\"resourceCountName\"?)",
                      "d.yaml:6: unknown key nvidia.future",
                      "d.yaml:7: a key that is no text is ignored"}));
}

TEST(DeviceConfig, WarnsOfAResourceNameInTwoSections) {
  EXPECT_EQ(Parsed("nvidia: {resourceCountName: x.com/gpu}\n"
                   "amd: {resourceCountName: x.com/gpu}\n"
                   "iluvatars:\n"
                   "- {commonWord: a, resourceCoreName: x.com/core}\n"
                   "- {commonWord: b, resourceCoreName: x.com/core}\n")
                .warnings,
            (Warnings{"d.yaml:2: amd.resourceCountName: nvidia has the resource name "
                      "\"x.com/gpu\" as well",
                      "d.yaml:5: iluvatars[1].resourceCoreName: iluvatars[0] has the resource "
                      "name \"x.com/core\" as well"}));
}

TEST(DeviceConfig, AcceptsOneResourceNameTwiceInASection) {
  EXPECT_EQ(Parsed("enflame: {resourceNameDRSGCU: x, resourceNameVGCU: x}").warnings, Warnings{});
}

TEST(DeviceConfig, WarnsOfACommonWordThatComesBack) {
  EXPECT_EQ(Parsed("iluvatars:\n- commonWord: a\n- commonWord: a\n").warnings,
            Warnings{"d.yaml:3: iluvatars[1].commonWord: iluvatars[0] is \"a\" as well; the later "
                     "entry counts"});
}

TEST(DeviceConfig, WarnsOfAnUnknownCorePolicy) {
  EXPECT_EQ(Parsed("nvidia: {gpuCorePolicy: forced}").warnings,
            Warnings{"d.yaml:1: nvidia.gpuCorePolicy: \"forced\" is not recognised"});
  for (const char* known : {"default", "force", "disable"})
    EXPECT_EQ(Parsed(std::string("nvidia: {gpuCorePolicy: ") + known + "}").warnings, Warnings{});
}

TEST(DeviceConfig, LoadsAFile) {
  const std::string path = testing::TempDir() + "aliquot_device_config_test.yaml";
  std::ofstream(path) << "biren: {resourceCountName: b}\n"
                      << "# " << std::string(100'000, 'x');
  const Result<DeviceConfig> config = LoadDeviceConfig(path);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->biren.resource_count_name, "b");
  std::filesystem::remove(path);
}

TEST(DeviceConfig, TellsWhyAFileCannotBeRead) {
  EXPECT_EQ(LoadDeviceConfig("").error().message,
            "Failed to load device config file : No such file or directory");
  EXPECT_EQ(LoadDeviceConfig("/nowhere/d.yaml").error().message,
            "Failed to load device config file /nowhere/d.yaml: No such file or directory");
  EXPECT_EQ(LoadDeviceConfig("/").error().message,
            "Failed to load device config file /: Is a directory");
}

TEST(DeviceConfigYaml, ReadsBackToTheSameValues) {
  for (const char* text :
       {"nvidia: {resourceCountName: '~', libCudaLogLevel: 1, deviceMemoryScaling: 1.25, "
        "overwriteEnv: yes, migProfileAllowlist: [{models: ['a \"b\"'], profiles: [1g.5gb]}]}",
        "vnpus: {configs: [{commonWord: a, memoryCapacity: 65536, templates: [{name: v}]}]}\n"
        "iluvatars: [{commonWord: b}]"}) {
    const DeviceConfig config = Parsed(text);
    EXPECT_EQ(Parsed(DeviceConfigYaml(config)), config);
  }
}

TEST(DeviceConfigYaml, ShowsWhatIsInForce) {
  const std::string yaml = DeviceConfigYaml(Parsed("nvidia: {defaultCores: 1, defaultCores: 2}"));
  EXPECT_TRUE(Contains(yaml, "  defaultCores: 2\n")) << yaml;
  EXPECT_TRUE(Contains(yaml, "  resourceCountName: \"\"\n")) << yaml;
  EXPECT_FALSE(Contains(yaml, "deviceSplitCount")) << yaml;
}

TEST(DeviceConfig, ReadsEveryFileOfTheConformanceCases) {
  size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(SourceDir() / "tests/conformance/device-configs")) {
    const Result<DeviceConfig> config = LoadDeviceConfig(entry.path().string());
    EXPECT_TRUE(config.ok()) << (config.ok() ? "" : config.error().message);
    ++files;
  }
  EXPECT_GT(files, 0U);
}

TEST(DeviceConfig, ReadsALooselyWrittenFile) {
  const Result<DeviceConfig> config =
      LoadDeviceConfig((SourceDir() / "tests/conformance/device-configs/loose.yaml").string());
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_TRUE(config->nvidia.overwrite_env);
  EXPECT_EQ(config->nvidia.default_cores, 30);
  EXPECT_EQ(config->nvidia.lib_cuda_log_level, "3");
  EXPECT_EQ(config->amd.resource_memory_name, "");
  EXPECT_EQ(config->biren.resource_count_name, "42");
  EXPECT_EQ(config->warnings.size(), 5U);
}

TEST(ShippedDeviceConfig, HasEveryVendorAndNothingToWarnOf) {
  const Result<DeviceConfig> config =
      LoadDeviceConfig((SourceDir() / "deploy/device-config.yaml").string());
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->warnings, Warnings{});
  EXPECT_EQ(config->nvidia.resource_count_name, "nvidia.com/gpu");
  EXPECT_EQ(config->nvidia.mig_profile_allowlist.size(), 9U);
  EXPECT_EQ(config->biren.resource_count_name, "birentech.com/gpu");
  EXPECT_EQ(config->vnpus.configs.size(), 7U);
  EXPECT_EQ(config->iluvatars.size(), 4U);
}

}  // namespace
}  // namespace aliquot::config
