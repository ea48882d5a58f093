#include "vendors/ascend_admission.h"

#include <algorithm>
#include <optional>
#include <string>

#include "vendors/shared.h"

namespace aliquot::vendors {
namespace {

using core::Completion;
using core::VendorConfig;

constexpr std::string_view kModuleChip = "Ascend910C";

// A container without NPUs of any kind is told that it sees none.
Completion Hide(const core::Vendor& vendor, const core::Submitted& submitted) {
  constexpr std::string_view kVisibleVariable = "ASCEND_VISIBLE_DEVICES";
  const auto& vendors = submitted.registry.vendors();
  const bool has_npus = std::any_of(vendors.begin(), vendors.end(), [&](const core::Vendor& other) {
    return other.spec().complete == CompleteAscend &&
           FindLimit(submitted, other.config().count_name) != nullptr;
  });
  Completion completion;
  if (vendor.config().overwrite_env && !has_npus && !HasEnv(submitted, kVisibleVariable))
    completion.env.push_back({std::string(kVisibleVariable), ""});
  return completion;
}

Error Invalid(const std::string& resource, int64_t amount) {
  return InvalidError(resource + " " + std::to_string(amount) + " is invalid");
}

Result<int64_t> CountOf(const VendorConfig& config, bool in_modules, std::string_view text) {
  const int64_t count = RoundedUp(text);
  if (count < 1 || count > kMaxInt32) return Invalid(config.count_name, count);
  if (in_modules && count > 1 && count % 2 != 0)
    return InvalidError(std::string(kModuleChip) + " device request must be 1 or 2*n, got " +
                        std::to_string(count));
  return count;
}

// In MiB: of the smallest template that holds as much, or of a whole card. No value:
// no card has that much.
std::optional<int64_t> RoundUpToTemplate(const VendorConfig& config, int64_t mib) {
  for (const core::CardTemplate& part : config.templates)
    if (mib <= part.memory) return part.memory;
  if (mib <= config.memory_capacity && config.memory_allocatable > 0)
    return config.memory_allocatable;
  return std::nullopt;
}

// What is taken of each card.
struct Part {
  int64_t memory = 0;  // in units of the resource
  bool whole = true;   // all of it, or split by software
};

Result<Part> PartOf(const core::Vendor& vendor, const core::Submitted& submitted, bool soft) {
  const VendorConfig& config = vendor.config();
  const int64_t factor = vendor.memory_factor();
  const std::string* text = FindLimit(submitted, config.memory_name);
  if (text == nullptr) return Part{config.memory_allocatable / factor};
  const int64_t asked = RoundedUp(*text);
  if (asked < 0 || asked > kMaxInt32 / factor) return Invalid(config.memory_name, asked);
  if (soft) return Part{asked};
  const std::optional<int64_t> mib = RoundUpToTemplate(config, asked * factor);
  if (!mib) return Invalid(config.memory_name, asked);
  return Part{*mib / factor, *mib == config.memory_allocatable};
}

}  // namespace

bool IsHamiCore(const StringMap& annotations) {
  const std::string* mode = Find(annotations, kModeKey);
  return mode != nullptr && *mode == kHamiCore;
}

Result<Completion> CompleteAscend(const core::Vendor& vendor, const core::Submitted& submitted) {
  const VendorConfig& config = vendor.config();
  const std::string* asked = FindLimit(submitted, config.count_name);
  if (asked == nullptr) return Hide(vendor, submitted);
  const bool in_modules = vendor.key() == kModuleChip && config.super_pod;
  Result<int64_t> count = CountOf(config, in_modules, *asked);
  if (!count) return count.error();

  const bool soft = IsHamiCore(*submitted.pod.annotations);
  const std::string* cores =
      core::ResourceReader(submitted.container, false).Find(config.cores_name);
  if (!soft && cores != nullptr && RoundedUp(*cores) > 0)
    return InvalidError(config.cores_name + " is only supported in hami-core (soft split) mode");
  const Result<Part> part = PartOf(vendor, submitted, soft);
  if (!part) return part.error();
  if (in_modules && *count == 1 && part->whole) *count = 2;
  if (*count > 1 && !part->whole) return InvalidError("vNPU not supported for multiple devices");

  Completion completion{.claimed = true, .runtime_class = config.runtime_class};
  completion.limits = {{config.count_name, std::to_string(*count)},
                       {config.memory_name, std::to_string(part->memory)}};
  completion.requests = {{config.memory_name, std::to_string(part->memory)}};
  if (Find(*submitted.container.requests, config.count_name) != nullptr)
    completion.requests.emplace(config.count_name, std::to_string(*count));
  return completion;
}

}  // namespace aliquot::vendors
