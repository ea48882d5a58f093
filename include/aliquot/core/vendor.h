// What a vendor is to the scheduler: a table, and hooks where the hardware is
// odd. A vendor fills in a VendorSpec (src/vendors/<vendor>.cc); the walk over
// cards, the arithmetic and the annotations are common to all.
//
// Hooks are plain functions: they return what should be done or written and
// never do I/O. They may run on several threads at once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aliquot/base/result.h"
#include "aliquot/base/string_map.h"
#include "aliquot/core/model.h"
#include "aliquot/core/policy.h"
#include "aliquot/core/reasons.h"
#include "aliquot/core/request.h"

namespace aliquot::core {

class Vendor;

// A vendor's section of the device configuration file. Empty names match
// nothing.
struct VendorConfig {
  std::string count_name;
  std::string memory_name;
  std::string memory_percentage_name;
  std::string cores_name;
  int64_t memory_factor = 1;    // values below 1 act as 1
  int64_t default_memory = 0;   // when neither memory nor percentage is asked; 0: the whole card
  int64_t default_cores = 0;
  int64_t default_count = 0;    // when only a share is asked; 0 or less: no default
};

// What a node says about itself, for the hook that reads its cards.
struct NodeSpec {
  std::string_view name;
  const StringMap* annotations = nullptr;
  const StringMap* allocatable = nullptr;
  const StringMap* capacity = nullptr;
};

// What a candidate's namespace may still take of a vendor.
struct QuotaRoom {
  std::optional<int64_t> memory;  // limit (in accounting units) minus used; absent: no limit
  std::optional<int64_t> cores;
};

// The cards picked so far for one container, in order.
struct Pick {
  size_t device = 0;  // position in NodeUsage::devices()
  int64_t memory = 0;
  int64_t cores = 0;
};

// One card under consideration for one container, and all that is known around
// it. Lives on the walk's stack.
struct Candidate {
  const Vendor& vendor;
  const PodRequest& pod;
  const ContainerRequest& request;
  const SchedulePolicy& policy;
  const Device& card;
  const DeviceUse& use;  // of the card, with what earlier containers of the pod took
  int64_t memory = 0;    // what the container would take of this card
  int64_t cores = 0;
  struct Walk& walk;
};

// The walk that the candidate is part of: for the gates that look beyond a card.
struct Walk {
  std::vector<Pick> picks;
  int64_t numa_group = -1;
  bool collects_all = false;  // every acceptable card is collected, a Select hook chooses
  ReasonCounts counts;
  // Whether the namespace's quota allows the candidate on top of what the pod
  // has got and the picks so far.
  bool (*quota_allows)(const void* context, const Candidate& candidate) = nullptr;
  const void* quota_context = nullptr;
};

// Why the card cannot be taken, or kNone. Gates run in the order of the table;
// the first objection is the card's reason.
using Gate = Reason (*)(Candidate& candidate);

// Chooses among all acceptable cards (in walk order) of one container. False:
// no choice of request.count cards exists. Leaves the chosen ones in `picks`.
using SelectHook = bool (*)(const PodRequest& pod, const ContainerRequest& request,
                            std::span<const Device> devices, std::vector<Pick>& picks);

// Which node lock a pod of this vendor takes at bind.
enum class NodeLock : uint8_t { kNone, kShared };

struct VendorSpec {
  std::string_view key;  // registry key; also what readers search for in Share::type

  // Annotation keys; empty: the vendor has none.
  std::string_view node_register;   // on nodes: the cards
  std::string_view node_handshake;  // on nodes: liveness of the device plugin
  std::string_view to_allocate;     // on pods: for the device plugin
  std::string_view allocated;       // on pods: for accounting
  std::span<const std::string_view> other_pod_keys;  // also written to the chosen node's pod
  std::string_view use_type, nouse_type;  // on pods: card selection
  std::string_view use_id, nouse_id;
  std::string_view mode;
  // The cards are gone as soon as the node's allocatable count ends (was above 0,
  // is 0), without waiting for the handshake.
  bool gone_without_allocatable = false;
  NodeLock lock = NodeLock::kNone;
  bool limits_only = false;  // requests are not looked at where limits are silent

  // The request of one container, from its resource lists. No value: it asks
  // nothing of this vendor. Sets `invalid` for a request that cannot be read.
  std::optional<ContainerRequest> (*parse_request)(const Vendor& vendor,
                                                   const ResourceReader& resources,
                                                   std::optional<InvalidRequest>& invalid) = nullptr;

  // The node's cards, from its annotations. An empty list: it has none.
  Result<std::vector<Device>> (*read_node)(const Vendor& vendor, const NodeSpec& node) = nullptr;

  std::span<const Gate> gates;

  // Both or none: whether this pod's cards are chosen as a set, and how.
  bool (*selects)(const PodRequest& pod, const SchedulePolicy& policy) = nullptr;
  SelectHook select = nullptr;
};

// A registered vendor: its table and its configuration.
class Vendor {
 public:
  Vendor(const VendorSpec& spec, VendorConfig config) : spec_(&spec), config_(std::move(config)) {}

  std::string_view key() const { return spec_->key; }
  VendorId id() const { return id_; }
  const VendorSpec& spec() const { return *spec_; }
  const VendorConfig& config() const { return config_; }
  int64_t memory_factor() const { return config_.memory_factor > 1 ? config_.memory_factor : 1; }

  // Makes a card that the node registered this vendor's: sets vendor,
  // requestable and named_after_vendor.
  void Claim(Device& device) const;

 private:
  friend class Registry;
  const VendorSpec* spec_;
  VendorConfig config_;
  VendorId id_ = 0;
};

// All vendors, ascending by key: the one order in which they are asked,
// written and read everywhere. Immutable; share it by reference.
class Registry {
 public:
  // REQUIRES: at most 64 vendors with different keys.
  explicit Registry(std::vector<Vendor> vendors);

  std::span<const Vendor> vendors() const { return vendors_; }
  const Vendor& operator[](VendorId id) const { return vendors_[id]; }
  size_t size() const { return vendors_.size(); }
  const Vendor* Find(std::string_view key) const;

 private:
  std::vector<Vendor> vendors_;
};

}  // namespace aliquot::core
