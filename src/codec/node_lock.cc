#include "aliquot/codec/node_lock.h"

#include <optional>
#include <vector>

#include "aliquot/base/strings.h"
#include "aliquot/base/time_text.h"
#include "codec/go_text.h"

namespace aliquot::codec {

Result<NodeLock> ParseNodeLock(std::string_view value) {
  const std::vector<std::string_view> parts = Split(value, ',');
  if (parts.size() != 1 && parts.size() != 3)
    return InvalidError("malformed lock annotation: expected 3 parts, got " +
                        std::to_string(parts.size()) + " from " + std::string(value));
  const std::optional<WallTime> time = ParseRfc3339(parts[0]);
  if (!time)
    return InvalidError("parsing time " + GoQuote(parts[0]) +
                        " as \"2006-01-02T15:04:05Z07:00\": cannot parse " + GoQuote(value));
  if (parts.size() == 1) return NodeLock{*time, "", "", true};
  return NodeLock{*time, std::string(parts[1]), std::string(parts[2]), false};
}

std::string FormatNodeLock(const NodeLock& lock) {
  const std::string time = FormatRfc3339(lock.time);
  return lock.legacy ? time : time + "," + lock.ns + "," + lock.name;
}

bool NodeLockBelongsTo(std::string_view value, std::string_view ns, std::string_view name) {
  std::string owner = ",";
  owner += ns;
  owner += ',';
  owner += name;
  return value.ends_with(owner);
}

}  // namespace aliquot::codec
