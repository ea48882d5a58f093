#include <limits>

#include "aliquot/base/strings.h"
#include "aliquot/codec/node_devices.h"
#include "codec/go_text.h"
#include "codec/limits.h"

namespace aliquot::codec {
namespace {

Error FieldError(std::string_view field, const Error& problem) {
  return InvalidError("invalid " + std::string(field) + " field: " + problem.message);
}

Result<core::Device> ParseDevice(std::string_view segment) {
  if (!Contains(segment, ","))
    return InvalidError("malformed node annotation segment: " + GoQuote(segment));
  const std::vector<std::string_view> fields = Split(segment, ',');
  if (fields.size() != 7 && fields.size() != 9)
    return InvalidError("unexpected field count " + std::to_string(fields.size()) +
                        " in node annotation");
  const Result<int64_t> count = ParseGoInt32(fields[1]);
  if (!count) return FieldError("count", count.error());
  const Result<int64_t> memory = ParseGoInt32(fields[2]);
  if (!memory) return FieldError("memory", memory.error());
  const Result<int64_t> cores = ParseGoInt32(fields[3]);
  if (!cores) return FieldError("core", cores.error());
  const Result<bool> healthy = ParseGoBool(fields[6]);
  if (!healthy) return FieldError("health", healthy.error());
  const Result<int64_t> numa = ParseGoInt("Atoi", fields[5], std::numeric_limits<int64_t>::min(),
                                          std::numeric_limits<int64_t>::max());
  if (!numa) return FieldError("numa", numa.error());
  core::Device device;
  device.id = fields[0];
  device.type = fields[4];
  device.mode = "hami-core";
  device.slots = *count;
  device.memory = *memory;
  device.cores = *cores;
  device.numa = *numa;
  device.healthy = *healthy;
  if (fields.size() == 9) {
    const Result<int64_t> index = ParseGoInt("Atoi", fields[7], std::numeric_limits<int64_t>::min(),
                                             std::numeric_limits<uint32_t>::max());
    if (!index) return FieldError("index", index.error());
    if (*index < 0)
      return InvalidError("index field must not be negative: " + std::to_string(*index));
    device.index = static_cast<uint32_t>(*index);
    device.mode = fields[8];
  }
  return device;
}

}  // namespace

Result<std::vector<core::Device>> ParseNodeDevicesColon(std::string_view text) {
  if (text.size() > kMostTextBytes)
    return InvalidError("node annotation: more than " + std::to_string(kMostTextBytes) + " bytes");
  if (!Contains(text, ":")) return InvalidError("node annotation missing device separator");
  std::vector<core::Device> devices;
  for (const std::string_view segment : Split(text, ':')) {
    if (segment.empty()) continue;
    if (devices.size() == kMostItems)
      return InvalidError("node annotation: more than " + std::to_string(kMostItems) + " devices");
    Result<core::Device> device = ParseDevice(segment);
    if (!device) return device.error();
    devices.push_back(*std::move(device));
  }
  return devices;
}

std::string FormatNodeDevicesColon(std::span<const core::Device> devices) {
  std::string text;
  for (const core::Device& device : devices)
    text += device.id + ',' + std::to_string(device.slots) + ',' + std::to_string(device.memory) +
            ',' + std::to_string(device.cores) + ',' + device.type + ',' +
            std::to_string(device.numa) + ',' + (device.healthy ? "true" : "false") + ',' +
            std::to_string(device.index) + ',' + device.mode + ':';
  return text;
}

}  // namespace aliquot::codec
