#include "aliquot/codec/pod_devices.h"

#include <algorithm>

#include "aliquot/base/strings.h"
#include "codec/go_text.h"

namespace aliquot::codec {
namespace {

Result<std::vector<core::Share>> ParseContainer(std::string_view text) {
  std::vector<core::Share> shares;
  for (const std::string_view piece : Split(text, ':')) {
    if (!Contains(piece, ",")) continue;
    const std::vector<std::string_view> fields = Split(piece, ',');
    if (fields.size() < 4)
      return InvalidError(
          "pod annotation format error, missing fields, do not use nodeName in task spec");
    const Result<int64_t> memory = ParseGoInt32(fields[2]);
    if (!memory) return InvalidError("invalid memory field: " + memory.error().message);
    const Result<int64_t> cores = ParseGoInt32(fields[3]);
    if (!cores) return InvalidError("invalid core field: " + cores.error().message);
    shares.push_back({.device_id = std::string(fields[0]),
                      .type = std::string(fields[1]),
                      .memory = *memory,
                      .cores = *cores});
  }
  return shares;
}

bool HoldsShares(const ContainerShares& containers) {
  return std::any_of(containers.begin(), containers.end(),
                     [](const std::vector<core::Share>& shares) { return !shares.empty(); });
}

}  // namespace

std::string FormatPodDevices(std::span<const std::vector<core::Share>> containers) {
  std::string text;
  for (const std::vector<core::Share>& shares : containers) {
    for (const core::Share& share : shares)
      text += share.device_id + ',' + share.type + ',' + std::to_string(share.memory) + ',' +
              std::to_string(share.cores) + ':';
    text += ';';
  }
  return text;
}

Result<ContainerShares> ParsePodDevices(std::string_view text) {
  ContainerShares containers;
  for (const std::string_view piece : Split(text, ';')) {
    Result<std::vector<core::Share>> shares = ParseContainer(piece);
    if (!shares) return shares.error();
    containers.push_back(*std::move(shares));
  }
  return containers;
}

AlignedShares AlignContainers(ContainerShares parsed, const std::vector<bool>& asks) {
  const auto drop_empty_after = [&](size_t keep) {
    while (parsed.size() > keep && parsed.back().empty()) parsed.pop_back();
  };
  AlignedShares out;
  const bool compacted = parsed.size() <= asks.size();  // one list more than semicolons
  if (compacted) {
    if (!parsed.empty() && parsed.back().empty()) parsed.pop_back();  // after the last semicolon
    const auto asking = static_cast<size_t>(std::count(asks.begin(), asks.end(), true));
    drop_empty_after(asking);
    if (parsed.size() == asking) {
      out.containers.resize(asks.size());
      auto next = parsed.begin();
      for (size_t i = 0; i < asks.size(); ++i)
        if (asks[i]) out.containers[i] = std::move(*next++);
      return out;
    }
  }
  drop_empty_after(asks.size());
  out.mismatch = parsed.size() > asks.size() || (compacted && HoldsShares(parsed));
  out.containers = std::move(parsed);
  out.containers.resize(std::max(out.containers.size(), asks.size()));
  return out;
}

}  // namespace aliquot::codec
