// Vendors made up for tests of what is common to all.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "aliquot/core/gates.h"
#include "aliquot/core/vendor.h"

namespace aliquot::core {

// Count, memory and cores as they are written.
inline std::optional<ContainerRequest> ParsePlainRequest(const Vendor& vendor,
                                                         const ResourceReader& resources,
                                                         std::optional<InvalidRequest>& invalid) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  ContainerRequest request;
  request.count = resources.Whole(vendor.config().count_name, kMax, invalid).value_or(0);
  request.memory = resources.Whole(vendor.config().memory_name, kMax, invalid).value_or(0);
  request.cores = resources.Whole(vendor.config().cores_name, kMax, invalid).value_or(0);
  if (invalid || request.count == 0) return std::nullopt;
  return request;
}

inline constexpr Gate kPlainGates[] = {gates::FreeSlot, gates::QuotaAllows, gates::FreeMemory,
                                       gates::FreeCores};

constexpr VendorSpec PlainSpec(std::string_view key, std::span<const Gate> gates = kPlainGates) {
  VendorSpec spec;
  spec.key = key;
  spec.parse_request = ParsePlainRequest;
  spec.gates = gates;
  return spec;
}

inline constexpr VendorSpec kAlphaSpec = PlainSpec("Alpha");
inline constexpr VendorSpec kBetaSpec = PlainSpec("Beta");

// "alpha/card", "alpha/mem", "alpha/cores".
inline VendorConfig PlainConfig(const std::string& prefix) {
  VendorConfig config;
  config.count_name = prefix + "/card";
  config.memory_name = prefix + "/mem";
  config.cores_name = prefix + "/cores";
  return config;
}

// Alpha is vendor 0, Beta vendor 1.
inline const Registry& TwoVendors() {
  static const Registry registry(
      {{kBetaSpec, PlainConfig("beta")}, {kAlphaSpec, PlainConfig("alpha")}});
  return registry;
}

}  // namespace aliquot::core
