#include "aliquot/config/device_config.h"

#include <simdjson.h>
#include <yaml-cpp/yaml.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include "aliquot/base/strings.h"
#include "config/yaml_reader.h"
#include "config/yaml_writer.h"

namespace aliquot::config {

// The keys of each section, for reading and for writing. Not in an anonymous
// namespace: the archives find these functions by their argument.

template <typename Archive>
void Describe(Archive& section, MigAllowlistEntry& config) {
  section.Field("models", config.models);
  section.Field("profiles", config.profiles);
}

template <typename Archive>
void Describe(Archive& section, NvidiaConfig& config) {
  constexpr std::array<std::string_view, 3> kCorePolicies{"default", "force", "disable"};
  section.Resource("resourceCountName", config.resource_count_name);
  section.Resource("resourceMemoryName", config.resource_memory_name);
  section.Resource("resourceMemoryPercentageName", config.resource_memory_percentage_name);
  section.Resource("resourceCoreName", config.resource_core_name);
  section.Resource("resourcePriorityName", config.resource_priority_name);
  section.Field("overwriteEnv", config.overwrite_env);
  section.Field("defaultMemory", config.default_memory_mib);
  section.Field("defaultCores", config.default_cores);
  section.Field("defaultGPUNum", config.default_gpu_count);
  section.Field("memoryFactor", config.memory_factor);
  section.Field("disableCoreLimit", config.disable_core_limit);
  section.Words("gpuCorePolicy", config.gpu_core_policy, kCorePolicies);
  section.Field("runtimeClassName", config.runtime_class_name);
  section.Field("migProfileAllowlist", config.mig_profile_allowlist);
  section.Field("deviceSplitCount", config.device_split_count);
  section.Field("deviceMemoryScaling", config.device_memory_scaling);
  section.Field("deviceCoreScaling", config.device_core_scaling);
  section.Field("preConfiguredDeviceMemory", config.preconfigured_device_memory_mib);
  section.Field("libCudaLogLevel", config.lib_cuda_log_level);
  section.Field("enableNumaTopology", config.enable_numa_topology);
}

template <typename Archive>
void Describe(Archive& section, CardNamesConfig& config) {
  section.Resource("resourceCountName", config.resource_count_name);
  section.Resource("resourceMemoryName", config.resource_memory_name);
  section.Resource("resourceCoreName", config.resource_core_name);
}

template <typename Archive>
void Describe(Archive& section, HygonConfig& config) {
  section.Resource("resourceCountName", config.resource_count_name);
  section.Resource("resourceMemoryName", config.resource_memory_name);
  section.Resource("resourceCoreName", config.resource_core_name);
  section.Field("memoryFactor", config.memory_factor);
}

template <typename Archive>
void Describe(Archive& section, MetaxConfig& config) {
  section.Resource("resourceCountName", config.resource_count_name);
  section.Resource("resourceVCountName", config.resource_vcount_name);
  section.Resource("resourceVMemoryName", config.resource_vmemory_name);
  section.Resource("resourceVCoreName", config.resource_vcore_name);
  section.Field("sgpuTopologyAware", config.sgpu_topology_aware);
}

template <typename Archive>
void Describe(Archive& section, EnflameConfig& config) {
  section.Resource("resourceNameGCU", config.resource_name_gcu);
  section.Resource("resourceNameDRSGCU", config.resource_name_drs_gcu);
  section.Resource("resourceNameGCUMemory", config.resource_name_gcu_memory);
  section.Resource("resourceNameGCUCore", config.resource_name_gcu_core);
  section.Resource("resourceNameVGCU", config.resource_name_vgcu);
  section.Resource("resourceNameVGCUPercentage", config.resource_name_vgcu_percentage);
}

template <typename Archive>
void Describe(Archive& section, KunlunConfig& config) {
  section.Resource("resourceCountName", config.resource_count_name);
  section.Resource("resourceVCountName", config.resource_vcount_name);
  section.Resource("resourceVMemoryName", config.resource_vmemory_name);
}

template <typename Archive>
void Describe(Archive& section, AwsNeuronConfig& config) {
  section.Resource("resourceCountName", config.resource_count_name);
  section.Resource("resourceCoreName", config.resource_core_name);
}

template <typename Archive>
void Describe(Archive& section, CountNameConfig& config) {
  section.Resource("resourceCountName", config.resource_count_name);
}

template <typename Archive>
void Describe(Archive& section, IluvatarConfig& config) {
  section.Field("chipName", config.chip_name);
  section.Identity("commonWord", config.common_word);
  section.Resource("resourceCountName", config.resource_count_name);
  section.Resource("resourceMemoryName", config.resource_memory_name);
  section.Resource("resourceCoreName", config.resource_core_name);
}

template <typename Archive>
void Describe(Archive& section, VnpuTemplate& config) {
  section.Field("name", config.name);
  section.Field("memory", config.memory_mib);
  section.Field("aiCore", config.ai_core);
  section.Field("aiCPU", config.ai_cpu);
}

template <typename Archive>
void Describe(Archive& section, VnpuConfig& config) {
  section.Field("chipName", config.chip_name);
  section.Identity("commonWord", config.common_word);
  section.Resource("resourceName", config.resource_name);
  section.Resource("resourceMemoryName", config.resource_memory_name);
  section.Resource("resourceCoreName", config.resource_core_name);
  section.Field("memoryAllocatable", config.memory_allocatable_mib);
  section.Field("memoryCapacity", config.memory_capacity_mib);
  section.Field("memoryFactor", config.memory_factor);
  section.Field("aiCore", config.ai_core);
  section.Field("aiCPU", config.ai_cpu);
  section.Field("runtimeClassName", config.runtime_class_name);
  section.Field("overwriteEnv", config.overwrite_env);
  section.Field("superPod", config.super_pod);
  section.Field("templates", config.templates);
}

template <typename Archive>
void Describe(Archive& section, VnpusConfig& config) {
  section.Field("hamiVnpuCore", config.hami_vnpu_core);
  section.Field("configs", config.configs);
}

template <typename Archive>
void Describe(Archive& document, DeviceConfig& config) {
  document.Field("nvidia", config.nvidia);
  document.Field("cambricon", config.cambricon);
  document.Field("hygon", config.hygon);
  document.Field("enflame", config.enflame);
  document.Field("mthreads", config.mthreads);
  document.Field("metax", config.metax);
  document.Field("kunlun", config.kunlun);
  document.Field("awsneuron", config.awsneuron);
  document.Field("amd", config.amd);
  document.Field("vastai", config.vastai);
  document.Field("biren", config.biren);
  document.Field("vnpus", config.vnpus);
  document.Field("iluvatars", config.iluvatars);
}

namespace {

Error LoadError(const std::string& file, const std::string& text) {
  return InvalidError("Failed to load device config file " + file + ": " + text);
}

// A switch of the Ascend section alone configures nothing.
bool ConfiguresNothing(DeviceConfig config) {
  config.vnpus.hami_vnpu_core = false;
  return config == DeviceConfig{};
}

// "1g.5gb": compute slices with the unit g, a dot, and the memory.
bool IsMigProfile(std::string_view profile) {
  const size_t dot = profile.find('.');
  return dot != std::string_view::npos && dot >= 2 && profile[dot - 1] == 'g';
}

Result<void> CheckMigAllowlist(const std::vector<MigAllowlistEntry>& allowlist) {
  for (size_t i = 0; i < allowlist.size(); ++i) {
    const auto refuse = [i](const std::string& text) {
      return InvalidError("invalid MIG profile allowlist: " + text +
                          " (nvidia.migProfileAllowlist[" + std::to_string(i) + "])");
    };
    if (allowlist[i].models.empty() || allowlist[i].profiles.empty())
      return refuse("MIG profile allowlist must define models and profiles");
    for (const std::string& profile : allowlist[i].profiles)
      if (!IsMigProfile(profile)) return refuse("invalid MIG profile \"" + profile + "\"");
  }
  return {};
}

}  // namespace

Result<DeviceConfig> ParseDeviceConfig(const std::string& text, const std::string& file) {
  if (!simdjson::validate_utf8(text)) return LoadError(file, "not UTF-8");
  DeviceConfig config;
  Findings findings;
  try {
    const YAML::Node document = YAML::Load(text);
    if (!document.IsNull()) YamlReader::ReadValue(document, "", findings, config);
  } catch (const YAML::Exception& problem) {
    return LoadError(file, problem.what());
  }
  if (!findings.errors.empty()) {
    std::vector<std::string> errors;
    for (const auto& [line, error] : findings.errors)
      errors.push_back("line " + std::to_string(line) + ": " + error);
    return LoadError(file, Join(errors, "; "));
  }
  if (ConfiguresNothing(config))
    return InvalidError("Failed to initialize devices: all configurations are empty");
  if (Result<void> checked = CheckMigAllowlist(config.nvidia.mig_profile_allowlist); !checked)
    return checked.error();
  for (const auto& [line, warning] : findings.warnings)
    config.warnings.push_back(file + ":" + std::to_string(line) + ": " + warning);
  return config;
}

Result<DeviceConfig> LoadDeviceConfig(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (!file) return LoadError(path, std::generic_category().message(errno));
  std::string text;
  std::array<char, 16 * 1024> buffer;
  while (const size_t count = std::fread(buffer.data(), 1, buffer.size(), file.get()))
    text.append(buffer.data(), count);
  if (std::ferror(file.get())) return LoadError(path, std::generic_category().message(errno));
  return ParseDeviceConfig(text, path);
}

std::string DeviceConfigYaml(const DeviceConfig& config) { return YamlWriter::Document(config); }

}  // namespace aliquot::config
