// DeviceConfig: the device configuration file (YAML), one struct per section
// and one field per key, named after it.
//
// An absent key, or one without a value, is the field's zero value: there are
// no defaults. An empty resource name matches nothing. Memory is in MiB.
//
// Thread safety: plain values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aliquot/base/result.h"

namespace aliquot::config {

// GPUs of these models may be cut into instances of these profiles ("1g.5gb").
struct MigAllowlistEntry {
  std::vector<std::string> models;
  std::vector<std::string> profiles;

  bool operator==(const MigAllowlistEntry&) const = default;
};

struct NvidiaConfig {
  std::string resource_count_name;
  std::string resource_memory_name;
  std::string resource_memory_percentage_name;
  std::string resource_core_name;
  std::string resource_priority_name;
  bool overwrite_env = false;
  int32_t default_memory_mib = 0;  // 0: the whole card
  int32_t default_cores = 0;
  int32_t default_gpu_count = 0;  // 0 or less: none is added
  int32_t memory_factor = 0;      // below 1 acts as 1
  bool disable_core_limit = false;
  std::string gpu_core_policy;  // default, force, disable; as written, perhaps unknown
  std::string runtime_class_name;
  std::vector<MigAllowlistEntry> mig_profile_allowlist;

  // For the device plugin, which reads the same file.
  std::optional<uint32_t> device_split_count;
  std::optional<double> device_memory_scaling;
  std::optional<double> device_core_scaling;
  std::optional<int64_t> preconfigured_device_memory_mib;
  std::optional<std::string> lib_cuda_log_level;
  std::optional<bool> enable_numa_topology;

  bool operator==(const NvidiaConfig&) const = default;
};

// Sections with these three names only: cambricon, mthreads, amd.
struct CardNamesConfig {
  std::string resource_count_name;
  std::string resource_memory_name;
  std::string resource_core_name;

  bool operator==(const CardNamesConfig&) const = default;
};

struct HygonConfig {
  std::string resource_count_name;
  std::string resource_memory_name;
  std::string resource_core_name;
  int32_t memory_factor = 0;

  bool operator==(const HygonConfig&) const = default;
};

struct MetaxConfig {
  std::string resource_count_name;
  std::string resource_vcount_name;
  std::string resource_vmemory_name;
  std::string resource_vcore_name;
  bool sgpu_topology_aware = false;

  bool operator==(const MetaxConfig&) const = default;
};

struct EnflameConfig {
  std::string resource_name_gcu;
  std::string resource_name_drs_gcu;
  std::string resource_name_gcu_memory;
  std::string resource_name_gcu_core;
  std::string resource_name_vgcu;
  std::string resource_name_vgcu_percentage;

  bool operator==(const EnflameConfig&) const = default;
};

struct KunlunConfig {
  std::string resource_count_name;
  std::string resource_vcount_name;
  std::string resource_vmemory_name;

  bool operator==(const KunlunConfig&) const = default;
};

struct AwsNeuronConfig {
  std::string resource_count_name;
  std::string resource_core_name;

  bool operator==(const AwsNeuronConfig&) const = default;
};

// Sections with a count only: vastai, biren.
struct CountNameConfig {
  std::string resource_count_name;

  bool operator==(const CountNameConfig&) const = default;
};

struct IluvatarConfig {
  std::string chip_name;
  std::string common_word;  // never empty
  std::string resource_count_name;
  std::string resource_memory_name;
  std::string resource_core_name;

  bool operator==(const IluvatarConfig&) const = default;
};

struct VnpuTemplate {
  std::string name;
  int64_t memory_mib = 0;
  int32_t ai_core = 0;
  int32_t ai_cpu = 0;

  bool operator==(const VnpuTemplate&) const = default;
};

struct VnpuConfig {
  std::string chip_name;
  std::string common_word;  // never empty
  std::string resource_name;
  std::string resource_memory_name;
  std::string resource_core_name;
  int64_t memory_allocatable_mib = 0;
  int64_t memory_capacity_mib = 0;
  int32_t memory_factor = 0;
  int32_t ai_core = 0;
  int32_t ai_cpu = 0;
  std::string runtime_class_name;
  bool overwrite_env = false;
  bool super_pod = false;
  std::vector<VnpuTemplate> templates;

  bool operator==(const VnpuConfig&) const = default;
};

struct VnpusConfig {
  bool hami_vnpu_core = false;
  std::vector<VnpuConfig> configs;

  bool operator==(const VnpusConfig&) const = default;
};

struct DeviceConfig {
  NvidiaConfig nvidia;
  CardNamesConfig cambricon;
  HygonConfig hygon;
  EnflameConfig enflame;
  CardNamesConfig mthreads;
  MetaxConfig metax;
  KunlunConfig kunlun;
  AwsNeuronConfig awsneuron;
  CardNamesConfig amd;
  CountNameConfig vastai;
  CountNameConfig biren;
  VnpusConfig vnpus;
  std::vector<IluvatarConfig> iluvatars;

  // What the file says that is hardly meant, each "<file>:<line>: <text>": unknown
  // and repeated keys, a resource name in two sections, unknown policies.
  std::vector<std::string> warnings;

  bool operator==(const DeviceConfig&) const = default;
};

// Errors begin with HAMi's texts ("Failed to load device config file ...",
// "Failed to initialize devices: ...", "invalid MIG profile allowlist: ...") and
// name the line and the key. `file` is for messages only.
Result<DeviceConfig> ParseDeviceConfig(const std::string& text, const std::string& file);
Result<DeviceConfig> LoadDeviceConfig(const std::string& path);

// All keys with the values in force, as a document that ParseDeviceConfig reads
// back to an equal value. The warnings are not part of it.
std::string DeviceConfigYaml(const DeviceConfig& config);

}  // namespace aliquot::config
