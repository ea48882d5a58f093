// The handshake annotation of a node, by which a device plugin shows that it is
// alive: we write "Requesting_2026-08-01 06:00:00", a living plugin replaces it.
// The time has no zone; we write and read UTC.
//
// Thread safety: every function from any thread.
#pragma once

#include <string>

#include "aliquot/base/clock.h"

namespace aliquot::codec {

struct Handshake {
  enum class Kind {
    kMissingOrForeign,      // no value, or something that a plugin wrote
    kRequesting,            // we asked at `time` and nobody has answered
    kRequestingUnreadable,  // a request, but not when it was made
  };

  Kind kind = Kind::kMissingOrForeign;
  WallTime time{};  // of kRequesting only

  bool operator==(const Handshake&) const = default;
};

// `value`: of the annotation; null if the node has none.
Handshake ParseHandshake(const std::string* value);

// A request made now.
std::string FormatHandshake(WallTime now);

}  // namespace aliquot::codec
