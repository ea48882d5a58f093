#include "aliquot/ledger/slot_table.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace aliquot::ledger {
namespace {

TEST(SlotTableTest, ASlotIsUsedAgainOnceItIsFree) {
  SlotTable<int> table;
  table.Get("a").first = 1;
  table.Get("b").first = 2;
  table.Erase("a");
  table.Erase("a");
  EXPECT_EQ(table.Find("a"), nullptr);
  table.Get("c").first = 3;
  SlotTable<int>::Series series(table);
  EXPECT_EQ(series.Find("c"), 0U);
  EXPECT_EQ(series.Find("b"), 1U);
  EXPECT_EQ(series.Find("a"), std::nullopt);
  EXPECT_EQ(series.Find(""), std::nullopt);
  EXPECT_EQ(*table.Find("c"), 3);
}

// Whatever was looked up before and in whatever order, a name finds its own value.
TEST(SlotTableTest, SeriesFindWhatIsThereAndRanksFollowTheNames) {
  std::mt19937 random(20261130);
  SlotTable<std::string> table;
  std::map<std::string, std::string> expected;
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) names.push_back("node-" + std::to_string(i));
  for (int round = 0; round < 500; ++round) {
    const std::string& changed = names[random() % names.size()];
    if (random() % 3 == 0) {
      table.Erase(changed);
      expected.erase(changed);
    } else {
      table.Get(changed).first = expected[changed] = changed + "/" + std::to_string(round);
    }
    if (random() % 4 == 0) std::ranges::shuffle(names, random);
    SlotTable<std::string>::Series series(table);
    for (const std::string& name : names) {
      const auto slot = series.Find(name);
      ASSERT_EQ(slot.has_value(), expected.contains(name)) << name;
      ASSERT_EQ(slot, table.SlotOf(name));
      if (slot) {
        ASSERT_EQ(*table.Find(name), expected[name]);
      }
    }
    const std::vector<uint32_t>& ranks = table.Ranks();
    std::optional<uint32_t> before;
    for (const auto& [name, value] : expected) {  // ascending
      const uint32_t rank = ranks.at(*table.SlotOf(name));
      ASSERT_TRUE(!before || *before < rank) << name;
      before = rank;
    }
  }
}

}  // namespace
}  // namespace aliquot::ledger
