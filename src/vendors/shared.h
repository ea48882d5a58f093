// What several vendors' files are made of: tables of gates, and the usual ways
// to read a request and a node's cards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aliquot/base/result.h"
#include "aliquot/core/gates.h"
#include "aliquot/core/request.h"
#include "aliquot/core/vendor.h"

namespace aliquot::vendors {

// What vendors speak of most.
using core::Attempt;
using core::Candidate;
using core::CardProfile;
using core::Device;
using core::DeviceUse;
using core::Pick;
using core::Reason;
using core::Tenant;

constexpr int64_t kMaxInt32 = 2147483647;

// A share of memory and cores of a card.
inline constexpr core::Gate kShareGates[] = {
    core::gates::Healthy,        core::gates::IdAllowed,       core::gates::FreeSlot,
    core::gates::IdleUnderMutex, core::gates::QuotaAllows,     core::gates::FreeMemory,
    core::gates::FreeCores,      core::gates::ExclusiveIsIdle, core::gates::CoresNotExhausted,
};

// ---- requests

// A container's wish as it is written: memory in accounting units, for one card.
struct Asked {
  int64_t count = 0;  // above 0
  std::optional<int64_t> memory;
  std::optional<int64_t> cores;
};

// "24Gi" is bytes, a number without a binary suffix MiB; a VendorSpec::memory_unit.
int64_t MebibytesIfSuffixed(std::string_view text, int64_t number);

// Count, memory and cores under the configured names. No value: the container asks
// nothing, or `invalid` is set.
std::optional<Asked> ReadAsked(const core::Vendor& vendor, const core::ResourceReader& resources,
                               std::optional<core::InvalidRequest>& invalid);

// Without memory: all of the card's.
core::ContainerRequest ShareRequest(const Asked& asked, int64_t default_cores);

// VendorSpec::parse_request of most vendors. Without memory: all of the card's; without
// cores: none. A vendor whose only resource is the count hands out whole memories.
std::optional<core::ContainerRequest> ParseShare(const core::Vendor& vendor,
                                                 const core::ResourceReader& resources,
                                                 std::optional<core::InvalidRequest>& invalid);

// The same; without cores: 100, all of the card's.
std::optional<core::ContainerRequest> ParseShareOfAllCores(
    const core::Vendor& vendor, const core::ResourceReader& resources,
    std::optional<core::InvalidRequest>& invalid);

// ---- admission

// The resource's quantity in limits; null if it is not there.
const std::string* FindLimit(const core::Submitted& submitted, std::string_view resource);

// The container has an environment variable of that name.
bool HasEnv(const core::Submitted& submitted, std::string_view name);

// The quantity rounded up to a whole number; 0 for text that is none.
int64_t RoundedUp(std::string_view quantity);

// "<resource> must be greater than 0".
Error NotPositive(std::string_view resource);

// A count that must be a whole number above 0. 0: the container names none.
Result<int64_t> ReadCount(const core::ResourceReader& resources, const std::string& resource);

// VendorSpec::complete of vendors that add nothing: claims a container whose limits name
// the count, which must be a whole number above 0.
Result<core::Completion> ClaimCount(const core::Vendor& vendor, const core::Submitted& submitted);

// The same, and refuses whatever the scheduler could not read later, or would take for
// no request: "<resource> <value> is invalid".
Result<core::Completion> ClaimReadable(const core::Vendor& vendor,
                                       const core::Submitted& submitted);

// ---- shares

// Takes a slot of the card and nothing else; a VendorSpec::size_share.
void TakeSlotOnly(Candidate& candidate);

// The pod's node offers the same hardware through another vendor too, whose card of
// this index is in use.
bool UsedByOther(const core::Attempt& attempt, std::string_view other_key, uint32_t index);

// ---- nodes

using core::kMostCards;
Error TooManyCards(std::string_view resource);

// The plain whole number of the node's capacity; 0: absent, or not one.
int64_t CapacityOf(const core::NodeSpec& node, std::string_view resource);

// From the vendor's register annotation, in one of its two forms. No annotation:
// no cards.
Result<std::vector<core::Device>> ReadJsonCards(const core::Vendor& vendor,
                                                const core::NodeSpec& node);
Result<std::vector<core::Device>> ReadColonCards(const core::Vendor& vendor,
                                                 const core::NodeSpec& node);

// A healthy card that the node's capacity speaks of: "<node><infix><index>", its
// type is the vendor's key.
core::Device MakeCard(const core::Vendor& vendor, const core::NodeSpec& node,
                      std::string_view infix, int64_t index);

// ---- annotations

// Nanoseconds since the Unix epoch, as decimal text.
std::string FormatUnixNanoseconds(WallTime time);

// "1,0": the hosts' indexes of the last container that has shares.
std::string IndexesOfLastContainer(const core::VendorAllocation& allocation);

}  // namespace aliquot::vendors
