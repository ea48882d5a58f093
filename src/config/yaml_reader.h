// YamlReader: reads one mapping of a YAML document into typed fields.
//
// A struct is read by the function template Describe(archive, struct) beside it,
// which names each key once:
//
//   template <typename Archive>
//   void Describe(Archive& section, HygonConfig& config) {
//     section.Resource("resourceCountName", config.resource_count_name);
//     section.Field("memoryFactor", config.memory_factor);
//   }
//
// YamlWriter (yaml_writer.h) is the other archive. What is wrong is collected, not
// thrown, so that one run tells all.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aliquot/base/string_map.h"

namespace aliquot::config {

struct Findings {
  std::multimap<int, std::string> errors;  // by line, counted from 1
  std::multimap<int, std::string> warnings;
  StringMap resources;   // resource name -> the section that has it
  StringMap identities;  // identity -> its path
};

class YamlReader {
 public:
  // `path` is the section's name in messages; empty for the document.
  // REQUIRES: `node` is a mapping.
  YamlReader(const YAML::Node& node, std::string path, Findings& findings);

  // Reads the value at `key`: a scalar, an optional, a struct, or a list of these.
  // Without a value (absent, null) the field keeps what it has.
  template <typename T>
  void Field(std::string_view key, T& value) {
    if (const YAML::Node* node = Take(key)) Read(*node, PathOf(key), value);
  }

  // A resource name: warns when another section has the same.
  void Resource(std::string_view key, std::string& value);

  // What tells the entries of a list apart: must not be empty. Warns when an
  // earlier entry has the same.
  void Identity(std::string_view key, std::string& value);

  // Text that should be empty or one of `words`: warns of others.
  void Words(std::string_view key, std::string& value, std::span<const std::string_view> words);

  // REQUIRES: all fields are read. Warns of keys that none of them has.
  void Finish();

  // Reads a whole value, e.g. the document.
  template <typename Struct>
  static void ReadValue(const YAML::Node& node, const std::string& path, Findings& findings,
                        Struct& value) {
    if (!node.IsMap()) return Fail(node, path, "a mapping of keys to values", findings);
    YamlReader section(node, path, findings);
    Describe(section, value);
    section.Finish();
  }

 private:
  static void Fail(const YAML::Node& node, const std::string& path, const std::string& expects,
                   Findings& findings);

  // The value at `key`, or null. From now on the key is known.
  const YAML::Node* Take(std::string_view key);
  std::string PathOf(std::string_view key) const;
  void Warn(const YAML::Node& at, const std::string& text);
  // Later pairs replace earlier ones; merged mappings ("<<") only add.
  void AddPairs(const YAML::Node& node, int depth);

  void Read(const YAML::Node& node, const std::string& path, std::string& value);
  void Read(const YAML::Node& node, const std::string& path, bool& value);
  void Read(const YAML::Node& node, const std::string& path, int32_t& value);
  void Read(const YAML::Node& node, const std::string& path, uint32_t& value);
  void Read(const YAML::Node& node, const std::string& path, int64_t& value);
  void Read(const YAML::Node& node, const std::string& path, double& value);
  template <typename Integer>
  void ReadInteger(const YAML::Node& node, const std::string& path, Integer& value);

  template <typename T>
  void Read(const YAML::Node& node, const std::string& path, std::optional<T>& value) {
    Read(node, path, value.emplace());
  }
  template <typename T>
  void Read(const YAML::Node& node, const std::string& path, std::vector<T>& value) {
    if (!node.IsSequence()) return Fail(node, path, "a list", findings_);
    for (const auto& element : node) {
      const std::string index = std::to_string(value.size());
      T& added = value.emplace_back();
      if (!element.IsNull()) Read(element, path + "[" + index + "]", added);
    }
  }
  template <typename Struct>
  void Read(const YAML::Node& node, const std::string& path, Struct& value) {
    ReadValue(node, path, findings_, value);
  }

  struct Entry {
    YAML::Node key;
    YAML::Node value;
  };

  YAML::Node node_;
  std::string path_;
  Findings& findings_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::vector<std::string> known_;
};

}  // namespace aliquot::config
