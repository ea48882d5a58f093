#include "server/review.h"

#include <exception>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "aliquot/base/base64.h"
#include "aliquot/base/log.h"
#include "aliquot/base/strings.h"

namespace aliquot::server {
namespace {

using Json = nlohmann::ordered_json;
using kube::SubmittedContainer;
using kube::SubmittedPod;
using scheduler::AdmissionAnswer;

constexpr std::string_view kJsonType = "application/json";
constexpr const char* kVersion = "admission.k8s.io/v1";

std::string ToText(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// "~" and "/" in a key are written "~0" and "~1".
std::string EscapePointer(std::string_view key) {
  std::string escaped;
  for (const char c : key) {
    if (c == '~')
      escaped += "~0";
    else if (c == '/')
      escaped += "~1";
    else
      escaped += c;
  }
  return escaped;
}

// Collects operations, and creates the objects and lists that they need.
class Patch {
 public:
  explicit Patch(const SubmittedPod& pod) : parents_(pod.parents) {}

  void Set(const std::string& parent, std::string_view key, const std::string& text) {
    Require(parent, Json::object());
    Add(parent + "/" + EscapePointer(key), text);
  }

  void Append(const std::string& list, Json value) {
    Require(list, Json::array());
    Add(list + "/-", std::move(value));
  }

  // What differs between the maps at `parent`.
  void Change(const std::string& parent, const StringMap& from, const StringMap& to) {
    for (const auto& [key, text] : from)
      if (!to.contains(key))
        operations_.push_back({{"op", "remove"}, {"path", parent + "/" + EscapePointer(key)}});
    for (const auto& [key, text] : to)
      if (const auto before = from.find(key); before == from.end() || before->second != text)
        Set(parent, key, text);
  }

  void Change(const std::string& parent, const SubmittedContainer& from,
              const SubmittedContainer& to) {
    Change(parent + "/resources/limits", from.limits, to.limits);
    Change(parent + "/resources/requests", from.requests, to.requests);
    for (size_t i = from.env.size(); i < to.env.size(); ++i)
      Append(parent + "/env", {{"name", to.env[i].name}, {"value", to.env[i].value}});
  }

  std::string TakeText() { return operations_.empty() ? "" : ToText(operations_); }

 private:
  void Require(const std::string& pointer, Json empty) {
    if (pointer.empty() || !parents_.insert(pointer).second) return;
    Require(pointer.substr(0, pointer.rfind('/')), Json::object());
    Add(pointer, std::move(empty));
  }

  void Add(const std::string& path, Json value) {
    operations_.push_back({{"op", "add"}, {"path", path}, {"value", std::move(value)}});
  }

  std::set<std::string, std::less<>> parents_;
  Json operations_ = Json::array();
};

bool IsJson(std::string_view content_type) {
  return EqualsIgnoreCase(Trim(content_type.substr(0, content_type.find(';'))), kJsonType);
}

std::string ToJson(const kube::AdmissionReview& review, const AdmissionAnswer& answer,
                   const std::string& patch = "") {
  Json status = Json::object();
  if (!answer.message.empty()) status["message"] = answer.message;
  if (answer.code == 403) status["reason"] = "Forbidden";
  status["code"] = answer.code;
  Json response = {{"uid", review.uid}, {"allowed", answer.allowed}, {"status", status}};
  if (!answer.warnings.empty()) response["warnings"] = answer.warnings;
  if (!patch.empty()) {
    response["patch"] = EncodeBase64(patch);
    response["patchType"] = "JSONPatch";
  }
  const std::string& version = review.api_version;
  return ToText({{"kind", "AdmissionReview"},
                 {"apiVersion", version.empty() ? kVersion : version},
                 {"response", response}});
}

// A review that could not be looked at.
std::string Refuse(const kube::AdmissionReview& review, int code, std::string message) {
  log::Warn("Refused an admission review", {{"code", code}, {"error", message}});
  return ToJson(review, {false, code, std::move(message)});
}

// What the service's contract rules out must still be a denial.
AdmissionAnswer Admit(scheduler::Extender& extender, const scheduler::AdmissionRequest& request) {
  try {
    return extender.Admit(request);
  } catch (const std::exception& failure) {
    log::Error("Admission threw", {{"error", failure.what()}});
    return {false, 500, std::string("panic: ") + failure.what() + " [recovered]"};
  }
}

}  // namespace

std::string PatchBetween(const SubmittedPod& from, const SubmittedPod& to) {
  Patch patch(from);
  patch.Change("/metadata/annotations", from.annotations, to.annotations);
  patch.Change("/metadata/labels", from.labels, to.labels);
  if (to.scheduler_name != from.scheduler_name)
    patch.Set("/spec", "schedulerName", to.scheduler_name);
  if (to.runtime_class != from.runtime_class)
    patch.Set("/spec", "runtimeClassName", to.runtime_class);
  for (size_t i = 0; i < from.init_containers.size(); ++i)
    patch.Change("/spec/initContainers/" + std::to_string(i), from.init_containers[i],
                 to.init_containers[i]);
  for (size_t i = 0; i < from.containers.size(); ++i)
    patch.Change("/spec/containers/" + std::to_string(i), from.containers[i], to.containers[i]);
  return patch.TakeText();
}

std::string AnswerReview(scheduler::Extender& extender, std::string_view content_type,
                         std::string_view body) {
  if (body.empty()) return Refuse({}, 400, "request body is empty");
  if (!IsJson(content_type))
    return Refuse(
        {}, 400,
        "contentType=" + std::string(content_type) + ", expected " + std::string(kJsonType));
  const Result<kube::AdmissionReview> review = kube::ParseAdmissionReview(body);
  if (!review) return Refuse(kube::ReadReviewBeginning(body), 400, review.error().message);
  if (review->object.empty()) return Refuse(*review, 400, "there is no content to decode");
  Result<SubmittedPod> pod = kube::ParseSubmittedPod(review->object);
  if (!pod) return Refuse(*review, 400, pod.error().message);

  const scheduler::AdmissionRequest request{review->ns, review->operation, *std::move(pod)};
  const AdmissionAnswer answer = Admit(extender, request);
  if (!answer.allowed) {
    log::Info("Denied pod",
              {{"namespace", review->ns}, {"code", answer.code}, {"reason", answer.message}});
    return ToJson(*review, answer);
  }
  return ToJson(*review, answer, PatchBetween(request.pod, answer.pod));
}

std::string RefuseReview(std::string_view beginning, const Rejection& rejection, size_t cap) {
  constexpr int kTooLong = 413;
  const auto code = static_cast<int>(ParseInt64(rejection.status.substr(0, 3)).value_or(500));
  return Refuse(kube::ReadReviewBeginning(beginning), code,
                code == kTooLong
                    ? "request entity is too large; limit is " + std::to_string(cap) + " bytes"
                    : rejection.text);
}

}  // namespace aliquot::server
