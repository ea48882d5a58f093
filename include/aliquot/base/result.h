// Result<T>: a value, or the reason why the world did not give us one.
//
// Three channels tell three different things. A core::Refusal says that a pod
// does not fit; Result says that input or a peer misbehaved; ALIQUOT_CHECK
// (check.h) says that we have a bug.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "aliquot/base/check.h"

namespace aliquot {

// What kind of thing went wrong; decides what the caller does next.
enum class ErrorCode {
  kInvalid,          // bad input: text, flag, body; also HTTP 400, 415, 422
  kNotFound,         // no such object (404)
  kConflict,         // resource version or name taken, pod already bound (409)
  kOtherObject,      // the object of this name has another UID (a PATCH answers 422)
  kGone,             // resource version too old (410)
  kUnauthorized,     // 401
  kForbidden,        // 403
  kTooManyRequests,  // 429
  kTooLarge,         // 413, or a body over our own cap
  kUnavailable,      // 5xx, connection refused, TLS: nothing was changed
  kUnknownOutcome,   // a write was sent and its answer lost: it may have happened
  kDeadline,         // our own deadline passed before anything was sent
  kCancelled,        // shutting down
};

// Stable lower-case name, e.g. "not-found"; for logs and metrics.
std::string_view ErrorCodeName(ErrorCode code);

// `message` is for a human and names the field or object concerned.
struct Error {
  ErrorCode code = ErrorCode::kInvalid;
  std::string message;

  bool operator==(const Error&) const = default;
};

inline Error InvalidError(std::string message) { return {ErrorCode::kInvalid, std::move(message)}; }

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // REQUIRES: ok().
  T& value() & { return Get(); }
  const T& value() const& { return const_cast<Result*>(this)->Get(); }
  T&& value() && { return std::move(Get()); }
  T& operator*() & { return Get(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(Get()); }
  T* operator->() { return &Get(); }
  const T* operator->() const { return &value(); }

  // REQUIRES: !ok().
  const Error& error() const {
    ALIQUOT_CHECK(!ok());
    return *std::get_if<1>(&state_);
  }

 private:
  T& Get() {
    ALIQUOT_CHECK(ok());
    return *std::get_if<0>(&state_);
  }

  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : failed_(true), error_(std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return !failed_; }
  explicit operator bool() const { return ok(); }

  // REQUIRES: !ok().
  const Error& error() const {
    ALIQUOT_CHECK(failed_);
    return error_;
  }

 private:
  bool failed_ = false;
  Error error_;
};

}  // namespace aliquot
