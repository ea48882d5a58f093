// What a decision tells people: the texts of its event.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aliquot/core/schedule.h"

namespace aliquot::core {

// "find fit node(gpu-2), 1 nodes not fit, 2 nodes fit(gpu-1:3.75,gpu-2:11.25)".
// Names the chosen node and the nine next to it.
std::string DescribeFit(const Decision& decision, std::span<const std::string_view> nodes);

// "no available node, 3 nodes do not meet: 2 nodes CardInsufficientMemory(a,b);
// 1 nodes node unregistered(c)": words in byte order, the first ten names each.
std::string DescribeRefusals(const Decision& decision, std::span<const std::string_view> nodes);

// The same for one text that concerns every candidate.
std::string DescribeRefusal(size_t candidates, std::string_view text);

}  // namespace aliquot::core
