// Times and durations as text: RFC 3339 (node locks, Kubernetes objects), the
// handshake's zoneless stamp, and Go's duration notation (flags, error texts).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "aliquot/base/clock.h"

namespace aliquot {

// "2026-08-01T06:00:00Z": UTC, whole seconds.
std::string FormatRfc3339(WallTime time);

// Any offset, optional fraction. No value: not RFC 3339.
std::optional<WallTime> ParseRfc3339(std::string_view text);

// "2026-08-01 06:00:00", read and written in UTC.
std::string FormatHandshakeTime(WallTime time);
std::optional<WallTime> ParseHandshakeTime(std::string_view text);

// Whole seconds since the Unix epoch, as decimal text.
std::string FormatUnixSeconds(WallTime time);

// Go's time.Duration: "5m0s", "1.5s", "300ms", "0s", "-2h".
std::string FormatGoDuration(Duration duration);
std::optional<Duration> ParseGoDuration(std::string_view text);

}  // namespace aliquot
