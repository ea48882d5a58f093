#include "config/yaml_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "aliquot/config/suggest.h"

namespace aliquot::config {
namespace {

// Quoted scalars, block scalars and !!str are text, whatever they look like.
bool IsPlain(const YAML::Node& node) {
  return node.IsScalar() && node.Tag() != "!" && node.Tag() != "tag:yaml.org,2002:str";
}

int LineOf(const YAML::Node& node) { return node.Mark().line + 1; }

// The booleans of YAML 1.1.
std::optional<bool> ParseYamlBool(std::string_view text) {
  constexpr std::array<std::string_view, 11> kTrue{"y",  "Y",  "yes",  "Yes",  "YES", "on",
                                                   "On", "ON", "true", "True", "TRUE"};
  constexpr std::array<std::string_view, 11> kFalse{"n",   "N",   "no",    "No",    "NO",   "off",
                                                    "Off", "OFF", "false", "False", "FALSE"};
  if (std::find(kTrue.begin(), kTrue.end(), text) != kTrue.end()) return true;
  if (std::find(kFalse.begin(), kFalse.end(), text) != kFalse.end()) return false;
  return std::nullopt;
}

std::optional<double> ParseYamlFloat(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

// Integers of YAML 1.1: decimal, 0x, 0o and 0 (octal), 0b, with underscores. Also
// a float without a fraction: that is how templates print large numbers (1e+06).
std::optional<int64_t> ParseYamlInteger(std::string_view text) {
  std::string digits;
  std::copy_if(text.begin(), text.end(), std::back_inserter(digits),
               [](char c) { return c != '_'; });
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.erase(0, 1);
  int base = 10;
  for (const auto& [prefix, its_base] :
       {std::pair("0x", 16), std::pair("0o", 8), std::pair("0b", 2), std::pair("0", 8)}) {
    if (digits.size() < 2 || !digits.starts_with(prefix)) continue;
    digits.erase(0, std::string_view(prefix).size());
    base = its_base;
    break;
  }
  int64_t value = 0;
  if (!digits.starts_with('-')) {
    if (negative) digits.insert(0, "-");
    const char* end = digits.data() + digits.size();
    const auto [stop, problem] = std::from_chars(digits.data(), end, value, base);
    if (problem == std::errc() && stop == end) return value;
  }
  const std::optional<double> number = ParseYamlFloat(text);
  if (!number || std::trunc(*number) != *number || std::abs(*number) >= 0x1p63) return std::nullopt;
  return static_cast<int64_t>(*number);
}

}  // namespace

YamlReader::YamlReader(const YAML::Node& node, std::string path, Findings& findings)
    : node_(node), path_(std::move(path)), findings_(findings) {
  AddPairs(node, 0);
}

void YamlReader::AddPairs(const YAML::Node& node, int depth) {
  constexpr int kMaxDepth = 4;  // a mapping can merge itself
  if (depth > kMaxDepth) return Fail(node, PathOf("<<"), "merged at most 4 deep", findings_);
  if (!node.IsMap()) return Fail(node, PathOf("<<"), "a mapping, or a list of mappings", findings_);
  std::vector<YAML::Node> merged;
  for (const auto& pair : node) {
    const YAML::Node& key = pair.first;
    if (!key.IsScalar()) {
      Warn(key, "a key that is no text is ignored");
    } else if (key.Scalar() == "<<" && IsPlain(key)) {
      merged.push_back(pair.second);
    } else if (depth > 0) {
      entries_.try_emplace(key.Scalar(), Entry{key, pair.second});
    } else {
      const bool added = entries_.insert_or_assign(key.Scalar(), Entry{key, pair.second}).second;
      if (!added) Warn(key, PathOf(key.Scalar()) + " is given again; the later value counts");
    }
  }
  for (const YAML::Node& source : merged) {
    if (!source.IsSequence())
      AddPairs(source, depth + 1);
    else
      for (const auto& element : source) AddPairs(element, depth + 1);
  }
}

const YAML::Node* YamlReader::Take(std::string_view key) {
  known_.emplace_back(key);
  const auto entry = entries_.find(key);
  if (entry == entries_.end() || entry->second.value.IsNull()) return nullptr;
  return &entry->second.value;
}

std::string YamlReader::PathOf(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

void YamlReader::Fail(const YAML::Node& node, const std::string& path, const std::string& expects,
                      Findings& findings) {
  std::string text = (path.empty() ? "the document" : path) + ": must be " + expects;
  if (node.IsScalar())
    text +=
        std::string(", not ") + (IsPlain(node) ? "" : "the text ") + "\"" + node.Scalar() + "\"";
  findings.errors.emplace(LineOf(node), std::move(text));
}

void YamlReader::Warn(const YAML::Node& at, const std::string& text) {
  findings_.warnings.emplace(LineOf(at), text);
}

void YamlReader::Resource(std::string_view key, std::string& value) {
  Field(key, value);
  if (value.empty()) return;
  const auto [other, added] = findings_.resources.try_emplace(value, path_);
  if (!added && other->second != path_)
    Warn(*Take(key),
         PathOf(key) + ": " + other->second + " has the resource name \"" + value + "\" as well");
}

void YamlReader::Identity(std::string_view key, std::string& value) {
  Field(key, value);
  if (value.empty()) return Fail(node_, PathOf(key), "given, and not empty", findings_);
  const auto [other, added] = findings_.identities.try_emplace(value, path_);
  if (!added)
    Warn(*Take(key), PathOf(key) + ": " + other->second + " is \"" + value +
                         "\" as well; the later entry counts");
}

void YamlReader::Words(std::string_view key, std::string& value,
                       std::span<const std::string_view> words) {
  Field(key, value);
  if (value.empty() || std::find(words.begin(), words.end(), value) != words.end()) return;
  Warn(*Take(key), PathOf(key) + ": \"" + value + "\" is not recognised");
}

void YamlReader::Finish() {
  for (const auto& [key, entry] : entries_)
    if (std::find(known_.begin(), known_.end(), key) == known_.end())
      Warn(entry.key, "unknown key " + PathOf(key) + Suggestion(key, known_));
}

void YamlReader::Read(const YAML::Node& node, const std::string& path, std::string& value) {
  if (!node.IsScalar()) return Fail(node, path, "text", findings_);
  value = node.Scalar();
}

void YamlReader::Read(const YAML::Node& node, const std::string& path, bool& value) {
  const auto parsed = IsPlain(node) ? ParseYamlBool(node.Scalar()) : std::nullopt;
  if (!parsed) return Fail(node, path, "true or false", findings_);
  value = *parsed;
}

template <typename Integer>
void YamlReader::ReadInteger(const YAML::Node& node, const std::string& path, Integer& value) {
  using Limits = std::numeric_limits<Integer>;
  const auto parsed = IsPlain(node) ? ParseYamlInteger(node.Scalar()) : std::nullopt;
  if (!parsed || !std::in_range<Integer>(*parsed))
    return Fail(
        node, path,
        "an integer from " + std::to_string(Limits::min()) + " to " + std::to_string(Limits::max()),
        findings_);
  value = static_cast<Integer>(*parsed);
}

void YamlReader::Read(const YAML::Node& node, const std::string& path, int32_t& value) {
  ReadInteger(node, path, value);
}

void YamlReader::Read(const YAML::Node& node, const std::string& path, uint32_t& value) {
  ReadInteger(node, path, value);
}

void YamlReader::Read(const YAML::Node& node, const std::string& path, int64_t& value) {
  ReadInteger(node, path, value);
}

void YamlReader::Read(const YAML::Node& node, const std::string& path, double& value) {
  const auto parsed = IsPlain(node) ? ParseYamlFloat(node.Scalar()) : std::nullopt;
  if (!parsed) return Fail(node, path, "a number", findings_);
  value = *parsed;
}

}  // namespace aliquot::config
