#include "vendors/nvidia_admission.h"

#include <string>
#include <string_view>

#include "vendors/shared.h"

namespace aliquot::vendors {
namespace {

using core::Completion;
using core::ResourceReader;
using core::VendorConfig;

constexpr std::string_view kPriorityVariable = "CUDA_TASK_PRIORITY";
constexpr std::string_view kPolicyVariable = "GPU_CORE_UTILIZATION_POLICY";
constexpr std::string_view kVisibleVariable = "NVIDIA_VISIBLE_DEVICES";

// What is wrong with the percentage; empty if nothing is.
std::string Objection(const VendorConfig& config, const core::ContainerSpec& container) {
  const std::string& name = config.memory_percentage_name;
  const std::string* text = ResourceReader(container, false).Find(name);
  if (text == nullptr) return "";
  const int64_t percent = RoundedUp(*text);
  if (percent >= 0 && percent <= 100) return "";
  return "invalid " + name + " value " + std::to_string(percent) + " in container " +
         std::string(container.name) + ": must be an integer between 0 and 100";
}

bool AsksForAShare(const VendorConfig& config, const core::Submitted& submitted) {
  return FindLimit(submitted, config.cores_name) != nullptr ||
         FindLimit(submitted, config.memory_name) != nullptr ||
         FindLimit(submitted, config.memory_percentage_name) != nullptr;
}

// All of the card's memory is asked for, and nothing is said of its cores.
bool TakesWholeCards(const VendorConfig& config, const ResourceReader& resources) {
  if (resources.Find(config.cores_name) != nullptr) return false;
  if (const std::string* percent = resources.Find(config.memory_percentage_name))
    return RoundedUp(*percent) == 100;
  const std::string* memory = resources.Find(config.memory_name);
  return memory == nullptr || RoundedUp(*memory) == 0;
}

}  // namespace

Result<Completion> CompleteNvidia(const core::Vendor& vendor, const core::Submitted& submitted) {
  const VendorConfig& config = vendor.config();
  const ResourceReader resources(submitted.container, false);
  if (std::string wrong = Objection(config, submitted.container); !wrong.empty())
    return InvalidError(std::move(wrong));

  Completion completion;
  if (const std::string* priority = FindLimit(submitted, config.priority_name))
    completion.env.push_back(
        {std::string(kPriorityVariable), std::to_string(RoundedUp(*priority))});

  const std::string* asked = resources.Find(config.count_name);
  int64_t count = asked ? RoundedUp(*asked) : 0;
  completion.claimed = asked != nullptr;
  if (!completion.claimed && config.default_count > 0 && AsksForAShare(config, submitted)) {
    count = config.default_count;
    completion.limits.emplace(config.count_name, std::to_string(count));
    completion.claimed = true;
  }
  if (count > 0 && TakesWholeCards(config, resources))
    completion.limits.emplace(config.cores_name, "100");

  if (completion.claimed) {
    completion.runtime_class = config.runtime_class;
    if (!config.core_policy.empty() && config.core_policy != "default")
      completion.env.push_back({std::string(kPolicyVariable), config.core_policy});
  } else if (config.overwrite_env) {
    completion.env.push_back({std::string(kVisibleVariable), "none"});
  }
  return completion;
}

}  // namespace aliquot::vendors
