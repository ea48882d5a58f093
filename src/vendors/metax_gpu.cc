// MetaX, whole GPUs, from the node's capacity. Nodes are compared by the loss and
// the score of their topology, which they publish for each number of GPUs.
#include <algorithm>

#include "aliquot/codec/vendor_texts.h"
#include "vendors/shared.h"
#include "vendors/vendors.h"

namespace aliquot::vendors {
namespace {

constexpr std::string_view kLossesKey = "metax-tech.com/gpu.topology.losses";
constexpr std::string_view kScoresKey = "metax-tech.com/gpu.topology.scores";
constexpr int64_t kCardMemory = 65536;
constexpr float kBestNode = 2000;

std::optional<core::ContainerRequest> ParseRequest(const core::Vendor& vendor,
                                                   const core::ResourceReader& resources,
                                                   std::optional<core::InvalidRequest>& invalid) {
  std::optional<core::ContainerRequest> request = ParseShare(vendor, resources, invalid);
  if (request) request->cores = 100;
  return request;
}

// As facts of the node's first GPU: "<key>" where the node has the table, and "<key> <number of
// GPUs>". A table that cannot be read is there and empty.
core::Facts ReadTables(const core::NodeSpec& node) {
  core::Facts facts;
  for (const std::string_view key : {kLossesKey, kScoresKey}) {
    const std::string* text = Find(*node.annotations, key);
    if (text == nullptr) continue;
    facts.emplace(key, 1);
    if (const auto table = codec::ParseCountTable(*text))
      for (const auto& [count, amount] : *table)
        facts.emplace(std::string(key) + " " + std::to_string(count), amount);
  }
  return facts;
}

Result<std::vector<Device>> ReadNode(const core::Vendor& vendor, const core::NodeSpec& node) {
  std::vector<Device> cards;
  const int64_t count = CapacityOf(node, vendor.config().count_name);
  if (count > kMostCards) return TooManyCards(vendor.config().count_name);
  for (int64_t i = 0; i < count; ++i) {
    Device& card = cards.emplace_back(MakeCard(vendor, node, "-metax-", i));
    card.slots = 1;
    card.memory = kCardMemory;
    card.cores = 100;
  }
  if (!cards.empty()) cards.front().facts = ReadTables(node);
  return cards;
}

// The higher the better under binpack, the lower under spread.
float ScoreNode(const core::NodeView& view) {
  const auto is_ours = [&](const Device& card) { return card.vendor == view.vendor.id(); };
  const auto count = std::count_if(
      view.placed.begin(), view.placed.end(),
      [&](const core::Placed& placed) { return is_ours(view.cards()[placed.device]); });
  if (count == 0) return 0;
  const Device& first = *std::find_if(view.cards().begin(), view.cards().end(), is_ours);
  const bool spread = view.policy.spread_nodes;
  const std::string key(spread ? kScoresKey : kLossesKey);
  if (!spread && !first.facts.contains(key)) return 0;
  const int64_t amount = core::NumberOf(first.facts, key + " " + std::to_string(count)).value_or(0);
  return kBestNode - static_cast<float>(amount);
}

// The only slot keeps a GPU in use from everybody else.
constexpr core::Gate kGates[] = {core::gates::FreeSlot, core::gates::FreeMemory,
                                 core::gates::FreeCores};

}  // namespace

constexpr core::VendorSpec kMetaxGpu{
    .key = "Metax-GPU",
    .to_allocate = "hami.io/metax-gpu-devices-to-allocate",
    .allocated = "hami.io/metax-gpu-devices-allocated",
    .parse_request = ParseRequest,
    .read_node = ReadNode,
    .gates = kGates,
    .score_node = ScoreNode,
};

}  // namespace aliquot::vendors
