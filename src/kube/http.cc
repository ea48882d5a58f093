#include "aliquot/kube/http.h"

#include <utility>

#include "aliquot/base/strings.h"
#include "aliquot/kube/parse.h"

namespace aliquot::kube {
namespace {

constexpr size_t kQuotedBytes = 200;  // of a body that is no Status

ErrorCode CodeOf(long status, bool write, std::string_view message) {
  switch (status) {
    case 401:
      return ErrorCode::kUnauthorized;
    case 403:
      return ErrorCode::kForbidden;
    case 404:
      return ErrorCode::kNotFound;
    case 409:
      return ErrorCode::kConflict;
    case 410:
      return ErrorCode::kGone;
    case 413:
      return ErrorCode::kTooLarge;
    case 422:
      return Contains(message, "metadata.uid") && Contains(message, "field is immutable")
                 ? ErrorCode::kOtherObject
                 : ErrorCode::kInvalid;
    case 429:
      return ErrorCode::kTooManyRequests;
    // Refused before anything was done.
    case 503:
      return ErrorCode::kUnavailable;
  }
  if (status >= 400 && status < 500) return ErrorCode::kInvalid;
  // Of the other failures nobody can say how far the server came.
  return write ? ErrorCode::kUnknownOutcome : ErrorCode::kUnavailable;
}

}  // namespace

std::string UrlEscape(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

std::string PodPath(std::string_view ns, std::string_view name) {
  return "/api/v1/namespaces/" + UrlEscape(ns) + "/pods/" + UrlEscape(name);
}
std::string NodePath(std::string_view name) { return "/api/v1/nodes/" + UrlEscape(name); }
std::string EventsPath(std::string_view ns) {
  return "/api/v1/namespaces/" + UrlEscape(ns) + "/events";
}
std::string SecretsPath(std::string_view ns) {
  return "/api/v1/namespaces/" + UrlEscape(ns) + "/secrets";
}
std::string SecretPath(std::string_view ns, std::string_view name) {
  return SecretsPath(ns) + "/" + UrlEscape(name);
}
std::string MutatingWebhookConfigurationPath(std::string_view name) {
  return "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/" + UrlEscape(name);
}

Error ErrorOfAnswer(long status, std::string_view body, bool write) {
  std::string message;
  if (Result<Status> read = ParseStatus(body)) message = std::move(read->message);
  if (message.empty()) {
    message = "HTTP " + std::to_string(status);
    if (const std::string_view text = Trim(body); !text.empty())
      message.append(": ").append(text.substr(0, kQuotedBytes));
  }
  return {CodeOf(status, write, message), std::move(message)};
}

}  // namespace aliquot::kube
