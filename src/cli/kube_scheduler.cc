#include "cli/kube_scheduler.h"

#include <httplib.h>

#include <map>
#include <nlohmann/json.hpp>

#include "aliquot/kube/http.h"

namespace aliquot::cli {
namespace {

using Json = nlohmann::json;

// Node -> reason, of both maps of an answer.
std::map<std::string, std::string> RefusalsOf(const Json& answer) {
  std::map<std::string, std::string> refusals;
  for (const char* list : {"FailedNodes", "FailedAndUnresolvableNodes"}) {
    if (!answer[list].is_object()) continue;
    for (const auto& [node, reason] : answer[list].items()) refusals[node] = reason;
  }
  return refusals;
}

}  // namespace

struct KubeScheduler::Http {
  explicit Http(int port) : client("127.0.0.1", port) {
    client.set_keep_alive(true);
    client.set_tcp_nodelay(true);
    client.set_read_timeout(std::chrono::seconds(30));
  }

  // The answer, and how long it took.
  Result<Json> Post(const char* path, const std::string& body, Duration& took) {
    const SteadyTime begin = std::chrono::steady_clock::now();
    const httplib::Result answer = client.Post(path, body, "application/json");
    took = std::chrono::steady_clock::now() - begin;
    if (!answer)
      return Error{ErrorCode::kUnavailable,
                   std::string(path) + ": " + httplib::to_string(answer.error())};
    Json json = Json::parse(answer->body, nullptr, false);
    if (answer->status != 200 || !json.is_object())
      return InvalidError(std::string(path) + ": status " + std::to_string(answer->status) + ": " +
                          answer->body);
    return json;
  }

  httplib::Client client;
};

KubeScheduler::KubeScheduler(Sandbox& sandbox)
    : sandbox_(sandbox), http_(std::make_unique<Http>(sandbox.extender_port())) {}

KubeScheduler::~KubeScheduler() = default;

Result<Attempt> KubeScheduler::Place(const ObjectRef& ref) {
  const std::string target =
      "/api/v1/namespaces/" + kube::UrlEscape(ref.ns) + "/pods/" + kube::UrlEscape(ref.name);
  const Result<std::string> pod = sandbox_.api().Call("GET", target);
  if (!pod) return pod.error();
  Json names = Json::array();
  for (const kube::Node& node : sandbox_.Nodes()) names.push_back(node.meta.name);

  Attempt attempt;
  const std::string question = R"({"Pod":)" + *pod + R"(,"NodeNames":)" + names.dump() + "}";
  Result<Json> filtered = http_->Post("/filter", question, attempt.filter);
  if (!filtered) return filtered.error();
  attempt.error = filtered->value("Error", "");
  for (auto& refusal : RefusalsOf(*filtered)) attempt.refusals.push_back(refusal);
  const Json& left = (*filtered)["NodeNames"];
  if (attempt.error.empty() && left.is_array() && !left.empty()) {
    const std::string node = left[0];
    const Json binding = {
        {"PodName", ref.name}, {"PodNamespace", ref.ns}, {"PodUID", ref.uid}, {"Node", node}};
    const Result<Json> bound = http_->Post("/bind", binding.dump(), attempt.bind);
    if (!bound) return bound.error();
    attempt.error = bound->value("Error", "");
    if (attempt.error.empty()) attempt.node = node;
  }
  Result<kube::Pod> now = sandbox_.api().GetPod(ref.ns, ref.name, {});
  if (!now) return now.error();
  attempt.pod = *std::move(now);
  return attempt;
}

}  // namespace aliquot::cli
