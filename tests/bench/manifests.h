// The cluster that is measured, as Kubernetes objects: nodes of eight equal cards,
// and pods that run on them, one after another on a card each.
#pragma once

#include <cstddef>
#include <string>

#include "load/filter_requests.h"

namespace aliquot::bench {

inline constexpr size_t kCards = 8;

// Its name is load::NodeName(node).
std::string NodeManifest(size_t node);

// Pod `pod` of the node, bound to it, with the annotations of its allocation: a
// share of card `pod` % kCards.
std::string RunningPodManifest(size_t node, size_t pod);

// What a pod asks for that fits on every card ten times, and one that is larger
// than a card.
load::Limits FitsEverywhere();
load::Limits FitsNowhere();

}  // namespace aliquot::bench
