#include "aliquot/kube/setup_objects.h"

#include <algorithm>

#include "aliquot/kube/parse.h"
#include "kube/json_reader.h"

namespace aliquot::kube {
namespace {

using json::EachField;
using json::EachItem;
using json::Path;
using json::Text;
using json::od::value;

// Calls `field` for each field of the object; the error names its kind.
Result<void> ReadFields(std::string_view text, const char* kind, const json::FieldReader& field) {
  Result<void> read = json::ReadObject(text, field);
  if (!read) return InvalidError(std::string(kind) + ": " + read.error().message);
  return {};
}

// The same for the fields beside metadata.
template <typename T>
Result<T> Read(std::string_view text, const char* kind,
               const std::function<void(T&, std::string_view key, value, const Path&)>& field) {
  T object;
  Result<ObjectMeta> meta = ParseMeta(text);
  if (!meta) return InvalidError(std::string(kind) + ": " + meta.error().message);
  object.meta = std::move(*meta);
  const Result<void> read =
      ReadFields(text, kind,
                 [&](std::string_view key, value v, const Path& at) { field(object, key, v, at); });
  if (!read) return read.error();
  return object;
}

// Calls `visit` for the value of this name, if it is there.
template <typename Visit>
void At(value object, const Path& at, std::string_view name, Visit visit) {
  EachField(object, at, [&](std::string_view key, value v, const Path& here) {
    if (key == name) visit(v, here);
  });
}

bool Has(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::count(list, text) > 0 || std::ranges::count(list, "*") > 0;
}

// A rule of a webhook.
bool IsForNewPods(value rule, const Path& at) {
  std::vector<std::string> groups, operations, resources;
  EachField(rule, at, [&](std::string_view key, value v, const Path& here) {
    std::vector<std::string>* const list = key == "apiGroups"    ? &groups
                                           : key == "operations" ? &operations
                                           : key == "resources"  ? &resources
                                                                 : nullptr;
    if (list == nullptr) return;
    EachItem(v, here,
             [&](value item, const Path& place) { list->emplace_back(Text(item, place)); });
  });
  return Has(groups, "") && Has(operations, "CREATE") &&
         (Has(resources, "pods") || Has(resources, "*/*"));
}

MutatingWebhook ReadWebhook(value webhook, const Path& at) {
  MutatingWebhook read;
  EachField(webhook, at, [&](std::string_view key, value v, const Path& here) {
    if (key == "name") read.name = Text(v, here);
    if (key != "rules") return;
    EachItem(v, here, [&](value rule, const Path& place) {
      if (IsForNewPods(rule, place)) read.sees_new_pods = true;
    });
  });
  return read;
}

}  // namespace

Result<ConfigMap> ParseConfigMap(std::string_view text) {
  return Read<ConfigMap>(text, "ConfigMap",
                         [](ConfigMap& map, std::string_view key, value v, const Path& at) {
                           if (key == "data") map.data = json::TextMap(v, at);
                         });
}

Result<DaemonSet> ParseDaemonSet(std::string_view text) {
  return Read<DaemonSet>(
      text, "DaemonSet", [](DaemonSet& set, std::string_view key, value v, const Path& at) {
        if (key != "spec") return;
        At(v, at, "template", [&](value pod, const Path& in_set) {
          At(pod, in_set, "spec", [&](value spec, const Path& in_pod) {
            At(spec, in_pod, "containers", [&](value containers, const Path& in_spec) {
              EachItem(containers, in_spec, [&](value container, const Path& here) {
                At(container, here, "image", [&](value image, const Path& last) {
                  set.images.emplace_back(Text(image, last));
                });
              });
            });
          });
        });
      });
}

Result<MutatingWebhookConfiguration> ParseMutatingWebhookConfiguration(std::string_view text) {
  return Read<MutatingWebhookConfiguration>(
      text, "MutatingWebhookConfiguration",
      [](MutatingWebhookConfiguration& configuration, std::string_view key, value v,
         const Path& at) {
        if (key != "webhooks") return;
        EachItem(v, at, [&](value webhook, const Path& here) {
          configuration.webhooks.push_back(ReadWebhook(webhook, here));
        });
      });
}

Result<DeviceClass> ParseDeviceClass(std::string_view text) {
  return Read<DeviceClass>(
      text, "DeviceClass", [](DeviceClass& of, std::string_view key, value v, const Path& at) {
        if (key != "spec") return;
        At(v, at, "extendedResourceName",
           [&](value name, const Path& here) { of.extended_resource = Text(name, here); });
      });
}

Result<std::string> ParseServerVersion(std::string_view text) {
  std::string version;
  const Result<void> read =
      ReadFields(text, "version", [&](std::string_view key, value v, const Path& at) {
        if (key == "gitVersion") version = Text(v, at);
        if (key == "serverVersion")
          At(v, at, "gitVersion",
             [&](value inner, const Path& here) { version = Text(inner, here); });
      });
  if (!read) return read.error();
  return version;
}

Result<std::string> ParseKind(std::string_view text) {
  std::string kind;
  const Result<void> read =
      ReadFields(text, "object", [&](std::string_view key, value v, const Path& at) {
        if (key == "kind") kind = Text(v, at);
      });
  if (!read) return read.error();
  return kind;
}

}  // namespace aliquot::kube
