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
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace aliquot::core {

// Position of a vendor in the Registry (vendor.h), which is sorted by key.
using VendorId = uint8_t;

// One physical card as its node registered it.
struct Device {
  VendorId vendor = 0;
  std::string id;     // unique among the node's cards of this vendor
  std::string type;   // product model, e.g. "NVIDIA A100-SXM4-40GB"
  std::string mode;   // sharing mode, e.g. "hami-core", "mig"
  uint32_t index = 0; // position on the host
  int64_t slots = 0;  // how many shares the card can be cut into
  int64_t memory = 0;
  int64_t cores = 0;
  int64_t numa = 0;
  bool healthy = false;
  bool cordoned = false;            // taken out of new allocations by an operator
  bool requestable = false;         // type contains the vendor's key; others are never handed out
  bool named_after_vendor = false;  // type equals the vendor's key (matters to DeviceScore)
  // Link scores to other cards of the node, by id; empty: not measured.
  std::map<std::string, int64_t, std::less<>> pair_scores;

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

  // 10 * (slots used/offered + cores + memory), over all cards of the node, in
  // single precision; 0 if one of the totals is 0.
  float score() const { return score_; }

 private:
  void UpdateScore();

  NodeInventory inventory_;
  std::vector<DeviceUse> use_;
  uint64_t unreadable_ = 0;
  float score_ = 0;
};

// One container's part of one card.
struct Share {
  uint32_t index = 0;     // of the card on its host
  std::string device_id;
  std::string type;       // third party readers search for the vendor's key in it
  int64_t memory = 0;
  int64_t cores = 0;

  bool operator==(const Share&) const = default;
};

// What a pod holds of one vendor: one list per container, init containers
// first, empty lists for containers that got nothing.
struct VendorAllocation {
  VendorId vendor = 0;
  std::vector<std::vector<Share>> containers;

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
