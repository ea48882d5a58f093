// YamlWriter: writes structs that have a Describe function (yaml_reader.h) as a
// YAML document. Text is always quoted, so that it reads back as text.
#pragma once

#include <yaml-cpp/yaml.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace aliquot::config {

class YamlWriter {
 public:
  template <typename Struct>
  static std::string Document(Struct value) {
    YamlWriter writer;
    writer.Write(value);
    return std::string(writer.out_.c_str()) + "\n";
  }

  template <typename T>
  void Field(std::string_view key, T& value) {
    out_ << YAML::Key << std::string(key) << YAML::Value;
    Write(value);
  }
  template <typename T>
  void Field(std::string_view key, std::optional<T>& value) {
    if (value) Field(key, *value);
  }
  void Resource(std::string_view key, std::string& value) { Field(key, value); }
  void Identity(std::string_view key, std::string& value) { Field(key, value); }
  void Words(std::string_view key, std::string& value, std::span<const std::string_view>) {
    Field(key, value);
  }

 private:
  void Write(std::string& text) { out_ << YAML::DoubleQuoted << text; }
  template <typename Number>
  requires std::is_arithmetic_v<Number>
  void Write(Number& value) { out_ << value; }
  template <typename T>
  void Write(std::vector<T>& values) {
    if constexpr (std::is_same_v<T, std::string>) out_ << YAML::Flow;
    out_ << YAML::BeginSeq;
    for (T& value : values) Write(value);
    out_ << YAML::EndSeq;
  }
  template <typename Struct>
  requires std::is_class_v<Struct>
  void Write(Struct& value) {
    out_ << YAML::BeginMap;
    Describe(*this, value);
    out_ << YAML::EndMap;
  }

  YAML::Emitter out_;
};

}  // namespace aliquot::config
