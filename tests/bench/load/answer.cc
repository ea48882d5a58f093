#include "load/answer.h"

#include <simdjson.h>

namespace aliquot::load {
namespace {

namespace ondemand = simdjson::ondemand;

Answer Unreadable(simdjson::error_code code) {
  return {Verdict::kFailed,
          std::string("cannot read the answer: ") + simdjson::error_message(code)};
}

}  // namespace

Answer ReadAnswer(int status, std::string_view body) {
  if (status != 200) return {Verdict::kFailed, "HTTP status " + std::to_string(status)};
  static thread_local ondemand::parser parser;
  const simdjson::padded_string padded(body);
  ondemand::document document;
  ondemand::object answer;
  if (const auto code = parser.iterate(padded).get(document)) return Unreadable(code);
  if (const auto code = document.get_object().get(answer)) return Unreadable(code);

  ondemand::value names;
  bool none = true;
  if (const auto code = answer.find_field_unordered("NodeNames").get(names))
    return Unreadable(code);
  if (const auto code = names.is_null().get(none)) return Unreadable(code);
  ondemand::array list;
  if (!none) {
    if (const auto code = names.get_array().get(list)) return Unreadable(code);
    if (const auto code = list.is_empty().get(none)) return Unreadable(code);
  }
  std::string_view error;
  if (const auto code = answer.find_field_unordered("Error").get_string().get(error))
    return Unreadable(code);
  if (!error.empty()) return {Verdict::kFailed, std::string(error)};
  return {none ? Verdict::kRefused : Verdict::kFits};
}

}  // namespace aliquot::load
