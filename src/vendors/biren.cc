// Biren: only slots are handed out; memory and cores of a share are always 0.
#include "vendors/shared.h"
#include "vendors/vendors.h"

namespace aliquot::vendors {
namespace {

// Whatever the plugin writes as cores, 100 are counted, so that no score is 0.
Result<std::vector<core::Device>> ReadNode(const core::Vendor& vendor, const core::NodeSpec& node) {
  Result<std::vector<core::Device>> cards = ReadJsonCards(vendor, node);
  if (cards)
    for (core::Device& card : *cards) card.cores = 100;
  return cards;
}

constexpr core::Gate kGates[] = {core::gates::Healthy, core::gates::IdAllowed,
                                 core::gates::FreeSlot, core::gates::IdleUnderMutex};

}  // namespace

constexpr core::VendorSpec kBiren{
    .key = "Biren",
    .node_register = "hami.io/node-biren-register",
    .node_handshake = "hami.io/node-handshake-biren",
    .to_allocate = "hami.io/Biren-devices-to-allocate",
    .allocated = "hami.io/Biren-devices-allocated",
    .use_id = "birentech.com/use-gpuuuid",
    .nouse_id = "birentech.com/nouse-gpuuuid",
    .lock = core::NodeLock::kShared,
    .parse_request = ParseShare,
    .read_node = ReadNode,
    .gates = kGates,
    .complete = ClaimReadable,
    .size_share = TakeSlotOnly,
};

}  // namespace aliquot::vendors
