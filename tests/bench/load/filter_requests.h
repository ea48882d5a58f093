// FilterRequests: the /filter calls of a load, as kube-scheduler writes them. The
// candidates are the same in all of them; the pods take turns.
//
// Thread safety: unchanging once made; then from any thread.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "load/url.h"

namespace aliquot::load {

// "node-00042"
std::string NodeName(size_t node);
std::vector<std::string> NodeNames(size_t count);

// What the one container of a pod asks for: resource -> quantity.
using Limits = std::map<std::string, std::string>;

// The JSON of a pod that waits to be scheduled, of a usual length. "load-0" in the
// namespace "load" for number 0, and so on.
std::string PodJson(size_t number, const Limits& limits);

class FilterRequests {
 public:
  // `pods`: their JSON. REQUIRES: at least one.
  FilterRequests(std::vector<std::string> pods, const std::vector<std::string>& names);

  // The body of request `number`, in pieces; views into this object.
  std::array<std::string_view, 3> Body(size_t number) const;

  // The whole request `number`: its head, and the body.
  std::array<std::string_view, 4> Request(size_t number) const;

  // Writes the heads. REQUIRED before Request.
  void Address(const Url& url);

 private:
  std::vector<std::string> pods_;
  std::vector<std::string> heads_;  // per pod
  std::string candidates_;          // what follows the pod
};

}  // namespace aliquot::load
