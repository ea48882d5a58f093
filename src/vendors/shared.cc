#include "vendors/shared.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "aliquot/base/quantity.h"
#include "aliquot/base/strings.h"
#include "aliquot/codec/node_devices.h"

namespace aliquot::vendors {

std::optional<Asked> ReadAsked(const core::Vendor& vendor, const core::ResourceReader& resources,
                               std::optional<core::InvalidRequest>& invalid) {
  const core::VendorConfig& config = vendor.config();
  const auto unit = vendor.spec().memory_unit;
  const int64_t factor = unit == nullptr ? vendor.memory_factor() : 1;
  Asked asked;
  asked.count = resources.Whole(config.count_name, kMaxInt32, invalid).value_or(0);
  asked.memory = resources.Whole(config.memory_name,
                                 unit == nullptr ? kMaxInt32 / factor : INT64_MAX, invalid);
  if (asked.memory && unit != nullptr) {
    asked.memory = unit(*resources.Find(config.memory_name), *asked.memory);
    if (*asked.memory > kMaxInt32 && !invalid)
      invalid = resources.Invalid(config.memory_name, "out of range");
  }
  asked.cores = resources.Whole(config.cores_name, kMaxInt32, invalid);
  if (invalid) return std::nullopt;
  if (asked.count == 0) {
    if (asked.memory || asked.cores)
      invalid = resources.Invalid(asked.memory ? config.memory_name : config.cores_name,
                                  "needs " + config.count_name);
    return std::nullopt;
  }
  if (asked.memory) *asked.memory *= factor;
  return asked;
}

int64_t MebibytesIfSuffixed(std::string_view text, int64_t number) {
  return text.ends_with('i') ? number / (1 << 20) : number;
}

core::ContainerRequest ShareRequest(const Asked& asked, int64_t default_cores) {
  core::ContainerRequest request;
  request.count = asked.count;
  request.memory = asked.memory.value_or(0);
  if (request.memory == 0) request.memory_percent = 100;
  request.cores = asked.cores.value_or(default_cores);
  return request;
}

std::optional<core::ContainerRequest> ParseShare(const core::Vendor& vendor,
                                                 const core::ResourceReader& resources,
                                                 std::optional<core::InvalidRequest>& invalid) {
  const std::optional<Asked> asked = ReadAsked(vendor, resources, invalid);
  return asked ? std::optional(ShareRequest(*asked, 0)) : std::nullopt;
}

std::optional<core::ContainerRequest> ParseShareOfAllCores(
    const core::Vendor& vendor, const core::ResourceReader& resources,
    std::optional<core::InvalidRequest>& invalid) {
  const std::optional<Asked> asked = ReadAsked(vendor, resources, invalid);
  return asked ? std::optional(ShareRequest(*asked, 100)) : std::nullopt;
}

const std::string* FindLimit(const core::Submitted& submitted, std::string_view resource) {
  return core::ResourceReader(submitted.container, true).Find(resource);
}

bool HasEnv(const core::Submitted& submitted, std::string_view name) {
  return std::any_of(submitted.env.begin(), submitted.env.end(),
                     [&](const EnvVar& variable) { return variable.name == name; });
}

int64_t RoundedUp(std::string_view quantity) {
  const std::optional<Quantity> parsed = Quantity::Parse(quantity);
  return parsed ? parsed->Value() : 0;
}

Error NotPositive(std::string_view resource) {
  return InvalidError(std::string(resource) + " must be greater than 0");
}

Result<int64_t> ReadCount(const core::ResourceReader& resources, const std::string& resource) {
  const std::string* text = resources.Find(resource);
  if (text == nullptr) return 0;
  const std::optional<Quantity> quantity = Quantity::Parse(*text);
  const int64_t count = quantity ? quantity->AsInt64().value_or(0) : 0;
  if (count <= 0) return NotPositive(resource);
  return count;
}

Result<core::Completion> ClaimCount(const core::Vendor& vendor, const core::Submitted& submitted) {
  const core::ResourceReader limits(submitted.container, true);
  const Result<int64_t> count = ReadCount(limits, vendor.config().count_name);
  if (!count) return count.error();
  return core::Completion{.claimed = *count > 0};
}

Result<core::Completion> ClaimReadable(const core::Vendor& vendor,
                                       const core::Submitted& submitted) {
  const std::string& count_name = vendor.config().count_name;
  if (FindLimit(submitted, count_name) == nullptr) return core::Completion();
  const core::ResourceReader resources(submitted.container, vendor.spec().limits_only);
  std::optional<core::InvalidRequest> invalid;
  if (resources.Whole(count_name, kMaxInt32, invalid) == 0)
    invalid = resources.Invalid(count_name, "none");
  else
    vendor.spec().parse_request(vendor, resources, invalid);
  if (invalid) return InvalidError(invalid->resource + " " + invalid->value + " is invalid");
  return core::Completion{.claimed = true};
}

void TakeSlotOnly(core::Candidate&) {}

bool UsedByOther(const core::Attempt& attempt, std::string_view other_key, uint32_t index) {
  const core::Vendor* other = attempt.registry.Find(other_key);
  if (other == nullptr) return false;
  for (size_t i = 0; i < attempt.cards().size(); ++i)
    if (attempt.cards()[i].vendor == other->id() && attempt.cards()[i].index == index &&
        attempt.use[i].slots > 0)
      return true;
  return false;
}

Error TooManyCards(std::string_view resource) {
  return InvalidError(std::string(resource) + ": more than " + std::to_string(kMostCards) +
                      " cards");
}

int64_t CapacityOf(const core::NodeSpec& node, std::string_view resource) {
  const std::string* text = Find(*node.capacity, resource);
  const std::optional<Quantity> quantity = text ? Quantity::Parse(*text) : std::nullopt;
  return quantity ? quantity->AsInt64().value_or(0) : 0;
}

Result<std::vector<core::Device>> ReadJsonCards(const core::Vendor& vendor,
                                                const core::NodeSpec& node) {
  std::vector<core::Device> cards;
  const std::string* text = Find(*node.annotations, vendor.spec().node_register);
  if (text == nullptr) return cards;
  Result<std::vector<codec::NodeDevice>> registered = codec::ParseNodeDevicesJson(*text);
  if (!registered) return registered.error();
  for (codec::NodeDevice& entry : *registered) {
    vendor.Claim(entry.device);
    entry.device.facts = std::move(entry.custom_info);
    cards.push_back(std::move(entry.device));
  }
  return cards;
}

Result<std::vector<core::Device>> ReadColonCards(const core::Vendor& vendor,
                                                 const core::NodeSpec& node) {
  const std::string* text = Find(*node.annotations, vendor.spec().node_register);
  if (text == nullptr) return std::vector<core::Device>();
  Result<std::vector<core::Device>> cards = codec::ParseNodeDevicesColon(*text);
  if (cards)
    for (core::Device& card : *cards) vendor.Claim(card);
  return cards;
}

core::Device MakeCard(const core::Vendor& vendor, const core::NodeSpec& node,
                      std::string_view infix, int64_t index) {
  core::Device card;
  card.id = std::string(node.name) + std::string(infix) + std::to_string(index);
  card.type = vendor.key();
  card.index = static_cast<uint32_t>(index);
  card.healthy = true;
  vendor.Claim(card);
  return card;
}

std::string FormatUnixNanoseconds(WallTime time) {
  return std::to_string(
      std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

std::string IndexesOfLastContainer(const core::VendorAllocation& allocation) {
  std::vector<std::string> indexes;
  for (const std::vector<core::Share>& shares : allocation.containers) {
    if (shares.empty()) continue;
    indexes.clear();
    for (const core::Share& share : shares) indexes.push_back(std::to_string(share.index));
  }
  return Join(indexes, ",");
}

}  // namespace aliquot::vendors
