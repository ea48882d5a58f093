#include "aliquot/kube/api.h"

#include <nlohmann/json.hpp>

namespace aliquot::kube {
namespace {

using Json = nlohmann::json;

Json ChangesJson(const std::map<std::string, std::optional<std::string>, std::less<>>& changes) {
  Json object = Json::object();
  for (const auto& [key, value] : changes) object[key] = value ? Json(*value) : Json();
  return object;
}

// Bytes that are not UTF-8 are replaced: the API server would refuse them.
std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string MetadataPatch::ToJson() const {
  Json meta = Json::object();
  if (!uid.empty()) meta["uid"] = uid;
  if (!resource_version.empty()) meta["resourceVersion"] = resource_version;
  if (!annotations.empty()) meta["annotations"] = ChangesJson(annotations);
  if (!labels.empty()) meta["labels"] = ChangesJson(labels);
  return Dump({{"metadata", std::move(meta)}});
}

std::string Binding::ToJson() const {
  Json meta = {{"name", pod.name}, {"namespace", pod.ns}};
  if (!pod.uid.empty()) meta["uid"] = pod.uid;
  if (!annotations.empty()) meta["annotations"] = annotations;
  if (!labels.empty()) meta["labels"] = labels;
  return Dump({{"apiVersion", "v1"},
               {"kind", "Binding"},
               {"metadata", std::move(meta)},
               {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}});
}

}  // namespace aliquot::kube
