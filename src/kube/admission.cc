#include "aliquot/kube/admission.h"

#include <algorithm>

#include "kube/json_reader.h"

namespace aliquot::kube {
namespace {

using json::EachField;
using json::EachItem;
using json::Path;
using json::Text;
using json::od::value;

// Reads one pod and remembers what is there.
class PodReader {
 public:
  void ReadField(std::string_view key, value v, const Path& at) {
    if (key == "apiVersion" && Text(v, at) != "v1") json::Fail(at, "not v1");
    if (key == "kind" && Text(v, at) != "Pod") json::Fail(at, "not Pod");
    if (key == "metadata") ReadMetadata(v, at);
    if (key == "spec") ReadSpec(v, at);
  }

  SubmittedPod TakePod() { return std::move(pod_); }

 private:
  void ReadMetadata(value metadata, const Path& at) {
    pod_.parents.insert("/metadata");
    EachField(metadata, at, [&](std::string_view key, value v, const Path& here) {
      if (key == "annotations") pod_.annotations = ReadMap("/metadata/annotations", v, here);
      if (key == "labels") pod_.labels = ReadMap("/metadata/labels", v, here);
    });
  }

  void ReadSpec(value spec, const Path& at) {
    pod_.parents.insert("/spec");
    EachField(spec, at, [&](std::string_view key, value v, const Path& here) {
      if (key == "schedulerName") pod_.scheduler_name = Text(v, here);
      if (key == "nodeName") pod_.node_name = Text(v, here);
      if (key == "runtimeClassName") pod_.runtime_class = Text(v, here);
      if (key == "initContainers")
        pod_.init_containers = ReadContainers("/spec/initContainers", v, here);
      if (key == "containers") pod_.containers = ReadContainers("/spec/containers", v, here);
    });
  }

  std::vector<SubmittedContainer> ReadContainers(const std::string& pointer, value list,
                                                 const Path& at) {
    std::vector<SubmittedContainer> containers;
    EachItem(list, at, [&](value item, const Path& here) {
      containers.push_back(
          ReadContainer(pointer + "/" + std::to_string(containers.size()), item, here));
    });
    return containers;
  }

  SubmittedContainer ReadContainer(const std::string& pointer, value item, const Path& at) {
    pod_.parents.insert(pointer);
    SubmittedContainer container;
    EachField(item, at, [&](std::string_view key, value v, const Path& here) {
      if (key == "name") container.name = Text(v, here);
      if (key == "restartPolicy") container.restart_always = Text(v, here) == "Always";
      if (key == "env") container.env = ReadEnv(pointer + "/env", v, here);
      if (key == "resources") ReadResources(pointer + "/resources", v, here, container);
      if (key == "securityContext")
        EachField(v, here, [&](std::string_view inner, value flag, const Path& field) {
          if (inner == "privileged") container.privileged = json::Bool(flag, field);
        });
    });
    return container;
  }

  std::vector<EnvVar> ReadEnv(std::string pointer, value list, const Path& at) {
    pod_.parents.insert(std::move(pointer));
    std::vector<EnvVar> env;
    EachItem(list, at, [&](value item, const Path& here) {
      EnvVar& variable = env.emplace_back();
      EachField(item, here, [&](std::string_view key, value v, const Path& field) {
        if (key == "name") variable.name = Text(v, field);
        if (key == "value") variable.value = Text(v, field);
      });
    });
    return env;
  }

  void ReadResources(const std::string& pointer, value resources, const Path& at,
                     SubmittedContainer& container) {
    pod_.parents.insert(pointer);
    EachField(resources, at, [&](std::string_view key, value v, const Path& here) {
      if (key != "limits" && key != "requests") return;
      pod_.parents.insert(pointer + "/" + std::string(key));
      (key == "limits" ? container.limits : container.requests) = json::QuantityMap(v, here);
    });
  }

  StringMap ReadMap(std::string pointer, value map, const Path& at) {
    pod_.parents.insert(std::move(pointer));
    return json::TextMap(map, at);
  }

  SubmittedPod pod_;
};

std::string_view ReadVersion(value v, const Path& at) {
  const std::string_view version = Text(v, at);
  if (version != "admission.k8s.io/v1" && version != "admission.k8s.io/v1beta1")
    json::Fail(at, "neither admission.k8s.io/v1 nor admission.k8s.io/v1beta1");
  return version;
}

void ReadRequest(value request, const Path& at, AdmissionReview& review) {
  EachField(request, at, [&](std::string_view key, value v, const Path& here) {
    if (key == "uid") review.uid = Text(v, here);
    if (key == "namespace") review.ns = Text(v, here);
    if (key == "operation") review.operation = Text(v, here);
    if (key == "object") review.object = json::RawValue(v, here);
  });
}

// A text that was cut off, without the string in which it ends.
std::string_view WithoutOpenString(std::string_view text) {
  size_t open = std::string_view::npos;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') open = open == std::string_view::npos ? i : std::string_view::npos;
    if (text[i] == '\\') ++i;
  }
  return text.substr(0, open);
}

}  // namespace

Result<AdmissionReview> ParseAdmissionReview(std::string_view text) {
  AdmissionReview review;
  const Result<void> read =
      json::ReadObject(text, [&](std::string_view key, value v, const Path& at) {
        if (key == "kind" && Text(v, at) != "AdmissionReview")
          json::Fail(at, "not AdmissionReview");
        if (key == "apiVersion") review.api_version = ReadVersion(v, at);
        if (key == "request") ReadRequest(v, at, review);
      });
  if (!read) return InvalidError("AdmissionReview: " + read.error().message);
  return review;
}

AdmissionReview ReadReviewBeginning(std::string_view beginning) {
  AdmissionReview review;
  beginning.remove_prefix(std::min(beginning.find('{'), beginning.size()));
  // Where it ends in a brace, simdjson reads an object until something is missing. That
  // something will be is no news.
  const std::string text = std::string(WithoutOpenString(beginning)) + "}";
  static_cast<void>(json::ReadObject(text, [&](std::string_view key, value v, const Path& at) {
    if (key == "apiVersion") review.api_version = ReadVersion(v, at);
    if (key != "request") return;
    EachField(v, at, [&](std::string_view inner, value uid, const Path& here) {
      if (inner == "uid") review.uid = Text(uid, here);
    });
  }));
  return review;
}

Result<SubmittedPod> ParseSubmittedPod(std::string_view text) {
  PodReader reader;
  const Result<void> read = json::ReadObject(
      text, [&](std::string_view key, value v, const Path& at) { reader.ReadField(key, v, at); });
  if (!read) return InvalidError("Pod: " + read.error().message);
  return reader.TakePod();
}

}  // namespace aliquot::kube
