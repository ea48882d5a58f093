// Annotations that only one vendor has: MIG reservations of NVIDIA's pods, the
// slices of Enflame's nodes, the shared GPUs and the topology of MetaX's.
//
// Errors are kInvalid: either the whole text is read or none of it.
//
// Thread safety: every function from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aliquot/base/result.h"
#include "aliquot/core/model.h"

namespace aliquot::codec {

// [{"containerIndex":0,"deviceIndex":0,"gpuUUID":"GPU-a","profile":"2g.10gb",
//   "placement":{"start":0,"size":2}}, ...]; the device plugin adds migUUID,
// gpuInstanceID and computeInstanceID, all or none. Empty text: none.
std::string FormatMigReservations(std::span<const core::Instance> instances);
Result<std::vector<core::Instance>> ParseMigReservations(std::string_view text);

// {"devices":[{"index":"0","minor":"0","capacity":6}, ...],
//  "profiles":{"1g.6gb":"0", ...}}
struct DrsDevice {
  int64_t index = 0;     // its position where the text says no number
  std::string minor;     // the index where the text is blank
  int64_t capacity = 0;  // in slices; 0: unusable

  bool operator==(const DrsDevice&) const = default;
};
struct DrsCapacity {
  std::vector<DrsDevice> devices;
  std::map<std::string, std::string> profiles;  // name -> id

  bool operator==(const DrsCapacity&) const = default;
};
Result<DrsCapacity> ParseDrsCapacity(std::string_view text);

// [{"uuid":"GPU-1","totalDevCount":16,"totalCompute":100,"totalVRam":65536,"numa":0,
//   "healthy":true,"qosPolicy":"fixed-share","linkZone":1}, ...]: cards with the
// facts "QosPolicy" and "LinkZone"; the index is the position.
Result<std::vector<core::Device>> ParseMetaxDevices(std::string_view text);

// {"1":0,"2":110, ...}: number of GPUs -> loss or score.
Result<std::map<int64_t, int64_t>> ParseCountTable(std::string_view text);

}  // namespace aliquot::codec
