#include "server/wire.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "aliquot/base/strings.h"
#include "aliquot/codec/json_quote.h"
#include "aliquot/kube/parse.h"

namespace aliquot::server {
namespace {

namespace ondemand = simdjson::ondemand;
using ondemand::json_type;
using scheduler::BindAnswer;
using scheduler::BindRequest;
using scheduler::FailedNode;
using scheduler::FilterAnswer;
using scheduler::FilterRequest;

// A parser's buffers are several times as large as its longest text.
constexpr size_t kLongBody = 4 << 20;

constexpr std::string_view kJsonSpace = " \t\r\n";

// What went wrong; none is success.
using Problem = std::optional<Error>;

Error Malformed(std::string_view where, simdjson::error_code code) {
  return InvalidError(std::string(where) + ": " + simdjson::error_message(code));
}

// After reading a value failed with `code`.
Error Unreadable(std::string_view where, std::string_view expected, ondemand::value value,
                 simdjson::error_code code) {
  json_type type{};
  if (code != simdjson::INCORRECT_TYPE) return Malformed(where, code);
  if (const auto bad = value.type().get(type)) return Malformed(where, bad);
  constexpr std::array kNames{"an array", "an object", "a number", "a string", "a boolean", "null"};
  return InvalidError(std::string(where) + ": expected " + std::string(expected) + ", found " +
                      kNames.at(static_cast<size_t>(type) - 1));
}

// Which of the known names a key of an object means.
template <size_t N>
class Keys {
 public:
  explicit Keys(std::array<std::string_view, N> names) : names_(names) {}

  // None: unknown, or there was one that is spelled better.
  std::optional<size_t> Find(std::string_view key) {
    for (size_t i = 0; i < N; ++i) {
      if (!EqualsIgnoreCase(key, names_[i])) continue;
      const bool exact = key == names_[i];
      if (seen_exact_[i] && !exact) return std::nullopt;
      seen_exact_[i] = exact;
      return i;
    }
    return std::nullopt;
  }

 private:
  const std::array<std::string_view, N> names_;
  std::array<bool, N> seen_exact_{};
};

// What stands at a key; none is null.
using Value = std::optional<ondemand::value>;

// Calls visit(i, value) for each key which means names[i].
template <size_t N, typename Visit>
Problem ForEachKey(ondemand::object object, std::string_view where,
                   const std::array<std::string_view, N>& names, Visit visit) {
  Keys<N> keys(names);
  for (auto field : object) {
    std::string_view key;
    if (const auto code = field.unescaped_key().get(key)) return Malformed(where, code);
    const std::optional<size_t> found = keys.Find(key);
    if (!found) continue;
    ondemand::value value;
    if (const auto code = field.value().get(value)) return Malformed(names[*found], code);
    bool null = false;
    if (const auto code = value.is_null().get(null)) return Malformed(names[*found], code);
    if (Problem problem = visit(*found, null ? Value() : Value(value))) return problem;
  }
  return std::nullopt;
}

// The text of an object, without what follows it.
Problem RawObject(ondemand::value value, std::string_view where, std::string_view& raw) {
  ondemand::object object;
  if (const auto code = value.get_object().get(object)) {
    return Unreadable(where, "an object", value, code);
  }
  if (const auto code = object.raw_json().get(raw)) return Malformed(where, code);
  raw = raw.substr(0, raw.find_last_of('}') + 1);
  return std::nullopt;
}

// Calls visit(element, name) for each element; name() is "where[i]".
template <typename Visit>
Problem ForEachElement(ondemand::value value, std::string_view where, Visit visit) {
  ondemand::array array;
  if (const auto code = value.get_array().get(array)) {
    return Unreadable(where, "an array", value, code);
  }
  size_t index = 0;
  for (auto element : array) {
    ondemand::value one;
    const auto name = [&] { return std::string(where) + '[' + std::to_string(index) + ']'; };
    if (const auto code = element.get(one)) return Malformed(name(), code);
    if (Problem problem = visit(one, name)) return problem;
    ++index;
  }
  return std::nullopt;
}

// What FilterRequest::storage holds.
struct FilterStorage {
  std::string body;
  std::deque<std::string> unescaped;  // names that differ from how the body has them
};

Problem ReadNodeNames(Value value, FilterStorage& storage, FilterRequest& request) {
  request.node_names.clear();
  if (!value) return std::nullopt;
  request.node_names.reserve(storage.body.size() / 16);  // growing costs half of the reading
  return ForEachElement(
      *value, "NodeNames", [&](ondemand::value one, const auto& where) -> Problem {
        // The parser has seen to quotes, control characters and UTF-8.
        const std::string_view token = one.raw_json_token();
        if (token.starts_with('"') && token.find('\\') == std::string_view::npos) {
          request.node_names.push_back(token.substr(1, token.rfind('"') - 1));
          return std::nullopt;
        }
        std::string_view name;
        if (const auto code = one.get_string().get(name))
          return Unreadable(where(), "a string", one, code);
        request.node_names.push_back(storage.unescaped.emplace_back(name));
        return std::nullopt;
      });
}

Problem ReadNodes(Value value, FilterRequest& request) {
  request.nodes.clear();
  request.simulation = value.has_value();
  if (!value) return std::nullopt;
  ondemand::object list;
  if (const auto code = value->get_object().get(list)) {
    return Unreadable("Nodes", "an object", *value, code);
  }
  constexpr std::array<std::string_view, 1> kKeys{"items"};
  return ForEachKey(list, "Nodes", kKeys, [&](size_t, Value items) -> Problem {
    request.nodes.clear();
    if (!items) return std::nullopt;
    return ForEachElement(*items, "Nodes.items", [&](ondemand::value one, const auto& where) {
      std::string_view raw;
      if (Problem problem = RawObject(one, where(), raw)) return problem;
      Result<kube::Node> node = kube::ParseNode(raw);
      if (!node) return Problem(InvalidError(where() + ": " + node.error().message));
      request.nodes.push_back({std::move(*node), raw});
      return Problem();
    });
  });
}

Result<FilterRequest> ReadFilter(ondemand::object object, FilterStorage& storage) {
  FilterRequest request;
  bool has_pod = false;
  constexpr std::array<std::string_view, 3> kKeys{"Pod", "Nodes", "NodeNames"};
  Problem problem = ForEachKey(object, "extender args", kKeys, [&](size_t key, Value value) {
    if (kKeys[key] == "NodeNames") return ReadNodeNames(value, storage, request);
    if (kKeys[key] == "Nodes") return ReadNodes(value, request);
    has_pod = value.has_value();
    if (!value) return Problem();
    std::string_view raw;
    if (Problem wrong = RawObject(*value, "Pod", raw)) return wrong;
    Result<kube::Pod> pod = kube::ParsePod(raw);
    if (!pod) return Problem(pod.error());
    request.pod = std::move(*pod);
    return Problem();
  });
  if (problem) return *problem;
  if (!has_pod) return InvalidError("extender args missing pod");
  return request;
}

Result<BindRequest> ReadBind(ondemand::object object) {
  BindRequest request;
  constexpr std::array<std::string_view, 4> kKeys{"PodName", "PodNamespace", "PodUID", "Node"};
  const std::array fields{&request.pod_name, &request.pod_namespace, &request.pod_uid,
                          &request.node};
  Problem problem =
      ForEachKey(object, "binding args", kKeys, [&](size_t key, Value value) -> Problem {
        fields[key]->clear();
        if (!value) return std::nullopt;
        std::string_view text;
        if (const auto code = value->get_string().get(text)) {
          return Unreadable(kKeys[key], "a string", *value, code);
        }
        *fields[key] = text;
        return std::nullopt;
      });
  if (problem) return *problem;
  return request;
}

// The end of the first JSON object or array in `text`, or npos if it has none:
// brackets and strings are counted, nothing else is checked.
size_t FirstValueEnd(std::string_view text) {
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

// Reads the object in `body` by read(object).
template <typename T, typename Read>
Result<T> ReadOnce(const std::string& body, Read read) {
  static thread_local ondemand::parser kept;
  ondemand::parser fresh;
  ondemand::parser& parser = body.size() > kLongBody ? fresh : kept;
  ondemand::document document;
  ondemand::object object;
  if (const auto code = parser.iterate(body).get(document)) return Malformed("request body", code);
  if (const auto code = document.get_object().get(object)) return Malformed("request body", code);
  return read(object);
}

template <typename T, typename Read>
Result<T> ReadBody(std::string& body, Read read) {
  const size_t start = body.find_first_not_of(kJsonSpace);
  if (start == std::string::npos) return InvalidError("request body is empty: EOF");
  if (body.compare(start, 4, "null") == 0) body.replace(start, 4, "{}");
  if (body[start] != '{') return InvalidError("request body: expected a JSON object");
  body.reserve(body.size() + simdjson::SIMDJSON_PADDING);

  Result<T> result = ReadOnce<T>(body, read);
  if (result.ok()) return result;
  // The parser looks at all of the text at once, and may have stumbled over
  // what follows the object.
  const size_t end = FirstValueEnd(body);
  if (end == std::string::npos) return InvalidError("request body is cut off: unexpected EOF");
  if (end == body.size()) return result;
  body.resize(end);
  return ReadOnce<T>(body, read);
}

// append(element) for each, with commas between.
template <typename List, typename Append>
void AppendAll(std::string& json, const List& list, Append append) {
  bool first = true;
  for (const auto& element : list) {
    if (!std::exchange(first, false)) json += ',';
    append(element);
  }
}

void AppendFailures(std::string& json, const std::vector<FailedNode>& failures) {
  if (failures.empty()) {
    json += "null";
    return;
  }
  json.reserve(json.size() +
               failures.size() * (failures[0].node.size() * 5 / 4 + failures[0].reason.size() + 6));
  // Many nodes share few reasons: each is encoded once, and neighbours mostly have the same.
  std::unordered_map<const char*, std::string> reasons;
  const char* last = nullptr;
  std::string* encoded = nullptr;
  json += '{';
  AppendAll(json, failures, [&](const FailedNode& failure) {
    codec::AppendJsonQuoted(json, failure.node);
    if (const char* reason = failure.reason.data(); reason != last) {
      last = reason;
      encoded = &reasons[reason];
      if (encoded->empty()) {
        *encoded = ':';
        codec::AppendJsonQuoted(*encoded, failure.reason);
      }
    }
    json += *encoded;
  });
  json += '}';
}

}  // namespace

Result<FilterRequest> ParseFilterRequest(std::string body) {
  auto storage = std::make_shared<FilterStorage>();
  storage->body = std::move(body);
  Result<FilterRequest> request = ReadBody<FilterRequest>(
      storage->body, [&](ondemand::object object) { return ReadFilter(object, *storage); });
  if (request.ok()) request->storage = std::move(storage);
  return request;
}

Result<BindRequest> ParseBindRequest(std::string body) {
  return ReadBody<BindRequest>(body, ReadBind);
}

std::string ToJson(const FilterAnswer& answer, const FilterRequest& request) {
  std::string json = R"({"Nodes":)";
  if (answer.nodes) {
    json += R"({"metadata":{},"items":[)";
    AppendAll(json, *answer.nodes, [&](size_t node) { json += request.nodes.at(node).json; });
    json += "]}";
  } else {
    json += "null";
  }
  json += R"(,"NodeNames":)";
  if (answer.node_names) {
    json += '[';
    AppendAll(json, *answer.node_names,
              [&](std::string_view name) { codec::AppendJsonQuoted(json, name); });
    json += ']';
  } else {
    json += "null";
  }
  json += R"(,"FailedNodes":)";
  AppendFailures(json, answer.failed);
  json += R"(,"FailedAndUnresolvableNodes":)";
  AppendFailures(json, answer.unresolvable);
  json += R"(,"Error":)";
  codec::AppendJsonQuoted(json, answer.error);
  json += '}';
  return json;
}

std::string ToJson(const BindAnswer& answer) {
  std::string json = R"({"Error":)";
  codec::AppendJsonQuoted(json, answer.error);
  json += '}';
  return json;
}

}  // namespace aliquot::server
