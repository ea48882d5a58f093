// Whole runs of `aliquot demo` in this process, on free ports of loopback.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <thread>
#include <vector>

#include "aliquot/base/strings.h"
#include "cli/demo_command.h"

namespace aliquot::cli {
namespace {

using testing::TempDir;

struct Outcome {
  int status;
  std::string out, err;
};

Outcome RunDemo(const std::vector<std::string>& args) {
  std::ostringstream out, err;
  const int status = DemoCommand().run({"aliquot demo", args, {out, err}});
  return {status, out.str(), err.str()};
}

// A file that goes away with the test.
class File {
 public:
  File(const std::string& name, const std::string& text) : path_(TempDir() + "demo_test_" + name) {
    std::ofstream(path_) << text;
  }
  ~File() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The first line that begins with this word; empty: none.
std::string LineOf(const std::string& out, const std::string& word) {
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(word + " ")) return line;
  return "";
}

std::string WithoutTimesAndPorts(const std::string& out) {
  static const std::regex kVarying("[0-9.]+ ms|127.0.0.1:[0-9]+| +");
  return std::regex_replace(out, kVarying, " ");
}

constexpr const char* kNode = R"(apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata:
    name: mine
    resourceVersion: "17"
    annotations:
      hami.io/node-nvidia-register: '[{"id":"GPU-a","count":4,"devmem":1000,"devcore":100,
        "type":"NVIDIA T4","mode":"hami-core","health":true}]'
  status: {allocatable: {nvidia.com/gpu: 4}}
)";

constexpr const char* kPods = R"({"apiVersion": "v1", "kind": "Pod",
 "metadata": {"name": "there", "namespace": "team-a", "uid": "old", "annotations": {
   "hami.io/vgpu-node": "mine", "hami.io/vgpu-devices-allocated": "GPU-a,NVIDIA,700,0:;"}},
 "spec": {"nodeName": "mine", "containers": [{"name": "c", "image": "i", "resources":
   {"limits": {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 700}}}]}}
---
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "fits", "namespace": "team-a"},
 "spec": {"containers": [{"name": "c", "image": "i", "resources":
   {"limits": {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 300}}}]}}
---
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "late", "namespace": "team-a"},
 "spec": {"containers": [{"name": "c", "image": "i", "resources":
   {"limits": {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 1}}}]}}
)";

TEST(Demo, PlacesWhatFitsAndSaysWhyTheRestDoesNot) {
  const Outcome demo = RunDemo({});
  ASSERT_EQ(demo.status, 0) << demo.err;
  EXPECT_EQ(demo.err, "");
  EXPECT_TRUE(Contains(LineOf(demo.out, "whole-card"), ": all ")) << demo.out;
  EXPECT_TRUE(Contains(LineOf(demo.out, "h100-only"), "h100-1 card"));
  EXPECT_TRUE(Contains(LineOf(demo.out, "too-large"), "nowhere: "));
  // In plain words, and as the extender said it.
  EXPECT_TRUE(Contains(demo.out, "all 4 cards: not enough free memory"));
  EXPECT_TRUE(Contains(demo.out, "4/4 CardInsufficientMemory"));
  EXPECT_TRUE(Contains(LineOf(demo.out, "typo"),
                       "cannot be read: container main: nvidia.com/gpumem=16Gi: out of range"));
  EXPECT_TRUE(Contains(demo.out, "13 of 16 pods placed"));
}

TEST(Demo, EndsInTheSameStateEachTime) {
  EXPECT_EQ(WithoutTimesAndPorts(RunDemo({}).out), WithoutTimesAndPorts(RunDemo({}).out));
}

TEST(Demo, PlacesTheReadersPodsBesideThoseThatRun) {
  const File nodes("nodes.yaml", kNode), pods("pods.json", kPods);
  const Outcome demo = RunDemo({"--nodes", nodes.path(), "--pods", pods.path()});
  ASSERT_EQ(demo.status, 0) << demo.err;
  EXPECT_TRUE(Contains(LineOf(demo.out, "team-a/fits"), "mine card 0: 300 MiB")) << demo.out;
  EXPECT_TRUE(Contains(LineOf(demo.out, "team-a/late"), "not enough free memory")) << demo.out;
  EXPECT_TRUE(Contains(demo.out, "1000/1000 MiB")) << demo.out;
  EXPECT_TRUE(Contains(demo.out, "1 of 2 pods placed")) << demo.out;
}

TEST(Demo, NamesFileLineAndFieldOfABadManifest) {
  struct Case {
    const char* text;
    const char* error;
  };
  const Case cases[] = {
      {"", ": there is no Pod in it"},
      {"kind: Pod\na: ]\n", ":2: "},
      {"---\nkind: Pod\n---\nkind: Job\n", ":2: metadata: expected an object, found nothing"},
      {"kind: \xff\n", ":1: not UTF-8"},
      {"kind: Job\n", ":1: kind: expected \"Pod\", found \"Job\""},
      {"kind: Pod\nmetadata: {}\n", ":1: metadata.name: expected a text, found nothing"},
      {"kind: Pod\nkind: Pod\n", ":2: \"kind\" is there twice"},
      {"kind: List\nitems: [{kind: Pod, metadata: 3}]\n",
       ":1: items[0].metadata: expected an object, found 3"},
      {"{\"kind\": \"PodList\", \"items\": 7}", ":1: items: expected a list, found 7"},
      {"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c}]}\n",
       "spec.containers[0].image: Required value"},
      {"kind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i, resources: "
       "{limits: {nvidia.com/gpu: 1.5}}}]}\n",
       "must be an integer"},
  };
  for (const Case& bad : cases) {
    const File pods("bad.yaml", bad.text);
    const Outcome demo = RunDemo({"--pods", pods.path()});
    EXPECT_EQ(demo.status, 1) << bad.text;
    EXPECT_TRUE(demo.err.starts_with("error: " + pods.path() + ":")) << demo.err;
    EXPECT_TRUE(Contains(demo.err, bad.error)) << demo.err;
    EXPECT_EQ(demo.out, "") << bad.text;
  }
}

TEST(Demo, SaysWhichFileCannotBeRead) {
  EXPECT_EQ(RunDemo({"--nodes", "/nonexistent/n"}).err,
            "error: /nonexistent/n: cannot be read: No such file or directory\n");
  const Outcome folder = RunDemo({"--pods", TempDir()});
  EXPECT_EQ(folder.status, 1);
  EXPECT_TRUE(Contains(folder.err, "cannot be read")) << folder.err;
  EXPECT_TRUE(Contains(RunDemo({"--device-config-file", "/nonexistent/c"}).err, "/nonexistent/c"));
}

TEST(Demo, RefusesUnknownArguments) {
  EXPECT_EQ(RunDemo({"--nonsense"}).status, kExitUsage);
  EXPECT_EQ(RunDemo({"--print", "secrets"}).status, kExitUsage);
}

TEST(Demo, TakesWhatItPrints) {
  const File nodes("own_nodes.yaml", RunDemo({"--print", "nodes"}).out);
  const File pods("own_pods.yaml", RunDemo({"--print", "pods"}).out);
  const File config("own_config.yaml", RunDemo({"--print", "device-config"}).out);
  const Outcome demo = RunDemo(
      {"--nodes", nodes.path(), "--pods", pods.path(), "--device-config-file", config.path()});
  EXPECT_EQ(demo.status, 0) << demo.err;
  EXPECT_TRUE(Contains(demo.out, "13 of 16 pods placed"));
}

TEST(Demo, KeepsRunningUntilASignal) {
  // A stream that sends the signal once the demo tells how to talk to it.
  struct Buffer : std::stringbuf {
    explicit Buffer(pthread_t to) : demo(to) {}
    int sync() override {
      if (!sent && Contains(str(), "/filter\n")) {
        sent = true;
        const std::string text = str();
        const size_t at = text.find("KUBECONFIG=") + 11;
        kubeconfig = text.substr(at, text.find('\n', at) - at);
        existed = std::filesystem::exists(kubeconfig);
        pthread_kill(demo, SIGTERM);
      }
      return 0;
    }
    pthread_t demo;
    bool sent = false, existed = false;
    std::string kubeconfig;
  } buffer(pthread_self());
  std::ostream out(&buffer);
  std::ostringstream err;
  EXPECT_EQ(DemoCommand().run({"aliquot demo", std::vector<std::string>{"--keep"}, {out, err}}), 0)
      << err.str();
  EXPECT_TRUE(buffer.existed);
  EXPECT_FALSE(std::filesystem::exists(buffer.kubeconfig));
}

}  // namespace
}  // namespace aliquot::cli
