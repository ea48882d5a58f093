#include "cluster/resources.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "aliquot/base/strings.h"

namespace aliquot::cluster {
namespace {

constexpr Resource kResources[] = {
    {Kind::kNamespace, "", "v1", "namespaces", "namespace", "Namespace", "ns", false, true, false,
     true},
    {Kind::kPod, "", "v1", "pods", "pod", "Pod", "po", true, true, false, true},
    {Kind::kNode, "", "v1", "nodes", "node", "Node", "no", false, true, false, true},
    {Kind::kEvent, "", "v1", "events", "event", "Event", "ev", true, false, true, true},
    {Kind::kResourceQuota, "", "v1", "resourcequotas", "resourcequota", "ResourceQuota", "quota",
     true, true, false, true},
    {Kind::kSecret, "", "v1", "secrets", "secret", "Secret", "", true, false, false, true},
    {Kind::kLease, "coordination.k8s.io", "v1", "leases", "lease", "Lease", "", true, false, true,
     false},
    {Kind::kMutatingWebhookConfiguration, "admissionregistration.k8s.io", "v1",
     "mutatingwebhookconfigurations", "mutatingwebhookconfiguration",
     "MutatingWebhookConfiguration", "", false, false, false, false},
};

// Those beside the core.
constexpr std::string_view kGroups[] = {"coordination.k8s.io", "admissionregistration.k8s.io"};

const Resource* FindResource(std::string_view group, std::string_view plural) {
  for (const Resource& resource : kResources) {
    if (resource.group == group && resource.plural == plural) return &resource;
  }
  return nullptr;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string Unescape(std::string_view text, bool plus_is_blank) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
    if (text[i] == '%' && high >= 0 && low >= 0) {
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += plus_is_blank && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

bool HasSubresource(const Resource& resource, std::string_view subresource) {
  if (subresource == "status") return resource.has_status;
  if (subresource == "binding") return resource.kind == Kind::kPod;
  return subresource == "finalize" && resource.kind == Kind::kNamespace;
}

Json ResourceEntry(const Resource& resource) {
  Json entry = {{"name", resource.plural},
                {"singularName", resource.singular},
                {"namespaced", resource.namespaced},
                {"kind", resource.kind_name},
                {"verbs", {"create", "delete", "get", "list", "patch", "update", "watch"}}};
  if (!resource.short_name.empty()) entry["shortNames"] = {resource.short_name};
  return entry;
}

Json SubresourceEntry(const Resource& resource, std::string_view name, std::string_view kind,
                      std::vector<std::string> verbs) {
  return {{"name", std::string(resource.plural) + "/" + std::string(name)},
          {"singularName", ""},
          {"namespaced", resource.namespaced},
          {"kind", kind},
          {"verbs", std::move(verbs)}};
}

std::string ResourceList(std::string_view group) {
  Json list = Json::array();
  std::string version;
  for (const Resource& resource : kResources) {
    if (resource.group != group) continue;
    version = resource.ApiVersion();
    list.push_back(ResourceEntry(resource));
    if (resource.has_status) {
      list.push_back(
          SubresourceEntry(resource, "status", resource.kind_name, {"get", "patch", "update"}));
    }
    if (resource.kind == Kind::kPod) {
      list.push_back(SubresourceEntry(resource, "binding", "Binding", {"create"}));
    }
  }
  Json all = {{"kind", "APIResourceList"}, {"groupVersion", version}, {"resources", list}};
  if (!group.empty()) all["apiVersion"] = "v1";
  return all.dump();
}

Json Group(std::string_view name) {
  const Json version = {{"groupVersion", std::string(name) + "/v1"}, {"version", "v1"}};
  return {{"name", name}, {"versions", {version}}, {"preferredVersion", version}};
}

}  // namespace

std::string Resource::ApiVersion() const {
  return group.empty() ? std::string(version) : std::string(group) + "/" + std::string(version);
}

std::string Resource::Qualified(std::string_view text) const {
  return group.empty() ? std::string(text) : std::string(text) + "." + std::string(group);
}

std::span<const Resource> Resources() { return kResources; }

Url ParseUrl(std::string_view target) {
  Url url;
  const size_t mark = target.find('?');
  url.path = Unescape(target.substr(0, mark), false);
  if (mark == std::string_view::npos) return url;
  for (const std::string_view part : Split(target.substr(mark + 1), '&')) {
    const size_t equals = part.find('=');
    std::string name = Unescape(part.substr(0, equals), true);
    if (name.empty()) continue;
    url.query[std::move(name)] =
        equals == std::string_view::npos ? "" : Unescape(part.substr(equals + 1), true);
  }
  return url;
}

std::optional<Place> FindPlace(std::string_view path) {
  std::vector<std::string_view> parts = Split(path.substr(path.starts_with('/') ? 1 : 0), '/');
  if (!parts.empty() && parts.back().empty()) parts.pop_back();  // a slash at the end
  std::string_view group;
  if (parts.size() >= 3 && parts[0] == "api" && parts[1] == "v1") {
    parts.erase(parts.begin(), parts.begin() + 2);
  } else if (parts.size() >= 4 && parts[0] == "apis" && parts[2] == "v1") {
    group = parts[1];
    parts.erase(parts.begin(), parts.begin() + 3);
  } else {
    return std::nullopt;
  }

  std::string_view ns;
  if (parts.size() >= 3 && parts[0] == "namespaces" && FindResource(group, parts[2]) &&
      FindResource(group, parts[2])->namespaced) {
    ns = parts[1];
    parts.erase(parts.begin(), parts.begin() + 2);
  }
  const Resource* resource = FindResource(group, parts[0]);
  if (resource == nullptr || parts.size() > 3) return std::nullopt;
  Place place{resource, std::string(ns), "", ""};
  if (parts.size() > 1) place.name = parts[1];
  if (parts.size() > 2) place.subresource = parts[2];
  if (!place.subresource.empty() && !HasSubresource(*resource, place.subresource)) {
    return std::nullopt;
  }
  // Objects of a namespace have no address without it.
  if (resource->namespaced && !place.name.empty() && ns.empty()) return std::nullopt;
  return place;
}

std::optional<std::string> Discover(std::string_view path) {
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  if (path == "/healthz" || path == "/livez" || path == "/readyz") return "ok";
  if (path == "/version") {
    return R"({"major":"1","minor":"36","gitVersion":"v1.36.0-aliquot","platform":"linux/amd64"})";
  }
  if (path == "/api") return R"({"kind":"APIVersions","versions":["v1"]})";
  if (path == "/api/v1") return ResourceList("");
  if (path == "/apis") {
    Json groups = Json::array();
    for (const std::string_view name : kGroups) groups.push_back(Group(name));
    return Json{{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", groups}}.dump();
  }
  for (const std::string_view name : kGroups) {
    const std::string group_path = "/apis/" + std::string(name);
    if (path == group_path + "/v1") return ResourceList(name);
    if (path != group_path) continue;
    Json group = Group(name);
    group["kind"] = "APIGroup";
    group["apiVersion"] = "v1";
    return group.dump();
  }
  return std::nullopt;
}

bool IsOfOurGroups(std::string_view path) {
  return path.starts_with("/api/v1/") ||
         std::any_of(std::begin(kGroups), std::end(kGroups), [path](std::string_view name) {
           return path.starts_with("/apis/" + std::string(name) + "/v1/");
         });
}

namespace {

Json Details(const Resource& resource, std::string_view name, std::string_view kind) {
  Json details = {{"kind", kind}};
  if (!name.empty()) details["name"] = name;
  if (!resource.group.empty()) details["group"] = resource.group;
  return details;
}

std::string Quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

}  // namespace

ApiError NotFound(const Resource& resource, std::string_view name) {
  return {404, "NotFound", resource.Qualified(resource.plural) + " " + Quoted(name) + " not found",
          Details(resource, name, resource.plural)};
}

ApiError AlreadyExists(const Resource& resource, std::string_view name) {
  return {409, "AlreadyExists",
          resource.Qualified(resource.plural) + " " + Quoted(name) + " already exists",
          Details(resource, name, resource.plural)};
}

ApiError Conflict(const Resource& resource, std::string_view name, std::string why) {
  return {409, "Conflict",
          "Operation cannot be fulfilled on " + resource.Qualified(resource.plural) + " " +
              Quoted(name) + ": " + std::move(why),
          Details(resource, name, resource.plural)};
}

ApiError Modified(const Resource& resource, std::string_view name) {
  return Conflict(resource, name,
                  "the object has been modified; please apply your changes to the latest version "
                  "and try again");
}

ApiError MethodNotAllowed() {
  return {405, "MethodNotAllowed",
          "the server does not allow this method on the requested resource", Json::object()};
}

ApiError Forbidden(const Resource& resource, std::string_view name, std::string why) {
  return {
      403, "Forbidden",
      resource.Qualified(resource.plural) + " " + Quoted(name) + " is forbidden: " + std::move(why),
      Details(resource, name, resource.plural)};
}

namespace {

std::string_view CauseOf(std::string_view problem) {
  const std::string_view type = problem.substr(0, problem.find(':'));
  if (type == "Required value") return "FieldValueRequired";
  if (type == "Forbidden") return "FieldValueForbidden";
  if (type == "Too long") return "FieldValueTooLong";
  if (type == "Unsupported value") return "FieldValueNotSupported";
  return "FieldValueInvalid";
}

ApiError InvalidError(std::string kind, std::string_view name,
                      const std::vector<FieldError>& errors, Json details) {
  std::vector<std::string> texts;
  details["causes"] = Json::array();
  for (const auto& [field, problem] : errors) {
    texts.push_back(field + ": " + problem);
    details["causes"].push_back(
        {{"reason", CauseOf(problem)}, {"message", problem}, {"field", field}});
  }
  const std::string text = Join(texts, ", ");
  return {422, "Invalid",
          std::move(kind) + " " + Quoted(name) +
              " is invalid: " + (texts.size() == 1 ? text : "[" + text + "]"),
          std::move(details)};
}

}  // namespace

ApiError Invalid(const Resource& resource, std::string_view name,
                 const std::vector<FieldError>& errors) {
  return InvalidError(resource.Qualified(resource.kind_name), name, errors,
                      Details(resource, name, resource.kind_name));
}

ApiError InvalidOptions(const FieldError& error) {
  return InvalidError("ListOptions.meta.k8s.io", "", {error},
                      {{"group", "meta.k8s.io"}, {"kind", "ListOptions"}});
}

}  // namespace aliquot::cluster
