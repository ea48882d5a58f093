#include "aliquot/kube/store.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace aliquot::kube {
namespace {

std::shared_ptr<const Pod> Named(const std::string& name) {
  Pod pod;
  pod.meta.ns = "lab";
  pod.meta.name = name;
  return std::make_shared<const Pod>(pod);
}

class StoreTest : public ::testing::Test {
 protected:
  void Fill(int count) {
    for (int i = 0; i < count; ++i) store_.Put(Named(std::to_string(1000 + i)));
  }
  // So many of them.
  std::vector<std::string> Visited(size_t most = 1'000'000) {
    std::vector<std::string> names;
    store_.ForEach([&](const std::shared_ptr<const Pod>& pod) {
      names.push_back(pod->meta.name);
      return names.size() < most;
    });
    return names;
  }

  Store<Pod> store_;
};

TEST_F(StoreTest, VisitsEveryObjectOnceInOrder) {
  for (const int count : {0, 1, 63, 64, 65, 128, 200}) {
    Fill(count);
    const std::vector<std::string> names = Visited();
    EXPECT_EQ(names.size(), static_cast<size_t>(count));
    EXPECT_TRUE(std::ranges::is_sorted(names));
  }
}

TEST_F(StoreTest, AVisitorCanHaveEnough) {
  Fill(200);
  EXPECT_EQ(Visited(70).size(), 70U);
}

TEST_F(StoreTest, ObjectsMayGoWhileOthersAreVisited) {
  Fill(200);
  int visits = 0;
  store_.ForEach([&](const std::shared_ptr<const Pod>& pod) {
    store_.Remove("lab", pod->meta.name);
    ++visits;
    return true;
  });
  EXPECT_EQ(visits, 200);
  EXPECT_EQ(store_.size(), 0U);
}

}  // namespace
}  // namespace aliquot::kube
