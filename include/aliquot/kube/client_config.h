// ClientConfig: where the API server is and who we are to it; from a kubeconfig
// file or from the pod we run in.
//
// Plain values. LoadClientConfig may be called from any thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aliquot/base/result.h"

namespace aliquot::kube {

// What the process offers; tests give their own.
struct Environment {
  // The variable's value, empty when it is not set.
  std::function<std::string(const std::string& name)> get;
  // Where kubelet mounts token, ca.crt and namespace.
  std::string service_account_dir = "/var/run/secrets/kubernetes.io/serviceaccount";
};
Environment ProcessEnvironment();

// A text that is given, or that is read from a file again and again because it
// rotates. With a file, `text` is the last good content.
struct FileText {
  std::string text;
  std::string file;  // empty: only the text

  bool operator==(const FileText&) const = default;
};

// A program that hands out credentials (client.authentication.k8s.io).
struct ExecPlugin {
  std::string api_version;
  std::string command;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // added to our own
  bool provide_cluster_info = false;

  bool operator==(const ExecPlugin&) const = default;
};

struct ClientConfig {
  std::string source;  // "in-cluster" or the kubeconfig's path, for logs
  std::string server;  // "https://10.0.0.5:6443/prefix", no slash at the end
  std::string ns;      // of the context or of our pod; may be empty

  FileText ca;  // PEM; empty: the system's
  bool insecure = false;
  std::string tls_server_name;
  std::string proxy_url;  // empty: the proxy variables of the environment
  bool compress = true;   // may ask for gzip

  // All of this is ignored when the server is plain http.
  FileText token;
  FileText certificate;  // PEM, together with key
  FileText key;
  std::string username;
  std::string password;
  std::optional<ExecPlugin> exec;
  // Impersonate-User and its like, as header name and value.
  std::vector<std::pair<std::string, std::string>> impersonation;
};

// KUBECONFIG (a colon-separated list is merged, missing files are skipped),
// else $HOME/.kube/config; when that cannot be loaded, the pod's service
// account. The error says what was wrong with both.
Result<ClientConfig> LoadClientConfig(const Environment& environment);

}  // namespace aliquot::kube
