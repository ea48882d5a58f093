#include "cli/cluster_reader.h"

#include <algorithm>
#include <set>
#include <stop_token>
#include <string_view>
#include <utility>

#include "aliquot/base/files.h"
#include "aliquot/kube/http.h"
#include "aliquot/kube/parse.h"
#include "aliquot/kube/setup_objects.h"

namespace aliquot::cli {
namespace {

using checks::Snapshot;
using checks::Source;

constexpr std::string_view kPageSize = "500";

// Adds the object to a list of the snapshot.
template <auto kList, auto kParse>
Result<void> Add(std::string_view json, Snapshot& snapshot) {
  auto object = kParse(json);
  if (!object) return object.error();
  // Objects written by hand have no UID.
  if (object->meta.uid.empty()) object->meta.uid = object->meta.ns + "/" + object->meta.name;
  (snapshot.*kList).push_back(*std::move(object));
  return {};
}

struct Kind {
  Source source;
  std::string_view name;
  std::string_view path;
  Result<void> (*add)(std::string_view json, Snapshot& snapshot);
};

constexpr Kind kKinds[] = {
    {Source::kNodes, "Node", "/api/v1/nodes", Add<&Snapshot::nodes, kube::ParseNode>},
    {Source::kPods, "Pod", "/api/v1/pods", Add<&Snapshot::pods, kube::ParsePod>},
    {Source::kConfigMaps, "ConfigMap", "/api/v1/configmaps",
     Add<&Snapshot::config_maps, kube::ParseConfigMap>},
    {Source::kQuotas, "ResourceQuota", "/api/v1/resourcequotas",
     Add<&Snapshot::quotas, kube::ParseResourceQuota>},
    {Source::kDaemonSets, "DaemonSet", "/apis/apps/v1/daemonsets",
     Add<&Snapshot::daemon_sets, kube::ParseDaemonSet>},
    {Source::kWebhooks, "MutatingWebhookConfiguration",
     "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
     Add<&Snapshot::webhooks, kube::ParseMutatingWebhookConfiguration>},
    {Source::kDeviceClasses, "DeviceClass", "/apis/resource.k8s.io/v1/deviceclasses",
     Add<&Snapshot::device_classes, kube::ParseDeviceClass>},
};

Result<void> ReadKind(kube::ListWatcher& api, const Kind& kind, Snapshot& snapshot) {
  std::string token;
  do {
    std::string target = std::string(kind.path) + "?limit=" + std::string(kPageSize);
    if (!token.empty()) target += "&continue=" + kube::UrlEscape(token);
    const Result<std::string> body = api.List(target, std::stop_token());
    if (!body) return body.error();
    Result<kube::ListPage> page = kube::ParseListPage(*body);
    if (!page) return page.error();
    for (const std::string_view item : page->items)
      if (const Result<void> added = kind.add(item, snapshot); !added)
        snapshot.unreadable.push_back(added.error().message);
    token = std::move(page->continue_token);
  } while (!token.empty());
  return {};
}

// Nothing else can be read then.
bool IsOutOfReach(ErrorCode code) {
  return code == ErrorCode::kUnavailable || code == ErrorCode::kDeadline ||
         code == ErrorCode::kUnauthorized || code == ErrorCode::kCancelled;
}

Result<std::string> ReadVersion(kube::ListWatcher& api) {
  const Result<std::string> body = api.List("/version", std::stop_token());
  if (!body) return body.error();
  return kube::ParseServerVersion(*body);
}

// An object, or the items of a list.
Result<void> AddFromFile(std::string_view json, std::string_view kind_of_items, Snapshot& snapshot,
                         std::set<Source>& seen) {
  Result<std::string> kind = kube::ParseKind(json);
  if (!kind) return kind.error();
  if (kind->empty()) *kind = kind_of_items;
  if (kind->empty()) {
    Result<std::string> version = kube::ParseServerVersion(json);
    if (!version) return version.error();
    if (version->empty()) return InvalidError("has no kind");
    snapshot.server_version = *std::move(version);
    seen.insert(Source::kVersion);
    return {};
  }
  if (kind->ends_with("List")) {
    const Result<kube::ListPage> page = kube::ParseListPage(json);
    if (!page) return page.error();
    // "PodList": its items do not say what they are.
    const std::string_view items(kind->data(), kind->size() - std::string_view("List").size());
    for (const std::string_view item : page->items)
      if (const Result<void> added = AddFromFile(item, items, snapshot, seen); !added) return added;
    return {};
  }
  const Kind* of = std::ranges::find(kKinds, *kind, &Kind::name);
  if (of == std::end(kKinds)) return {};
  seen.insert(of->source);
  return of->add(json, snapshot);
}

}  // namespace

Result<Snapshot> ReadCluster(kube::ListWatcher& api, WallTime now) {
  Snapshot snapshot;
  snapshot.now = now;
  Result<std::string> version = ReadVersion(api);
  if (version)
    snapshot.server_version = *std::move(version);
  else if (IsOutOfReach(version.error().code))
    return version.error();
  else
    snapshot.missing.emplace(Source::kVersion, version.error().message);
  for (const Kind& kind : kKinds)
    if (const Result<void> read = ReadKind(api, kind, snapshot); !read)
      snapshot.missing.emplace(kind.source, read.error().message);
  return snapshot;
}

Result<Snapshot> ReadClusterFiles(const std::vector<std::string>& paths, WallTime now) {
  Snapshot snapshot;
  snapshot.now = now;
  std::set<Source> seen;
  for (const std::string& path : paths) {
    const Result<std::string> text = ReadFile(path);
    if (!text) return text.error();
    if (const Result<void> added = AddFromFile(*text, "", snapshot, seen); !added)
      return InvalidError(path + ": " + added.error().message);
  }
  for (int i = 0; i < static_cast<int>(Source::kCount); ++i)
    if (const auto source = static_cast<Source>(i); !seen.contains(source))
      snapshot.missing.emplace(source, "not in the files");
  return snapshot;
}

}  // namespace aliquot::cli
