#include "kube/exec_plugin.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "aliquot/base/base64.h"
#include "aliquot/base/time_text.h"
#include "kube/json_reader.h"
#include "kube/stop.h"

extern char** environ;

namespace aliquot::kube {
namespace {

constexpr std::chrono::seconds kLongestRun{60};
constexpr size_t kMaxOutput = 1 << 20;
constexpr const char* kInfoVariable = "KUBERNETES_EXEC_INFO";

// The process's variables, then the plugin's own, then what it is told.
std::vector<std::string> PluginEnvironment(const ClientConfig& config) {
  std::vector<std::pair<std::string, std::string>> own = config.exec->env;
  own.emplace_back(kInfoVariable, ExecInfo(config));
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    bool replaced = false;
    for (const auto& [key, value] : own) replaced = replaced || key == name;
    if (!replaced) all.emplace_back(text);
  }
  for (const auto& [key, value] : own) all.push_back(key + "=" + value);
  return all;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string ErrnoText(int code) { return std::generic_category().message(code); }

// A running program whose standard output we read. Killed and reaped at the end.
class Child {
 public:
  ~Child() {
    if (out_ >= 0) close(out_);
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }

  Result<void> Start(std::vector<std::string> argv, std::vector<std::string> env) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return InvalidError("pipe: " + ErrnoText(errno));
    out_ = ends[0];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    // Signals that we ignore or block are the plugin's own business.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes, &signals);
    sigaddset(&signals, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    const int failed = posix_spawnp(&pid_, argv[0].c_str(), &actions, &attributes,
                                    Pointers(argv).data(), Pointers(env).data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (failed == 0) return {};
    pid_ = 0;
    return InvalidError(ErrnoText(failed));
  }

  // Reads to the end of the output, then takes the exit status.
  Result<std::string> Finish(const std::stop_token& stop) {
    const SteadyTime end = std::chrono::steady_clock::now() + kLongestRun;
    std::string output;
    for (;;) {
      if (stop.stop_requested()) return CancelledError();
      if (std::chrono::steady_clock::now() >= end) return InvalidError("ran for over a minute");
      pollfd ready{out_, POLLIN, 0};
      if (poll(&ready, 1, 100) <= 0) continue;
      char piece[4096];
      const ssize_t size = read(out_, piece, sizeof(piece));
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) break;
      output.append(piece, static_cast<size_t>(size));
      if (output.size() > kMaxOutput) return InvalidError("wrote over 1 MiB");
    }
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
    pid_ = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return output;
    return InvalidError(WIFEXITED(status)
                            ? "exited with status " + std::to_string(WEXITSTATUS(status))
                            : "was killed by signal " + std::to_string(WTERMSIG(status)));
  }

 private:
  pid_t pid_ = 0;
  int out_ = -1;
};

}  // namespace

std::string ExecInfo(const ClientConfig& config) {
  nlohmann::json spec = {{"interactive", false}};
  if (config.exec->provide_cluster_info) {
    nlohmann::json& cluster = spec["cluster"];
    cluster["server"] = config.server;
    if (!config.tls_server_name.empty()) cluster["tls-server-name"] = config.tls_server_name;
    if (config.insecure) cluster["insecure-skip-tls-verify"] = true;
    if (!config.ca.text.empty()) {
      cluster["certificate-authority-data"] = EncodeBase64(config.ca.text);
    }
    if (!config.proxy_url.empty()) cluster["proxy-url"] = config.proxy_url;
    if (!config.compress) cluster["disable-compression"] = true;
  }
  return nlohmann::json{
      {"kind", "ExecCredential"}, {"apiVersion", config.exec->api_version}, {"spec", spec}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<ExecCredential> ParseExecCredential(std::string_view text, std::string_view api_version) {
  ExecCredential credential;
  std::string kind, version;
  const auto read = json::ReadObject(
      text, [&](std::string_view key, json::od::value value, const json::Path& at) {
        if (key == "kind") kind = json::Text(value, at);
        if (key == "apiVersion") version = json::Text(value, at);
        if (key != "status") return;
        json::EachField(value, at,
                        [&](std::string_view name, json::od::value v, const json::Path& here) {
                          if (name == "token") credential.token = json::Text(v, here);
                          if (name == "clientCertificateData")
                            credential.certificate = json::Text(v, here);
                          if (name == "clientKeyData") credential.key = json::Text(v, here);
                          if (name == "expirationTimestamp") {
                            credential.expires = ParseRfc3339(json::Text(v, here));
                            if (!credential.expires) json::Fail(here, "not an RFC 3339 time");
                          }
                        });
      });
  if (!read) return read.error();
  if (kind != "ExecCredential") return InvalidError("kind: not ExecCredential");
  if (version != api_version) {
    return InvalidError("apiVersion: \"" + version + "\" instead of \"" + std::string(api_version) +
                        "\"");
  }
  if (credential.certificate.empty() != credential.key.empty()) {
    return InvalidError("status: certificate and key go together");
  }
  if (credential.token.empty() && credential.certificate.empty()) {
    return InvalidError("status: neither token nor certificate");
  }
  return credential;
}

Result<ExecCredential> RunExecPlugin(const ClientConfig& config, const std::stop_token& stop) {
  const ExecPlugin& plugin = *config.exec;
  const auto failure = [&](const Error& error) {
    return Error{error.code == ErrorCode::kCancelled ? error.code : ErrorCode::kUnauthorized,
                 "credential plugin " + plugin.command + ": " + error.message};
  };
  std::vector<std::string> argv = {plugin.command};
  argv.insert(argv.end(), plugin.args.begin(), plugin.args.end());
  Child child;
  if (auto started = child.Start(std::move(argv), PluginEnvironment(config)); !started) {
    return failure(started.error());
  }
  Result<std::string> output = child.Finish(stop);
  if (!output) return failure(output.error());
  Result<ExecCredential> credential = ParseExecCredential(*output, plugin.api_version);
  if (!credential) return failure(credential.error());
  return credential;
}

}  // namespace aliquot::kube
