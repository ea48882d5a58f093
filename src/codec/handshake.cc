#include "aliquot/codec/handshake.h"

#include <optional>
#include <string_view>

#include "aliquot/base/strings.h"
#include "aliquot/base/time_text.h"

namespace aliquot::codec {

Handshake ParseHandshake(const std::string* value) {
  if (value == nullptr || !Contains(*value, "Requesting")) return {};
  const size_t underscore = value->find('_');
  if (underscore != std::string::npos) {
    const std::optional<WallTime> time =
        ParseHandshakeTime(std::string_view(*value).substr(underscore + 1));
    if (time) return {Handshake::Kind::kRequesting, *time};
  }
  return {.kind = Handshake::Kind::kRequestingUnreadable};
}

std::string FormatHandshake(WallTime now) { return "Requesting_" + FormatHandshakeTime(now); }

}  // namespace aliquot::codec
