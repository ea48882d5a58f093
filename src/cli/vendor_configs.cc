#include "cli/vendor_configs.h"

#include <algorithm>

namespace aliquot::cli {
namespace {

core::VendorConfig Named(const std::string& count, const std::string& memory = "",
                         const std::string& cores = "") {
  core::VendorConfig vendor;
  vendor.count_name = count;
  vendor.memory_name = memory;
  vendor.cores_name = cores;
  return vendor;
}

core::VendorConfig Named(const config::CardNamesConfig& section) {
  return Named(section.resource_count_name, section.resource_memory_name,
               section.resource_core_name);
}

core::VendorConfig NvidiaConfig(const config::NvidiaConfig& nvidia) {
  core::VendorConfig vendor =
      Named(nvidia.resource_count_name, nvidia.resource_memory_name, nvidia.resource_core_name);
  vendor.memory_percentage_name = nvidia.resource_memory_percentage_name;
  vendor.memory_factor = nvidia.memory_factor;
  vendor.default_memory = nvidia.default_memory_mib;
  vendor.default_cores = nvidia.default_cores;
  vendor.default_count = nvidia.default_gpu_count;
  vendor.priority_name = nvidia.resource_priority_name;
  vendor.core_policy = nvidia.gpu_core_policy;
  vendor.runtime_class = nvidia.runtime_class_name;
  vendor.overwrite_env = nvidia.overwrite_env;
  return vendor;
}

core::VendorConfig HygonConfig(const config::HygonConfig& hygon) {
  core::VendorConfig vendor =
      Named(hygon.resource_count_name, hygon.resource_memory_name, hygon.resource_core_name);
  vendor.memory_factor = hygon.memory_factor;
  return vendor;
}

// The names of slices have defaults; those of whole cards have none.
core::VendorConfig EnflameConfig(const config::EnflameConfig& enflame) {
  const auto first = [](const std::string& a, const std::string& b) { return a.empty() ? b : a; };
  return Named(first(enflame.resource_name_drs_gcu,
                     first(enflame.resource_name_vgcu, "enflame.com/drs-gcu")),
               first(enflame.resource_name_gcu_memory, "enflame.com/gcu-memory"),
               first(enflame.resource_name_gcu_core, "enflame.com/gcu-core"));
}

core::VendorConfig MetaxSgpuConfig(const config::MetaxConfig& metax) {
  core::VendorConfig vendor =
      Named(metax.resource_vcount_name, metax.resource_vmemory_name, metax.resource_vcore_name);
  vendor.topology_aware = metax.sgpu_topology_aware;
  return vendor;
}

core::VendorConfig AscendConfig(const config::VnpuConfig& vnpu, bool hami_core) {
  core::VendorConfig vendor =
      Named(vnpu.resource_name, vnpu.resource_memory_name, vnpu.resource_core_name);
  vendor.memory_factor = vnpu.memory_factor;
  vendor.memory_allocatable = vnpu.memory_allocatable_mib;
  vendor.memory_capacity = vnpu.memory_capacity_mib;
  vendor.super_pod = vnpu.super_pod;
  vendor.runtime_class = vnpu.runtime_class_name;
  vendor.overwrite_env = vnpu.overwrite_env;
  vendor.hami_core = hami_core;
  for (const config::VnpuTemplate& part : vnpu.templates)
    vendor.templates.push_back({part.name, part.memory_mib});
  std::stable_sort(vendor.templates.begin(), vendor.templates.end(),
                   [](const auto& a, const auto& b) { return a.memory < b.memory; });
  return vendor;
}

}  // namespace

vendors::Configs VendorConfigs(const config::ServeFlags& flags,
                               const config::DeviceConfig& devices) {
  vendors::Configs configs;
  configs.amd = Named(devices.amd);
  configs.awsneuron =
      Named(devices.awsneuron.resource_count_name, "", devices.awsneuron.resource_core_name);
  configs.biren = Named(devices.biren.resource_count_name);
  configs.cambricon = Named(devices.cambricon);
  configs.enflame = EnflameConfig(devices.enflame);
  configs.gcu = Named(devices.enflame.resource_name_gcu);
  configs.hygon = HygonConfig(devices.hygon);
  configs.kunlun = Named(devices.kunlun.resource_count_name);
  configs.metax_gpu = Named(devices.metax.resource_count_name);
  configs.metax_sgpu = MetaxSgpuConfig(devices.metax);
  configs.mthreads = Named(devices.mthreads);
  configs.nvidia = NvidiaConfig(devices.nvidia);
  configs.vastai = Named(devices.vastai.resource_count_name);
  configs.xpu = Named(devices.kunlun.resource_vcount_name, devices.kunlun.resource_vmemory_name);
  if (flags.enable_ascend)
    for (const config::VnpuConfig& vnpu : devices.vnpus.configs)
      configs.ascend.push_back(
          {vnpu.common_word, AscendConfig(vnpu, devices.vnpus.hami_vnpu_core)});
  if (flags.enable_iluvatar)
    for (const config::IluvatarConfig& chip : devices.iluvatars)
      configs.iluvatar.push_back(
          {chip.common_word,
           Named(chip.resource_count_name, chip.resource_memory_name, chip.resource_core_name)});
  return configs;
}

}  // namespace aliquot::cli
