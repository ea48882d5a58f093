// Single objects: creation, preconditions, patches, deletion, binding.
#include <gtest/gtest.h>

#include "unit/cluster/client.h"

namespace aliquot::cluster {
namespace {

class ObjectsTest : public ::testing::Test, protected TestCluster {};

TEST_F(ObjectsTest, ANewPodGetsIdentityDefaultsAndRequestsEqualToItsLimits) {
  const Reply made = Create(kPods, PodJson("p", "3000"));
  ASSERT_EQ(made.status, 201) << made.message();
  EXPECT_EQ(made.body["kind"], "Pod");
  EXPECT_EQ(made.body["metadata"]["creationTimestamp"], "2026-01-01T00:00:00Z");
  EXPECT_EQ(made.uid().size(), 36U);
  EXPECT_EQ(made.body["status"]["phase"], "Pending");
  const Json& resources = made.body["spec"]["containers"][0]["resources"];
  EXPECT_EQ(resources["limits"]["nvidia.com/gpu"], "3k");
  EXPECT_EQ(resources["requests"]["nvidia.com/gpu"], "3k");
  EXPECT_EQ(made.body["spec"]["schedulerName"], "default-scheduler");
  EXPECT_EQ(Get(kPods + "/p").body, made.body);
}

TEST_F(ObjectsTest, TheSameSeedGivesTheSameUids) {
  TestCluster other;
  EXPECT_EQ(Create(kPods, PodJson("p")).uid(), other.Create(kPods, PodJson("p")).uid());
}

TEST_F(ObjectsTest, GeneratesNames) {
  Json pod = PodJson("");
  pod["metadata"] = {{"generateName", "job-"}};
  const std::string name = Create(kPods, pod).body["metadata"]["name"];
  EXPECT_EQ(name.size(), 9U);
  EXPECT_TRUE(name.starts_with("job-"));
  EXPECT_NE(Create(kPods, pod).body["metadata"]["name"], name);
}

TEST_F(ObjectsTest, RefusesTheTextsOfTheRealServer) {
  Create(kPods, PodJson("p"));
  EXPECT_EQ(Create(kPods, PodJson("p")).message(), "pods \"p\" already exists");
  EXPECT_EQ(Get(kPods + "/q").message(), "pods \"q\" not found");
  EXPECT_EQ(Create("/api/v1/namespaces/nope/pods", PodJson("p")).message(),
            "namespaces \"nope\" not found");
  EXPECT_EQ(Get("/apis/coordination.k8s.io/v1/namespaces/default/leases/l").message(),
            "leases.coordination.k8s.io \"l\" not found");
  EXPECT_EQ(Create(kPods, PodJson("q", "500m")).message(),
            "Pod \"q\" is invalid: [spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid "
            "value: \"500m\": must be an integer, spec.containers[0].resources.requests[nvidia.com/"
            "gpu]: Invalid value: \"500m\": must be an integer]");
  EXPECT_EQ(Create(kPods, PodJson("q", "x")).status, 400);
  EXPECT_EQ(Patch(kPods + "/p", {{"metadata", {{"resourceVersion", "1"}}}}).message(),
            "Operation cannot be fulfilled on pods \"p\": the object has been modified; please "
            "apply your changes to the latest version and try again");
  EXPECT_EQ(Patch(kPods + "/p", {{"metadata", {{"uid", "x"}}}}).message(),
            "Pod \"p\" is invalid: metadata.uid: Invalid value: \"x\": field is immutable");
  EXPECT_EQ(Call("DELETE", kPods).status, 405);
  EXPECT_EQ(Get("/api/v1/foos").message(), "the server could not find the requested resource");
}

TEST_F(ObjectsTest, RefusesMalformedObjectsWithoutChangingAnything) {
  const uint64_t before = cluster.resource_version();
  const auto post = [this](std::string body) {
    return cluster.Handle({"POST", kPods, "application/json", std::move(body)}).status;
  };
  for (
      const char* body :
      {"", "{", "[]", "null", "5", R"({"metadata":5})", R"({"metadata":{"name":5}})",
       R"({"metadata":{"name":"p","labels":{"a":1}}})", R"({"kind":"Node"})",
       R"({"kind":{},"apiVersion":[]})", R"({"metadata":{"name":"p"},"spec":[]})",
       R"({"metadata":{"name":"p"},"spec":{"containers":{}}})",
       R"({"metadata":{"name":"p"},"spec":{"containers":[5]}})",
       R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}],"tolerations":[5]}})",
       R"({"metadata":{"name":"P"},"spec":{"containers":[{"name":"c","image":"i"}]}})",
       "{\"metadata\":{\"name\":\"\xff\"}}"}) {
    EXPECT_GE(post(body), 400) << body;
    EXPECT_LE(post(body), 422) << body;
  }
  EXPECT_EQ(post(std::string(100000, '[')), 400);
  EXPECT_EQ(post(std::string((3 << 20) + 1, ' ')), 413);
  EXPECT_EQ(cluster.resource_version(), before);
}

TEST_F(ObjectsTest, APatchThatChangesNothingKeepsTheResourceVersion) {
  const Reply made = Create(kPods, PodJson("p"));
  EXPECT_EQ(Patch(kPods + "/p", {{"metadata", {{"annotations", {{"a", nullptr}}}}}}).version(),
            made.version());
  const Reply changed = Patch(kPods + "/p", {{"metadata", {{"annotations", {{"a", "1"}}}}}});
  EXPECT_NE(changed.version(), made.version());
  EXPECT_EQ(Patch(kPods + "/p", {{"metadata", {{"annotations", {{"a", "1"}}}}}}).version(),
            changed.version());
}

TEST_F(ObjectsTest, StatusAndSpecAreChangedThroughTheirOwnPathsOnly) {
  Create(kPods, PodJson("p"));
  EXPECT_EQ(Patch(kPods + "/p", {{"status", {{"phase", "Running"}}}}).body["status"]["phase"],
            "Pending");
  const Reply running = Patch(kPods + "/p/status",
                              {{"status", {{"phase", "Running"}}}, {"spec", {{"nodeName", "n"}}}});
  EXPECT_EQ(running.body["status"]["phase"], "Running");
  EXPECT_FALSE(running.body["spec"].contains("nodeName"));
  EXPECT_EQ(Patch(kPods + "/p", {{"spec", {{"nodeName", "n"}}}}).status, 422);
}

TEST_F(ObjectsTest, APutReplacesUnderItsPreconditions) {
  const Reply made = Create(kPods, PodJson("p"));
  Json pod = made.body;
  pod["metadata"]["labels"] = {{"a", "b"}};
  EXPECT_EQ(Call("PUT", kPods + "/p", pod).status, 200);
  EXPECT_EQ(Call("PUT", kPods + "/p", pod).status, 409);  // its version is old now
  pod["metadata"].erase("resourceVersion");
  pod["metadata"]["uid"] = "other";
  EXPECT_EQ(Call("PUT", kPods + "/p", pod).status, 409);
  pod["metadata"].erase("uid");
  EXPECT_EQ(Call("PUT", kPods + "/p", pod).status, 200);
  EXPECT_EQ(Call("PUT", kPods + "/q", pod).status, 400);
  const std::string leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
  EXPECT_EQ(Call("PUT", leases + "/l", {{"metadata", {{"name", "l"}}}}).status, 201);
}

TEST_F(ObjectsTest, ABoundPodIsDeletedInTwoStepsAndAnUnboundOneAtOnce) {
  Create(kPods, PodJson("unbound"));
  EXPECT_EQ(Delete(kPods + "/unbound").status, 200);
  EXPECT_EQ(Get(kPods + "/unbound").status, 404);

  Json pod = PodJson("bound");
  pod["spec"]["nodeName"] = "n";
  Create(kPods, pod);
  const Reply marked = Delete(kPods + "/bound");
  EXPECT_EQ(marked.body["metadata"]["deletionTimestamp"], "2026-01-01T00:00:30Z");
  EXPECT_EQ(Get(kPods + "/bound").status, 200);
  EXPECT_EQ(Delete(kPods + "/bound?gracePeriodSeconds=0").status, 200);
  EXPECT_EQ(Get(kPods + "/bound").status, 404);
}

TEST_F(ObjectsTest, FinalizersKeepADeletedObjectUntilTheyAreGone) {
  Json pod = PodJson("p");
  pod["metadata"]["finalizers"] = {"test/hold"};
  Create(kPods, pod);
  EXPECT_EQ(Delete(kPods + "/p?gracePeriodSeconds=0").status, 200);
  EXPECT_TRUE(Get(kPods + "/p").body["metadata"].contains("deletionTimestamp"));
  EXPECT_EQ(Patch(kPods + "/p", {{"metadata", {{"finalizers", nullptr}}}}).status, 200);
  EXPECT_EQ(Get(kPods + "/p").status, 404);
}

TEST_F(ObjectsTest, DeletionKeepsToItsPreconditions) {
  const Reply made = Create(kPods, PodJson("p"));
  EXPECT_EQ(Delete(kPods + "/p", {{"preconditions", {{"uid", "x"}}}}).status, 409);
  EXPECT_EQ(Delete(kPods + "/p", {{"preconditions", {{"resourceVersion", "1"}}}}).status, 409);
  EXPECT_EQ(Delete(kPods + "/p", {{"preconditions", {{"uid", made.uid()}}}}).status, 200);
}

TEST_F(ObjectsTest, ADeletedNamespaceTakesItsObjectsAlong) {
  Create("/api/v1/namespaces", {{"metadata", {{"name", "team"}}}});
  const std::string pods = "/api/v1/namespaces/team/pods";
  Create(pods, PodJson("p"));
  Json held = PodJson("held");
  held["metadata"]["finalizers"] = {"test/hold"};
  Create(pods, held);
  EXPECT_EQ(Delete("/api/v1/namespaces/team").body["status"]["phase"], "Terminating");
  EXPECT_EQ(Get(pods + "/p").status, 404);
  EXPECT_EQ(Create(pods, PodJson("late")).message(),
            "pods \"late\" is forbidden: unable to create new content in namespace team because it "
            "is being terminated");
  EXPECT_EQ(Get("/api/v1/namespaces/team").status, 200);
  Patch(pods + "/held", {{"metadata", {{"finalizers", nullptr}}}});
  EXPECT_EQ(Get("/api/v1/namespaces/team").status, 404);
}

Json BindingJson(const std::string& pod, const std::string& node, Json meta = Json::object()) {
  meta["name"] = pod;
  return {{"metadata", meta}, {"target", {{"kind", "Node"}, {"name", node}}}};
}

TEST_F(ObjectsTest, BindingSetsTheNodeAndItsAnnotationsInOneStep) {
  const Reply made = Create(kPods, PodJson("p"));
  const uint64_t before = cluster.resource_version();
  const Json meta = {{"uid", made.uid()}, {"annotations", {{"a", "1"}, {"n", nullptr}}}};
  EXPECT_EQ(Create(kPods + "/p/binding", BindingJson("p", "n1", meta)).status, 201);
  EXPECT_EQ(cluster.resource_version(), before + 1);
  const Json pod = Get(kPods + "/p").body;
  EXPECT_EQ(pod["spec"]["nodeName"], "n1");
  EXPECT_EQ(pod["metadata"]["annotations"], Json({{"a", "1"}, {"n", ""}}));
  EXPECT_EQ(pod["status"]["conditions"][0]["type"], "PodScheduled");
}

TEST_F(ObjectsTest, BindingIsRefusedWithTheReason) {
  const auto bind = [this](const std::string& pod, const Json& binding) {
    return Create(kPods + "/" + pod + "/binding", binding);
  };
  Create(kPods, PodJson("p"));
  EXPECT_EQ(bind("p", BindingJson("q", "n")).status, 400);
  EXPECT_EQ(bind("p", BindingJson("p", "")).message(), "target.name: Required value");
  EXPECT_EQ(bind("p", BindingJson("p", "n", {{"uid", "x"}})).status, 409);
  EXPECT_EQ(bind("p", BindingJson("p", "n", {{"resourceVersion", "1"}})).status, 409);
  EXPECT_EQ(bind("q", BindingJson("q", "n")).status, 404);
  EXPECT_EQ(bind("p", {{"metadata", "x"}}).status, 400);
  EXPECT_EQ(bind("p", BindingJson("p", "n")).status, 201);
  EXPECT_EQ(bind("p", BindingJson("p", "n")).message(),
            "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to "
            "node \"n\"");
  Json gated = PodJson("g");
  gated["spec"]["schedulingGates"] = Json::array({{{"name", "a/b"}}});
  Create(kPods, gated);
  EXPECT_TRUE(bind("g", BindingJson("g", "n"))
                  .message()
                  .ends_with("has non-empty "
                             ".spec.schedulingGates"));
}

TEST_F(ObjectsTest, ANodesAllocatableFollowsItsCapacityUnlessGiven) {
  const Json capacity = {{"capacity", {{"nvidia.com/gpu", 10}}}};
  const Reply made = Create(kNodes, {{"metadata", {{"name", "n"}}}, {"status", capacity}});
  EXPECT_EQ(made.body["status"]["allocatable"]["nvidia.com/gpu"], "10");
}

TEST_F(ObjectsTest, LeaseTimesNeedSixFractionalDigits) {
  const std::string leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
  const auto with = [&](const std::string& time) {
    return Create(leases, {{"metadata", {{"name", "l"}}}, {"spec", {{"renewTime", time}}}});
  };
  EXPECT_EQ(with("2026-05-11T10:00:00Z").status, 400);
  EXPECT_EQ(with("2026-05-11T10:00:00.000000001Z").status, 400);
  EXPECT_EQ(with("2026-05-11T10:00:00.000001+02:00").body["spec"]["renewTime"],
            "2026-05-11T08:00:00.000001Z");
}

TEST_F(ObjectsTest, EventsMustBelongToTheirNamespaceAndEndAfterAnHour) {
  const std::string events = "/api/v1/namespaces/default/events";
  const auto event = [](const std::string& name, const std::string& ns) -> Json {
    return {{"metadata", {{"name", name}}}, {"involvedObject", {{"namespace", ns}}}};
  };
  EXPECT_EQ(Create(events, event("e", "other")).status, 422);
  EXPECT_EQ(Create(events, event("old", "default")).status, 201);
  EXPECT_EQ(Create(events, event("repeated", "default")).status, 201);
  clock.Advance(std::chrono::minutes(40));
  EXPECT_EQ(Patch(events + "/repeated", {{"count", 2}}, "application/strategic-merge-patch+json")
                .body["count"],
            2);
  clock.Advance(std::chrono::minutes(40));
  EXPECT_EQ(Create(events, event("new", "default")).status, 201);
  EXPECT_EQ(Get(events + "/old").status, 404);
  EXPECT_EQ(Get(events + "/repeated").status, 200);
}

TEST_F(ObjectsTest, ADryRunChangesNothing) {
  const uint64_t before = cluster.resource_version();
  EXPECT_EQ(Create(kPods + "?dryRun=All", PodJson("p")).status, 201);
  EXPECT_EQ(Get(kPods + "/p").status, 404);
  EXPECT_EQ(cluster.resource_version(), before);
}

TEST_F(ObjectsTest, DiscoveryTellsEveryResource) {
  const Json core = Get("/api/v1").body;
  std::vector<std::string> names;
  for (const Json& resource : core["resources"]) names.push_back(resource["name"]);
  EXPECT_EQ(names,
            (std::vector<std::string>{"namespaces", "namespaces/status", "pods", "pods/status",
                                      "pods/binding", "nodes", "nodes/status", "events",
                                      "resourcequotas", "resourcequotas/status", "secrets"}));
  EXPECT_EQ(core["resources"][2]["shortNames"], Json::array({"po"}));
  const Json groups = Get("/apis").body["groups"];
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0]["versions"][0]["groupVersion"], "coordination.k8s.io/v1");
  EXPECT_EQ(groups[1]["versions"][0]["groupVersion"], "admissionregistration.k8s.io/v1");
  EXPECT_EQ(Get("/version").body["major"], "1");
}

}  // namespace
}  // namespace aliquot::cluster
