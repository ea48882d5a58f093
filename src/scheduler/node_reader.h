// A node's cards, by every vendor, out of its annotations.
#pragma once

#include <string>
#include <vector>

#include "aliquot/core/model.h"
#include "aliquot/core/vendor.h"
#include "aliquot/kube/types.h"

namespace aliquot::scheduler {

struct UnreadableVendor {
  core::VendorId vendor = 0;
  std::string problem;
};

struct NodeReading {
  core::NodeInventory inventory;           // cards of the vendors that could be read
  std::vector<UnreadableVendor> problems;  // ascending by vendor

  // "<vendor key>: <problem>; ..."
  std::string DescribeProblems(const core::Registry& registry) const;
};

NodeReading ReadNode(const kube::Node& node, const core::Registry& registry);

}  // namespace aliquot::scheduler
