// Kubernetes objects from a file as kubectl takes it: YAML or JSON, several
// documents, and List objects.
//
// Thread safety: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "aliquot/base/result.h"

namespace aliquot::cli {

struct Manifest {
  nlohmann::json object;
  std::string place;  // "pods.yaml:12", for messages
};

// All of them must be of this kind and have a name. What only an API server
// fills in (uid, resourceVersion, ...) is left out, so that the output of
// `kubectl get -o yaml` can be created again. Errors name file, line and field.
Result<std::vector<Manifest>> ParseManifests(const std::string& text, const std::string& file,
                                             const std::string& kind);
Result<std::vector<Manifest>> LoadManifests(const std::string& path, const std::string& kind);

}  // namespace aliquot::cli
