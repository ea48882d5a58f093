// ObjectRef: which object is meant. Identity is the UID; namespace and name are
// for URLs and for people.
#pragma once

#include <optional>
#include <string>
#include <string_view>

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

// "team-a/train-0" without a UID; nothing if a part is missing.
inline std::optional<ObjectRef> ParseNamespacedName(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view ns = text.substr(0, slash), name = text.substr(slash + 1);
  if (ns.empty() || name.empty() || name.find('/') != std::string_view::npos) return std::nullopt;
  return ObjectRef{std::string(ns), std::string(name), ""};
}

}  // namespace aliquot
