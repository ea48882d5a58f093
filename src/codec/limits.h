// How much of what others wrote is read. More is an error that names the limit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "aliquot/core/model.h"

namespace aliquot::codec {

// All annotations of an object together, says the API server.
constexpr size_t kMostTextBytes = 256 << 10;
// Of any list: the longest ones are those of a node's cards.
constexpr size_t kMostItems = core::kMostCards;
// The ways to cut a card.
constexpr size_t kMostProfiles = 64;
// Into which a card can be cut.
constexpr int64_t kMostSlices = 64;

}  // namespace aliquot::codec
