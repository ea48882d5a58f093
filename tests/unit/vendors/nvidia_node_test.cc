// What a node's annotations say about its NVIDIA cards.
#include <gtest/gtest.h>

#include "support/builders.h"

namespace aliquot::vendors {
namespace {

using aliquot::testing::ChartRegistry;

constexpr const char* kRegister = "hami.io/node-nvidia-register";
constexpr const char* kScore = "hami.io/node-nvidia-score";
constexpr const char* kCordon = "hami.io/device-cordon";

Result<std::vector<core::Device>> Read(const StringMap& annotations) {
  const core::Vendor& nvidia = ChartRegistry()[0];
  const StringMap none;
  return nvidia.spec().read_node(nvidia, {"n1", &annotations, &none, &none});
}

constexpr const char* kTwoCards =
    R"([{"id":"GPU-0","count":10,"devmem":32768,"devcore":100,"type":"NVIDIA-Tesla V100-PCIE-32GB",)"
    R"("mode":"hami-core","health":true},)"
    R"({"id":"GPU-1","index":1,"count":10,"devmem":32768,"devcore":100,)"
    R"("type":"Tesla V100-PCIE-32GB","numa":1,"mode":"mps"}])";

TEST(NvidiaNodeTest, ReadsTheCardsInTheirOrder) {
  const auto cards = Read({{kRegister, kTwoCards}});
  ASSERT_TRUE(cards.ok());
  ASSERT_EQ(cards->size(), 2U);
  const core::Device& first = (*cards)[0];
  EXPECT_EQ(first.id, "GPU-0");
  EXPECT_EQ(first.type, "NVIDIA-Tesla V100-PCIE-32GB");
  EXPECT_EQ(first.slots, 10);
  EXPECT_EQ(first.memory, 32768);
  EXPECT_EQ(first.cores, 100);
  EXPECT_TRUE(first.healthy);
  EXPECT_TRUE(first.requestable);
  EXPECT_FALSE(first.cordoned);
  const core::Device& second = (*cards)[1];
  EXPECT_EQ(second.index, 1U);
  EXPECT_EQ(second.numa, 1);
  EXPECT_EQ(second.mode, "mps");
  EXPECT_FALSE(second.healthy);      // not said
  EXPECT_FALSE(second.requestable);  // no "nvidia" in the model
}

TEST(NvidiaNodeTest, ANodeWithoutATextHasNoCards) {
  for (const StringMap& annotations :
       {StringMap{}, StringMap{{kRegister, "[]"}}, StringMap{{kRegister, "null"}}}) {
    const auto cards = Read(annotations);
    ASSERT_TRUE(cards.ok());
    EXPECT_TRUE(cards->empty());
  }
}

TEST(NvidiaNodeTest, ATextThatCannotBeReadIsAnError) {
  for (const char* text : {"", "nonsense", "[null]", "{}", R"([{"id":"a","count":"ten"}])"})
    EXPECT_FALSE(Read({{kRegister, text}}).ok()) << text;
}

TEST(NvidiaNodeTest, AttachesLinkScoresById) {
  const auto cards = Read(
      {{kRegister, kTwoCards}, {kScore, R"([{"uuid":"GPU-1","score":{"GPU-0":100,"other":7}}])"}});
  ASSERT_TRUE(cards.ok());
  EXPECT_TRUE((*cards)[0].pair_scores.empty());
  EXPECT_EQ((*cards)[1].pair_scores.at("GPU-0"), 100);
}

TEST(NvidiaNodeTest, BrokenLinkScoresAreAnError) {
  EXPECT_FALSE(Read({{kRegister, kTwoCards}, {kScore, "nonsense"}}).ok());
  EXPECT_FALSE(Read({{kRegister, kTwoCards}, {kScore, ""}}).ok());
  EXPECT_TRUE(Read({{kRegister, kTwoCards}, {kScore, "[]"}}).ok());
}

struct CordonRow {
  const char* text;
  bool first;
  bool second;
};

TEST(NvidiaNodeTest, CordonNamesCards) {
  for (const CordonRow& row :
       {CordonRow{"GPU-1, ", false, true}, CordonRow{"GPU-0,GPU-1", true, true},
        CordonRow{" GPU-0 ,,GPU-9", true, false}, CordonRow{"", false, false},
        CordonRow{" , ", false, false}, CordonRow{"gpu-0", false, false},
        CordonRow{"GPU", false, false}}) {
    const auto cards = Read({{kRegister, kTwoCards}, {kCordon, row.text}});
    ASSERT_TRUE(cards.ok());
    EXPECT_EQ((*cards)[0].cordoned, row.first) << row.text;
    EXPECT_EQ((*cards)[1].cordoned, row.second) << row.text;
  }
}

TEST(NvidiaNodeTest, HasItsKeys) {
  const core::VendorSpec& nvidia = ChartRegistry()[0].spec();
  EXPECT_EQ(nvidia.key, "NVIDIA");
  EXPECT_EQ(nvidia.node_register, "hami.io/node-nvidia-register");
  EXPECT_EQ(nvidia.node_handshake, "hami.io/node-handshake");
  EXPECT_EQ(nvidia.to_allocate, "hami.io/vgpu-devices-to-allocate");
  EXPECT_EQ(nvidia.allocated, "hami.io/vgpu-devices-allocated");
  EXPECT_EQ(nvidia.lock, core::NodeLock::kShared);
}

}  // namespace
}  // namespace aliquot::vendors
