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

}  // namespace

std::string MetadataPatch::ToJson() const {
  Json meta = Json::object();
  if (!uid.empty()) meta["uid"] = uid;
  if (!resource_version.empty()) meta["resourceVersion"] = resource_version;
  if (!annotations.empty()) meta["annotations"] = ChangesJson(annotations);
  if (!labels.empty()) meta["labels"] = ChangesJson(labels);
  // Bytes that are not UTF-8 are replaced: the API server would refuse them.
  return Json{{"metadata", std::move(meta)}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace aliquot::kube
