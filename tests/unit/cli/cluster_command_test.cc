#include "cli/cluster_command.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "aliquot/kube/client_config.h"

namespace aliquot::cli {
namespace {

struct Outcome {
  int status;
  std::string out, err;
};

Outcome RunCluster(const std::vector<std::string>& args) {
  std::ostringstream out, err;
  const int status = ClusterCommand().run({"aliquot cluster", args, {out, err}});
  return {status, out.str(), err.str()};
}

TEST(ClusterCommand, RefusesBadFlags) {
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"--port", "x"}, {"--port=70000"}, {"--nonsense"}, {"file"}}) {
    const Outcome outcome = RunCluster(args);
    EXPECT_EQ(outcome.status, kExitUsage) << args[0];
    EXPECT_FALSE(outcome.err.empty()) << args[0];
  }
}

TEST(ClusterCommand, SaysWhenTheKubeconfigCannotBeWritten) {
  const Outcome outcome = RunCluster({"--kubeconfig-out", "/nonexistent/kubeconfig"});
  EXPECT_EQ(outcome.status, kExitFailure);
  EXPECT_EQ(outcome.err, "error: cannot write /nonexistent/kubeconfig\n");
}

TEST(ClusterCommand, ServesUntilASignalAndWritesAKubeconfigThatWeCanRead) {
  const std::string file = ::testing::TempDir() + "/cluster-command-kubeconfig";
  std::filesystem::remove(file);
  const pthread_t server = pthread_self();
  std::string config;
  std::thread stopper([&] {
    while (!config.ends_with("user: aliquot}\n")) {  // all of it
      std::stringstream text;
      text << std::ifstream(file).rdbuf();
      config = text.str();
      std::this_thread::yield();
    }
    pthread_kill(server, SIGTERM);
  });
  const Outcome outcome = RunCluster({"--port", "0", "--kubeconfig-out", file});
  stopper.join();
  EXPECT_EQ(outcome.status, kExitOk) << outcome.err;

  kube::Environment environment;
  environment.get = [&](const std::string& name) { return name == "KUBECONFIG" ? file : ""; };
  const Result<kube::ClientConfig> read = kube::LoadClientConfig(environment);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(read->server.starts_with("http://127.0.0.1:"));
  EXPECT_NE(outcome.out.find(read->server), std::string::npos);
}

}  // namespace
}  // namespace aliquot::cli
