#include "aliquot/kube/client_config.h"

#include <yaml-cpp/yaml.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "aliquot/base/base64.h"
#include "aliquot/base/files.h"
#include "aliquot/base/log.h"
#include "aliquot/base/strings.h"

namespace aliquot::kube {
namespace {

// Thrown while a kubeconfig is read, caught in LoadKubeconfig.
struct BadConfig {
  std::string text;
};

// A named entry and the folder that its relative paths start from.
struct Entry {
  YAML::Node node;
  std::filesystem::path folder;
};

struct Merged {
  std::string current_context;
  std::map<std::string, Entry> contexts, clusters, users;
};

// A mapping inside a kubeconfig, with the name that errors use for it.
class Fields {
 public:
  Fields(std::string name, Entry entry) : name_(std::move(name)), entry_(std::move(entry)) {
    if (!entry_.node.IsNull() && !entry_.node.IsMap()) throw BadConfig{name_ + ": not a mapping"};
  }

  bool Has(const std::string& key) const { return !At(key).IsNull(); }
  std::string Text(const std::string& key) const {
    if (!Has(key)) return "";
    if (!At(key).IsScalar()) throw BadConfig{Name(key) + ": not a string"};
    return At(key).Scalar();
  }
  bool Bool(const std::string& key) const {
    const std::string text = Text(key);
    if (!text.empty() && text != "true" && text != "false") {
      throw BadConfig{Name(key) + ": neither true nor false"};
    }
    return text == "true";
  }
  std::vector<std::string> Texts(const std::string& key) const {
    std::vector<std::string> texts;
    if (!Has(key)) return texts;
    if (!At(key).IsSequence()) throw BadConfig{Name(key) + ": not a list"};
    for (const YAML::Node& item : At(key)) {
      if (!item.IsScalar()) throw BadConfig{Name(key) + ": not a list of strings"};
      texts.push_back(item.Scalar());
    }
    return texts;
  }
  // A null node when there is none.
  YAML::Node At(const std::string& key) const {
    if (entry_.node.IsMap()) {
      if (const YAML::Node value = entry_.node[key]) return value;
    }
    return YAML::Node(YAML::NodeType::Null);
  }
  Fields Inner(const std::string& key) const { return {Name(key), {At(key), entry_.folder}}; }

  // A path relative to the file that names it; empty stays empty.
  std::string Path(const std::string& key) const {
    const std::string path = Text(key);
    return path.empty() ? path : (entry_.folder / path).lexically_normal().string();
  }
  // A file that must be readable now and is read again later.
  FileText File(const std::string& key) const {
    const std::string path = Path(key);
    if (path.empty()) return {};
    Result<std::string> text = ReadFile(path);
    if (!text) throw BadConfig{Name(key) + ": " + text.error().message};
    return {std::move(*text), path};
  }
  // `<key>-data` in base64 before the file `<key>`.
  FileText DataOrFile(const std::string& key) const {
    const std::string data = Text(key + "-data");
    if (data.empty()) return File(key);
    Result<std::string> text = DecodeBase64(data);
    if (!text) throw BadConfig{Name(key + "-data") + ": " + text.error().message};
    return {std::move(*text), ""};
  }
  std::string Name(const std::string& key) const { return name_ + "." + key; }
  const std::filesystem::path& folder() const { return entry_.folder; }

 private:
  std::string name_;
  Entry entry_;
};

// `list`: contexts, clusters or users; `kind`: the key that holds the content.
void MergeEntries(const Fields& file, const std::string& list, const std::string& kind,
                  std::map<std::string, Entry>& into) {
  if (!file.Has(list)) return;
  if (!file.At(list).IsSequence()) throw BadConfig{file.Name(list) + ": not a list"};
  for (const YAML::Node& item : file.At(list)) {
    const Fields entry(file.Name(list), {item, file.folder()});
    into.try_emplace(entry.Text("name"), Entry{entry.At(kind), file.folder()});
  }
}

void MergeFile(const std::string& path, const std::string& text, Merged& into) {
  try {
    const Fields file(path, {YAML::Load(text), std::filesystem::absolute(path).parent_path()});
    if (into.current_context.empty()) into.current_context = file.Text("current-context");
    MergeEntries(file, "contexts", "context", into.contexts);
    MergeEntries(file, "clusters", "cluster", into.clusters);
    MergeEntries(file, "users", "user", into.users);
  } catch (const YAML::Exception& e) {
    throw BadConfig{path + ": " + e.what()};
  }
}

Fields Named(const std::map<std::string, Entry>& entries, const std::string& kind,
             const std::string& name) {
  auto it = entries.find(name);
  if (it == entries.end()) throw BadConfig{"no " + kind + " is named \"" + name + "\""};
  return {kind + " " + name, it->second};
}

ExecPlugin ReadExec(const Fields& exec) {
  ExecPlugin plugin;
  plugin.api_version = exec.Text("apiVersion");
  if (plugin.api_version != "client.authentication.k8s.io/v1" &&
      plugin.api_version != "client.authentication.k8s.io/v1beta1") {
    throw BadConfig{exec.Name("apiVersion") + ": unsupported: \"" + plugin.api_version + "\""};
  }
  if (exec.Text("interactiveMode") == "Always") {
    throw BadConfig{exec.Name("interactiveMode") + ": Always needs a terminal"};
  }
  plugin.command = exec.Text("command");
  if (plugin.command.empty()) throw BadConfig{exec.Name("command") + ": is missing"};
  // A bare name is looked up in PATH.
  if (Contains(plugin.command, "/")) plugin.command = exec.Path("command");
  plugin.args = exec.Texts("args");
  plugin.provide_cluster_info = exec.Bool("provideClusterInfo");
  if (exec.Has("env")) {
    for (const YAML::Node& item : exec.At("env")) {
      const Fields variable(exec.Name("env"), {item, exec.folder()});
      plugin.env.emplace_back(variable.Text("name"), variable.Text("value"));
    }
  }
  return plugin;
}

void ReadImpersonation(const Fields& user, ClientConfig& config) {
  auto& headers = config.impersonation;
  if (user.Has("as")) headers.emplace_back("Impersonate-User", user.Text("as"));
  if (user.Has("as-uid")) headers.emplace_back("Impersonate-Uid", user.Text("as-uid"));
  for (const std::string& group : user.Texts("as-groups")) {
    headers.emplace_back("Impersonate-Group", group);
  }
  const Fields extra = user.Inner("as-user-extra");
  for (const auto& item : user.At("as-user-extra")) {
    const std::string key = item.first.Scalar();
    for (const std::string& value : extra.Texts(key)) {
      headers.emplace_back("Impersonate-Extra-" + key, value);
    }
  }
}

void ReadCluster(const Fields& cluster, ClientConfig& config) {
  config.server = cluster.Text("server");
  if (config.server.empty()) throw BadConfig{cluster.Name("server") + ": is missing"};
  config.insecure = cluster.Bool("insecure-skip-tls-verify");
  config.ca = cluster.DataOrFile("certificate-authority");
  if (config.insecure && !config.ca.text.empty()) {
    throw BadConfig{cluster.Name("insecure-skip-tls-verify") + ": contradicts the CA"};
  }
  config.tls_server_name = cluster.Text("tls-server-name");
  config.proxy_url = cluster.Text("proxy-url");
  config.compress = !cluster.Bool("disable-compression");
}

void ReadUser(const Fields& user, ClientConfig& config) {
  if (user.Has("auth-provider")) throw BadConfig{user.Name("auth-provider") + ": unsupported"};
  config.certificate = user.DataOrFile("client-certificate");
  config.key = user.DataOrFile("client-key");
  if (config.certificate.text.empty() != config.key.text.empty()) {
    throw BadConfig{user.Name("client-certificate") + ": certificate and key go together"};
  }
  config.token.text = user.Text("token");
  config.token.file = user.Path("tokenFile");
  if (config.token.text.empty()) config.token = user.File("tokenFile");
  config.username = user.Text("username");
  config.password = user.Text("password");
  // A token or a certificate of the entry itself wins over the plugin.
  if (user.Has("exec") && config.token.text.empty() && config.certificate.text.empty()) {
    config.exec = ReadExec(user.Inner("exec"));
  }
  ReadImpersonation(user, config);
}

void CompleteServer(ClientConfig& config) {
  if (!Contains(config.server, "://")) {
    const bool tls = config.insecure || !config.ca.text.empty() || !config.certificate.text.empty();
    config.server = (tls ? "https://" : "http://") + config.server;
  }
  while (config.server.ends_with('/')) config.server.pop_back();
}

ClientConfig ReadMerged(const Merged& merged) {
  if (merged.current_context.empty()) throw BadConfig{"current-context is empty"};
  const Fields context = Named(merged.contexts, "context", merged.current_context);
  ClientConfig config;
  config.ns = context.Text("namespace");
  ReadCluster(Named(merged.clusters, "cluster", context.Text("cluster")), config);
  if (context.Has("user")) ReadUser(Named(merged.users, "user", context.Text("user")), config);
  CompleteServer(config);
  return config;
}

Result<ClientConfig> LoadKubeconfig(const std::string& paths) {
  Merged merged;
  bool any = false;
  try {
    for (std::string_view piece : Split(paths, ':')) {
      if (piece.empty()) continue;
      const std::string path(piece);
      Result<std::string> text = ReadFile(path);
      if (!text && text.error().code == ErrorCode::kNotFound) continue;
      if (!text) return text.error();
      MergeFile(path, *text, merged);
      any = true;
    }
    if (!any) return Error{ErrorCode::kNotFound, paths + ": no such file"};
    ClientConfig config = ReadMerged(merged);
    config.source = paths;
    return config;
  } catch (const BadConfig& bad) {
    return InvalidError("kubeconfig " + paths + ": " + bad.text);
  } catch (const YAML::Exception& e) {
    return InvalidError("kubeconfig " + paths + ": " + e.what());
  }
}

Result<ClientConfig> LoadInCluster(const Environment& environment) {
  const std::string host = environment.get("KUBERNETES_SERVICE_HOST");
  const std::string port = environment.get("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return InvalidError(
        "not in a cluster: KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is empty");
  }
  const std::string& folder = environment.service_account_dir;
  ClientConfig config;
  config.source = "in-cluster";
  config.server = "https://" + (Contains(host, ":") ? "[" + host + "]" : host) + ":" + port;
  config.token.file = folder + "/token";
  Result<std::string> token = ReadFile(config.token.file);
  if (!token) return InvalidError("service account token: " + token.error().message);
  config.token.text = *token;
  config.ca.file = folder + "/ca.crt";
  if (Result<std::string> ca = ReadFile(config.ca.file)) {
    config.ca.text = *ca;
  } else {
    log::Warn("Could not read the cluster's CA, the system's are used",
              {{"error", ca.error().message}});
    config.ca.file.clear();
  }
  if (Result<std::string> ns = ReadFile(folder + "/namespace")) config.ns = Trim(*ns);
  return config;
}

}  // namespace

Environment ProcessEnvironment() {
  Environment environment;
  environment.get = [](const std::string& name) -> std::string {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? "" : value;
  };
  return environment;
}

Result<ClientConfig> LoadClientConfig(const Environment& environment) {
  std::string paths = environment.get("KUBECONFIG");
  if (paths.empty()) paths = environment.get("HOME") + "/.kube/config";
  Result<ClientConfig> config = LoadKubeconfig(paths);
  if (config) return config;
  Result<ClientConfig> in_cluster = LoadInCluster(environment);
  if (!in_cluster) {
    return InvalidError(config.error().message + "; " + in_cluster.error().message);
  }
  if (config.error().code != ErrorCode::kNotFound) {
    log::Warn("Could not load the kubeconfig, the service account is used",
              {{"error", config.error().message}});
  }
  return in_cluster;
}

}  // namespace aliquot::kube
