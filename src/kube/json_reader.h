// Reading one JSON object by simdjson's on-demand parser, field by field, with
// errors that name the place: "spec.containers[0].name: not a string".
//
// null reads as absent, and of a repeated key the last one wins. What nobody
// reads is skipped and not looked at closely.
#pragma once

#include <simdjson.h>

#include <functional>
#include <string>
#include <string_view>

#include "aliquot/base/result.h"
#include "aliquot/base/string_map.h"

namespace aliquot::kube::json {

namespace od = simdjson::ondemand;

// Where we are in the object. Lives on the stack of the readers; turned into
// text only for an error.
struct Path {
  const Path* parent = nullptr;
  std::string_view name = {};  // of a field
  size_t index = 0;            // in an array, when there is no name

  std::string Text() const;
};

// Thrown by the readers below and caught by ReadObject; never leaves it.
struct ReadFailure {
  std::string text;
};

[[noreturn]] void Fail(const Path& at, std::string_view what);

inline void Check(simdjson::error_code code, const Path& at, std::string_view what) {
  if (code == simdjson::SUCCESS) [[likely]]
    return;
  // Of a value that is there and of another type, say what we wanted.
  Fail(at, code == simdjson::INCORRECT_TYPE ? what : simdjson::error_message(code));
}

using FieldReader = std::function<void(std::string_view key, od::value value, const Path& at)>;

// Calls `field` for each field of the object `json`, which may have any length
// and needs no padding. Texts handed out live until `field` returns; not to be
// called from within `field`. Errors: kInvalid.
Result<void> ReadObject(std::string_view json, const FieldReader& field);

bool IsNull(od::value value, const Path& at);

// A field that is null is not visited.
template <typename F>
void EachField(od::object object, const Path& at, F&& field) {
  for (auto entry : object) {
    od::field inner;
    Check(std::move(entry).get(inner), at, "not an object");
    std::string_view key;
    Check(inner.unescaped_key().get(key), at, "not a key");
    const Path here{&at, key};
    od::value value = inner.value();
    if (!IsNull(value, here)) field(key, value, here);
  }
}

template <typename F>
void EachField(od::value value, const Path& at, F&& field) {
  od::object object;
  Check(value.get_object().get(object), at, "not an object");
  EachField(object, at, std::forward<F>(field));
}

template <typename F>
void EachItem(od::value value, const Path& at, F&& item) {
  od::array array;
  Check(value.get_array().get(array), at, "not a list");
  Path here{&at};
  for (auto entry : array) {
    od::value inner;
    Check(std::move(entry).get(inner), here, "not a value");
    item(inner, here);
    ++here.index;
  }
}

// Lives until ReadObject ends.
std::string_view Text(od::value value, const Path& at);
int64_t Integer(od::value value, const Path& at);
bool Bool(od::value value, const Path& at);
// A text, or a number as its digits.
std::string Quantity(od::value value, const Path& at);
StringMap TextMap(od::value value, const Path& at);
StringMap QuantityMap(od::value value, const Path& at);
// The JSON text of an object, as a part of what ReadObject was given.
std::string_view RawObject(od::value value, const Path& at);
// The same of any value; of one that is no object only its beginning.
std::string_view RawValue(od::value value, const Path& at);

}  // namespace aliquot::kube::json
