// What the tests of the cluster share: objects as JSON, calls, and reading a
// watch line by line.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "aliquot/base/check.h"
#include "aliquot/base/fake_clock.h"
#include "aliquot/cluster/cluster.h"

namespace aliquot::cluster {

using Json = nlohmann::json;

inline const std::string kPods = "/api/v1/namespaces/default/pods";
inline const std::string kNodes = "/api/v1/nodes";

// Far enough for a busy machine; nobody waits that long for what happens.
inline SteadyTime Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(20); }

inline Json PodJson(const std::string& name, const std::string& gpus = "1") {
  return {
      {"metadata", {{"name", name}}},
      {"spec",
       {{"containers", Json::array({{{"name", "c"},
                                     {"image", "i"},
                                     {"resources", {{"limits", {{"nvidia.com/gpu", gpus}}}}}}})}}}};
}

struct Reply {
  int status = 0;
  Json body;

  std::string message() const { return body.value("message", ""); }
  std::string version() const { return body["metadata"].value("resourceVersion", ""); }
  std::string uid() const { return body["metadata"].value("uid", ""); }
};

class TestCluster {
 public:
  explicit TestCluster(Cluster::Options options = {}) : cluster(options, clock) {}

  Reply Call(const std::string& method, const std::string& target, const Json& body = {},
             const std::string& type = "") {
    Request request{method, target, type, body.is_null() ? "" : body.dump()};
    if (type.empty() && method == "PATCH") request.content_type = "application/merge-patch+json";
    const Response response = cluster.Handle(request);
    return {response.status, Json::parse(response.body, nullptr, false)};
  }
  Reply Get(const std::string& target) { return Call("GET", target); }
  Reply Create(const std::string& target, const Json& body) { return Call("POST", target, body); }
  Reply Patch(const std::string& target, const Json& patch, const std::string& type = "") {
    return Call("PATCH", target, patch, type);
  }
  Reply Delete(const std::string& target, const Json& options = {}) {
    return Call("DELETE", target, options);
  }
  std::unique_ptr<Watch> Open(const std::string& target) {
    Response response = cluster.Handle({"GET", target, "", ""});
    ALIQUOT_CHECK(response.watch != nullptr);
    return std::move(response.watch);
  }

  FakeClock clock;
  Cluster cluster;
};

// "ADDED p", "BOOKMARK ", ... of the next piece; "end", "cut", or "nothing" if
// it has nothing to say now.
inline std::string NextLine(Watch& watch) {
  const auto piece = watch.NextUntil({}, std::chrono::steady_clock::now());
  if (!piece) return "nothing";
  if (piece->kind == Watch::Piece::Kind::kEnd) return "end";
  if (piece->kind == Watch::Piece::Kind::kCut) return "cut";
  const Json event = Json::parse(piece->text);
  const Json& object = event["object"];
  const std::string name = object.contains("code") ? object["message"].get<std::string>()
                                                   : object["metadata"].value("name", "");
  return event["type"].get<std::string>() + " " + name;
}

}  // namespace aliquot::cluster
