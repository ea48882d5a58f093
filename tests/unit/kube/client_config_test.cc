#include "aliquot/kube/client_config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "aliquot/base/string_map.h"

namespace aliquot::kube {
namespace {

class ClientConfigTest : public ::testing::Test {
 protected:
  ClientConfigTest() {
    char name[] = "/tmp/aliquot-config-XXXXXX";
    folder_ = mkdtemp(name);
    environment_.get = [this](const std::string& key) {
      const std::string* value = Find(variables_, key);
      return value == nullptr ? "" : *value;
    };
    environment_.service_account_dir = folder_ + "/account";
    variables_["HOME"] = folder_;
  }
  ~ClientConfigTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_ + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path;
  }
  Result<ClientConfig> Load() { return LoadClientConfig(environment_); }
  // A file of one context with this cluster and this user.
  Result<ClientConfig> LoadWith(const std::string& cluster, const std::string& user) {
    variables_["KUBECONFIG"] =
        Write("one",
              "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u, "
              "namespace: team}}]\nclusters: [{name: c, cluster: " +
                  cluster + "}]\nusers: [{name: u, user: " + user + "}]\n");
    return Load();
  }
  std::string ErrorWith(const std::string& cluster, const std::string& user) {
    const Result<ClientConfig> config = LoadWith(cluster, user);
    return config ? "no error" : config.error().message;
  }

  std::string folder_;
  StringMap variables_;
  Environment environment_;
};

TEST_F(ClientConfigTest, ReadsClusterAndUser) {
  const Result<ClientConfig> config = LoadWith(
      "{server: 'https://10.0.0.5:6443/prefix/', certificate-authority-data: Y2E=, "
      "tls-server-name: kube.lab, proxy-url: 'http://proxy:3128', disable-compression: true, "
      "unknown: 7}",
      "{client-certificate-data: Y2VydA==, client-key-data: a2V5, username: me, password: pw, "
      "as: boss, as-uid: '7', as-groups: [a, b], as-user-extra: {team: [x, y]}}");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->server, "https://10.0.0.5:6443/prefix");
  EXPECT_EQ(config->ns, "team");
  EXPECT_EQ(config->ca, (FileText{"ca", ""}));
  EXPECT_EQ(config->certificate, (FileText{"cert", ""}));
  EXPECT_EQ(config->key, (FileText{"key", ""}));
  EXPECT_EQ(config->tls_server_name, "kube.lab");
  EXPECT_EQ(config->proxy_url, "http://proxy:3128");
  EXPECT_FALSE(config->compress);
  EXPECT_EQ(config->username, "me");
  const std::vector<std::pair<std::string, std::string>> headers = {
      {"Impersonate-User", "boss"},    {"Impersonate-Uid", "7"},
      {"Impersonate-Group", "a"},      {"Impersonate-Group", "b"},
      {"Impersonate-Extra-team", "x"}, {"Impersonate-Extra-team", "y"}};
  EXPECT_EQ(config->impersonation, headers);
}

TEST_F(ClientConfigTest, ReadsFilesRelativeToTheFileThatNamesThem) {
  Write("deep/pki/ca.pem", "CA");
  Write("deep/pki/token", "T");
  variables_["KUBECONFIG"] = Write(
      "deep/config",
      "{current-context: x, contexts: [{name: x, context: {cluster: c, user: u}}], "
      "clusters: [{name: c, cluster: {server: '10.0.0.5', certificate-authority: pki/ca.pem}}], "
      "users: [{name: u, user: {tokenFile: ./pki/token}}]}");
  const Result<ClientConfig> config = Load();
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->server, "https://10.0.0.5");  // there is a CA
  EXPECT_EQ(config->ca, (FileText{"CA", folder_ + "/deep/pki/ca.pem"}));
  EXPECT_EQ(config->token, (FileText{"T", folder_ + "/deep/pki/token"}));
}

TEST_F(ClientConfigTest, MergesAListOfFilesAndTheFirstWins) {
  const std::string first = Write("a/config",
                                  "{contexts: [{name: x, context: {cluster: c, user: u}}], "
                                  "users: [{name: u, user: {token: first}}]}");
  const std::string second =
      Write("b/config",
            "{current-context: x, clusters: [{name: c, cluster: {server: 'http://h:1'}}], "
            "users: [{name: u, user: {token: second}}]}");
  variables_["KUBECONFIG"] = first + ":" + folder_ + "/missing::" + second;
  const Result<ClientConfig> config = Load();
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->server, "http://h:1");
  EXPECT_EQ(config->token.text, "first");
}

TEST_F(ClientConfigTest, UsesTheHomeFileWithoutKubeconfig) {
  Write(".kube/config",
        "{current-context: x, contexts: [{name: x, context: {cluster: c}}], "
        "clusters: [{name: c, cluster: {server: 'localhost:8080'}}]}");
  const Result<ClientConfig> config = Load();
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->server, "http://localhost:8080");
}

TEST_F(ClientConfigTest, ReadsTheExecPlugin) {
  const Result<ClientConfig> config =
      LoadWith("{server: 'https://h'}",
               "{exec: {apiVersion: client.authentication.k8s.io/v1, command: ./bin/login, "
               "args: [get, token], env: [{name: A, value: b}], provideClusterInfo: true, "
               "interactiveMode: Never}}");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->exec, (ExecPlugin{"client.authentication.k8s.io/v1",
                                      folder_ + "/bin/login",
                                      {"get", "token"},
                                      {{"A", "b"}},
                                      true}));
}

TEST_F(ClientConfigTest, ATokenWinsOverTheExecPlugin) {
  const Result<ClientConfig> config =
      LoadWith("{server: 'https://h'}",
               "{token: t, exec: {apiVersion: client.authentication.k8s.io/v1, command: x}}");
  ASSERT_TRUE(config);
  EXPECT_FALSE(config->exec);
}

TEST_F(ClientConfigTest, SaysWhatIsWrong) {
  const std::string ok = "{server: 'https://h'}";
  for (const auto& [cluster, user, text] : std::vector<std::array<std::string, 3>>{
           {"{}", "{}", "cluster c.server: is missing"},
           {"{server: h, insecure-skip-tls-verify: true, certificate-authority-data: Y2E=}", "{}",
            "cluster c.insecure-skip-tls-verify: contradicts the CA"},
           {"{server: h, certificate-authority-data: '#'}", "{}",
            "cluster c.certificate-authority-data: not base64"},
           {"[]", "{}", "cluster c: not a mapping"},
           {ok, "{auth-provider: {name: gcp}}", "user u.auth-provider: unsupported"},
           {ok, "{client-key-data: a2V5}", "certificate and key go together"},
           {ok, "{tokenFile: nowhere}", "user u.tokenFile: " + folder_ + "/nowhere: No such file"},
           {ok, "{token: [a]}", "user u.token: not a string"},
           {ok, "{exec: {command: x}}", "user u.exec.apiVersion: unsupported"},
           {ok,
            "{exec: {apiVersion: client.authentication.k8s.io/v1, command: x, "
            "interactiveMode: Always}}",
            "user u.exec.interactiveMode: Always needs a terminal"},
       }) {
    EXPECT_NE(ErrorWith(cluster, user).find(text), std::string::npos)
        << ErrorWith(cluster, user) << "\nwanted: " << text;
  }
}

TEST_F(ClientConfigTest, AMissingNameIsAnError) {
  variables_["KUBECONFIG"] = Write("x", "{contexts: []}");
  EXPECT_NE(Load().error().message.find("current-context is empty"), std::string::npos);
  variables_["KUBECONFIG"] = Write("x", "{current-context: a}");
  EXPECT_NE(Load().error().message.find("no context is named \"a\""), std::string::npos);
  variables_["KUBECONFIG"] = Write("x", "{a: [");
  EXPECT_NE(Load().error().message.find("kubeconfig"), std::string::npos);
  variables_["KUBECONFIG"] = folder_;
  EXPECT_NE(Load().error().message.find("Is a directory"), std::string::npos);
}

TEST_F(ClientConfigTest, FallsBackToTheServiceAccount) {
  Write("account/token", "jwt\n");
  Write("account/ca.crt", "CA");
  Write("account/namespace", "kube-system\n");
  variables_["KUBERNETES_SERVICE_HOST"] = "fd00::1";
  variables_["KUBERNETES_SERVICE_PORT"] = "443";
  const Result<ClientConfig> config = Load();
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->source, "in-cluster");
  EXPECT_EQ(config->server, "https://[fd00::1]:443");
  EXPECT_EQ(config->ns, "kube-system");
  EXPECT_EQ(config->token, (FileText{"jwt\n", folder_ + "/account/token"}));
  EXPECT_EQ(config->ca, (FileText{"CA", folder_ + "/account/ca.crt"}));
}

TEST_F(ClientConfigTest, ABrokenKubeconfigFallsBackToo) {
  Write("account/token", "jwt");
  variables_["KUBERNETES_SERVICE_HOST"] = "10.0.0.1";
  variables_["KUBERNETES_SERVICE_PORT"] = "443";
  variables_["KUBECONFIG"] = Write("x", "{a: [");
  const Result<ClientConfig> config = Load();
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->source, "in-cluster");
  EXPECT_EQ(config->ca, FileText{});  // unreadable: the system's
}

TEST_F(ClientConfigTest, NeedsTheToken) {
  variables_["KUBERNETES_SERVICE_HOST"] = "10.0.0.1";
  variables_["KUBERNETES_SERVICE_PORT"] = "443";
  EXPECT_NE(Load().error().message.find("service account token"), std::string::npos);
}

}  // namespace
}  // namespace aliquot::kube
