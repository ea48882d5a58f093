#include "cluster/patch.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "aliquot/base/strings.h"

namespace aliquot::cluster {
namespace {

constexpr int kDeepest = 200;
constexpr size_t kMostCopied = 256 << 10;  // bytes, by one patch

// Lists whose elements a strategic patch merges, and by which of their keys.
// An empty key: the elements are texts.
std::optional<std::string_view> MergeKey(std::string_view list) {
  static constexpr std::pair<std::string_view, std::string_view> kKeys[] = {
      {"containers", "name"},
      {"initContainers", "name"},
      {"ephemeralContainers", "name"},
      {"env", "name"},
      {"volumes", "name"},
      {"volumeMounts", "mountPath"},
      {"volumeDevices", "devicePath"},
      {"ports", "containerPort"},
      {"imagePullSecrets", "name"},
      {"hostAliases", "ip"},
      {"conditions", "type"},
      {"addresses", "type"},
      {"taints", "key"},
      {"ownerReferences", "uid"},
      {"schedulingGates", "name"},
      {"podIPs", "ip"},
      {"resourceClaims", "name"},
      {"finalizers", ""},
      {"webhooks", "name"},
      {"topologySpreadConstraints", "topologyKey"}};
  for (const auto& [name, key] : kKeys) {
    if (name == list) return key;
  }
  return std::nullopt;
}

void MergeObject(Json& object, const Json& patch);

auto FindElement(Json& list, std::string_view key, const Json& wanted) {
  return std::find_if(list.begin(), list.end(), [&](const Json& element) {
    return element.is_object() && element.contains(key) && element[std::string(key)] == wanted;
  });
}

// Elements named by the patch first, in its order, as $setElementOrder says.
void SetOrder(Json& list, std::string_view key, const Json& order) {
  if (!list.is_array() || !order.is_array()) return;
  Json sorted = Json::array();
  const std::string name(key);
  for (const Json& wanted : order) {
    const auto it = key.empty()             ? std::find(list.begin(), list.end(), wanted)
                    : wanted.contains(name) ? FindElement(list, key, wanted[name])
                                            : list.end();
    if (it == list.end()) continue;
    sorted.push_back(*it);
    list.erase(it);
  }
  for (Json& rest : list) sorted.push_back(std::move(rest));
  list = std::move(sorted);
}

void MergeList(Json& list, std::string_view key, const Json& patch) {
  if (!list.is_array()) list = Json::array();
  for (const Json& element : patch) {
    if (element.is_object() && element.value("$patch", "") == "replace") {
      list = Json::array();
      for (const Json& other : patch) {
        if (!other.is_object() || !other.contains("$patch")) list.push_back(other);
      }
      return;
    }
  }
  const std::string name(key);
  for (const Json& element : patch) {
    if (key.empty()) {
      if (std::find(list.begin(), list.end(), element) == list.end()) list.push_back(element);
      continue;
    }
    if (!element.is_object() || !element.contains(name)) continue;
    const auto it = FindElement(list, key, element[name]);
    if (element.value("$patch", "") == "delete") {
      if (it != list.end()) list.erase(it);
    } else if (it != list.end()) {
      MergeObject(*it, element);
    } else {
      Json added = Json::object();
      MergeObject(added, element);
      list.push_back(std::move(added));
    }
  }
}

void MergeObject(Json& object, const Json& patch) {
  if (!object.is_object() || patch.value("$patch", "") == "replace") object = Json::object();
  constexpr std::string_view kOrder = "$setElementOrder/";
  constexpr std::string_view kDelete = "$deleteFromPrimitiveList/";
  for (const auto& [name, value] : patch.items()) {
    if (name.starts_with(kDelete)) {
      Json& list = object[name.substr(kDelete.size())];
      if (!list.is_array()) continue;
      for (const Json& gone : value)
        list.erase(std::remove(list.begin(), list.end(), gone), list.end());
    } else if (name == "$retainKeys") {
      for (auto it = object.begin(); it != object.end();) {
        const bool kept = std::find(value.begin(), value.end(), it.key()) != value.end();
        it = kept ? std::next(it) : object.erase(it);
      }
    } else if (name.starts_with('$')) {
      continue;  // what steers the merge
    } else if (value.is_null()) {
      object.erase(name);
    } else if (value.is_object()) {
      MergeObject(object[name], value);
    } else if (const auto key = MergeKey(name); value.is_array() && key) {
      MergeList(object[name], *key, value);
    } else {
      object[name] = value;
    }
  }
  for (const auto& [name, value] : patch.items()) {
    if (!name.starts_with(kOrder)) continue;
    const std::string list = name.substr(kOrder.size());
    if (object.contains(list)) SetOrder(object[list], MergeKey(list).value_or("name"), value);
  }
}

ApiError Unprocessable() {
  return {422, "Invalid", "the server rejected our request due to an error in our request",
          Json::object()};
}

// One by one, because copies of copies double the object each time.
Outcome<Json> ApplyOperations(Json object, const Json& operations) {
  size_t copied = 0;
  try {
    for (const Json& operation : operations) {
      if (operation.at("op") == "copy") {
        const Json::json_pointer from(operation.at("from").get<std::string>());
        copied += object.at(from).dump().size();
        if (copied > kMostCopied) return Unprocessable();
      }
      object = object.patch(Json::array({operation}));
    }
  } catch (const Json::exception&) {
    return Unprocessable();
  }
  return object;
}

}  // namespace

Outcome<Json> ParseJson(std::string_view text) {
  bool too_deep = false;
  const auto shallow = [&too_deep](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > kDeepest;
    return !too_deep;
  };
  Json json = Json::parse(text, shallow, false);
  if (too_deep) return BadRequest("the JSON is nested too deeply");
  if (json.is_discarded()) return BadRequest("the body is not valid JSON");
  return json;
}

Outcome<Json> ApplyPatch(Json object, std::string_view content_type, std::string_view patch) {
  const std::string_view type = Trim(content_type.substr(0, content_type.find(';')));
  const bool merge = type == "application/merge-patch+json";
  const bool strategic = type == "application/strategic-merge-patch+json";
  const bool operations = type == "application/json-patch+json";
  if (!merge && !strategic && !operations) {
    return ApiError{415, "UnsupportedMediaType", "415: Unsupported Media Type", Json::object()};
  }
  Outcome<Json> parsed = ParseJson(patch);
  if (!parsed) return BadRequest("error decoding patch: " + parsed.error().message);
  if (operations != parsed->is_array() || (!operations && !parsed->is_object())) {
    return BadRequest("error decoding patch: it must be a JSON " +
                      std::string(operations ? "array" : "object"));
  }
  if (merge) {
    object.merge_patch(*parsed);
  } else if (strategic) {
    MergeObject(object, *parsed);
  } else {
    return ApplyOperations(std::move(object), *parsed);
  }
  return object;
}

}  // namespace aliquot::cluster
