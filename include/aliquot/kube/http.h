// The Kubernetes API in terms of HTTP: where objects are, what patches are called, and
// what a status means.
//
// Thread safety: every function from any thread.
#pragma once

#include <string>
#include <string_view>

#include "aliquot/base/result.h"

namespace aliquot::kube {

inline constexpr const char* kJson = "application/json";
inline constexpr const char* kMergePatch = "application/merge-patch+json";
inline constexpr const char* kStrategicPatch = "application/strategic-merge-patch+json";

// Escapes what may not stand in one segment of a path or in one query value.
std::string UrlEscape(std::string_view text);

std::string PodPath(std::string_view ns, std::string_view name);
std::string NodePath(std::string_view name);
std::string EventsPath(std::string_view ns);
std::string SecretsPath(std::string_view ns);
std::string SecretPath(std::string_view ns, std::string_view name);
std::string MutatingWebhookConfigurationPath(std::string_view name);

// The error of an answer of 300 or above, with the message of the Status in its body, or
// the beginning of a body that is none. A write that the server may have done is
// kUnknownOutcome.
Error ErrorOfAnswer(long status, std::string_view body, bool write);

}  // namespace aliquot::kube
