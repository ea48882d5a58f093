// What happens to a pod when it is created: vendors claim its containers and
// complete them, and its namespace's quota is looked at for the first time.
//
// Pure functions and plain values.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "aliquot/base/env_var.h"
#include "aliquot/base/string_map.h"
#include "aliquot/core/model.h"
#include "aliquot/core/request.h"

namespace aliquot::core {

struct QuotaRoom;

// A container of a pod that is being created, as the vendors before have left it.
struct Submitted {
  const Registry& registry;
  const PodSpec& pod;
  const ContainerSpec& container;  // of pod.containers
  std::span<const EnvVar> env;     // of the container, in order; the last of a name counts
};

// What a vendor wants of it. What is to be written is written by the caller,
// claimed or not, unless it stands there already.
struct Completion {
  bool claimed = false;   // it asks for the vendor's devices: its pod is ours to schedule
  StringMap limits = {};  // resource -> quantity, to set; resources without a name are not
  StringMap requests = {};
  std::vector<EnvVar> env = {};            // to append
  StringMap annotations = {};              // of the pod, to set
  std::string runtime_class = {};          // of the pod, if it has none
  std::vector<std::string> warnings = {};  // what it does not get, for the user
};

// By VendorId: the least memory and cores that the pod takes of its namespace's
// quota, whichever cards it gets; slots stay 0. App containers together or one
// init container, whichever is more; sidecars count as init containers.
std::vector<DeviceUse> LeastQuotaUse(const PodRequest& pod, const Registry& registry);

// The pod can never fit into what the namespace may still take. `room`: by VendorId,
// or empty for no limits.
bool ExceedsQuota(std::span<const DeviceUse> least, std::span<const QuotaRoom> room);

}  // namespace aliquot::core
