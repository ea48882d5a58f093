#include "cluster/kinds.h"

#include <algorithm>

#include "aliquot/base/strings.h"
#include "aliquot/base/time_text.h"
#include "cluster/quantity_text.h"

namespace aliquot::cluster {
namespace {

constexpr size_t kAnnotationBytes = 256 << 10;

// ------------------------------------------------------------------ decoding

// Reads fields; the first that has a wrong type is the problem.
class Decoder {
 public:
  std::optional<std::string> problem() && { return std::move(problem_); }

  // The member as an object or array that is there afterwards, or null.
  Json* Object(Json& parent, const char* name) {
    return Member(parent, name, &Json::is_object, "object");
  }
  Json* Array(Json& parent, const char* name) {
    return Member(parent, name, &Json::is_array, "array");
  }
  void String(Json& parent, const char* name) { Member(parent, name, &Json::is_string, "string"); }
  void Integer(Json& parent, const char* name) {
    Member(parent, name, &Json::is_number_integer, "integer");
  }
  void Bool(Json& parent, const char* name) { Member(parent, name, &Json::is_boolean, "bool"); }

  void Strings(Json& parent, const char* name) {
    Json* list = Array(parent, name);
    if (list == nullptr) return;
    for (const Json& element : *list) {
      if (!element.is_string()) Wrong(element, name, "string");
    }
    if (list->empty()) parent.erase(name);
  }

  // Texts by key; null is an empty text.
  void StringMap(Json& parent, const char* name) {
    Json* map = Object(parent, name);
    if (map == nullptr) return;
    for (auto& [key, value] : map->items()) {
      if (value.is_null()) value = "";
      if (!value.is_string()) Wrong(value, name, "string");
    }
    if (map->empty()) parent.erase(name);
  }

  void Quantities(Json& parent, const char* name) {
    Json* map = Object(parent, name);
    if (map == nullptr) return;
    for (auto& [key, value] : map->items()) {
      const std::string text = value.is_null()     ? "0"
                               : value.is_string() ? value.get<std::string>()
                               : value.is_number() ? value.dump()
                                                   : "";
      if (const auto canonical = CanonicalQuantity(text)) {
        value = *canonical;
      } else {
        Say("quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
      }
    }
    if (map->empty()) parent.erase(name);
  }

  void Time(Json& parent, const char* name) {
    const std::string* text = Text(parent, name);
    if (text == nullptr) return;
    const auto time = ParseRfc3339(*text);
    if (time) {
      parent[name] = FormatRfc3339(*time);
    } else {
      Say("parsing time \"" + *text + "\" as \"2006-01-02T15:04:05Z07:00\": cannot parse");
    }
  }

  // Exactly six digits after the point.
  void MicroTime(Json& parent, const char* name) {
    const std::string* text = Text(parent, name);
    if (text == nullptr) return;
    const auto time = ParseRfc3339(*text);
    const size_t point = text->find('.');
    const size_t end = text->find_first_not_of("0123456789", point == text->npos ? 0 : point + 1);
    if (time && point != text->npos && end == point + 7) {
      std::string utc = FormatRfc3339(*time);
      parent[name] = utc.insert(utc.size() - 1, *text, point, 7);
    } else {
      Say("parsing time \"" + *text + "\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse");
    }
  }

 private:
  Json* Member(Json& parent, const char* name, bool (Json::*is)() const noexcept,
               const char* type) {
    const auto it = parent.find(name);
    if (it == parent.end()) return nullptr;
    if (((*it).*is)()) return &*it;
    Wrong(*it, name, type);
    return nullptr;
  }
  const std::string* Text(Json& parent, const char* name) {
    const Json* text = Member(parent, name, &Json::is_string, "string");
    return text == nullptr ? nullptr : text->get_ptr<const std::string*>();
  }
  void Wrong(const Json& value, const std::string& field, const std::string& type) {
    Say("json: cannot unmarshal " + std::string(value.type_name()) + " into field " + field +
        " of type " + type);
  }
  void Say(std::string problem) {
    if (!problem_) problem_ = std::move(problem);
  }

  std::optional<std::string> problem_;
};

// Nulls are absent, except the values of annotations and labels.
void DropNulls(Json& value) {
  if (value.is_array()) {
    for (Json& element : value) DropNulls(element);
  } else if (value.is_object()) {
    for (auto it = value.begin(); it != value.end();) {
      if (it->is_null()) {
        it = value.erase(it);
        continue;
      }
      if (it.key() != "annotations" && it.key() != "labels") DropNulls(*it);
      ++it;
    }
  }
}

void Default(Json& object, const char* name, Json value) {
  if (!object.contains(name)) object[name] = std::move(value);
}

// Times of conditions are written even where there is none.
void DecodeConditions(Decoder& decoder, Json& status, std::initializer_list<const char*> times) {
  Json* conditions = decoder.Array(status, "conditions");
  if (conditions == nullptr) return;
  for (Json& condition : *conditions) {
    if (!condition.is_object()) continue;
    for (const char* time : times) Default(condition, time, nullptr);
  }
}

void DecodeContainer(Decoder& decoder, Json& container) {
  decoder.String(container, "name");
  decoder.String(container, "image");
  Default(container, "resources", Json::object());
  if (Json* resources = decoder.Object(container, "resources")) {
    decoder.Quantities(*resources, "limits");
    decoder.Quantities(*resources, "requests");
    if (resources->contains("limits")) {
      for (const auto& [name, limit] : (*resources)["limits"].items()) {
        Default((*resources)["requests"], name.c_str(), limit);
      }
    }
  }
  Default(container, "terminationMessagePath", "/dev/termination-log");
  Default(container, "terminationMessagePolicy", "File");
  const std::string image =
      container.value("image", Json("")).is_string() ? container.value("image", "") : std::string();
  const std::string last = image.substr(image.rfind('/') + 1);
  const bool floating = last.find_first_of(":@") == last.npos || last.ends_with(":latest");
  Default(container, "imagePullPolicy", floating ? "Always" : "IfNotPresent");
  if (Json* ports = decoder.Array(container, "ports")) {
    for (Json& port : *ports) {
      if (port.is_object()) Default(port, "protocol", "TCP");
    }
  }
}

void DecodePod(Decoder& decoder, Json& object) {
  Default(object, "spec", Json::object());
  Default(object, "status", Json::object());
  if (Json* spec = decoder.Object(object, "spec")) {
    for (const char* field : {"nodeName", "schedulerName", "restartPolicy", "serviceAccountName"}) {
      decoder.String(*spec, field);
      if (spec->value(field, Json("?")) == "") spec->erase(field);
    }
    decoder.Bool(*spec, "hostNetwork");
    decoder.Integer(*spec, "terminationGracePeriodSeconds");
    decoder.Array(*spec, "schedulingGates");
    for (const char* list : {"initContainers", "containers"}) {
      Json* containers = decoder.Array(*spec, list);
      if (containers == nullptr) continue;
      for (Json& container : *containers) {
        if (container.is_object()) DecodeContainer(decoder, container);
      }
      if (containers->empty()) spec->erase(list);
    }
    Default(*spec, "restartPolicy", "Always");
    Default(*spec, "terminationGracePeriodSeconds", 30);
    Default(*spec, "dnsPolicy", "ClusterFirst");
    Default(*spec, "securityContext", Json::object());
    Default(*spec, "schedulerName", "default-scheduler");
    Default(*spec, "enableServiceLinks", true);
  }
  if (Json* status = decoder.Object(object, "status")) {
    decoder.String(*status, "phase");
    DecodeConditions(decoder, *status, {"lastProbeTime", "lastTransitionTime"});
    Default(*status, "phase", "Pending");
  }
}

void DecodeNode(Decoder& decoder, Json& object) {
  Default(object, "spec", Json::object());
  Default(object, "status", Json::object());
  if (Json* spec = decoder.Object(object, "spec")) decoder.Bool(*spec, "unschedulable");
  if (Json* status = decoder.Object(object, "status")) {
    decoder.Quantities(*status, "capacity");
    decoder.Quantities(*status, "allocatable");
    DecodeConditions(decoder, *status, {"lastHeartbeatTime", "lastTransitionTime"});
    if (status->contains("capacity")) Default(*status, "allocatable", (*status)["capacity"]);
    Default(*status, "daemonEndpoints", {{"kubeletEndpoint", {{"Port", 0}}}});
    Default(*status, "nodeInfo", Json::object());
    if (Json* info = decoder.Object(*status, "nodeInfo")) {
      for (const char* field : {"machineID", "systemUUID", "bootID", "kernelVersion", "osImage",
                                "containerRuntimeVersion", "kubeletVersion", "kubeProxyVersion",
                                "operatingSystem", "architecture"}) {
        Default(*info, field, "");
      }
    }
  }
}

void DecodeEvent(Decoder& decoder, Json& object) {
  Default(object, "involvedObject", Json::object());
  if (Json* involved = decoder.Object(object, "involvedObject")) {
    for (const char* field : {"kind", "namespace", "name", "uid", "apiVersion", "resourceVersion"})
      decoder.String(*involved, field);
  }
  for (const char* field :
       {"reason", "message", "type", "action", "reportingComponent", "reportingInstance"}) {
    decoder.String(object, field);
  }
  decoder.Integer(object, "count");
  decoder.Time(object, "firstTimestamp");
  decoder.Time(object, "lastTimestamp");
  decoder.MicroTime(object, "eventTime");
  // Fields of an event that are written even if they hold nothing.
  Default(object, "source", Json::object());
  for (const char* field : {"firstTimestamp", "lastTimestamp", "eventTime"})
    Default(object, field, nullptr);
  for (const char* field : {"reportingComponent", "reportingInstance"}) Default(object, field, "");
}

void DecodeQuota(Decoder& decoder, Json& object) {
  Default(object, "spec", Json::object());
  Default(object, "status", Json::object());
  if (Json* spec = decoder.Object(object, "spec")) decoder.Quantities(*spec, "hard");
  if (Json* status = decoder.Object(object, "status")) {
    decoder.Quantities(*status, "hard");
    decoder.Quantities(*status, "used");
  }
}

void DecodeSecret(Decoder& decoder, Json& object) {
  decoder.StringMap(object, "data");
  decoder.String(object, "type");
  decoder.Bool(object, "immutable");
  Default(object, "type", "Opaque");
}

void DecodeWebhookConfiguration(Decoder& decoder, Json& object) {
  Json* webhooks = decoder.Array(object, "webhooks");
  if (webhooks == nullptr) return;
  for (Json& webhook : *webhooks) {
    if (!webhook.is_object()) continue;
    decoder.String(webhook, "name");
    Default(webhook, "clientConfig", Json::object());
    if (Json* client = decoder.Object(webhook, "clientConfig")) decoder.String(*client, "caBundle");
  }
}

void DecodeLease(Decoder& decoder, Json& object) {
  Default(object, "spec", Json::object());
  if (Json* spec = decoder.Object(object, "spec")) {
    decoder.String(*spec, "holderIdentity");
    decoder.Integer(*spec, "leaseDurationSeconds");
    decoder.Integer(*spec, "leaseTransitions");
    decoder.MicroTime(*spec, "acquireTime");
    decoder.MicroTime(*spec, "renewTime");
  }
}

void DecodeNamespace(Decoder& decoder, Json& object) {
  Default(object, "spec", Json::object());
  Default(object, "status", Json::object());
  if (Json* spec = decoder.Object(object, "spec")) decoder.Strings(*spec, "finalizers");
  decoder.Object(object, "status");
}

// ---------------------------------------------------------------- validation

class Validator {
 public:
  std::vector<FieldError> errors() && { return std::move(errors_); }

  void Say(std::string field, std::string problem) {
    errors_.push_back({std::move(field), std::move(problem)});
  }
  void Bad(std::string field, std::string_view value, std::string_view why) {
    Say(std::move(field), "Invalid value: \"" + std::string(value) + "\": " + std::string(why));
  }

 private:
  std::vector<FieldError> errors_;
};

bool IsLowerAlnum(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// RFC 1123 labels joined by dots.
bool IsSubdomain(std::string_view text) {
  if (text.empty() || text.size() > 253) return false;
  for (const std::string_view label : Split(text, '.')) {
    if (label.empty() || !IsLowerAlnum(label.front()) || !IsLowerAlnum(label.back())) return false;
    for (const char c : label) {
      if (!IsLowerAlnum(c) && c != '-') return false;
    }
  }
  return true;
}

// Keys of labels and annotations: "name" or "prefix/name".
bool IsQualifiedName(std::string_view key) {
  const size_t slash = key.find('/');
  if (slash == std::string_view::npos) return !key.empty() && IsLabelValue(key);
  const std::string_view name = key.substr(slash + 1);
  return IsSubdomain(key.substr(0, slash)) && !name.empty() && IsLabelValue(name);
}

constexpr std::string_view kSubdomainRule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kQualifiedNameRule =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kLabelRule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

void CheckMeta(Validator& validator, const Json& meta) {
  const std::string name = meta.value("name", "");
  if (name.empty()) {
    validator.Say("metadata.name", "Required value: name or generateName is required");
  } else if (!IsSubdomain(name)) {
    validator.Bad("metadata.name", name, kSubdomainRule);
  }
  if (const auto labels = meta.find("labels"); labels != meta.end()) {
    for (const auto& [key, value] : labels->items()) {
      if (!IsQualifiedName(key)) validator.Bad("metadata.labels", key, kQualifiedNameRule);
      if (const auto& text = value.get_ref<const std::string&>(); !IsLabelValue(text)) {
        validator.Bad("metadata.labels", text, kLabelRule);
      }
    }
  }
  if (const auto annotations = meta.find("annotations"); annotations != meta.end()) {
    size_t bytes = 0;
    for (const auto& [key, value] : annotations->items()) {
      if (!IsQualifiedName(ToLower(key))) {
        validator.Bad("metadata.annotations", key, kQualifiedNameRule);
      }
      bytes += key.size() + value.get_ref<const std::string&>().size();
    }
    if (bytes > kAnnotationBytes) {
      validator.Say("metadata.annotations", "Too long: may not be more than 262144 bytes");
    }
  }
}

bool IsStandardResource(std::string_view name) {
  return name == "cpu" || name == "memory" || name == "ephemeral-storage" ||
         name.starts_with("hugepages-");
}
bool IsExtended(std::string_view name) {
  return Contains(name, "/") && !Contains(name, "kubernetes.io/") && !name.starts_with("requests.");
}

void ValidateAmount(Validator& validator, const std::string& field, std::string_view name,
                    const std::string& amount) {
  const __int128 milli = MilliValue(amount);
  if (milli < 0) validator.Bad(field, amount, "must be greater than or equal to 0");
  if (IsExtended(name) && milli % 1000 != 0) validator.Bad(field, amount, "must be an integer");
}

void ValidateResources(Validator& validator, const std::string& path, const Json& resources) {
  const Json none = Json::object();
  const Json& limits = resources.contains("limits") ? resources["limits"] : none;
  const Json& requests = resources.contains("requests") ? resources["requests"] : none;
  for (const auto& [list, amounts] : {std::pair("limits", &limits), {"requests", &requests}}) {
    for (const auto& [name, amount] : amounts->items()) {
      const std::string field = path + "." + list + "[" + name + "]";
      if (!Contains(name, "/") && !IsStandardResource(name)) {
        validator.Bad(field, name, "must be a standard resource type or fully qualified");
        validator.Bad(field, name, "must be a standard resource for containers");
      }
      ValidateAmount(validator, field, name, amount.get_ref<const std::string&>());
    }
  }
  for (const auto& [name, request] : requests.items()) {
    const auto& asked = request.get_ref<const std::string&>();
    const auto limit = limits.find(name);
    if (limit == limits.end()) {
      if (IsExtended(name)) {
        validator.Say(path + ".limits",
                      "Required value: Limit must be set for non overcommitable resources");
      }
      continue;
    }
    const auto& most = limit->get_ref<const std::string&>();
    if (IsExtended(name) && MilliValue(asked) != MilliValue(most)) {
      validator.Bad(path + ".requests", asked, "must be equal to " + name + " limit of " + most);
    } else if (MilliValue(asked) > MilliValue(most)) {
      validator.Bad(path + ".requests", asked,
                    "must be less than or equal to " + name + " limit of " + most);
    }
  }
}

void ValidateContainers(Validator& validator, const Json& spec) {
  if (!spec.contains("containers")) validator.Say("spec.containers", "Required value");
  std::vector<std::string> names;
  for (const char* list : {"initContainers", "containers"}) {
    if (!spec.contains(list)) continue;
    size_t index = 0;
    for (const Json& container : spec[list]) {
      const std::string path = std::string("spec.") + list + "[" + std::to_string(index++) + "]";
      if (!container.is_object()) {
        validator.Say(path, "Required value");
        continue;
      }
      const std::string name = container.value("name", "");
      if (name.empty()) {
        validator.Say(path + ".name", "Required value");
      } else if (std::find(names.begin(), names.end(), name) != names.end()) {
        validator.Say(path + ".name", "Duplicate value: \"" + name + "\"");
      }
      names.push_back(name);
      if (container.value("image", "").empty()) validator.Say(path + ".image", "Required value");
      ValidateResources(validator, path + ".resources", container["resources"]);
    }
  }
}

// Without the few fields that may change in a pod's life.
Json FixedPart(Json spec) {
  for (const char* list : {"initContainers", "containers"}) {
    if (!spec.contains(list)) continue;
    for (Json& container : spec[list]) container.erase("image");
  }
  for (const char* field : {"activeDeadlineSeconds", "tolerations", "schedulingGates",
                            "terminationGracePeriodSeconds"}) {
    spec.erase(field);
  }
  return spec;
}

void ValidatePodUpdate(Validator& validator, const Json& old, const Json& object) {
  if (FixedPart(old["spec"]) == FixedPart(object["spec"])) return;
  validator.Say("spec",
                "Forbidden: pod updates may not change fields other than "
                "`spec.containers[*].image`,`spec.initContainers[*].image`,"
                "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
                "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it "
                "was previously negative)\n");
}

void ValidateNode(Validator& validator, const Json& object) {
  for (const char* list : {"capacity", "allocatable"}) {
    if (!object["status"].contains(list)) continue;
    for (const auto& [name, amount] : object["status"][list].items()) {
      ValidateAmount(validator, std::string("status.") + list + "." + name, name,
                     amount.get_ref<const std::string&>());
    }
  }
}

void ValidateEvent(Validator& validator, const Json& object) {
  const std::string ns = object["metadata"].value("namespace", "");
  const std::string of = object["involvedObject"].value("namespace", "");
  if (of != ns && !(of.empty() && ns == "default")) {
    validator.Bad("involvedObject.namespace", of, "does not match event.namespace");
  }
  if (object["eventTime"].is_null()) return;
  // The stricter rules of newer clients.
  for (const char* field : {"reportingComponent", "reportingInstance", "reason", "action"}) {
    if (object.value(field, "").empty()) validator.Say(field, "Required value");
  }
  if (object.value("message", "").size() > 1024) {
    validator.Say("message", "Too long: may not be more than 1024 bytes");
  }
}

void ValidateSecret(Validator& validator, const Json* old, const Json& object) {
  const Json& type = object["type"];
  if (old != nullptr && (*old)["type"] != type)
    validator.Bad("type", type.get<std::string>(), "field is immutable");
  if (type != "kubernetes.io/tls") return;
  const Json data = object.value("data", Json::object());
  for (const char* key : {"tls.crt", "tls.key"}) {
    if (!data.contains(key)) validator.Say(std::string("data[") + key + "]", "Required value");
  }
}

void ValidateWebhookConfiguration(Validator& validator, const Json& object) {
  size_t index = 0;
  for (const Json& webhook : object.value("webhooks", Json::array())) {
    const std::string path = "webhooks[" + std::to_string(index++) + "].";
    if (webhook.value("name", "").empty()) validator.Say(path + "name", "Required value");
    const Json& client = webhook["clientConfig"];
    if (client.contains("url") == client.contains("service")) {
      validator.Say(path + "clientConfig",
                    "Required value: exactly one of url or service is required");
    }
  }
}

void ValidateLease(Validator& validator, const Json& object) {
  const Json& spec = object["spec"];
  if (spec.value("leaseDurationSeconds", int64_t{1}) <= 0) {
    validator.Say(
        "spec.leaseDurationSeconds",
        "Invalid value: " + spec["leaseDurationSeconds"].dump() + ": must be greater than 0");
  }
}

std::string QosClass(const Json& spec) {
  bool any = false, guaranteed = true;
  for (const char* list : {"initContainers", "containers"}) {
    if (!spec.contains(list)) continue;
    for (const Json& container : spec[list]) {
      const Json& resources = container["resources"];
      for (const char* name : {"cpu", "memory"}) {
        const auto amount = [&](const char* of) {
          return resources.contains(of) ? resources[of].value(name, "") : "";
        };
        any = any || !amount("limits").empty() || !amount("requests").empty();
        guaranteed =
            guaranteed && !amount("limits").empty() && amount("limits") == amount("requests");
      }
    }
  }
  return !any ? "BestEffort" : guaranteed ? "Guaranteed" : "Burstable";
}

}  // namespace

std::optional<std::string> DecodeMeta(Json& object) {
  DropNulls(object);
  Decoder decoder;
  Default(object, "metadata", Json::object());
  if (Json* meta = decoder.Object(object, "metadata")) {
    for (const char* field : {"name", "generateName", "namespace", "uid", "resourceVersion"}) {
      decoder.String(*meta, field);
      if (meta->value(field, Json("?")) == "") meta->erase(field);
    }
    decoder.StringMap(*meta, "labels");
    decoder.StringMap(*meta, "annotations");
    decoder.Strings(*meta, "finalizers");
    decoder.Time(*meta, "creationTimestamp");
    decoder.Time(*meta, "deletionTimestamp");
    meta->erase("managedFields");
    meta->erase("selfLink");
  }
  return std::move(decoder).problem();
}

std::vector<FieldError> ValidateMeta(const Json& meta) {
  Validator validator;
  CheckMeta(validator, meta);
  return std::move(validator).errors();
}

std::optional<std::string> Decode(const Resource& resource, Json& object) {
  if (auto problem = DecodeMeta(object)) return problem;
  Decoder decoder;
  switch (resource.kind) {
    case Kind::kNamespace:
      DecodeNamespace(decoder, object);
      break;
    case Kind::kPod:
      DecodePod(decoder, object);
      break;
    case Kind::kNode:
      DecodeNode(decoder, object);
      break;
    case Kind::kEvent:
      DecodeEvent(decoder, object);
      break;
    case Kind::kResourceQuota:
      DecodeQuota(decoder, object);
      break;
    case Kind::kSecret:
      DecodeSecret(decoder, object);
      break;
    case Kind::kLease:
      DecodeLease(decoder, object);
      break;
    case Kind::kMutatingWebhookConfiguration:
      DecodeWebhookConfiguration(decoder, object);
      break;
  }
  return std::move(decoder).problem();
}

void PrepareNew(const Resource& resource, Json& object, WallTime now) {
  if (resource.kind == Kind::kPod) {
    Json& spec = object["spec"];
    object["status"] = {{"phase", "Pending"}, {"qosClass", QosClass(spec)}};
    if (spec.contains("schedulingGates") && !spec["schedulingGates"].empty()) {
      object["status"]["conditions"] =
          Json::array({{{"type", "PodScheduled"},
                        {"status", "False"},
                        {"reason", "SchedulingGated"},
                        {"message", "Scheduling is blocked due to non-empty scheduling gates"},
                        {"lastProbeTime", nullptr},
                        {"lastTransitionTime", FormatRfc3339(now)}}});
    }
    object["metadata"]["generation"] = 1;
    for (const char* key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
      const auto is_it = [key](const Json& toleration) {
        return toleration.value("key", "") == key;
      };
      Json& list = spec["tolerations"];
      if (std::any_of(list.begin(), list.end(), is_it)) continue;
      list.push_back({{"key", key},
                      {"operator", "Exists"},
                      {"effect", "NoExecute"},
                      {"tolerationSeconds", 300}});
    }
    Default(spec, "priority", 0);
    Default(spec, "preemptionPolicy", "PreemptLowerPriority");
  } else if (resource.kind == Kind::kResourceQuota) {
    object["status"] = Json::object();
  } else if (resource.kind == Kind::kNamespace) {
    object["spec"]["finalizers"] = {"kubernetes"};
    object["status"] = {{"phase", "Active"}};
    object["metadata"]["labels"]["kubernetes.io/metadata.name"] = object["metadata"]["name"];
  }
}

void PrepareUpdate(const Resource& resource, const Json& old, Json& object, bool status) {
  if (resource.has_status) {
    const char* kept = status ? "spec" : "status";
    object[kept] = old[kept];
  }
  // The admission's additions stay.
  if (resource.kind == Kind::kPod && !status) {
    for (const char* field : {"priority", "preemptionPolicy"}) {
      if (old["spec"].contains(field)) Default(object["spec"], field, old["spec"][field]);
    }
  }
}

std::vector<FieldError> Validate(const Resource& resource, const Json* old, const Json& object) {
  Validator validator;
  CheckMeta(validator, object["metadata"]);
  switch (resource.kind) {
    case Kind::kPod:
      if (old != nullptr) {
        ValidatePodUpdate(validator, *old, object);
      } else {
        ValidateContainers(validator, object["spec"]);
      }
      break;
    case Kind::kNode:
      ValidateNode(validator, object);
      break;
    case Kind::kEvent:
      ValidateEvent(validator, object);
      break;
    case Kind::kSecret:
      ValidateSecret(validator, old, object);
      break;
    case Kind::kLease:
      ValidateLease(validator, object);
      break;
    case Kind::kMutatingWebhookConfiguration:
      ValidateWebhookConfiguration(validator, object);
      break;
    case Kind::kNamespace:
    case Kind::kResourceQuota:
      break;
  }
  return std::move(validator).errors();
}

int64_t GracePeriod(const Resource& resource, const Json& object, std::optional<int64_t> asked) {
  if (resource.kind != Kind::kPod) return 0;
  const std::string phase = object["status"].value("phase", "");
  const bool over = phase == "Succeeded" || phase == "Failed";
  if (over || object["spec"].value("nodeName", "").empty()) return 0;
  return std::max<int64_t>(
      0, asked.value_or(object["spec"].value("terminationGracePeriodSeconds", int64_t{30})));
}

}  // namespace aliquot::cluster
