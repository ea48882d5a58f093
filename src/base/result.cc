#include "aliquot/base/result.h"

namespace aliquot {

std::string_view ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return "invalid";
    case ErrorCode::kNotFound:
      return "not-found";
    case ErrorCode::kConflict:
      return "conflict";
    case ErrorCode::kOtherObject:
      return "other-object";
    case ErrorCode::kGone:
      return "gone";
    case ErrorCode::kUnauthorized:
      return "unauthorized";
    case ErrorCode::kForbidden:
      return "forbidden";
    case ErrorCode::kTooManyRequests:
      return "too-many-requests";
    case ErrorCode::kTooLarge:
      return "too-large";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kUnknownOutcome:
      return "unknown-outcome";
    case ErrorCode::kDeadline:
      return "deadline";
    case ErrorCode::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

}  // namespace aliquot
