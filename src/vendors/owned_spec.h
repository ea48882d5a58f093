// A vendor's table whose texts are made at run time, from a name in the device
// configuration.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aliquot/core/vendor.h"

namespace aliquot::vendors {

struct OwnedSpec {
  core::VendorSpec spec;
  std::deque<std::string> texts;  // what `spec` refers to; they never move
  std::vector<std::string_view> other_pod_keys;

  std::string_view Keep(std::string text) { return texts.emplace_back(std::move(text)); }

  // The vendor's key, and the annotations that are named after it.
  void Name(const std::string& word) {
    spec.key = Keep(word);
    spec.node_handshake = Keep("hami.io/node-handshake-" + word);
    spec.to_allocate = Keep("hami.io/" + word + "-devices-to-allocate");
    spec.allocated = Keep("hami.io/" + word + "-devices-allocated");
    spec.use_id = Keep("hami.io/use-" + word + "-uuid");
    spec.nouse_id = Keep("hami.io/no-use-" + word + "-uuid");
  }
};

inline core::Vendor MakeVendor(std::shared_ptr<OwnedSpec> owned, const core::VendorConfig& config) {
  owned->spec.other_pod_keys = owned->other_pod_keys;
  const core::VendorSpec* spec = &owned->spec;
  return core::Vendor(std::shared_ptr<const core::VendorSpec>(std::move(owned), spec), config);
}

}  // namespace aliquot::vendors
