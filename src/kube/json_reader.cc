#include "kube/json_reader.h"

#include "aliquot/base/strings.h"

namespace aliquot::kube::json {
namespace {

// simdjson reads past the end of its input, so the text is copied into a
// buffer with room behind it. One per thread; a huge text does not stay.
struct Scratch {
  od::parser parser;
  std::string buffer;
  std::string_view source;  // what the buffer is a copy of
};
constexpr size_t kKeptBytes = 1 << 20;

Scratch& ThreadScratch() {
  thread_local Scratch scratch;
  return scratch;
}

// The same part of what the buffer is a copy of.
std::string_view InSource(std::string_view part) {
  const Scratch& scratch = ThreadScratch();
  return scratch.source.substr(static_cast<size_t>(part.data() - scratch.buffer.data()),
                               part.size());
}

// Gives a big buffer back when the reading is over.
struct Shrink {
  Scratch& scratch;
  ~Shrink() {
    scratch.source = {};
    if (scratch.buffer.capacity() > kKeptBytes) scratch = Scratch();
  }
};

}  // namespace

std::string Path::Text() const {
  if (parent == nullptr) return std::string(name);
  std::string text = parent->Text();
  if (name.empty()) return text + "[" + std::to_string(index) + "]";
  if (!text.empty()) text += '.';
  return text.append(name);
}

void Fail(const Path& at, std::string_view what) {
  std::string text = at.Text();
  if (!text.empty()) text += ": ";
  throw ReadFailure{text.append(what)};
}

Result<void> ReadObject(std::string_view json, const FieldReader& field) {
  Scratch& scratch = ThreadScratch();
  const Shrink shrink{scratch};
  scratch.buffer.reserve(json.size() + simdjson::SIMDJSON_PADDING);
  scratch.buffer.assign(json);
  scratch.source = json;
  try {
    const Path root;
    od::document document;
    Check(scratch.parser.iterate(scratch.buffer).get(document), root, "not JSON");
    od::object object;
    Check(document.get_object().get(object), root, "not an object");
    EachField(object, root, field);
    if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
      Fail(root, "something follows the object");
    }
    return {};
  } catch (const ReadFailure& failure) {
    return InvalidError(failure.text);
  }
}

bool IsNull(od::value value, const Path& at) {
  bool null = false;
  Check(value.is_null().get(null), at, "not a value");
  return null;
}

std::string_view Text(od::value value, const Path& at) {
  std::string_view text;
  Check(value.get_string().get(text), at, "not a string");
  return text;
}

int64_t Integer(od::value value, const Path& at) {
  int64_t number = 0;
  Check(value.get_int64().get(number), at, "not an integer");
  return number;
}

bool Bool(od::value value, const Path& at) {
  bool flag = false;
  Check(value.get_bool().get(flag), at, "not a boolean");
  return flag;
}

std::string Quantity(od::value value, const Path& at) {
  od::json_type type;
  Check(value.type().get(type), at, "not a quantity");
  if (type != od::json_type::number) {
    std::string_view text;
    Check(value.get_string().get(text), at, "neither a string nor a number");
    return std::string(text);
  }
  const std::string digits(Trim(value.raw_json_token()));
  double number = 0;
  Check(value.get_double().get(number), at, "not a number");
  return digits;
}

StringMap TextMap(od::value value, const Path& at) {
  StringMap map;
  EachField(value, at, [&](std::string_view key, od::value text, const Path& here) {
    map.insert_or_assign(std::string(key), std::string(Text(text, here)));
  });
  return map;
}

StringMap QuantityMap(od::value value, const Path& at) {
  StringMap map;
  EachField(value, at, [&](std::string_view key, od::value quantity, const Path& here) {
    map.insert_or_assign(std::string(key), Quantity(quantity, here));
  });
  return map;
}

std::string_view RawObject(od::value value, const Path& at) {
  od::object object;
  Check(value.get_object().get(object), at, "not an object");
  std::string_view raw;
  Check(object.raw_json().get(raw), at, "not an object");
  return InSource(raw);
}

std::string_view RawValue(od::value value, const Path& at) {
  od::json_type type;
  Check(value.type().get(type), at, "not a value");
  return type == od::json_type::object ? RawObject(value, at) : InSource(value.raw_json_token());
}

}  // namespace aliquot::kube::json
