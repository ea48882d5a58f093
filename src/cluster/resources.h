// The kinds of object that the cluster keeps, and what a URL says about them.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/outcome.h"

namespace aliquot::cluster {

enum class Kind {
  kNamespace,
  kPod,
  kNode,
  kEvent,
  kResourceQuota,
  kSecret,
  kLease,
  kMutatingWebhookConfiguration
};
inline constexpr size_t kKinds = 8;

struct Resource {
  Kind kind;
  std::string_view group;  // empty: core
  std::string_view version;
  std::string_view plural;
  std::string_view singular;
  std::string_view kind_name;
  std::string_view short_name;  // empty: none
  bool namespaced;
  bool has_status;        // a /status subresource
  bool create_on_update;  // PUT of an unknown name creates it
  bool blind_update;      // PUT without a resource version overwrites

  std::string ApiVersion() const;                      // "v1", "coordination.k8s.io/v1"
  std::string Qualified(std::string_view text) const;  // "pods", "leases.coordination.k8s.io"
};

// Indexed by Kind.
std::span<const Resource> Resources();
inline const Resource& ResourceOf(Kind kind) { return Resources()[static_cast<size_t>(kind)]; }

using Query = std::map<std::string, std::string, std::less<>>;

// A target as it came in, unescaped.
struct Url {
  std::string path;
  Query query;
};
Url ParseUrl(std::string_view target);

// What a path means.
struct Place {
  const Resource* resource;
  std::string ns;           // empty: cluster-wide, or all namespaces
  std::string name;         // empty: the collection
  std::string subresource;  // empty: the object itself

  std::string Key() const { return resource->namespaced ? ns + "/" + name : name; }
};
std::optional<Place> FindPlace(std::string_view path);
// Whether the path is below a group and version of ours.
bool IsOfOurGroups(std::string_view path);

// The body of a discovery request (/api, /apis, /version, ...), or nothing.
std::optional<std::string> Discover(std::string_view path);

// Frequent refusals.
ApiError NotFound(const Resource& resource, std::string_view name);
ApiError AlreadyExists(const Resource& resource, std::string_view name);
ApiError Conflict(const Resource& resource, std::string_view name, std::string why);
ApiError Modified(const Resource& resource, std::string_view name);
ApiError MethodNotAllowed();
ApiError Forbidden(const Resource& resource, std::string_view name, std::string why);

// What validation found, e.g. "metadata.uid", "Invalid value: \"x\": field is immutable".
struct FieldError {
  std::string field;
  std::string problem;
};
// REQUIRES: at least one error.
ApiError Invalid(const Resource& resource, std::string_view name,
                 const std::vector<FieldError>& errors);
ApiError InvalidOptions(const FieldError& error);  // of the query

}  // namespace aliquot::cluster
