// Running a credential plugin (client.authentication.k8s.io) and reading what
// it hands out.
//
// Thread safety: any function from any thread.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "aliquot/base/clock.h"
#include "aliquot/base/result.h"
#include "aliquot/kube/client_config.h"

namespace aliquot::kube {

struct ExecCredential {
  std::string token;
  std::string certificate;  // PEM, together with key
  std::string key;
  std::optional<WallTime> expires;  // nothing: until the API server refuses it
};

// What the plugin is told in KUBERNETES_EXEC_INFO.
std::string ExecInfo(const ClientConfig& config);

// Errors: kInvalid, which names the field.
Result<ExecCredential> ParseExecCredential(std::string_view json, std::string_view api_version);

// Runs the plugin of `config`, one minute at most. Errors: kUnauthorized with
// what went wrong, kCancelled.
// REQUIRES: config.exec.
Result<ExecCredential> RunExecPlugin(const ClientConfig& config, const std::stop_token& stop);

}  // namespace aliquot::kube
