#include "checks/extender_config.h"

#include <yaml-cpp/yaml.h>

#include "aliquot/base/time_text.h"

namespace aliquot::checks {
namespace {

template <typename T>
T Get(const YAML::Node& node, const char* key, T absent) {
  const YAML::Node value = node[key];
  return value && !value.IsNull() ? value.as<T>() : absent;
}

ExtenderConfig ReadExtender(const YAML::Node& node) {
  ExtenderConfig extender;
  extender.filter_verb = Get<std::string>(node, "filterVerb", "");
  extender.bind_verb = Get<std::string>(node, "bindVerb", "");
  extender.node_cache_capable = Get(node, "nodeCacheCapable", false);
  extender.ignorable = Get(node, "ignorable", false);
  extender.http_timeout = ParseGoDuration(Get<std::string>(node, "httpTimeout", ""));
  if (const YAML::Node managed = node["managedResources"]; managed && managed.IsSequence())
    for (const YAML::Node& resource : managed)
      extender.managed.emplace(Get<std::string>(resource, "name", ""),
                               Get(resource, "ignoredByScheduler", false));
  return extender;
}

}  // namespace

Result<std::optional<KubeSchedulerConfig>> ParseKubeSchedulerConfig(const std::string& yaml) {
  KubeSchedulerConfig config;
  try {
    const YAML::Node document = YAML::Load(yaml);
    if (!document.IsMap() || Get<std::string>(document, "kind", "") != "KubeSchedulerConfiguration")
      return std::optional<KubeSchedulerConfig>();
    const int percentage = Get(document, "percentageOfNodesToScore", 0);
    if (const YAML::Node profiles = document["profiles"]; profiles && profiles.IsSequence())
      for (const YAML::Node& profile : profiles)
        config.profiles.push_back({Get<std::string>(profile, "schedulerName", "default-scheduler"),
                                   Get(profile, "percentageOfNodesToScore", percentage)});
    if (config.profiles.empty()) config.profiles.push_back({"default-scheduler", percentage});
    if (const YAML::Node extenders = document["extenders"]; extenders && extenders.IsSequence())
      for (const YAML::Node& extender : extenders)
        config.extenders.push_back(ReadExtender(extender));
  } catch (const YAML::Exception& problem) {
    return InvalidError("line " + std::to_string(problem.mark.line + 1) + ": " + problem.msg);
  }
  return std::optional(std::move(config));
}

}  // namespace aliquot::checks
