#include "cli/manifests.h"

#include <yaml-cpp/yaml.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <system_error>

#include "aliquot/base/strings.h"

namespace aliquot::cli {
namespace {

using Json = nlohmann::json;

constexpr int kDeepest = 100;

// What is wrong, and in which line.
struct Problem : std::runtime_error {
  Problem(int at, const std::string& what) : std::runtime_error(what), line(at) {}
  int line;
};

int LineOf(const YAML::Node& node) { return node.Mark().line + 1; }

Json ScalarToJson(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() != "?") return text;  // quoted, or a block
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  if (const auto number = ParseInt64(text)) return *number;
  const char* end = text.data() + text.size();
  double number = 0;
  if (text.find_first_not_of("0123456789+-.eE") == std::string::npos) {
    const auto [stopped, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc() && stopped == end) return number;
  }
  return text;
}

Json ToJson(const YAML::Node& node, int depth) {
  if (depth > kDeepest) throw Problem(LineOf(node), "nested too deeply");
  if (node.IsScalar()) return ScalarToJson(node);
  if (node.IsSequence()) {
    Json list = Json::array();
    for (const auto& item : node) list.push_back(ToJson(item, depth + 1));
    return list;
  }
  if (!node.IsMap()) return nullptr;
  Json object = Json::object();
  Json merged = Json::object();
  for (const auto& entry : node) {
    if (!entry.first.IsScalar()) throw Problem(LineOf(entry.first), "a key that is not a text");
    const std::string& key = entry.first.Scalar();
    Json value = ToJson(entry.second, depth + 1);
    if (key == "<<" && value.is_object())
      merged.update(value);
    else if (!object.emplace(key, std::move(value)).second)
      throw Problem(LineOf(entry.first), "\"" + key + "\" is there twice");
  }
  object.insert(merged.begin(), merged.end());  // only what is not there
  return object;
}

bool IsUtf8(const std::string& text) {
  try {
    (void)Json(text).dump();
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

// The documents, each with the line where it begins.
std::vector<std::pair<Json, int>> ReadDocuments(const std::string& text) {
  std::vector<std::pair<Json, int>> documents;
  if (!IsUtf8(text)) throw Problem(1, "not UTF-8");
  if (Trim(text).starts_with('{')) {
    // YAML is meant to contain JSON, but its reader stumbles over some escapes.
    Json object = Json::parse(text, nullptr, false);
    if (!object.is_discarded()) return {{std::move(object), 1}};
  }
  for (const YAML::Node& document : YAML::LoadAll(text)) {
    Json object = ToJson(document, 0);
    if (!object.is_null()) documents.emplace_back(std::move(object), LineOf(document));
  }
  return documents;
}

const Json& Member(const Json& object, const char* name) {
  static const Json kNone;
  const auto at = object.find(name);
  return at == object.end() ? kNone : *at;
}

void CheckType(const Json& value, bool right, int line, const std::string& field,
               const std::string& expected) {
  if (right) return;
  const std::string found = value.is_null()         ? "nothing"
                            : value.is_structured() ? value.type_name()
                                                    : value.dump();
  throw Problem(line, field + ": expected " + expected + ", found " + found);
}

// Without what the API server fills in, and refuses when it is sent.
void StripServerFields(Json& meta) {
  for (const char* name : {"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp",
                           "deletionGracePeriodSeconds", "generation", "managedFields", "selfLink"})
    meta.erase(name);
}

// Adds the object, or the items of a List.
void Add(Json object, int line, const std::string& prefix, const std::string& file,
         const std::string& wanted, std::vector<Manifest>& manifests) {
  CheckType(object, object.is_object(), line, prefix.empty() ? "document" : prefix, "an object");
  const std::string path = prefix.empty() ? "" : prefix + ".";
  const Json& kind = Member(object, "kind");
  if (kind == "List" || kind == wanted + "List") {
    Json items = Member(object, "items");
    CheckType(items, items.is_array(), line, path + "items", "a list");
    for (size_t i = 0; i < items.size(); ++i) {
      // The items of a typed list do not repeat their kind.
      if (items[i].is_object() && kind != "List") items[i].emplace("kind", wanted);
      Add(std::move(items[i]), line, path + "items[" + std::to_string(i) + "]", file, wanted,
          manifests);
    }
    return;
  }
  CheckType(kind, kind == wanted, line, path + "kind", "\"" + wanted + "\"");
  const Json& meta = Member(object, "metadata");
  CheckType(meta, meta.is_object(), line, path + "metadata", "an object");
  const Json& name = Member(meta, "name");
  CheckType(name, name.is_string(), line, path + "metadata.name", "a text");
  StripServerFields(object["metadata"]);
  manifests.push_back({std::move(object), file + ":" + std::to_string(line)});
}

}  // namespace

Result<std::vector<Manifest>> ParseManifests(const std::string& text, const std::string& file,
                                             const std::string& kind) {
  std::vector<Manifest> manifests;
  try {
    for (auto& [object, line] : ReadDocuments(text))
      Add(std::move(object), line, "", file, kind, manifests);
  } catch (const Problem& problem) {
    return InvalidError(file + ":" + std::to_string(problem.line) + ": " + problem.what());
  } catch (const YAML::Exception& problem) {
    return InvalidError(file + ":" + std::to_string(problem.mark.line + 1) + ": " + problem.msg);
  }
  if (manifests.empty()) return InvalidError(file + ": there is no " + kind + " in it");
  return manifests;
}

Result<std::vector<Manifest>> LoadManifests(const std::string& path, const std::string& kind) {
  const auto unreadable = [&path] {
    return InvalidError(path + ": cannot be read: " + std::generic_category().message(errno));
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (!file) return unreadable();
  std::string text;
  std::array<char, 16 * 1024> buffer;
  while (const size_t count = std::fread(buffer.data(), 1, buffer.size(), file.get()))
    text.append(buffer.data(), count);
  if (std::ferror(file.get())) return unreadable();
  return ParseManifests(text, path, kind);
}

}  // namespace aliquot::cli
