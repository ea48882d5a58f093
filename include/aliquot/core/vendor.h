// What a vendor is to the scheduler: a table, and hooks where the hardware is
// odd. A vendor fills in a VendorSpec (src/vendors/<vendor>.cc); the walk over
// cards, the arithmetic and the annotations are common to all.
//
// Hooks are plain functions: they return what should be done or written and
// never do I/O. They may run on several threads at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aliquot/base/clock.h"
#include "aliquot/base/result.h"
#include "aliquot/base/string_map.h"
#include "aliquot/core/admission.h"
#include "aliquot/core/collapse.h"
#include "aliquot/core/model.h"
#include "aliquot/core/policy.h"
#include "aliquot/core/reasons.h"
#include "aliquot/core/request.h"

namespace aliquot::core {

class Registry;
class Vendor;

// A part of a card that a vendor's driver can make.
struct CardTemplate {
  std::string name;
  int64_t memory = 0;

  bool operator==(const CardTemplate&) const = default;
};

// A vendor's section of the device configuration file. Empty names match
// nothing.
struct VendorConfig {
  std::string count_name;
  std::string memory_name;
  std::string memory_percentage_name;
  std::string cores_name;
  int64_t memory_factor = 1;   // values below 1 act as 1
  int64_t default_memory = 0;  // when neither memory nor percentage is asked; 0: the whole card
  int64_t default_cores = 0;
  int64_t default_count = 0;  // when only a share is asked; 0 or less: no default

  // Of admission.
  std::string runtime_class = {};  // of pods with the vendor's devices; empty: none is set
  bool overwrite_env = false;      // containers without the vendor's devices are told to see none

  // Of single vendors.
  std::string priority_name = {};            // NVIDIA
  std::string core_policy = {};              // NVIDIA; empty or "default": none is set
  std::vector<CardTemplate> templates = {};  // Ascend; ascending by memory
  int64_t memory_allocatable = 0;            // Ascend: of a whole card, in MiB
  int64_t memory_capacity = 0;               // Ascend: the same, with what pods cannot have
  bool super_pod = false;                    // Ascend: 910C come as modules of two
  bool hami_core = false;       // Ascend: nodes support soft split unless they say otherwise
  bool topology_aware = false;  // Metax-SGPU: links count unless the pod says otherwise
};

// What a node says about itself, for the hook that reads its cards.
struct NodeSpec {
  std::string_view name;
  const StringMap* annotations = nullptr;
  const StringMap* allocatable = nullptr;
  const StringMap* capacity = nullptr;
  const StringMap* labels = nullptr;
};

// What a candidate's namespace may still take of a vendor.
struct QuotaRoom {
  std::optional<int64_t> memory;  // limit (in accounting units) minus used; absent: no limit
  std::optional<int64_t> cores;
};

// A card picked for one container.
struct Pick {
  size_t device = 0;  // position in NodeUsage::devices()
  int64_t memory = 0;
  int64_t cores = 0;
  int64_t slots = 1;
  int profile = -1;   // of Device::profiles; -1: not an instance
  Slices place = {};  // of an instance
};

// A pod on a node: what hooks see that look at more than one card.
struct NodeView {
  const Registry& registry;
  const Vendor& vendor;
  const PodRequest& pod;
  const SchedulePolicy& policy;
  const NodeUsage& node;           // without the pod
  std::span<const Placed> placed;  // what the pod's containers got so far, of any vendor

  std::span<const Device> cards() const { return node.devices(); }
};

// One container's request on that node.
struct Attempt : NodeView {
  const ContainerRequest& request;
  size_t container = 0;
  std::span<const DeviceUse> use;    // by position: with what earlier containers took
  std::span<const uint32_t> handed;  // positions of the vendor's cards; first choice last
  // Whether the namespace's quota allows the picks on top of what the pod has got.
  bool (*quota_allows)(const void* context, std::span<const Pick> picks) = nullptr;
  const void* quota_context = nullptr;

  bool WithinQuota(std::span<const Pick> picks) const {
    return quota_allows == nullptr || quota_allows(quota_context, picks);
  }
};

// One card under consideration for one container, and all that is known around
// it. Lives on the walk's stack.
struct Candidate {
  const Attempt& attempt;
  const Vendor& vendor;
  const PodRequest& pod;
  const ContainerRequest& request;
  const SchedulePolicy& policy;
  const Device& card;
  const DeviceUse& use;  // of the card, with what earlier containers of the pod took
  struct Walk& walk;
  Pick take;  // what the container would take of this card
};

// What a request takes of most vendors' cards: memory as asked or by percentage
// (rounded down), cores up to 100.
inline void TakeAsAsked(Candidate& candidate) {
  const ContainerRequest& request = candidate.request;
  candidate.take.cores = std::min<int64_t>(request.cores, 100);
  candidate.take.memory = request.memory;
  if (request.memory <= 0 && request.memory_percent != kNoPercent)
    candidate.take.memory = candidate.card.memory * request.memory_percent / 100;
}

// The walk that the candidate is part of: for the gates that look beyond a card.
struct Walk {
  std::vector<Pick> picks;
  int64_t numa_group = -1;
  bool collects_all = false;  // every acceptable card is collected, a Select hook chooses
  ReasonCounts counts;
};

// Why the card cannot be taken, or kNone. Gates run in the order of the table;
// the first objection is the card's reason.
using Gate = Reason (*)(Candidate& candidate);

// Chooses among all acceptable cards (in walk order) of one container. False:
// no choice of request.count cards exists. Leaves the chosen ones in `picks`.
using SelectHook = bool (*)(const Attempt& attempt, std::vector<Pick>& picks);

// A pod that got cards, for the hook that writes more on it than the two texts.
struct Assigned {
  const Vendor& vendor;
  const PodSpec& pod;
  const VendorAllocation& allocation;
  std::string_view node;
  WallTime now;
};

// Which node lock a pod of this vendor takes at bind.
enum class NodeLock : uint8_t { kNone, kShared, kCambricon };

struct VendorSpec {
  std::string_view key = {};  // registry key; also what readers search for in Share::type

  // Annotation keys; empty: the vendor has none.
  std::string_view node_register = {};                    // on nodes: the cards
  std::string_view node_handshake = {};                   // on nodes: liveness of the device plugin
  std::string_view to_allocate = {};                      // on pods: for the device plugin
  std::string_view allocated = {};                        // on pods: for accounting
  std::span<const std::string_view> other_pod_keys = {};  // also written to the chosen node's pod
  std::string_view use_type = {}, nouse_type = {};        // on pods: card selection
  std::string_view use_id = {}, nouse_id = {};
  std::string_view old_use_id = {}, old_nouse_id = {};
  std::string_view mode = {};
  std::span<const std::string_view> pod_notes = {};  // on pods: what the hooks look at
  // The cards are gone as soon as the node's allocatable count ends (was above 0,
  // is 0), without waiting for the handshake.
  bool gone_without_allocatable = false;
  NodeLock lock = NodeLock::kNone;
  bool limits_only = false;    // requests are not looked at where limits are silent
  bool model_as_type = false;  // Share::type is the card's type instead of the key

  // The request of one container, from its resource lists. No value: it asks
  // nothing of this vendor. Sets `invalid` for a request that cannot be read.
  std::optional<ContainerRequest> (*parse_request)(
      const Vendor& vendor, const ResourceReader& resources,
      std::optional<InvalidRequest>& invalid) = nullptr;

  // The node's cards, from its annotations. An empty list: it has none.
  Result<std::vector<Device>> (*read_node)(const Vendor& vendor, const NodeSpec& node) = nullptr;

  std::span<const Gate> gates = {};

  // The hooks from here on may be null: then the common rule holds.

  // From a quantity of memory, as a pod's request or a quota has it, to accounting units:
  // its text, and its whole number (0 or more). Null: the number times the memory factor.
  int64_t (*memory_unit)(std::string_view text, int64_t number) = nullptr;

  // Claims and completes a container when its pod is created; an error refuses the pod
  // with its text. Null: a container whose limits name the count is claimed as it is.
  Result<Completion> (*complete)(const Vendor& vendor, const Submitted& submitted) = nullptr;

  // The least memory and cores that the request takes of each card, before there is a
  // card. Null: the memory that is asked for, and cores up to 100.
  DeviceUse (*least_use)(const PodRequest& pod, const ContainerRequest& request) = nullptr;

  // Sets Candidate::take. Null: TakeAsAsked.
  void (*size_share)(Candidate& candidate) = nullptr;

  // An objection to the node before any card is looked at: sets `counts` and
  // returns false.
  bool (*check_node)(const Attempt& attempt, ReasonCounts& counts) = nullptr;

  // The card may give one container several shares: it is asked until it refuses,
  // and a request may be for more than there are cards.
  bool (*gives_several)(const PodRequest& pod, const Vendor& vendor, const Device& card) = nullptr;

  // Both or none: whether this container's cards are chosen as a set, and how.
  bool (*selects)(const Attempt& attempt) = nullptr;
  SelectHook select = nullptr;

  // Puts the refusals counted so far into the vendor's own form. `acceptable`: the
  // cards that no gate refused.
  void (*explain)(const Attempt& attempt, std::span<const Pick> acceptable,
                  ReasonCounts& counts) = nullptr;

  // Added to the node's score if the pod got cards of this vendor; the higher the
  // better under binpack, the lower under spread. `placed` is all that it got.
  float (*score_node)(const NodeView& view) = nullptr;

  // Further annotations for the pod (their keys are in other_pod_keys).
  void (*annotate)(const Assigned& assigned, StringMap& annotations) = nullptr;

  // What a pod's annotations say of instances; nothing if they cannot be read.
  std::vector<Instance> (*read_instances)(const StringMap& annotations) = nullptr;

  // The hooks want to know who is on this card (NodeUsage::tenants).
  bool (*watches_tenants)(const Device& card) = nullptr;

  // How many of the card's slots a share takes that was read from a pod. Null: 1.
  int64_t (*slots_of)(const Device& card, const Share& share) = nullptr;

  // Cores in the unit of the core quota. Null: as they are.
  int64_t (*quota_cores)(const Device& card, int64_t cores) = nullptr;
};

// A registered vendor: its table and its configuration.
class Vendor {
 public:
  Vendor(const VendorSpec& spec, VendorConfig config) : spec_(&spec), config_(std::move(config)) {}
  // Keeps the table and its texts alive: for vendors that the configuration names.
  Vendor(std::shared_ptr<const VendorSpec> spec, VendorConfig config)
      : owned_(std::move(spec)), spec_(owned_.get()), config_(std::move(config)) {}

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
  std::shared_ptr<const VendorSpec> owned_;
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
