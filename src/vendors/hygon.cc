// Hygon DCU: memory in MiB times the configured factor, cores in percent of a
// card. A request without cores wants the whole card's.
#include "vendors/shared.h"
#include "vendors/vendors.h"

namespace aliquot::vendors {
namespace {

constexpr core::Gate kGates[] = {
    core::gates::Healthy,           core::gates::TypeAllowed,    core::gates::IdAllowed,
    core::gates::FreeSlot,          core::gates::IdleUnderMutex, core::gates::QuotaAllows,
    core::gates::FreeMemory,        core::gates::FreeCores,      core::gates::ExclusiveIsIdle,
    core::gates::CoresNotExhausted,
};

}  // namespace

constexpr core::VendorSpec kHygon{
    .key = "DCU",
    .node_register = "hami.io/node-dcu-register",
    .node_handshake = "hami.io/node-handshake-dcu",
    .to_allocate = "hami.io/dcu-devices-to-allocate",
    .allocated = "hami.io/dcu-devices-allocated",
    .use_type = "hygon.com/use-dcutype",
    .nouse_type = "hygon.com/nouse-dcutype",
    .use_id = "hygon.com/use-gpuuuid",
    .nouse_id = "hygon.com/nouse-gpuuuid",
    .lock = core::NodeLock::kShared,
    .parse_request = ParseShareOfAllCores,
    .read_node = ReadColonCards,
    .gates = kGates,
    .complete = ClaimReadable,
};

}  // namespace aliquot::vendors
