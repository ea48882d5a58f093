#include "scheduler/node_reader.h"

#include <iterator>

namespace aliquot::scheduler {

NodeReading ReadNode(const kube::Node& node, const core::Registry& registry) {
  NodeReading reading;
  reading.inventory.name = node.meta.name;
  const core::NodeSpec spec{node.meta.name, &node.meta.annotations, &node.allocatable,
                            &node.capacity, &node.meta.labels};
  for (const core::Vendor& vendor : registry.vendors()) {
    Result<std::vector<core::Device>> cards = vendor.spec().read_node(vendor, spec);
    if (cards)
      std::move(cards->begin(), cards->end(), std::back_inserter(reading.inventory.devices));
    else
      reading.problems.push_back({vendor.id(), cards.error().message});
  }
  return reading;
}

std::string NodeReading::DescribeProblems(const core::Registry& registry) const {
  std::string text;
  for (const UnreadableVendor& unreadable : problems) {
    if (!text.empty()) text += "; ";
    text += std::string(registry[unreadable.vendor].key()) + ": " + unreadable.problem;
  }
  return text;
}

}  // namespace aliquot::scheduler
