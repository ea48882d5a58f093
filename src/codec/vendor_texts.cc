#include "aliquot/codec/vendor_texts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "aliquot/base/strings.h"
#include "aliquot/codec/json_quote.h"
#include "codec/json_read.h"

namespace aliquot::codec {
namespace {

using simdjson::dom::element;

constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();
constexpr int64_t kMinInt32 = std::numeric_limits<int32_t>::min();

// ---- MIG reservations

struct Reservation {
  core::Instance instance;
  int64_t container = 0;
  int64_t share = 0;
  core::InstanceIdentity identity;
  int runtime_fields = 0;  // of the identity: all three, or none
};

Problem ReadReservation(element json, Reservation& out) {
  return ReadObject(json, [&](std::string_view key, element value) -> Problem {
    if (EqualsIgnoreCase(key, "containerIndex")) return Read(value, out.container);
    if (EqualsIgnoreCase(key, "deviceIndex")) return Read(value, out.share);
    if (EqualsIgnoreCase(key, "gpuUUID")) return Read(value, out.instance.device_id);
    if (EqualsIgnoreCase(key, "profile")) return Read(value, out.instance.profile);
    if (EqualsIgnoreCase(key, "placement"))
      return ReadObject(value, [&](std::string_view field, element number) -> Problem {
        if (EqualsIgnoreCase(field, "start")) return Read(number, out.instance.place.start);
        if (EqualsIgnoreCase(field, "size")) return Read(number, out.instance.place.size);
        return {};
      });
    if (EqualsIgnoreCase(key, "migUUID")) {
      Problem problem = Read(value, out.identity.uuid);
      if (!out.identity.uuid.empty()) ++out.runtime_fields;
      return problem;
    }
    const bool of_gpu = EqualsIgnoreCase(key, "gpuInstanceID");
    if (of_gpu || EqualsIgnoreCase(key, "computeInstanceID")) {
      if (!value.is_null()) ++out.runtime_fields;
      return Read(value, of_gpu ? out.identity.gpu_instance : out.identity.compute_instance);
    }
    return {};
  });
}

Problem Check(const Reservation& reservation, size_t at) {
  const core::Instance& instance = reservation.instance;
  const std::string name = ": MIG allocation " + std::to_string(at);
  if (reservation.container < 0 || reservation.share < 0 || instance.device_id.empty() ||
      instance.profile.empty() || instance.place.size < 1 || instance.place.start < 0)
    return name + " is incomplete";
  if (reservation.runtime_fields % 3 != 0) return name + " has partial runtime identity";
  return {};
}

// ---- Enflame

// A number is cut off, a text is cut down to int32; 0: neither, or not above 0.
int64_t SlicesOf(element json) {
  std::string_view text;
  int64_t whole = 0;
  double number = 0;
  if (json.get(text) == simdjson::SUCCESS)
    whole = std::min(ParseInt64(Trim(text)).value_or(0), kMaxInt32);
  else if (json.get(whole) != simdjson::SUCCESS && json.get(number) == simdjson::SUCCESS &&
           std::abs(number) <= static_cast<double>(kMaxInt32))
    whole = static_cast<int64_t>(number);
  return whole >= 0 && whole <= kMaxInt32 ? whole : 0;
}

Problem ReadDrsDevice(element json, size_t at, DrsDevice& out) {
  if (json.is_null()) return " is null";
  std::string index;
  Problem problem = ReadObject(json, [&](std::string_view key, element value) -> Problem {
    if (EqualsIgnoreCase(key, "index")) return Read(value, index);
    if (EqualsIgnoreCase(key, "minor")) return Read(value, out.minor);
    if (EqualsIgnoreCase(key, "capacity")) out.capacity = SlicesOf(value);
    return {};
  });
  out.index = ParseInt64(Trim(index)).value_or(static_cast<int64_t>(at));
  out.minor = Trim(out.minor);
  if (out.minor.empty()) out.minor = std::to_string(out.index);
  return problem;
}

// ---- MetaX

Problem ReadMetaxDevice(element json, size_t at, core::Device& out) {
  if (json.is_null()) return " is null";
  out.index = static_cast<uint32_t>(at);
  std::string qos;
  int64_t zone = 0;
  Problem problem = ReadObject(json, [&](std::string_view key, element value) -> Problem {
    if (EqualsIgnoreCase(key, "uuid")) return Read(value, out.id);
    if (EqualsIgnoreCase(key, "totalDevCount")) return Read(value, out.slots);
    if (EqualsIgnoreCase(key, "totalCompute")) return Read(value, out.cores);
    if (EqualsIgnoreCase(key, "totalVRam")) return Read(value, out.memory);
    if (EqualsIgnoreCase(key, "numa")) return Read(value, out.numa);
    if (EqualsIgnoreCase(key, "healthy")) return Read(value, out.healthy);
    if (EqualsIgnoreCase(key, "qosPolicy")) return Read(value, qos);
    if (EqualsIgnoreCase(key, "linkZone")) return Read(value, zone);
    return {};
  });
  out.facts["QosPolicy"] = std::move(qos);
  out.facts["LinkZone"] = zone;
  return problem;
}

}  // namespace

std::string FormatMigReservations(std::span<const core::Instance> instances) {
  std::string text = "[";
  for (const core::Instance& instance : instances) {
    if (text.size() > 1) text += ',';
    text += "{\"containerIndex\":" + std::to_string(instance.container) +
            ",\"deviceIndex\":" + std::to_string(instance.share) +
            ",\"gpuUUID\":" + JsonQuote(instance.device_id) +
            ",\"profile\":" + JsonQuote(instance.profile) +
            ",\"placement\":{\"start\":" + std::to_string(instance.place.start) +
            ",\"size\":" + std::to_string(instance.place.size) + "}}";
  }
  return text + ']';
}

Result<std::vector<core::Instance>> ParseMigReservations(std::string_view text) {
  std::vector<core::Instance> instances;
  if (text.empty()) return instances;
  std::set<std::pair<int64_t, int64_t>> seen;
  const Result<void> read = ReadJson("MIG allocations", text, [&](element json) -> Problem {
    Problem failed;
    Problem problem = ReadList(json, [&](element item, size_t at) -> Problem {
      Reservation reservation;
      if (Problem unread = ReadReservation(item, reservation); !unread.empty()) return unread;
      if (failed = Check(reservation, at); !failed.empty()) return failed;
      if (!seen.emplace(reservation.container, reservation.share).second) {
        failed = ": duplicate MIG allocation for container " +
                 std::to_string(reservation.container) + " device " +
                 std::to_string(reservation.share);
        return failed;
      }
      reservation.instance.container = static_cast<size_t>(reservation.container);
      reservation.instance.share = static_cast<size_t>(reservation.share);
      if (reservation.runtime_fields == 3) reservation.instance.identity = reservation.identity;
      instances.push_back(std::move(reservation.instance));
      return {};
    });
    return failed.empty() ? problem : failed;
  });
  if (!read) return read.error();
  return instances;
}

Result<DrsCapacity> ParseDrsCapacity(std::string_view text) {
  DrsCapacity capacity;
  const Result<void> read = ReadJson("slices", text, [&](element json) {
    return ReadObject(json, [&](std::string_view key, element value) -> Problem {
      if (EqualsIgnoreCase(key, "devices")) {
        capacity.devices.clear();
        return ReadList(value, [&](element item, size_t at) {
          return ReadDrsDevice(item, at, capacity.devices.emplace_back());
        });
      }
      if (EqualsIgnoreCase(key, "profiles")) {
        capacity.profiles.clear();
        return ReadObject(value, [&](std::string_view name, element id) {
          Problem problem = Read(id, capacity.profiles[std::string(name)]);
          return capacity.profiles.size() <= kMostProfiles
                     ? problem
                     : ": more than " + std::to_string(kMostProfiles) + " profiles";
        });
      }
      return {};
    });
  });
  if (!read) return read.error();
  return capacity;
}

Result<std::vector<core::Device>> ParseMetaxDevices(std::string_view text) {
  std::vector<core::Device> devices;
  const Result<void> read = ReadJson("shared GPUs", text, [&](element json) {
    return ReadList(json, [&](element item, size_t at) {
      return ReadMetaxDevice(item, at, devices.emplace_back());
    });
  });
  if (!read) return read.error();
  return devices;
}

Result<std::map<int64_t, int64_t>> ParseCountTable(std::string_view text) {
  std::map<int64_t, int64_t> table;
  const Result<void> read = ReadJson("topology", text, [&](element json) {
    return ReadObject(json, [&](std::string_view key, element value) -> Problem {
      const std::optional<int64_t> count = ParseInt64(key);
      if (!count) return " is not a number of GPUs";
      return ReadInteger(value, kMinInt32, kMaxInt32, table[*count]);
    });
  });
  if (!read) return read.error();
  return table;
}

}  // namespace aliquot::codec
