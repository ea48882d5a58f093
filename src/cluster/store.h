// Store: the objects, and what has happened to them. One resource version
// counts over all kinds.
//
// Thread safety: none, the owner locks.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/resources.h"

namespace aliquot::cluster {

// As stored: without kind and apiVersion, which its place tells.
struct Object {
  Json value;
  std::string text;  // of `value`
  uint64_t version;

  const Json& meta() const { return value["metadata"]; }
};
using ObjectPtr = std::shared_ptr<const Object>;
using Objects = std::map<std::string, ObjectPtr, std::less<>>;  // by Place::Key

// One change; null where there was, or is, nothing.
struct Change {
  uint64_t version;
  std::string key;
  ObjectPtr before, after;
};

class Store {
 public:
  explicit Store(size_t history_per_kind) : history_limit_(history_per_kind) {}

  uint64_t version() const { return version_; }

  ObjectPtr Find(const Resource& resource, std::string_view key) const;
  const Objects& All(const Resource& resource) const { return TableOf(resource).objects; }
  // As it was after change `version`; nothing if that is forgotten.
  std::optional<Objects> AllAt(const Resource& resource, uint64_t version) const;

  // Both get the next resource version; Put writes it into the object.
  ObjectPtr Put(const Resource& resource, const std::string& key, Json value);
  void Remove(const Resource& resource, const std::string& key);

  // The first change after `version`, or null.
  const Change* Next(const Resource& resource, uint64_t version) const;
  // Changes after `version` have been forgotten.
  bool Forgotten(const Resource& resource, uint64_t version) const;
  void Compact();

 private:
  struct Table {
    Objects objects;
    std::deque<Change> history;  // ascending
    uint64_t forgotten = 0;      // the latest version whose change is not there
  };
  Table& TableOf(const Resource& resource) { return tables_[static_cast<size_t>(resource.kind)]; }
  const Table& TableOf(const Resource& resource) const {
    return tables_[static_cast<size_t>(resource.kind)];
  }
  void Record(Table& table, Change change);

  const size_t history_limit_;
  uint64_t version_ = 0;
  std::array<Table, kKinds> tables_;
};

// The object's value with another resource version, as text.
ObjectPtr WithVersion(const Object& object, uint64_t version);

// With kind and apiVersion.
std::string FullText(const Resource& resource, const Object& object);

}  // namespace aliquot::cluster
