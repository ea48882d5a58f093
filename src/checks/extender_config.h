// The parts of a KubeSchedulerConfiguration that matter to an extender.
//
// Thread safety: pure function and plain values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "aliquot/base/clock.h"
#include "aliquot/base/result.h"

namespace aliquot::checks {

struct ExtenderConfig {
  std::string filter_verb, bind_verb;
  bool node_cache_capable = false;
  bool ignorable = false;
  std::optional<Duration> http_timeout;
  // Resource -> ignoredByScheduler. Empty: called for every pod.
  std::map<std::string, bool, std::less<>> managed;
};

struct KubeSchedulerConfig {
  struct Profile {
    std::string scheduler_name;
    int percentage = 0;  // percentageOfNodesToScore in force; 0: chosen by the cluster's size
  };
  std::vector<Profile> profiles;
  std::vector<ExtenderConfig> extenders;
};

// No value: the text is something else. Errors: kInvalid.
Result<std::optional<KubeSchedulerConfig>> ParseKubeSchedulerConfig(const std::string& yaml);

}  // namespace aliquot::checks
