#include "cluster/store.h"

#include <algorithm>

namespace aliquot::cluster {
namespace {

ObjectPtr MakeObject(Json value, uint64_t version) {
  value["metadata"]["resourceVersion"] = std::to_string(version);
  std::string text = value.dump();
  return std::make_shared<Object>(Object{std::move(value), std::move(text), version});
}

}  // namespace

ObjectPtr WithVersion(const Object& object, uint64_t version) {
  return MakeObject(object.value, version);
}

std::string FullText(const Resource& resource, const Object& object) {
  std::string text = "{\"kind\":\"";
  text.append(resource.kind_name).append("\",\"apiVersion\":\"").append(resource.ApiVersion());
  return text.append("\",").append(object.text, 1);  // without the opening brace
}

ObjectPtr Store::Find(const Resource& resource, std::string_view key) const {
  const Objects& objects = All(resource);
  const auto it = objects.find(key);
  return it == objects.end() ? nullptr : it->second;
}

std::optional<Objects> Store::AllAt(const Resource& resource, uint64_t version) const {
  const Table& table = TableOf(resource);
  if (version < table.forgotten) return std::nullopt;
  Objects objects = table.objects;
  for (auto it = table.history.rbegin(); it != table.history.rend() && it->version > version;
       ++it) {
    if (it->before) {
      objects[it->key] = it->before;
    } else {
      objects.erase(it->key);
    }
  }
  return objects;
}

ObjectPtr Store::Put(const Resource& resource, const std::string& key, Json value) {
  Table& table = TableOf(resource);
  ObjectPtr now = MakeObject(std::move(value), ++version_);
  ObjectPtr& place = table.objects[key];
  Record(table, {version_, key, place, now});
  place = now;
  return now;
}

void Store::Remove(const Resource& resource, const std::string& key) {
  Table& table = TableOf(resource);
  const auto it = table.objects.find(key);
  if (it == table.objects.end()) return;
  Record(table, {++version_, key, it->second, nullptr});
  table.objects.erase(it);
}

void Store::Record(Table& table, Change change) {
  table.history.push_back(std::move(change));
  if (table.history.size() <= history_limit_) return;
  table.forgotten = table.history.front().version;
  table.history.pop_front();
}

const Change* Store::Next(const Resource& resource, uint64_t version) const {
  const std::deque<Change>& history = TableOf(resource).history;
  const auto it =
      std::upper_bound(history.begin(), history.end(), version,
                       [](uint64_t asked, const Change& change) { return asked < change.version; });
  return it == history.end() ? nullptr : &*it;
}

bool Store::Forgotten(const Resource& resource, uint64_t version) const {
  return version < TableOf(resource).forgotten;
}

void Store::Compact() {
  for (Table& table : tables_) {
    table.history.clear();
    table.forgotten = version_;
  }
}

}  // namespace aliquot::cluster
