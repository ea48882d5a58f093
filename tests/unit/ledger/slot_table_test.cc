#include "aliquot/ledger/slot_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

namespace aliquot::ledger {
namespace {

TEST(SlotTableTest, ASlotIsUsedAgainOnceItIsFree) {
  SlotTable<int> table;
  table["a"] = 1;
  table["b"] = 2;
  table.Erase("a");
  table.Erase("a");
  EXPECT_EQ(table.Find("a"), nullptr);
  table["c"] = 3;
  SlotTable<int>::Series series(table);
  EXPECT_EQ(series.Find("c")->slot, 0U);
  EXPECT_EQ(series.Find("b")->slot, 1U);
  EXPECT_EQ(series.Find("a"), nullptr);
  EXPECT_EQ(*table.Find("c"), 3);
}

// Whatever was looked up before and in whatever order, a name finds its own value.
TEST(SlotTableTest, SeriesFindWhatIsThere) {
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
      table[changed] = expected[changed] = changed + "/" + std::to_string(round);
    }
    if (random() % 4 == 0) std::ranges::shuffle(names, random);
    SlotTable<std::string>::Series series(table);
    for (const std::string& name : names) {
      const auto* item = series.Find(name);
      ASSERT_EQ(item != nullptr, expected.contains(name)) << name;
      if (item != nullptr) {
        ASSERT_EQ(item->value, expected[name]);
      }
    }
  }
}

}  // namespace
}  // namespace aliquot::ledger
