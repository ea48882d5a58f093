#include "aliquot/kube/parse.h"

#include <chrono>

#include "aliquot/base/base64.h"
#include "aliquot/base/time_text.h"
#include "kube/json_reader.h"

namespace aliquot::kube {
namespace {

using json::EachField;
using json::EachItem;
using json::Path;
using json::Text;
using json::od::value;

constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

ObjectMeta ReadMeta(value metadata, const Path& at) {
  ObjectMeta meta;
  EachField(metadata, at, [&](std::string_view key, value v, const Path& here) {
    if (key == "namespace") {
      meta.ns = Text(v, here);
    } else if (key == "name") {
      meta.name = Text(v, here);
    } else if (key == "uid") {
      meta.uid = Text(v, here);
    } else if (key == "resourceVersion") {
      meta.resource_version = Text(v, here);
    } else if (key == "labels") {
      meta.labels = json::TextMap(v, here);
    } else if (key == "annotations") {
      meta.annotations = json::TextMap(v, here);
      if (auto it = meta.annotations.find(kLastApplied); it != meta.annotations.end()) {
        meta.annotations.erase(it);
      }
    } else if (key == "deletionTimestamp") {
      meta.terminating = !Text(v, here).empty();
    } else if (key == "creationTimestamp") {
      meta.created = ParseRfc3339(Text(v, here));
      if (!meta.created) json::Fail(here, "not an RFC 3339 time");
    }
  });
  return meta;
}

std::vector<Container> ReadContainers(value list, const Path& at) {
  std::vector<Container> containers;
  EachItem(list, at, [&](value item, const Path& here) {
    Container& container = containers.emplace_back();
    EachField(item, here, [&](std::string_view key, value v, const Path& field) {
      if (key == "name") {
        container.name = Text(v, field);
      } else if (key == "restartPolicy") {
        container.restart_always = Text(v, field) == "Always";
      } else if (key == "resources") {
        EachField(v, field, [&](std::string_view kind, value map, const Path& inner) {
          if (kind == "limits") container.limits = json::QuantityMap(map, inner);
          if (kind == "requests") container.requests = json::QuantityMap(map, inner);
        });
      }
    });
  });
  return containers;
}

void ReadPodSpec(value spec, const Path& at, Pod& pod) {
  EachField(spec, at, [&](std::string_view key, value v, const Path& here) {
    if (key == "nodeName") {
      pod.node_name = Text(v, here);
    } else if (key == "schedulerName") {
      pod.scheduler_name = Text(v, here);
    } else if (key == "initContainers") {
      pod.init_containers = ReadContainers(v, here);
    } else if (key == "containers") {
      pod.containers = ReadContainers(v, here);
    } else if (key == "schedulingGroup") {
      EachField(v, here, [&](std::string_view inner, value name, const Path& field) {
        if (inner == "podGroupName") pod.pod_group = Text(name, field);
      });
    }
  });
}

PodPhase ReadPhase(std::string_view phase) {
  if (phase == "Pending") return PodPhase::kPending;
  if (phase == "Running") return PodPhase::kRunning;
  if (phase == "Succeeded") return PodPhase::kSucceeded;
  if (phase == "Failed") return PodPhase::kFailed;
  return PodPhase::kUnknown;
}

InitStatus ReadInitStatus(value status, const Path& at) {
  InitStatus init;
  EachField(status, at, [&](std::string_view key, value v, const Path& here) {
    if (key == "name") {
      init.name = Text(v, here);
    } else if (key == "state") {
      EachField(v, here, [&](std::string_view state, value details, const Path& field) {
        if (state != "terminated") return;
        init.terminated = true;
        EachField(details, field, [&](std::string_view name, value code, const Path& inner) {
          if (name == "exitCode") {
            init.exit_code = static_cast<int32_t>(json::Integer(code, inner));
          }
        });
      });
    }
  });
  return init;
}

void ReadPodStatus(value status, const Path& at, Pod& pod) {
  EachField(status, at, [&](std::string_view key, value v, const Path& here) {
    if (key == "phase") {
      pod.phase = ReadPhase(Text(v, here));
    } else if (key == "initContainerStatuses") {
      EachItem(v, here, [&](value item, const Path& entry) {
        pod.init_statuses.push_back(ReadInitStatus(item, entry));
      });
    }
  });
}

bool IsEmptyList(value list, const Path& at) {
  bool empty = true;
  EachItem(list, at, [&](value, const Path&) { empty = false; });
  return empty;
}

// Reads `text` by `field` into a T; the error names the kind of object.
template <typename T, typename F>
Result<T> Read(std::string_view text, std::string_view kind, F field) {
  T object;
  Result<void> read = json::ReadObject(
      text, [&](std::string_view key, value v, const Path& at) { field(object, key, v, at); });
  if (!read) return InvalidError(std::string(kind) + ": " + read.error().message);
  return object;
}

}  // namespace

Result<Pod> ParsePod(std::string_view text) {
  return Read<Pod>(text, "Pod", [](Pod& pod, std::string_view key, value v, const Path& at) {
    if (key == "metadata") pod.meta = ReadMeta(v, at);
    if (key == "spec") ReadPodSpec(v, at, pod);
    if (key == "status") ReadPodStatus(v, at, pod);
  });
}

Result<Node> ParseNode(std::string_view text) {
  return Read<Node>(text, "Node", [](Node& node, std::string_view key, value v, const Path& at) {
    if (key == "metadata") node.meta = ReadMeta(v, at);
    if (key != "status") return;
    EachField(v, at, [&](std::string_view name, value map, const Path& here) {
      if (name == "allocatable") node.allocatable = json::QuantityMap(map, here);
      if (name == "capacity") node.capacity = json::QuantityMap(map, here);
    });
  });
}

Result<ResourceQuota> ParseResourceQuota(std::string_view text) {
  return Read<ResourceQuota>(
      text, "ResourceQuota",
      [](ResourceQuota& quota, std::string_view key, value v, const Path& at) {
        if (key == "metadata") quota.meta = ReadMeta(v, at);
        if (key != "spec") return;
        EachField(v, at, [&](std::string_view name, value field, const Path& here) {
          if (name == "hard") quota.hard = json::QuantityMap(field, here);
          if (name == "scopes" && !IsEmptyList(field, here)) quota.scoped = true;
          if (name == "scopeSelector") quota.scoped = true;
        });
      });
}

Result<Lease> ParseLease(std::string_view text) {
  return Read<Lease>(text, "Lease",
                     [](Lease& lease, std::string_view key, value v, const Path& at) {
                       if (key == "metadata") lease.meta = ReadMeta(v, at);
                       if (key != "spec") return;
                       EachField(v, at, [&](std::string_view name, value field, const Path& here) {
                         if (name == "holderIdentity") lease.holder = Text(field, here);
                         if (name != "leaseDurationSeconds") return;
                         const int64_t seconds = json::Integer(field, here);
                         if (seconds != static_cast<int32_t>(seconds))
                           json::Fail(here, "not a 32-bit number");
                         lease.duration = std::chrono::seconds(seconds);
                       });
                     });
}

Result<Secret> ParseSecret(std::string_view text) {
  return Read<Secret>(text, "Secret",
                      [](Secret& secret, std::string_view key, value v, const Path& at) {
                        if (key == "metadata") secret.meta = ReadMeta(v, at);
                        if (key != "data") return;
                        for (const auto& [name, base64] : json::TextMap(v, at)) {
                          Result<std::string> bytes = DecodeBase64(base64);
                          if (!bytes) json::Fail(Path{&at, name}, bytes.error().message);
                          secret.data[name] = *std::move(bytes);
                        }
                      });
}

Result<WebhookConfiguration> ParseWebhookConfiguration(std::string_view text) {
  return Read<WebhookConfiguration>(
      text, "webhook configuration",
      [](WebhookConfiguration& configuration, std::string_view key, value v, const Path& at) {
        if (key == "metadata") configuration.meta = ReadMeta(v, at);
        if (key != "webhooks") return;
        EachItem(v, at, [&](value item, const Path& here) {
          WebhookConfiguration::Webhook& webhook = configuration.webhooks.emplace_back();
          EachField(item, here, [&](std::string_view name, value field, const Path& place) {
            if (name == "name") webhook.name = Text(field, place);
            if (name != "clientConfig") return;
            EachField(field, place, [&](std::string_view inner, value bundle, const Path& deep) {
              if (inner == "caBundle") webhook.ca_bundle = Text(bundle, deep);
            });
          });
        });
      });
}

Result<ObjectMeta> ParseMeta(std::string_view text) {
  return Read<ObjectMeta>(text, "object",
                          [](ObjectMeta& meta, std::string_view key, value v, const Path& at) {
                            if (key == "metadata") meta = ReadMeta(v, at);
                          });
}

Result<ListPage> ParseListPage(std::string_view text) {
  return Read<ListPage>(
      text, "list", [](ListPage& page, std::string_view key, value v, const Path& at) {
        if (key == "items") {
          EachItem(v, at, [&](value item, const Path& here) {
            page.items.push_back(json::RawObject(item, here));
          });
        } else if (key == "metadata") {
          EachField(v, at, [&](std::string_view name, value field, const Path& here) {
            if (name == "resourceVersion") page.resource_version = Text(field, here);
            if (name == "continue") page.continue_token = Text(field, here);
          });
        }
      });
}

Result<WatchEvent> ParseWatchEvent(std::string_view line) {
  return Read<WatchEvent>(line, "watch event",
                          [](WatchEvent& event, std::string_view key, value v, const Path& at) {
                            if (key == "object") {
                              event.object = json::RawObject(v, at);
                            } else if (key == "type") {
                              using Type = WatchEvent::Type;
                              const std::string_view type = Text(v, at);
                              event.type = type == "ADDED"      ? Type::kAdded
                                           : type == "MODIFIED" ? Type::kModified
                                           : type == "DELETED"  ? Type::kDeleted
                                           : type == "BOOKMARK" ? Type::kBookmark
                                           : type == "ERROR"    ? Type::kError
                                                                : Type::kUnknown;
                            }
                          });
}

Result<Status> ParseStatus(std::string_view text) {
  return Read<Status>(text, "Status",
                      [](Status& status, std::string_view key, value v, const Path& at) {
                        if (key == "code") status.code = static_cast<int>(json::Integer(v, at));
                        if (key == "reason") status.reason = Text(v, at);
                        if (key == "message") status.message = Text(v, at);
                      });
}

}  // namespace aliquot::kube
