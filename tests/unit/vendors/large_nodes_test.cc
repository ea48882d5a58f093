// A node with as many cards as one may register: no vendor takes long to choose.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>

#include "unit/vendors/all_vendors.h"

namespace aliquot::testing {
namespace {

constexpr int kCards = core::kMostCards;

// A list of the cards' texts, each by its position.
std::string Registered(const std::function<std::string(int)>& card) {
  std::string text = "[";
  for (int i = 0; i < kCards; ++i) text += (i > 0 ? "," : "") + card(i);
  return text + "]";
}

std::string IdOf(int i) { return "\"" + std::to_string(i) + "\""; }

// As every vendor's plugin would write it that registers in JSON.
std::string Json(int i, const std::string& type, const std::string& custom_info) {
  return R"({"id":)" + IdOf(i) + R"(,"index":)" + std::to_string(i) +
         R"(,"count":4,"devmem":65536,"devcore":100,"type":")" + type + R"(","numa":)" +
         std::to_string(i % 2) + R"(,"health":true,"custominfo":{)" + custom_info + "}}";
}

// Every card has a score to the sixteen after it.
std::string PairScores(int i) {
  std::string scores;
  for (int j = 1; j <= 16; ++j)
    scores += (j > 1 ? "," : "") + IdOf((i + j) % kCards) + ":" + std::to_string(j);
  return R"({"uuid":)" + IdOf(i) + R"(,"score":{)" + scores + "}}";
}

struct Row {
  std::string name;
  Offer offer;
  std::string count_name;
  StringMap annotations = {};
};

std::vector<Row> Rows() {
  const std::string all = std::to_string(kCards);
  const Offer nvidia = {.annotations = {{"hami.io/node-nvidia-register",
                                         Registered([](int i) { return Json(i, "NVIDIA", ""); })},
                                        {"hami.io/node-nvidia-score", Registered(PairScores)}}};
  const StringMap by_links = {{"hami.io/gpu-scheduler-policy", "topology-aware"}};
  StringMap by_links_and_numa = by_links;
  by_links_and_numa.emplace("nvidia.com/numa-bind", "true");
  const auto sgpu = [](int i) {
    return R"({"uuid":)" + IdOf(i) +
           R"(,"totalDevCount":16,"totalCompute":100,"totalVRam":65536,)" +
           R"("healthy":true,"linkZone":)" + std::to_string(i % 40) + "}";
  };
  return {
      {"NVIDIA", nvidia, "nvidia.com/gpu", by_links},
      {"NVIDIA numa", nvidia, "nvidia.com/gpu", by_links_and_numa},
      {"Vastai",
       {.annotations = {{"hami.io/node-va-register", Registered([](int i) {
                           return Json(
                               i, "Vastai",
                               R"("DeviceStrategy":"die","AIC":")" + std::to_string(i / 2) + "\"");
                         })}}},
       "vastaitech.com/va"},
      {"Ascend910C",
       {.annotations = {{"hami.io/node-register-Ascend910C", Registered([](int i) {
                           return Json(i, "Ascend910C", R"("NetworkID":)" + std::to_string(i % 40));
                         })}}},
       "huawei.com/Ascend910C"},
      {"Metax-SGPU",
       {.annotations = {{"metax-tech.com/node-gpu-devices", Registered(sgpu)}}},
       "metax-tech.com/sgpu",
       {{"metax-tech.com/sgpu-topology-aware", "true"}}},
      {"Metax-GPU", {.capacity = {{"metax-tech.com/gpu", all}}}, "metax-tech.com/gpu"},
      {"AWSNeuron",
       {.capacity = {{"aws.amazon.com/neuron", all}, {"aws.amazon.com/neuroncore", "2048"}},
        .labels = {{"node.kubernetes.io/instance-type", "inf2"}}},
       "aws.amazon.com/neuron"},
      {"Mthreads",
       {.capacity = {{"mthreads.com/sgpu-core", std::to_string(16 * kCards)},
                     {"mthreads.com/sgpu-memory", std::to_string(96 * kCards)}}},
       "mthreads.com/vgpu"},
      {"Kunlun", {.capacity = {{"kunlunxin.com/xpu", all}}}, "kunlunxin.com/xpu"},
  };
}

TEST(LargeNodesTest, NoVendorTakesLongToChoose) {
  for (const Row& row : Rows()) {
    const core::NodeUsage node = Offered(row.offer);
    ASSERT_EQ(node.devices().size(), static_cast<size_t>(kCards)) << row.name;
    const std::vector<core::CandidateNode> nodes = {{node.name(), &node}};
    for (const int count : {1, 2, kCards / 2 - 1, kCards / 2}) {
      if (row.name == "Kunlun" && count > 8) continue;
      PodWish pod = PodWish().AppWith({{row.count_name, std::to_string(count)}});
      for (const auto& [key, value] : row.annotations) pod.Annotate(key, value);
      const auto begin = std::chrono::steady_clock::now();
      const core::Decision decision =
          core::Schedule(pod.Request(AllVendors()), {nodes, {}}, PolicyOf(pod), AllVendors());
      EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2))
          << row.name << " " << count;
      ASSERT_TRUE(decision.fits()) << row.name << " " << count;
      EXPECT_EQ(decision.allocation.at(0).containers.at(0).size(), static_cast<size_t>(count))
          << row.name;
    }
  }
}

}  // namespace
}  // namespace aliquot::testing
