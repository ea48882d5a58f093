// Lists and watches: pages, resource versions, selectors, bookmarks, the end of
// history.
#include <gtest/gtest.h>

#include "unit/cluster/client.h"

namespace aliquot::cluster {
namespace {

class ListsTest : public ::testing::Test, protected TestCluster {
 protected:
  std::vector<std::string> Names(const std::string& target) {
    const Reply reply = Get(target);
    EXPECT_EQ(reply.status, 200) << reply.message();
    std::vector<std::string> names;
    for (const Json& item : reply.body.value("items", Json::array()))
      names.push_back(item["metadata"]["name"]);
    return names;
  }
  void MakePods(std::initializer_list<const char*> names) {
    for (const char* name : names) ASSERT_EQ(Create(kPods, PodJson(name)).status, 201);
  }
  std::string Version() { return std::to_string(cluster.resource_version()); }
  using Strings = std::vector<std::string>;
};

TEST_F(ListsTest, PagesShowOneSnapshot) {
  MakePods({"a", "b", "c", "d"});
  const Reply first = Get(kPods + "?limit=2");
  EXPECT_EQ(first.body["metadata"]["remainingItemCount"], 2);
  EXPECT_FALSE(first.body["items"][0].contains("kind"));
  MakePods({"bb", "e"});
  Delete(kPods + "/d");
  const std::string token = first.body["metadata"]["continue"];
  EXPECT_EQ(Names(kPods + "?limit=2&continue=" + token), (Strings{"c", "d"}));
  const Reply last = Get(kPods + "?limit=2&continue=" + token);
  EXPECT_EQ(last.version(), first.version());
  EXPECT_FALSE(last.body["metadata"].contains("continue"));
  EXPECT_EQ(Names(kPods), (Strings{"a", "b", "bb", "c", "e"}));
}

TEST_F(ListsTest, AnOldTokenIsGone) {
  MakePods({"a", "b", "c"});
  const std::string token = Get(kPods + "?limit=1").body["metadata"]["continue"];
  MakePods({"d"});
  cluster.Compact();
  EXPECT_EQ(Get(kPods + "?limit=1&continue=" + token).status, 410);
  EXPECT_EQ(Get(kPods + "?continue=nonsense").status, 400);
}

TEST_F(ListsTest, ResourceVersionsSelectTheState) {
  MakePods({"a"});
  const std::string then = Version();
  MakePods({"b"});
  EXPECT_EQ(Names(kPods + "?resourceVersionMatch=Exact&resourceVersion=" + then), (Strings{"a"}));
  EXPECT_EQ(Names(kPods + "?resourceVersionMatch=NotOlderThan&resourceVersion=" + then),
            (Strings{"a", "b"}));
  EXPECT_EQ(Names(kPods + "?limit=5&resourceVersion=" + then), (Strings{"a"}));
  EXPECT_EQ(Names(kPods + "?limit=1&resourceVersion=0"), (Strings{"a", "b"}));
  cluster.Compact();
  MakePods({"c"});
  EXPECT_EQ(Get(kPods + "?resourceVersionMatch=Exact&resourceVersion=" + then).status, 410);

  const Reply future = Get(kPods + "?resourceVersion=99999");
  EXPECT_EQ(future.status, 504);
  EXPECT_EQ(future.body["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
  EXPECT_EQ(Get(kPods + "?resourceVersionMatch=Exact").status, 422);
  EXPECT_EQ(Get(kPods + "?resourceVersionMatch=Exact&resourceVersion=0").status, 422);
  EXPECT_EQ(Get(kPods + "?resourceVersion=abc").status, 400);
  EXPECT_EQ(Get(kPods + "?limit=x").status, 400);
}

TEST_F(ListsTest, FieldSelectorsChoose) {
  MakePods({"a", "b"});
  Create(kPods + "/b/binding", {{"metadata", {{"name", "b"}}}, {"target", {{"name", "n"}}}});
  Patch(kPods + "/b/status", {{"status", {{"phase", "Succeeded"}}}});
  const auto names = [this](const std::string& text) {
    return Names(kPods + "?fieldSelector=" + text);
  };
  EXPECT_EQ(names("metadata.name%3Da"), Strings{"a"});
  EXPECT_EQ(names("spec.nodeName!="), Strings{"b"});
  EXPECT_EQ(names("spec.nodeName="), Strings{"a"});
  EXPECT_EQ(names("status.phase!=Succeeded,status.phase!=Failed"), Strings{"a"});
  EXPECT_EQ(names("status.phase==Succeeded"), Strings{"b"});
  EXPECT_EQ(names("spec.hostNetwork=false"), (Strings{"a", "b"}));
  EXPECT_EQ(Get(kPods + "?fieldSelector=foo=bar").message(), "field label not supported: foo");
}

TEST_F(ListsTest, LabelSelectorsChoose) {
  for (const char* value : {"x", "y", ""}) {
    Json node = {{"metadata", {{"name", std::string("n") + value}}}};
    if (*value != 0) node["metadata"]["labels"] = {{"k", value}};
    Create(kNodes, node);
  }
  const auto names = [this](const std::string& text) {
    return Names(kNodes + "?labelSelector=" + text);
  };
  EXPECT_EQ(names("k=x"), Strings{"nx"});
  EXPECT_EQ(names("k==x"), Strings{"nx"});
  EXPECT_EQ(names("k!=x"), (Strings{"n", "ny"}));
  EXPECT_EQ(names("k"), (Strings{"nx", "ny"}));
  EXPECT_EQ(names("!k"), Strings{"n"});
  EXPECT_EQ(names("k+in+(x,y)"), (Strings{"nx", "ny"}));
  EXPECT_EQ(names("k%20notin%20(x,y)"), Strings{"n"});
  EXPECT_EQ(names("k+in+(x,y),k!=y"), Strings{"nx"});
  for (const char* bad : {"a%20b", "a%3D%3D%3Dc", "k+in+x", "k+near+(x)", "=x"})
    EXPECT_EQ(Get(kNodes + "?labelSelector=" + bad).status, 400) << bad;
}

TEST_F(ListsTest, AWatchTellsWhatHappenedSince) {
  MakePods({"old"});
  const auto watch = Open(kPods + "?watch=true&resourceVersion=" + Version());
  EXPECT_EQ(NextLine(*watch), "nothing");
  MakePods({"p"});
  Create("/api/v1/namespaces/kube-system/pods", PodJson("elsewhere"));
  Patch(kPods + "/p", {{"metadata", {{"labels", {{"a", "b"}}}}}});
  Delete(kPods + "/p");
  EXPECT_EQ(NextLine(*watch), "ADDED p");
  EXPECT_EQ(NextLine(*watch), "MODIFIED p");
  EXPECT_EQ(NextLine(*watch), "MODIFIED p");  // its deletionTimestamp
  EXPECT_EQ(NextLine(*watch), "DELETED p");
  EXPECT_EQ(NextLine(*watch), "nothing");
}

TEST_F(ListsTest, LeavingTheSelectionIsADeletionOfTheLastStateWithTheNewVersion) {
  MakePods({"p"});
  const auto watch = Open(
      kPods + "?watch=true&fieldSelector=status.phase!=Succeeded&resourceVersion=" + Version());
  const Reply done = Patch(kPods + "/p/status", {{"status", {{"phase", "Succeeded"}}}});
  const Json event = Json::parse(watch->Next({}).text);
  EXPECT_EQ(event["type"], "DELETED");
  EXPECT_EQ(event["object"]["status"]["phase"], "Pending");
  EXPECT_EQ(event["object"]["metadata"]["resourceVersion"], done.version());
  Patch(kPods + "/p/status", {{"status", {{"phase", "Running"}}}});
  EXPECT_EQ(NextLine(*watch), "ADDED p");
}

TEST_F(ListsTest, AWatchWithoutAVersionBeginsWithWhatIsThere) {
  MakePods({"a", "b"});
  const auto plain = Open(kPods + "?watch=true");
  EXPECT_EQ(NextLine(*plain), "ADDED a");
  EXPECT_EQ(NextLine(*plain), "ADDED b");
  EXPECT_EQ(NextLine(*plain), "nothing");

  const auto list = Open(kPods +
                         "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
                         "&resourceVersionMatch=NotOlderThan");
  EXPECT_EQ(NextLine(*list), "ADDED a");
  EXPECT_EQ(NextLine(*list), "ADDED b");
  const Json bookmark = Json::parse(list->Next({}).text)["object"];
  EXPECT_EQ(bookmark["metadata"]["resourceVersion"], Version());
  EXPECT_EQ(bookmark["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
  EXPECT_EQ(Get(kPods + "?watch=1&sendInitialEvents=true").status, 422);
}

TEST_F(ListsTest, AWatchEndsAtItsTimeWithABookmarkBeforeIt) {
  const auto watch =
      Open(kPods + "?watch=true&allowWatchBookmarks=true&timeoutSeconds=90&resourceVersion=1");
  Create(kNodes, {{"metadata", {{"name", "n"}}}});  // not for this watch, but for its bookmarks
  clock.Advance(std::chrono::seconds(59));
  EXPECT_EQ(NextLine(*watch), "nothing");
  clock.Advance(std::chrono::seconds(1));
  EXPECT_EQ(NextLine(*watch), "BOOKMARK ");
  EXPECT_EQ(NextLine(*watch), "nothing");
  clock.Advance(std::chrono::seconds(28));
  const Json last = Json::parse(watch->Next({}).text);
  EXPECT_EQ(last["type"], "BOOKMARK");
  EXPECT_EQ(last["object"]["metadata"]["resourceVersion"], Version());
  EXPECT_EQ(NextLine(*watch), "nothing");
  clock.Advance(std::chrono::seconds(2));
  EXPECT_EQ(NextLine(*watch), "end");
}

TEST_F(ListsTest, AForgottenVersionIsAnErrorInTheStream) {
  MakePods({"a"});
  const std::string then = Version();
  const auto open = Open(kPods + "?watch=true&resourceVersion=" + then);
  MakePods({"b"});
  cluster.Compact();
  const auto late = Open(kPods + "?watch=true&resourceVersion=" + then);
  for (const auto& watch : {open.get(), late.get()}) {
    EXPECT_EQ(NextLine(*watch), "ERROR too old resource version: " + then + " (" + Version() + ")");
    EXPECT_EQ(NextLine(*watch), "end");
  }
  EXPECT_EQ(NextLine(*Open(kPods + "?watch=true&resourceVersion=" + Version())), "nothing");
}

TEST(ListsHistoryTest, KeepsOnlySoMuch) {
  TestCluster small({.seed = 1, .history_per_kind = 3});
  small.Create(kNodes, {{"metadata", {{"name", "n"}}}});
  const std::string then = std::to_string(small.cluster.resource_version());
  const auto watch = small.Open(kNodes + "?watch=true&resourceVersion=" + then);
  for (const char* value : {"1", "2", "3", "4"})
    small.Patch(kNodes + "/n", {{"metadata", {{"labels", {{"a", value}}}}}});
  EXPECT_TRUE(NextLine(*watch).starts_with("ERROR too old"));
}

}  // namespace
}  // namespace aliquot::cluster
