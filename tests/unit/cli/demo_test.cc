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
#include "cli/examples.h"
#include "cli/manifests.h"

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

// What the report says of a pod that waits; empty: it does not.
std::string WaitingOf(const std::string& out, const std::string& pod) {
  const size_t begin = out.find("\nWaiting: " + pod + " asks for ");
  return begin == out.npos ? "" : out.substr(begin, out.find("\n\n", begin) - begin);
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
  EXPECT_EQ(RunDemo({"--vendor"}).status, kExitUsage);
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

// A vendor's example, or all of them in one cluster.
class ExampleTest : public testing::TestWithParam<std::string> {
 protected:
  static std::vector<Manifest> Own(const std::string& what, const std::string& kind) {
    const Result<std::vector<Manifest>> manifests = ParseManifests(
        RunDemo({"--vendor", GetParam(), "--print", what}).out, GetParam() + ".yaml", kind);
    EXPECT_TRUE(manifests) << manifests.error().message;
    return manifests ? *manifests : std::vector<Manifest>();
  }
};

// A pod that is not to fit says in this annotation what the report gives as the reason.
constexpr const char* kStaysPending = "example.aliquot.io/stays-pending";

TEST_P(ExampleTest, PlacesAllPodsButThoseThatAreNotToFit) {
  EXPECT_GE(Own("nodes", "Node").size(), 2u);
  const std::vector<Manifest> pods = Own("pods", "Pod");
  EXPECT_GE(pods.size(), 6u);
  const Outcome demo = RunDemo({"--vendor", GetParam()});
  ASSERT_EQ(demo.status, 0) << demo.err;
  size_t waiting = 0;
  for (const Manifest& pod : pods) {
    const std::string name = pod.object["metadata"]["name"];
    const std::string reason = pod.object["metadata"]
                                   .value("annotations", nlohmann::json::object())
                                   .value(kStaysPending, "");
    EXPECT_NE(LineOf(demo.out, name), "") << name;
    const std::string why = WaitingOf(demo.out, name);
    EXPECT_EQ(why.empty(), reason.empty()) << LineOf(demo.out, name) << why;
    EXPECT_TRUE(Contains(why, reason)) << why;
    waiting += reason.empty() ? 0 : 1;
  }
  EXPECT_GE(waiting, 1u);
}

std::vector<std::string> VendorsAndAll() {
  std::vector<std::string> names{"all"};
  for (const Example& example : Examples()) names.emplace_back(example.vendor);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Vendors, ExampleTest, testing::ValuesIn(VendorsAndAll()),
                         [](const testing::TestParamInfo<std::string>& vendor) {
                           std::string name = vendor.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Demo, TellsAmountsInTheVendorsUnits) {
  struct Case {
    const char* vendor;
    const char* pod;
    const char* wish;
    const char* share;
  };
  const Case cases[] = {
      {"nvidia", "whole-card", " 1 whole card ", " a100-1 card 3: all 40960 MiB"},
      {"nvidia", "two-cards", " 2 cards with 10000 MiB and 50% cores each ",
       " a100-1 cards 0, 2: 10000 MiB, 50% cores each"},
      {"nvidia-mig", "mig-middle", " 1 card with 15000 MiB, mode mig ",
       " 20096 MiB (2g.20gb), 28% cores"},
      // A quarter of 304 compute units.
      {"amd", "amd-quarter", " 1 AMD card with 16384 MiB and 25% cores",
       ": 16384 MiB, 76 of 304 CUs"},
      {"amd", "amd-whole", " 1 whole AMD card ", ": all "},
      {"ascend", "ascend-quarter", " 1 Ascend910B4 card with 8192 MiB ",
       ": 8192 MiB (vir05_1c_8g)"},
      {"ascend", "ascend-soft", " 1 Ascend910B3 card with 15360 MiB and 20% cores ",
       ": 15360 MiB, 20% cores"},
      {"awsneuron", "neuron-one-core", " 1 AWSNeuron card with 1 core ", ": 1 of 2 cores"},
      {"awsneuron", "neuron-ring", " 3 whole AWSNeuron cards ", ": 2 of 2 cores each"},
      {"biren", "biren-two", " 2 whole Biren cards ", " br106-1 cards 6, 5"},
      // 20 units of 256 MiB.
      {"cambricon", "mlu-tenth", " 1 MLU card with 5120 MiB and 10% cores ",
       ": 5120 MiB, 10% cores"},
      {"enflame", "gcu-one", " 1 whole GCU card ", " gcu-1 card 3"},
      {"enflame", "drs-three-slices", " 1 Enflame card with 3 slices ",
       ": 20480 MiB (3g.20gb), 50% cores"},
      {"enflame", "drs-by-gb", " 1 Enflame card with 6 GB ", ": 6144 MiB (1g.6gb), 17% cores"},
      {"hygon", "dcu-share", " 1 DCU card with 16000 MiB and 40% cores ", ": 16000 MiB, 40% cores"},
      // 64 units of 256 MiB.
      {"iluvatar", "iluvatar-half", " 1 BI-V150 card with 16384 MiB and 50% cores ",
       ": 16384 MiB, 50% cores"},
      {"kunlun", "xpu-four", " 4 whole kunlun cards ", " p800-1 cards 4, 5, 6, 7: all "},
      {"metax", "metax-two", " 2 whole Metax-GPU cards ", " c500-1 cards 7, 6: all "},
      // 32 units of 512 MiB; cores are not percent.
      {"mthreads", "mthreads-third", " 1 Mthreads card with 16384 MiB and 8 cores ",
       ": 16384 MiB, 8 of 16 cores"},
      {"vastai", "vastai-this-die", " 1 whole Vastai card, only 1-3 ", " va16-1 card 7"},
  };
  std::map<std::string, std::string> outs;
  for (const Case& row : cases) {
    std::string& out = outs[row.vendor];
    if (out.empty()) out = RunDemo({"--vendor", row.vendor}).out;
    const std::string line = LineOf(out, row.pod);
    EXPECT_TRUE(Contains(line, row.wish)) << line;
    EXPECT_TRUE(Contains(line, row.share)) << line;
  }
  // Nothing but cards is counted; the cores of Trainium are no percent.
  EXPECT_TRUE(Contains(outs["biren"], "5/8     -       -\n")) << outs["biren"];
  EXPECT_TRUE(Contains(outs["awsneuron"], "16/32 cores")) << outs["awsneuron"];
}

TEST(Demo, NamesTheKnownVendorsForAnUnknownOne) {
  const Outcome demo = RunDemo({"--vendor", "nvida"});
  EXPECT_EQ(demo.status, kExitUsage);
  EXPECT_TRUE(demo.err.starts_with(
      "aliquot demo: --vendor: unknown vendor \"nvida\" (did you mean \"nvidia\"?); there are amd, "
      "ascend, awsneuron, biren, "))
      << demo.err;
  EXPECT_TRUE(Contains(demo.err, ", vastai or all\n")) << demo.err;
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
