#include "load/filter_requests.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace aliquot::load {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kBeforePod = R"({"Pod":)";
constexpr std::string_view kBeforeNames = R"(,"Nodes":null,"NodeNames":)";

// A small training pod, as the API server and kube-scheduler's cache leave it.
constexpr const char* kPod = R"({
  "metadata": {
    "namespace": "load", "creationTimestamp": "2026-01-01T00:00:00Z",
    "labels": {"app": "train", "team": "load"}, "annotations": {"example.com/owner": "load"}
  },
  "spec": {
    "volumes": [
      {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
      {"name": "token", "projected": {"defaultMode": 420, "sources": [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}
      ]}}
    ],
    "containers": [{
      "name": "main", "image": "registry.example/train:1.4.2", "imagePullPolicy": "IfNotPresent",
      "command": ["python3", "-m", "train"], "args": ["--config", "/etc/train/config.yaml"],
      "env": [{"name": "NCCL_DEBUG", "value": "WARN"}, {"name": "OMP_NUM_THREADS", "value": "4"}],
      "resources": {},
      "volumeMounts": [
        {"name": "data", "mountPath": "/data"},
        {"name": "token", "readOnly": true,
         "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
      ],
      "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"
    }],
    "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
    "serviceAccountName": "default", "serviceAccount": "default", "securityContext": {},
    "schedulerName": "hami-scheduler", "priority": 0, "enableServiceLinks": true,
    "tolerations": [
      {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute",
       "tolerationSeconds": 300},
      {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute",
       "tolerationSeconds": 300}
    ],
    "preemptionPolicy": "PreemptLowerPriority"
  },
  "status": {"phase": "Pending", "qosClass": "BestEffort"}
})";

}  // namespace

std::string NodeName(size_t node) {
  char name[32];
  std::snprintf(name, sizeof(name), "node-%05zu", node);
  return name;
}

std::vector<std::string> NodeNames(size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back(NodeName(i));
  return names;
}

std::string PodJson(size_t number, const Limits& limits) {
  char uid[40];
  std::snprintf(uid, sizeof(uid), "5ac1e0de-0000-4000-8000-%012zx", number);
  Json pod = Json::parse(kPod);
  pod["metadata"]["name"] = "load-" + std::to_string(number);
  pod["metadata"]["uid"] = uid;
  pod["metadata"]["resourceVersion"] = std::to_string(1000 + number);
  pod["spec"]["containers"][0]["resources"]["limits"] = limits;
  pod["spec"]["containers"][0]["resources"]["requests"] = limits;
  return pod.dump();
}

FilterRequests::FilterRequests(std::vector<std::string> pods, const std::vector<std::string>& names)
    : pods_(std::move(pods)), candidates_(std::string(kBeforeNames) + Json(names).dump() + "}") {}

std::array<std::string_view, 3> FilterRequests::Body(size_t number) const {
  return {kBeforePod, pods_[number % pods_.size()], candidates_};
}

std::array<std::string_view, 4> FilterRequests::Request(size_t number) const {
  const auto body = Body(number);
  return {heads_[number % heads_.size()], body[0], body[1], body[2]};
}

void FilterRequests::Address(const Url& url) {
  heads_.clear();
  for (const std::string& pod : pods_)
    heads_.push_back("POST " + url.path + " HTTP/1.1\r\nHost: " + url.authority() +
                     "\r\nUser-Agent: aliquot-load\r\nContent-Type: application/json\r\n"
                     "Content-Length: " +
                     std::to_string(kBeforePod.size() + pod.size() + candidates_.size()) +
                     "\r\n\r\n");
}

}  // namespace aliquot::load
