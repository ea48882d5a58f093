// Keys of annotations and labels that are common to all vendors, and their values.
#pragma once

#include <string_view>

#include "aliquot/codec/node_lock.h"

namespace aliquot::scheduler {

using codec::kNodeLockKey;  // on nodes

inline constexpr std::string_view kAssignedNodeKey = "hami.io/vgpu-node";  // also a label
inline constexpr std::string_view kAssignedTimeKey = "hami.io/vgpu-time";  // Unix seconds
inline constexpr std::string_view kBindPhaseKey = "hami.io/bind-phase";
inline constexpr std::string_view kBindTimeKey = "hami.io/bind-time";  // Unix seconds
inline constexpr std::string_view kPodGroupLabel = "scheduling.x-k8s.io/pod-group";
inline constexpr std::string_view kRoleLabel = "hami.io/scheduler-role";  // on our own pod

inline constexpr std::string_view kBindPhaseAllocating = "allocating";
inline constexpr std::string_view kBindPhaseSuccess = "success";
inline constexpr std::string_view kBindPhaseFailed = "failed";
inline constexpr std::string_view kRoleLeader = "leader";

}  // namespace aliquot::scheduler
