// Annotation keys that are common to all vendors.
#pragma once

#include <string_view>

namespace aliquot::scheduler {

inline constexpr std::string_view kAssignedNodeKey = "hami.io/vgpu-node";  // also a label
inline constexpr std::string_view kAssignedTimeKey = "hami.io/vgpu-time";  // Unix seconds
inline constexpr std::string_view kBindPhaseKey = "hami.io/bind-phase";
inline constexpr std::string_view kBindTimeKey = "hami.io/bind-time";   // Unix seconds
inline constexpr std::string_view kNodeLockKey = "hami.io/mutex.lock";  // on nodes
inline constexpr std::string_view kPodGroupLabel = "scheduling.x-k8s.io/pod-group";

inline constexpr std::string_view kBindPhaseAllocating = "allocating";
inline constexpr std::string_view kBindPhaseSuccess = "success";
inline constexpr std::string_view kBindPhaseFailed = "failed";

}  // namespace aliquot::scheduler
