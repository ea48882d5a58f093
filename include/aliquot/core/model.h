// The nouns of a decision: cards, what nodes offer, what is in use, and what a
// pod holds.
//
// Plain values. Memory is in the vendor's accounting unit (MiB for most, times
// the configured memory factor), cores in the vendor's unit (percent of a card
// for most). 64 bits everywhere; sums saturate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "aliquot/base/string_map.h"

namespace aliquot::core {

// Position of a vendor in the Registry (vendor.h), which is sorted by key.
using VendorId = uint8_t;

// What only one vendor knows of a card, by name, e.g. "NetworkID". A value that
// is neither a whole number nor a text is there without a value.
using Facts =
    std::map<std::string, std::variant<std::monostate, int64_t, std::string>, std::less<>>;

// "": not there, or not a text.
std::string_view TextOf(const Facts& facts, std::string_view name);
// No value: not there, or not a number.
std::optional<int64_t> NumberOf(const Facts& facts, std::string_view name);

// A node with more cards of a vendor is a mistake.
inline constexpr int64_t kMostCards = 1024;

// A part of a card, in its slices.
struct Slices {
  int64_t start = 0;
  int64_t size = 0;

  bool operator==(const Slices&) const = default;
};

constexpr bool Overlap(const Slices& a, const Slices& b) {
  return a.start < b.start + b.size && b.start < a.start + a.size;
}

// A way to cut instances out of a card, e.g. "2g.10gb": what an instance takes,
// and where it may lie.
struct CardProfile {
  std::string name;
  int64_t memory = 0;
  int64_t cores = 0;
  int64_t slice_count = 0;
  std::vector<Slices> placements;

  bool operator==(const CardProfile&) const = default;
};

// One physical card as its node registered it.
struct Device {
  VendorId vendor = 0;
  std::string id;      // unique among the node's cards of this vendor
  std::string type;    // product model, e.g. "NVIDIA A100-SXM4-40GB"
  std::string mode;    // sharing mode, e.g. "hami-core", "mig"
  uint32_t index = 0;  // position on the host
  int64_t slots = 0;   // how many shares the card can be cut into
  int64_t memory = 0;
  int64_t cores = 0;
  int64_t numa = 0;
  bool healthy = false;
  bool cordoned = false;            // taken out of new allocations by an operator
  bool requestable = false;         // type contains the vendor's key; others are never handed out
  bool named_after_vendor = false;  // type equals the vendor's key (matters to DeviceScore)
  // Link scores to other cards of the node, by id; empty: not measured.
  std::map<std::string, int64_t, std::less<>> pair_scores = {};
  std::vector<CardProfile> profiles = {};  // of a card that is cut into instances
  Facts facts = {};

  bool operator==(const Device&) const = default;
};

// What is taken of a card, or what one share takes.
struct DeviceUse {
  int64_t slots = 0;
  int64_t memory = 0;
  int64_t cores = 0;

  bool operator==(const DeviceUse&) const = default;
};

// Sums that stay at the limits of int64 instead of wrapping.
constexpr int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}
constexpr DeviceUse operator+(const DeviceUse& a, const DeviceUse& b) {
  return {SaturatingAdd(a.slots, b.slots), SaturatingAdd(a.memory, b.memory),
          SaturatingAdd(a.cores, b.cores)};
}
// Per dimension.
constexpr DeviceUse Max(const DeviceUse& a, const DeviceUse& b) {
  return {a.slots > b.slots ? a.slots : b.slots, a.memory > b.memory ? a.memory : b.memory,
          a.cores > b.cores ? a.cores : b.cores};
}

// What a node offers. Cards in ascending vendor order, each vendor's cards in
// the order of the node's register annotation.
struct NodeInventory {
  std::string name;
  std::vector<Device> devices;

  bool operator==(const NodeInventory&) const = default;
};

// What one pod holds of one card, for vendors whose rules ask who is there.
struct Tenant {
  std::string uid;
  DeviceUse use = {};
  int64_t largest_cores = 0;           // of a single share, of a container still to run
  std::vector<Slices> instances = {};  // its instances of the card
  StringMap notes = {};                // PodRequest::notes

  bool operator==(const Tenant&) const = default;
};

// A node as a decision sees it: its cards and what is in use of each.
class NodeUsage {
 public:
  NodeUsage() = default;
  explicit NodeUsage(NodeInventory inventory);

  const std::string& name() const { return inventory_.name; }
  const NodeInventory& inventory() const { return inventory_; }
  std::span<const Device> devices() const { return inventory_.devices; }
  std::span<const DeviceUse> use() const { return use_; }

  // Position of the card, or -1. An id counts only for the card's own vendor.
  int FindDevice(VendorId vendor, std::string_view id) const;

  // REQUIRES: device < devices().size(). Negative amounts give back.
  void SetUse(size_t device, const DeviceUse& use);

  // While a bound pod's allocation text of a vendor cannot be read, its node
  // takes no further pods of that vendor.
  void SetUnreadable(VendorId vendor, bool unreadable);
  bool unreadable(VendorId vendor) const { return (unreadable_ >> vendor) & 1U; }

  // Who is on the card, ascending by uid: pods with instances of it, and all of
  // them where VendorSpec::watches_tenants says so.
  void SetTenants(size_t device, std::vector<Tenant> tenants);
  std::span<const Tenant> tenants(size_t device) const {
    return tenants_.empty() ? std::span<const Tenant>() : tenants_[device];
  }

  // A pod has an instance of a card of the vendor that the node does not have.
  void SetLostInstance(VendorId vendor, bool lost);
  bool lost_instance(VendorId vendor) const { return (lost_instance_ >> vendor) & 1U; }

  // 10 * (slots used/offered + cores + memory), over all cards of the node, in
  // single precision; 0 if one of the totals is 0.
  float score() const { return score_; }

  // Changes with everything that a decision can see. No two different usages in this
  // process have the same stamp, and none has 0.
  uint64_t stamp() const { return stamp_; }

 private:
  static uint64_t NewStamp();
  void UpdateScore();

  uint64_t stamp_ = NewStamp();

  NodeInventory inventory_;
  std::vector<DeviceUse> use_;
  std::vector<std::vector<Tenant>> tenants_;  // by position; empty: none anywhere
  uint64_t unreadable_ = 0;
  uint64_t lost_instance_ = 0;
  float score_ = 0;
};

// One container's part of one card.
struct Share {
  uint32_t index = 0;  // of the card on its host
  std::string device_id;
  std::string type;  // third party readers search for the vendor's key in it
  int64_t memory = 0;
  int64_t cores = 0;
  int64_t slots = 1;  // of the card
  Facts facts = {};   // of the card, for VendorSpec::annotate; not kept on the pod

  bool operator==(const Share&) const = default;
};

// What the device plugin made of a promised instance.
struct InstanceIdentity {
  std::string uuid;  // "MIG-..."
  int64_t gpu_instance = 0;
  int64_t compute_instance = 0;

  bool operator==(const InstanceIdentity&) const = default;
};

// An instance of a card that a pod was promised.
struct Instance {
  size_t container = 0;
  size_t share = 0;  // of the container's shares
  std::string device_id;
  std::string profile;
  Slices place;
  std::optional<InstanceIdentity> identity = {};  // once the instance is there

  bool operator==(const Instance&) const = default;
};

// What a pod holds of one vendor: one list per container, init containers
// first, empty lists for containers that got nothing.
struct VendorAllocation {
  VendorId vendor = 0;
  std::vector<std::vector<Share>> containers;
  std::vector<Instance> instances = {};

  bool operator==(const VendorAllocation&) const = default;
};

// Ascending by vendor; only vendors with at least one share.
using Allocation = std::vector<VendorAllocation>;

enum class ContainerKind : uint8_t {
  kInit,     // runs to completion before the next one starts
  kSidecar,  // init container with restartPolicy: Always: lives as long as the pod
  kApp,
};

}  // namespace aliquot::core
