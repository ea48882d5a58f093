#include "aliquot/kube/parse.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "aliquot/base/strings.h"
#include "aliquot/base/time_text.h"
#include "aliquot/kube/api.h"

namespace aliquot::kube {
namespace {

constexpr std::string_view kPod = R"({
  "kind": "Pod", "apiVersion": "v1",
  "metadata": {"name": "train-0", "namespace": "team-a", "uid": "u-1", "resourceVersion": "81240",
    "creationTimestamp": "2026-05-11T10:00:00Z", "deletionTimestamp": null,
    "labels": {"app": "train", "odd\u0041": "x"},
    "annotations": {"a/b": "line\nbreak \"quoted\" \u00e9",
                    "kubectl.kubernetes.io/last-applied-configuration": "{\"huge\":true}"},
    "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:metadata": {"f:labels": {".": {}}}}}]},
  "spec": {"nodeName": "gpu-17", "schedulerName": "hami-scheduler", "schedulingGates": null,
    "schedulingGroup": {"podGroupName": "ring-4"},
    "initContainers": [{"name": "side", "restartPolicy": "Always"}],
    "containers": [{"name": "main", "image": "x", "resources": {
        "limits": {"nvidia.com/gpu": "3k", "nvidia.com/gpumem": 16.50, "cpu": 1e3},
        "requests": {"cpu": 12345678901234567890123}}},
      {"name": "bare", "resources": null}]},
  "status": {"phase": "Running", "initContainerStatuses": [
     {"name": "side", "state": {"running": {"startedAt": "2026-05-11T10:00:00Z"}}},
     {"name": "prepare", "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]}
})";

TEST(ParsePodTest, KeepsTheFieldsWeUse) {
  const Result<Pod> pod = ParsePod(kPod);
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(pod->meta.Ref(), (ObjectRef{"team-a", "train-0", "u-1"}));
  EXPECT_EQ(pod->meta.resource_version, "81240");
  EXPECT_EQ(FormatRfc3339(pod->meta.created.value()), "2026-05-11T10:00:00Z");
  EXPECT_FALSE(pod->meta.terminating);
  EXPECT_EQ(pod->meta.labels, (StringMap{{"app", "train"}, {"oddA", "x"}}));
  EXPECT_EQ(pod->meta.annotations, (StringMap{{"a/b", "line\nbreak \"quoted\" \u00e9"}}));
  EXPECT_EQ(pod->node_name, "gpu-17");
  EXPECT_EQ(pod->scheduler_name, "hami-scheduler");
  EXPECT_EQ(pod->pod_group, "ring-4");
  EXPECT_EQ(pod->phase, PodPhase::kRunning);
  ASSERT_EQ(pod->init_containers.size(), 1U);
  EXPECT_TRUE(pod->init_containers[0].restart_always);
  ASSERT_EQ(pod->containers.size(), 2U);
  EXPECT_EQ(pod->containers[1].name, "bare");
  EXPECT_TRUE(pod->containers[1].limits.empty());
  EXPECT_EQ(pod->init_statuses,
            (std::vector<InitStatus>{{.name = "side"},
                                     {.name = "prepare", .terminated = true, .exit_code = 137}}));
}

TEST(ParsePodTest, KeepsNumbersAsTheirDigits) {
  const Result<Pod> pod = ParsePod(kPod);
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->containers[0].limits,
            (StringMap{{"nvidia.com/gpu", "3k"}, {"nvidia.com/gpumem", "16.50"}, {"cpu", "1e3"}}));
  EXPECT_EQ(pod->containers[0].requests, (StringMap{{"cpu", "12345678901234567890123"}}));
}

TEST(ParsePodTest, MarksAPodThatIsBeingDeleted) {
  const Result<Pod> pod =
      ParsePod(R"({"metadata":{"name":"a","deletionTimestamp":"2026-05-11T10:00:00Z"}})");
  ASSERT_TRUE(pod);
  EXPECT_TRUE(pod->meta.terminating);
}

TEST(ParsePodTest, TakesNullForAbsentEverywhere) {
  const Result<Pod> pod = ParsePod(
      R"({"metadata":{"name":null,"uid":null,"labels":null,"annotations":{"a":null},
          "creationTimestamp":null,"deletionTimestamp":null},
          "spec":{"nodeName":null,"containers":null,"schedulingGroup":null},"status":null})");
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(*pod, Pod{});
}

TEST(ParsePodTest, TakesTheLastOfARepeatedKey) {
  const Result<Pod> pod = ParsePod(R"({"metadata":{"annotations":{"a":"1","a":"2"}}})");
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->meta.annotations, (StringMap{{"a", "2"}}));
}

TEST(ParsePodTest, NamesTheFieldOfAWrongType) {
  struct Case {
    std::string_view json, message;
  };
  for (const Case& c : {
           Case{R"({"spec":{"nodeName":7}})", "Pod: spec.nodeName: not a string"},
           Case{R"({"spec":{"containers":{}}})", "Pod: spec.containers: not a list"},
           Case{R"({"spec":{"containers":[{},{"name":[]}]}})",
                "Pod: spec.containers[1].name: not a string"},
           Case{R"({"spec":{"containers":[{"resources":{"limits":{"a":true}}}]}})",
                "Pod: spec.containers[0].resources.limits.a: neither a string nor a number"},
           Case{R"({"metadata":"x"})", "Pod: metadata: not an object"},
           Case{R"({"metadata":{"creationTimestamp":"yesterday"}})",
                "Pod: metadata.creationTimestamp: not an RFC 3339 time"},
           Case{R"([1])", "Pod: not an object"},
           Case{R"({} {})", "Pod: something follows the object"},
       }) {
    const Result<Pod> pod = ParsePod(c.json);
    ASSERT_FALSE(pod) << c.json;
    EXPECT_EQ(pod.error(), InvalidError(std::string(c.message))) << c.json;
  }
}

TEST(ParsePodTest, RefusesTextThatIsNoJson) {
  for (std::string_view json : {"", " ", "{", "}", "nul", "{\"metadata\":{\"name\":\"a}", "\xff",
                                "{\"metadata\":{\"name\":\"\xc3\x28\"}}", "{\"x\":\"\xff\"}",
                                "{\"metadata\":{\"labels\":{\"a\":\"\\q\"}}}"}) {
    EXPECT_FALSE(ParsePod(json)) << json;
  }
}

TEST(ParsePodTest, SurvivesDeepNesting) {
  for (int depth : {1000, 1'000'000}) {
    const std::string open(static_cast<size_t>(depth), '[');
    const std::string close(static_cast<size_t>(depth), ']');
    (void)ParsePod(R"({"x":)" + open + "}");
    EXPECT_TRUE(ParsePod(R"({"x":)" + open + close + "}"));
    EXPECT_FALSE(ParsePod(R"({"metadata":{"annotations":{"a":)" + open + close + "}}}"));
  }
}

// Cut and damaged texts end in an answer; sanitizers watch.
TEST(ParsePodTest, SurvivesDamagedText) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (size_t cut = 0; cut < kPod.size(); ++cut) {
    EXPECT_FALSE(ParsePod(kPod.substr(0, cut))) << cut;
  }
  for (int round = 0; round < 3000; ++round) {
    std::string damaged(kPod);
    for (int i = 0; i < 3; ++i) damaged[random() % damaged.size()] = "{}[]\",:0\\ n"[random() % 11];
    (void)ParsePod(damaged);
    (void)ParseListPage(damaged);
    (void)ParseWatchEvent(damaged);
  }
}

TEST(ParsePodTest, ReadsFromSeveralThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int round = 0; round < 50; ++round) EXPECT_TRUE(ParsePod(kPod));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ParseNodeTest, ReadsCapacityAndAllocatable) {
  const Result<Node> node = ParseNode(
      R"({"metadata":{"name":"gpu-17"},"spec":{"unschedulable":true},
          "status":{"capacity":{"cpu":"64"},"allocatable":{"cpu":"63500m"},"images":[]}})");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->capacity, (StringMap{{"cpu", "64"}}));
  EXPECT_EQ(node->allocatable, (StringMap{{"cpu", "63500m"}}));
}

TEST(ParseResourceQuotaTest, TellsScopedQuotasFromPlainOnes) {
  const auto scoped = [](std::string_view spec) {
    const Result<ResourceQuota> quota = ParseResourceQuota("{\"spec\":" + std::string(spec) + "}");
    return quota && quota->hard == StringMap{{"limits.a", "4"}} && quota->scoped;
  };
  EXPECT_FALSE(scoped(R"({"hard":{"limits.a":"4"}})"));
  EXPECT_FALSE(scoped(R"({"hard":{"limits.a":"4"},"scopes":[],"scopeSelector":null})"));
  EXPECT_TRUE(scoped(R"({"hard":{"limits.a":"4"},"scopes":["Terminating"]})"));
  EXPECT_TRUE(scoped(R"({"hard":{"limits.a":"4"},"scopeSelector":{"matchExpressions":[]}})"));
}

TEST(ParseLeaseTest, ReadsWhoHoldsItForHowLong) {
  const Result<Lease> lease = ParseLease(
      R"({"metadata":{"namespace":"kube-system","name":"s","resourceVersion":"812"},
          "spec":{"holderIdentity":"host-a_0b4c","leaseDurationSeconds":15,
                  "renewTime":"2026-05-11T10:03:12.104113Z","leaseTransitions":3}})");
  ASSERT_TRUE(lease) << lease.error().message;
  EXPECT_EQ(lease->meta.name, "s");
  EXPECT_EQ(lease->holder, "host-a_0b4c");
  EXPECT_EQ(lease->duration, std::chrono::seconds(15));
}

TEST(ParseLeaseTest, WithoutHolderOrDurationItIsNobodys) {
  for (const char* spec :
       {"{}", "null", R"({"holderIdentity":null,"leaseDurationSeconds":null})"}) {
    const Result<Lease> lease = ParseLease(R"({"spec":)" + std::string(spec) + "}");
    ASSERT_TRUE(lease) << lease.error().message;
    EXPECT_EQ(*lease, Lease());
  }
}

TEST(ParseLeaseTest, ADurationIsANumberOf32Bits) {
  for (const char* duration : {"\"15\"", "1.5", "2147483648", "-2147483649"})
    EXPECT_FALSE(ParseLease(R"({"spec":{"leaseDurationSeconds":)" + std::string(duration) + "}}"))
        << duration;
}

TEST(ParseSecretTest, ReadsWhatItHolds) {
  const Result<Secret> secret = ParseSecret(
      R"({"metadata":{"namespace":"kube-system","name":"s","resourceVersion":"7"},
          "type":"kubernetes.io/tls","data":{"tls.crt":"QUI=","tls.key":"","x":null}})");
  ASSERT_TRUE(secret) << secret.error().message;
  EXPECT_EQ(secret->meta.resource_version, "7");
  EXPECT_EQ(secret->data.at("tls.crt"), "AB");
  EXPECT_EQ(secret->data.at("tls.key"), "");
  EXPECT_TRUE(ParseSecret(R"({"metadata":{"name":"s"}})")->data.empty());
  const Result<Secret> bad = ParseSecret(R"({"data":{"tls.crt":"?"}})");
  ASSERT_FALSE(bad);
  EXPECT_TRUE(Contains(bad.error().message, "data.tls.crt: ")) << bad.error().message;
}

TEST(ParseWebhookConfigurationTest, ReadsTheBundleOfEachWebhook) {
  const Result<WebhookConfiguration> configuration = ParseWebhookConfiguration(
      R"({"metadata":{"name":"c","resourceVersion":"7"},"webhooks":[
          {"clientConfig":{"caBundle":"QUI=","url":"https://a"},"name":"a"},
          {"name":"b","clientConfig":{"service":{"name":"s"}}},{"name":"c"}]})");
  ASSERT_TRUE(configuration) << configuration.error().message;
  EXPECT_EQ(configuration->meta.name, "c");
  using Webhook = WebhookConfiguration::Webhook;
  EXPECT_EQ(configuration->webhooks, (std::vector<Webhook>{{"a", "QUI="}, {"b", ""}, {"c", ""}}));
  EXPECT_TRUE(ParseWebhookConfiguration("{}")->webhooks.empty());
}

TEST(ParseListPageTest, HandsOutItemsAsPartsOfTheText) {
  const std::string text =
      R"({"kind":"PodList","items":[{"metadata":{"name":"a"}}, {"spec":7},{}],)"
      R"("metadata":{"resourceVersion":"9","continue":"next=="}})";
  const Result<ListPage> page = ParseListPage(text);
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->resource_version, "9");
  EXPECT_EQ(page->continue_token, "next==");
  ASSERT_EQ(page->items.size(), 3U);
  EXPECT_EQ(page->items[0], R"({"metadata":{"name":"a"}})");
  EXPECT_GE(page->items[0].data(), text.data());
  EXPECT_LT(page->items[0].data(), text.data() + text.size());
  EXPECT_EQ(page->items[2], "{}");
}

TEST(ParseListPageTest, TakesNullItemsForAnEmptyPage) {
  const Result<ListPage> page =
      ParseListPage(R"({"metadata":{"resourceVersion":"9"},"items":null})");
  ASSERT_TRUE(page);
  EXPECT_TRUE(page->items.empty());
  EXPECT_EQ(page->continue_token, "");
}

// 30 MiB: more than what a thread keeps between texts.
TEST(ParseListPageTest, ReadsAHugePage) {
  std::string text = R"({"items":[)";
  const std::string filler(30000, 'x');
  for (int i = 0; i < 1000; ++i) {
    if (i > 0) text += ',';
    text +=
        R"({"metadata":{"name":"n)" + std::to_string(i) + R"(","labels":{"f":")" + filler + "\"}}}";
  }
  text += "]}";
  const Result<ListPage> page = ParseListPage(text);
  ASSERT_TRUE(page);
  ASSERT_EQ(page->items.size(), 1000U);
  const Result<Node> last = ParseNode(page->items.back());
  ASSERT_TRUE(last);
  EXPECT_EQ(last->meta.name, "n999");
}

TEST(ParseWatchEventTest, TellsTheTypesApart) {
  using Type = WatchEvent::Type;
  const auto type = [](std::string_view name) {
    return ParseWatchEvent("{\"type\":\"" + std::string(name) + "\",\"object\":{}}").value().type;
  };
  EXPECT_EQ(type("ADDED"), Type::kAdded);
  EXPECT_EQ(type("MODIFIED"), Type::kModified);
  EXPECT_EQ(type("DELETED"), Type::kDeleted);
  EXPECT_EQ(type("BOOKMARK"), Type::kBookmark);
  EXPECT_EQ(type("ERROR"), Type::kError);
  EXPECT_EQ(type("RENAMED"), Type::kUnknown);
}

TEST(ParseStatusTest, ReadsCodeReasonAndMessage) {
  const Result<Status> status = ParseStatus(
      R"({"kind":"Status","message":"too old","reason":"Expired","code":410,"details":{"a":[]}})");
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 410);
  EXPECT_EQ(status->reason, "Expired");
  EXPECT_EQ(status->message, "too old");
  EXPECT_FALSE(ParseStatus("<html>Bad gateway</html>"));
}

TEST(MetadataPatchTest, WritesPreconditionsChangesAndDeletions) {
  const MetadataPatch patch{.uid = "u-1",
                            .resource_version = "7",
                            .annotations = {{"a", "1"}, {"b", std::nullopt}},
                            .labels = {{"l", "x\"y"}}};
  EXPECT_EQ(patch.ToJson(),
            R"({"metadata":{"annotations":{"a":"1","b":null},"labels":{"l":"x\"y"},)"
            R"("resourceVersion":"7","uid":"u-1"}})");
  EXPECT_EQ(MetadataPatch{}.ToJson(), R"({"metadata":{}})");
}

}  // namespace
}  // namespace aliquot::kube
