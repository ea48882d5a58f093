// AMD: memory in MiB, cores in compute units (CU) of the card; pods ask for a
// percentage of them. The device plugin wants the product name in the pod's text.
#include <algorithm>

#include "aliquot/base/quantity.h"
#include "vendors/shared.h"
#include "vendors/vendors.h"

namespace aliquot::vendors {
namespace {

std::optional<core::ContainerRequest> ParseRequest(const core::Vendor& vendor,
                                                   const core::ResourceReader& resources,
                                                   std::optional<core::InvalidRequest>& invalid) {
  const std::optional<Asked> asked = ReadAsked(vendor, resources, invalid);
  if (!asked) return std::nullopt;
  const int64_t percent = asked->cores.value_or(100);
  if (percent < 1 || percent > 100) {
    invalid = resources.Invalid(vendor.config().cores_name, "out of range");
    return std::nullopt;
  }
  core::ContainerRequest request;
  request.count = asked->count;
  request.memory = asked->memory.value_or(0);
  request.cores = percent;
  return request;
}

Result<core::Completion> Complete(const core::Vendor& vendor, const core::Submitted& submitted) {
  const core::VendorConfig& config = vendor.config();
  const std::string* cores = FindLimit(submitted, config.cores_name);
  const std::optional<Quantity> percent = cores ? Quantity::Parse(*cores) : std::nullopt;
  const int64_t value = percent ? percent->AsInt64().value_or(0) : 0;
  if (cores != nullptr && (value < 1 || value > 100))
    return InvalidError(config.cores_name + " must be an integer percentage between 1 and 100");
  return core::Completion{.claimed = cores != nullptr ||
                                     FindLimit(submitted, config.count_name) != nullptr ||
                                     FindLimit(submitted, config.memory_name) != nullptr};
}

// The name and the id stand in a text with separators.
bool Garbles(std::string_view text) { return text.find_first_of(",:;") != std::string_view::npos; }

// The kubelet's capacity decides whether the cards are there at all.
Result<std::vector<Device>> ReadNode(const core::Vendor& vendor, const core::NodeSpec& node) {
  const std::string& count_name = vendor.config().count_name;
  if (!count_name.empty() && CapacityOf(node, count_name) <= 0) return std::vector<Device>();
  Result<std::vector<Device>> cards = ReadJsonCards(vendor, node);
  if (cards)
    std::erase_if(*cards,
                  [](const Device& card) { return Garbles(card.id) || Garbles(card.type); });
  return cards;
}

void SizeShare(Candidate& candidate) {
  const Device& card = candidate.card;
  candidate.take.memory = candidate.request.memory;
  if (candidate.take.memory <= 0) candidate.take.memory = std::max<int64_t>(card.memory, 0);
  // At least one CU, even of a card that has none: it is refused then.
  candidate.take.cores = std::max<int64_t>(card.cores * candidate.request.cores / 100, 1);
}

int64_t QuotaCores(const Device& card, int64_t cores) {
  return card.cores > 0 ? (cores * 100 + card.cores - 1) / card.cores : cores;
}

constexpr core::Gate kGates[] = {
    core::gates::Healthy,    core::gates::TypeAllowed,    core::gates::IdAllowed,
    core::gates::FreeSlot,   core::gates::IdleUnderMutex, core::gates::QuotaAllows,
    core::gates::FreeMemory, core::gates::FreeCores,
};

}  // namespace

constexpr core::VendorSpec kAmd{
    .key = "AMD",
    .node_register = "hami.io/node-amd-register",
    .to_allocate = "hami.io/amd-devices-to-allocate",
    .allocated = "hami.io/amd-devices-allocated",
    .use_type = "amd.com/use-gputype",
    .nouse_type = "amd.com/nouse-gputype",
    .use_id = "amd.com/use-gpu-uuid",
    .nouse_id = "amd.com/nouse-gpu-uuid",
    .lock = core::NodeLock::kShared,
    .limits_only = true,
    .model_as_type = true,
    .parse_request = ParseRequest,
    .read_node = ReadNode,
    .gates = kGates,
    .complete = Complete,
    .size_share = SizeShare,
    .quota_cores = QuotaCores,
};

}  // namespace aliquot::vendors
