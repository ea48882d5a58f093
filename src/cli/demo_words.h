// What pods ask for, what they got and why they were refused, in plain words.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "aliquot/core/model.h"
#include "aliquot/core/vendor.h"
#include "aliquot/kube/types.h"

namespace aliquot::cli {

// Without the namespace if that is `default`.
std::string NameOf(const kube::Pod& pod);

// "2 cards with 10000 MiB and 50% cores each, not T4"
std::string WishInWords(const kube::Pod& pod, const core::Registry& registry);

// "card 3: 8000 MiB, 20% cores; cards 1, 0: ... each" of a bound pod's annotations, in
// the vendor's units. `node`: where the cards are found, null if it is not registered.
std::string SharesInWords(const kube::Pod& pod, const core::NodeUsage* node,
                          const core::Registry& registry);

// "1/4 CardCordoned, 3/4 CardInsufficientMemory" -> "1 of 4 cards: taken out of
// service; 3 of 4 cards: not enough free memory". Texts without such words are
// returned as they are.
std::string RefusalInWords(std::string_view refusal);

// How much the node has to do with what the pod wants, from its refusal: 0 no cards, 1
// too few of the vendor's, 2 others than the pod allows, 3 cards that might have done.
int Nearness(std::string_view refusal);

}  // namespace aliquot::cli
