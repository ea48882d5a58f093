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

// "card 3: 8000 MiB, 20% cores; card 1: ..." of a bound pod's annotations. `node`:
// where the cards are found, null if it is not registered.
std::string SharesInWords(const kube::Pod& pod, const core::NodeUsage* node,
                          const core::Registry& registry);

// "1/4 CardCordoned, 3/4 CardInsufficientMemory" -> "1 of 4 cards: taken out of
// service; 3 of 4 cards: not enough free memory". Texts without such words are
// returned as they are.
std::string RefusalInWords(std::string_view refusal);

}  // namespace aliquot::cli
