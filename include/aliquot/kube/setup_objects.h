// Objects that tell how a cluster is set up, cut down to the few fields that a look at it
// needs; and their JSON, read as parse.h reads it. The scheduler itself reads none of them.
//
// Plain values and pure functions. Thread safety: any thread. Errors: kInvalid.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aliquot/base/result.h"
#include "aliquot/kube/types.h"

namespace aliquot::kube {

struct ConfigMap {
  ObjectMeta meta;
  StringMap data;
};

struct DaemonSet {
  ObjectMeta meta;
  std::vector<std::string> images;  // of its containers, without init containers
};

struct MutatingWebhook {
  std::string name;
  bool sees_new_pods = false;  // some rule is for CREATE of pods; selectors are not looked at
};
struct MutatingWebhookConfiguration {
  ObjectMeta meta;
  std::vector<MutatingWebhook> webhooks;
};

struct DeviceClass {
  ObjectMeta meta;
  std::string extended_resource;  // spec.extendedResourceName; empty: none
};

Result<ConfigMap> ParseConfigMap(std::string_view json);
Result<DaemonSet> ParseDaemonSet(std::string_view json);
Result<MutatingWebhookConfiguration> ParseMutatingWebhookConfiguration(std::string_view json);
Result<DeviceClass> ParseDeviceClass(std::string_view json);

// "v1.33.1": gitVersion of what /version answers, or of what `kubectl version -o json` prints.
// Empty: the text says nothing of a server.
Result<std::string> ParseServerVersion(std::string_view json);

// "Pod", "List"; empty: the object does not say.
Result<std::string> ParseKind(std::string_view json);

}  // namespace aliquot::kube
