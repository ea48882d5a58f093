#include "aliquot/core/vendor.h"

#include <gtest/gtest.h>

#include "unit/core/test_vendor.h"

namespace aliquot::core {
namespace {

TEST(RegistryTest, OrdersVendorsByKey) {
  const Registry& registry = TwoVendors();  // made of Beta, Alpha
  ASSERT_EQ(registry.size(), 2U);
  EXPECT_EQ(registry[0].key(), "Alpha");
  EXPECT_EQ(registry[1].key(), "Beta");
  EXPECT_EQ(registry[0].id(), 0);
  EXPECT_EQ(registry[1].id(), 1);
  EXPECT_EQ(registry[1].config().count_name, "beta/card");
  EXPECT_EQ(registry.Find("Beta"), &registry[1]);
  EXPECT_EQ(registry.Find("beta"), nullptr);
}

TEST(RegistryDeathTest, RefusesOneKeyTwice) {
  EXPECT_DEATH(Registry({{kAlphaSpec, {}}, {kAlphaSpec, {}}}), "key");
}

TEST(VendorTest, OnlyCardsWithItsKeyInTheirModelCanBeAskedFor) {
  const Vendor& beta = TwoVendors()[1];
  Device card;
  card.type = "some BETA-9 card";
  beta.Claim(card);
  EXPECT_EQ(card.vendor, 1);
  EXPECT_TRUE(card.requestable);
  EXPECT_FALSE(card.named_after_vendor);

  card.type = "Alpha";
  beta.Claim(card);
  EXPECT_FALSE(card.requestable);

  card.type = "Beta";
  beta.Claim(card);
  EXPECT_TRUE(card.requestable);
  EXPECT_TRUE(card.named_after_vendor);
}

TEST(VendorTest, AMemoryFactorIsAtLeastOne) {
  for (const auto& [configured, effective] :
       std::initializer_list<std::pair<int64_t, int64_t>>{{-3, 1}, {0, 1}, {1, 1}, {256, 256}}) {
    VendorConfig config;
    config.memory_factor = configured;
    EXPECT_EQ(Vendor(kAlphaSpec, config).memory_factor(), effective);
  }
}

}  // namespace
}  // namespace aliquot::core
