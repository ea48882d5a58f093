// From the resource lists of a pod to what it asks of each vendor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "aliquot/base/object_ref.h"
#include "aliquot/base/string_map.h"
#include "aliquot/core/model.h"

namespace aliquot::core {

class Registry;
class Vendor;

// A container as its manifest gives it; quantities are text ("3k").
struct ContainerSpec {
  std::string_view name;
  ContainerKind kind = ContainerKind::kApp;
  const StringMap* limits = nullptr;    // null: none
  const StringMap* requests = nullptr;  // null: none
};

// What a decision needs of a pod's manifest. Views into the caller's pod.
struct PodSpec {
  const ObjectRef* ref = nullptr;
  const StringMap* annotations = nullptr;
  std::vector<ContainerSpec> containers;  // init containers first, as they run
};

// Pod annotation: all cards of a container come from one NUMA node.
inline constexpr std::string_view kNumaBindKey = "nvidia.com/numa-bind";

// memory_percent: "not given".
constexpr int64_t kNoPercent = 101;

// What one container asks of one vendor. count > 0.
struct ContainerRequest {
  VendorId vendor = 0;
  int64_t count = 0;
  int64_t memory = 0;                   // per card; 0: by percentage
  int64_t memory_percent = kNoPercent;  // per card; kNoPercent: by memory
  int64_t cores = 0;                    // per card

  bool operator==(const ContainerRequest&) const = default;
};

// A list of card ids or types in a pod annotation. Not given: no constraint.
struct SelectorList {
  bool given = false;
  std::vector<std::string> members;

  bool operator==(const SelectorList&) const = default;
};

// Which cards of a vendor a pod allows, from its annotations.
struct CardSelector {
  SelectorList use_types, nouse_types;      // members in upper case, matched as substrings
  SelectorList use_ids, nouse_ids;          // matched exactly
  SelectorList old_use_ids, old_nouse_ids;  // the same under keys of former times
  SelectorList modes;                       // sharing modes, matched exactly

  bool AllowsType(std::string_view type) const;
  bool AllowsId(std::string_view id) const;
  bool AllowsMode(std::string_view mode) const;

  bool operator==(const CardSelector&) const = default;
};

struct ContainerDemand {
  std::string name;
  ContainerKind kind = ContainerKind::kApp;
  std::vector<ContainerRequest> requests;  // ascending by vendor
};

// A pod's wish, parsed once. Holds no views.
struct PodRequest {
  ObjectRef pod;
  std::vector<ContainerDemand> containers;  // init containers first
  std::vector<CardSelector> selectors;      // by VendorId
  bool numa_bind = false;                   // all cards of a container on one NUMA node
  StringMap notes;                          // annotations of VendorSpec::pod_notes

  bool empty() const;  // asks no vendor for anything
  bool Asks(VendorId vendor) const;
};

// A device request that cannot be read. It is refused, never waved through.
struct InvalidRequest {
  std::string container;
  std::string resource;
  std::string value;
  std::string why;  // "not a whole number", "negative", "out of range", "needs <count name>"

  // "InvalidDeviceRequest: container <name>: <resource>=<value>: <why>"
  std::string ToString() const;
};

// The annotations that the vendors' hooks look at.
StringMap NotesOf(const StringMap& annotations, const Registry& registry);

std::variant<PodRequest, InvalidRequest> ParseRequests(const PodSpec& pod,
                                                       const Registry& registry);

// The resource lists of one container, looked up as its vendor does.
class ResourceReader {
 public:
  ResourceReader(const ContainerSpec& container, bool limits_only)
      : container_(container), limits_only_(limits_only) {}

  // The quantity's text; null if absent. Limits win over requests.
  const std::string* Find(std::string_view resource) const;

  // A whole number within [0, max]. Absent: no value, no error. Otherwise sets
  // `invalid`, once: the first problem counts.
  std::optional<int64_t> Whole(std::string_view resource, int64_t max,
                               std::optional<InvalidRequest>& invalid) const;

  // Fills in the container and the value as it was written.
  InvalidRequest Invalid(std::string_view resource, std::string why) const;

 private:
  const ContainerSpec& container_;
  bool limits_only_;
};

}  // namespace aliquot::core
