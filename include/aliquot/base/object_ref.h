// ObjectRef: which object is meant. Identity is the UID; namespace and name are
// for URLs and for people.
#pragma once

#include <string>

namespace aliquot {

struct ObjectRef {
  std::string ns;  // empty for cluster-scoped objects
  std::string name;
  std::string uid;

  bool operator==(const ObjectRef&) const = default;
};

// "team-a/train-0", or "gpu-17" without a namespace; for logs.
inline std::string Display(const ObjectRef& ref) {
  return ref.ns.empty() ? ref.name : ref.ns + "/" + ref.name;
}

}  // namespace aliquot
