// The node lock annotation: one pod at a time between "bound" and "devices
// handed out". The device plugin reads from it which pod it serves.
//
//   value = time "," namespace "," pod-name | time       (the latter: legacy)
//
// e.g. "2026-08-01T06:00:00Z,ml,train-0"; time in RFC 3339.
//
// Thread safety: every function from any thread.
#pragma once

#include <string>
#include <string_view>

#include "aliquot/base/clock.h"
#include "aliquot/base/result.h"

namespace aliquot::codec {

inline constexpr std::string_view kNodeLockKey = "hami.io/mutex.lock";
// Cambricon's device plugin has a lock of its own, whose values are a time only.
inline constexpr std::string_view kCambriconLockKey = "cambricon.com/dsmlu.lock";

struct NodeLock {
  WallTime time{};
  std::string ns;  // of the owning pod; may be empty in foreign values
  std::string name;
  bool legacy = false;  // a time only: the owner is not known

  bool operator==(const NodeLock&) const = default;
};

// Errors: kInvalid, e.g. "malformed lock annotation: expected 3 parts, got 2
// from a,b".
Result<NodeLock> ParseNodeLock(std::string_view value);

// Whole seconds, UTC.
std::string FormatNodeLock(const NodeLock& lock);

// The value ends in ",<ns>,<name>", whatever its time is: the pod's own lock.
// Never true of legacy values.
bool NodeLockBelongsTo(std::string_view value, std::string_view ns, std::string_view name);

}  // namespace aliquot::codec
