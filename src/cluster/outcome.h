// Outcome<T>: a value, or what the API server refuses a request with.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>

#include "aliquot/base/check.h"

namespace aliquot::cluster {

using Json = nlohmann::json;

// Becomes a Status object.
struct ApiError {
  int code = 500;
  std::string reason;
  std::string message;
  Json details = nullptr;

  std::string ToText() const {
    Json status = {{"kind", "Status"},    {"apiVersion", "v1"}, {"metadata", Json::object()},
                   {"status", "Failure"}, {"message", message}, {"code", code}};
    if (!reason.empty()) status["reason"] = reason;
    if (!details.is_null()) status["details"] = details;
    return status.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
};

inline ApiError BadRequest(std::string message) {
  return {400, "BadRequest", std::move(message), nullptr};
}

template <typename T = std::monostate>
class [[nodiscard]] Outcome {
 public:
  Outcome() = default;
  Outcome(T value) : state_(std::in_place_index<0>, std::move(value)) {}         // NOLINT: implicit
  Outcome(ApiError error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  explicit operator bool() const { return state_.index() == 0; }

  // REQUIRES: true.
  T& operator*() {
    ALIQUOT_CHECK(state_.index() == 0);
    return *std::get_if<0>(&state_);
  }
  T* operator->() { return &**this; }

  // REQUIRES: false.
  const ApiError& error() const {
    ALIQUOT_CHECK(state_.index() == 1);
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, ApiError> state_;
};

}  // namespace aliquot::cluster
