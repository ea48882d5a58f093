#include <simdjson.h>

#include <cmath>
#include <limits>

#include "aliquot/base/strings.h"
#include "aliquot/codec/json_quote.h"
#include "aliquot/codec/node_devices.h"
#include "codec/go_text.h"
#include "codec/json_read.h"

namespace aliquot::codec {
namespace {

using codec::Read;
using simdjson::dom::element;

template <typename T>
Problem Read(element json, std::vector<T>& out);

Problem Read(element json, MigPlacement& out) {
  return ReadObject(json, [&](std::string_view key, element value) -> Problem {
    if (EqualsIgnoreCase(key, "start")) return Read(value, out.start);
    if (EqualsIgnoreCase(key, "size")) return Read(value, out.size);
    return {};
  });
}

Problem Read(element json, MigProfile& out) {
  Problem problem = ReadObject(json, [&](std::string_view key, element value) -> Problem {
    if (EqualsIgnoreCase(key, "name")) return Read(value, out.name);
    if (EqualsIgnoreCase(key, "memoryMB")) return Read(value, out.memory);
    if (EqualsIgnoreCase(key, "core")) return Read(value, out.cores);
    if (EqualsIgnoreCase(key, "sliceCount")) return Read(value, out.slice_count);
    if (EqualsIgnoreCase(key, "placements")) return Read(value, out.placements);
    return {};
  });
  std::erase_if(out.placements, [](const MigPlacement& p) {
    return p.size < 1 || p.start < 0 || p.start + p.size > kMostSlices;
  });
  return problem;
}

Problem Read(element json, CustomInfo& out) {
  out.clear();
  return ReadObject(json, [&](std::string_view key, element value) -> Problem {
    CustomInfo::mapped_type& info = out[std::string(key)];
    info = {};
    std::string_view text;
    int64_t whole = 0;
    double number = 0;
    if (value.get(text) == simdjson::SUCCESS)
      info = std::string(text);
    else if (value.get(whole) == simdjson::SUCCESS)
      info = whole;
    else if (value.get(number) == simdjson::SUCCESS && std::abs(number) < 0x1p63)
      info = static_cast<int64_t>(number);
    return {};
  });
}

Problem Read(element json, NodeDevice& out) {
  if (json.is_null()) return " is null";
  core::Device& device = out.device;
  return ReadObject(json, [&](std::string_view key, element value) -> Problem {
    if (EqualsIgnoreCase(key, "id")) return Read(value, device.id);
    if (EqualsIgnoreCase(key, "index")) {
      int64_t index = 0;
      Problem problem = ReadInteger(value, 0, std::numeric_limits<int32_t>::max(), index);
      device.index = static_cast<uint32_t>(index);
      return problem;
    }
    if (EqualsIgnoreCase(key, "count")) return Read(value, device.slots);
    if (EqualsIgnoreCase(key, "devmem")) return Read(value, device.memory);
    if (EqualsIgnoreCase(key, "devcore")) return Read(value, device.cores);
    if (EqualsIgnoreCase(key, "type")) return Read(value, device.type);
    if (EqualsIgnoreCase(key, "numa")) return Read(value, device.numa);
    if (EqualsIgnoreCase(key, "mode")) return Read(value, device.mode);
    if (EqualsIgnoreCase(key, "migProfiles")) return Read(value, out.mig_profiles);
    if (EqualsIgnoreCase(key, "health")) return Read(value, device.healthy);
    if (EqualsIgnoreCase(key, "custominfo")) return Read(value, out.custom_info);
    return {};
  });
}

struct PairScoreEntry {
  std::string uuid;
  PairScores::mapped_type scores;
};

Problem Read(element json, PairScoreEntry& out) {
  if (json.is_null()) return " is null";
  return ReadObject(json, [&](std::string_view key, element value) -> Problem {
    if (EqualsIgnoreCase(key, "uuid")) return Read(value, out.uuid);
    if (!EqualsIgnoreCase(key, "score")) return {};
    out.scores.clear();
    return ReadObject(value, [&](std::string_view other, element score) {
      return ReadInteger(score, std::numeric_limits<int64_t>::min(),
                         std::numeric_limits<int64_t>::max(), out.scores[std::string(other)]);
    });
  });
}

// Last, where every Read of an item is known.
template <typename T>
Problem Read(element json, std::vector<T>& out) {
  out.clear();
  return ReadList(json, [&](element item, size_t) { return Read(item, out.emplace_back()); });
}

template <typename T>
Result<std::vector<T>> ParseList(std::string_view what, std::string_view text) {
  std::vector<T> out;
  const Result<void> read = ReadJson(what, text, [&](element json) { return Read(json, out); });
  if (!read) return read.error();
  return out;
}

// To the object, or list, that `out` ends in.
void AppendComma(std::string& out) {
  if (out.back() != '{' && out.back() != '[') out += ',';
}

void AppendMember(std::string& out, std::string_view key, std::string_view json) {
  AppendComma(out);
  out += JsonQuote(key) + ':';
  out += json;
}

void AppendNonZero(std::string& out, std::string_view key, int64_t value) {
  if (value != 0) AppendMember(out, key, std::to_string(value));
}

void AppendNonEmpty(std::string& out, std::string_view key, std::string_view value) {
  if (!value.empty()) AppendMember(out, key, JsonQuote(value));
}

std::string ToJson(const std::vector<MigProfile>& profiles) {
  std::string out = "[";
  for (const MigProfile& profile : profiles) {
    AppendComma(out);
    out += '{';
    AppendMember(out, "name", JsonQuote(profile.name));
    AppendMember(out, "memoryMB", std::to_string(profile.memory));
    AppendMember(out, "core", std::to_string(profile.cores));
    AppendMember(out, "sliceCount", std::to_string(profile.slice_count));
    std::string placements = "[";
    for (const MigPlacement& placement : profile.placements) {
      AppendComma(placements);
      placements += "{\"start\":" + std::to_string(placement.start) +
                    ",\"size\":" + std::to_string(placement.size) + '}';
    }
    AppendMember(out, "placements", placements + ']');
    out += '}';
  }
  return out + ']';
}

std::string ToJson(const CustomInfo& info) {
  std::string out = "{";
  for (const auto& [key, value] : info) {
    if (const auto* text = std::get_if<std::string>(&value))
      AppendMember(out, key, JsonQuote(*text));
    else if (const auto* number = std::get_if<int64_t>(&value))
      AppendMember(out, key, std::to_string(*number));
    else
      AppendMember(out, key, "null");
  }
  return out + '}';
}

}  // namespace

Result<std::vector<NodeDevice>> ParseNodeDevicesJson(std::string_view text) {
  return ParseList<NodeDevice>("node devices", text);
}

std::string FormatNodeDevicesJson(std::span<const NodeDevice> devices) {
  std::string out = "[";
  for (const NodeDevice& node_device : devices) {
    const core::Device& device = node_device.device;
    AppendComma(out);
    out += '{';
    AppendNonEmpty(out, "id", device.id);
    AppendNonZero(out, "index", device.index);
    AppendNonZero(out, "count", device.slots);
    AppendNonZero(out, "devmem", device.memory);
    AppendNonZero(out, "devcore", device.cores);
    AppendNonEmpty(out, "type", device.type);
    AppendNonZero(out, "numa", device.numa);
    AppendNonEmpty(out, "mode", device.mode);
    if (!node_device.mig_profiles.empty())
      AppendMember(out, "migProfiles", ToJson(node_device.mig_profiles));
    if (device.healthy) AppendMember(out, "health", "true");
    if (!node_device.custom_info.empty())
      AppendMember(out, "custominfo", ToJson(node_device.custom_info));
    out += '}';
  }
  return out + ']';
}

Result<PairScores> ParsePairScores(std::string_view text) {
  Result<std::vector<PairScoreEntry>> entries = ParseList<PairScoreEntry>("pair scores", text);
  if (!entries) return entries.error();
  PairScores out;
  for (PairScoreEntry& entry : *entries)
    out.try_emplace(std::move(entry.uuid), std::move(entry.scores));
  return out;
}

std::string FormatPairScores(const PairScores& scores) {
  std::string out = "[";
  for (const auto& [uuid, others] : scores) {
    AppendComma(out);
    out += "{\"uuid\":" + JsonQuote(uuid) + ",\"score\":{";
    for (const auto& [other, score] : others) AppendMember(out, other, std::to_string(score));
    out += "}}";
  }
  return out + ']';
}

}  // namespace aliquot::codec
