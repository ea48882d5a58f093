#include "server/review.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "aliquot/kube/admission.h"

namespace aliquot::server {
namespace {

using Json = nlohmann::json;
using scheduler::AdmissionAnswer;
using scheduler::AdmissionRequest;

constexpr const char* kJson = "application/json";

// Says what the test says; by default every pod may pass as it is.
class StubExtender : public scheduler::Extender {
 public:
  scheduler::FilterAnswer Filter(const scheduler::FilterRequest&,
                                 const scheduler::RequestContext&) override {
    return {};
  }
  scheduler::BindAnswer Bind(const scheduler::BindRequest&,
                             const scheduler::RequestContext&) override {
    return {};
  }
  AdmissionAnswer Admit(const AdmissionRequest& request) override {
    seen = request;
    return on_admit ? on_admit(request) : AdmissionAnswer{.allowed = true, .pod = request.pod};
  }

  std::function<AdmissionAnswer(const AdmissionRequest&)> on_admit;
  std::optional<AdmissionRequest> seen;
};

Json Review(const Json& object) {
  return {{"apiVersion", "admission.k8s.io/v1"},
          {"kind", "AdmissionReview"},
          {"request",
           {{"uid", "0a1b"},
            {"keyOfTomorrow", Json::array({1})},
            {"namespace", "ml"},
            {"operation", "CREATE"},
            {"object", object},
            {"oldObject", nullptr}}}};
}

const Json kPod = Json::parse(R"({"apiVersion":"v1","kind":"Pod",
  "metadata":{"generateName":"p-","annotations":{"a/b":"1"}},
  "spec":{"schedulerName":"default-scheduler","containers":[{"name":"c"}]}})");

class ReviewTest : public ::testing::Test {
 protected:
  Json Answer(const std::string& body, std::string_view content_type = kJson) {
    return Json::parse(AnswerReview(extender_, content_type, body));
  }
  // "<code> <uid>: <message>" of an answer that does not allow.
  std::string Refusal(const std::string& body, std::string_view content_type = kJson) {
    const Json response = Answer(body, content_type)["response"];
    if (response["allowed"] != false || response.contains("patch")) return response.dump();
    return response["status"]["code"].dump() + " " + response["uid"].get<std::string>() + ": " +
           response["status"]["message"].get<std::string>();
  }

  StubExtender extender_;
};

TEST_F(ReviewTest, AnswersInTheVersionOfTheRequest) {
  for (const char* version : {"admission.k8s.io/v1", "admission.k8s.io/v1beta1"}) {
    Json review = Review(kPod);
    review["apiVersion"] = version;
    EXPECT_EQ(
        Answer(review.dump()),
        (Json{{"kind", "AdmissionReview"},
              {"apiVersion", version},
              {"response", {{"uid", "0a1b"}, {"allowed", true}, {"status", {{"code", 200}}}}}}));
  }
  Json nameless = Review(kPod);
  nameless.erase("apiVersion");
  nameless.erase("kind");
  EXPECT_EQ(Answer(nameless.dump())["apiVersion"], "admission.k8s.io/v1");
}

TEST_F(ReviewTest, HandsOnWhatWasSubmitted) {
  Json pod = kPod;
  pod["spec"]["nodeName"] = "n1";
  pod["spec"]["runtimeClassName"] = "r";
  pod["spec"]["initContainers"] = Json::parse(
      R"([{"name":"i","restartPolicy":"Always","securityContext":{"privileged":true},
           "resources":{"limits":{"x/card":1},"requests":{"x/card":"1k"}},
           "env":[{"name":"A","value":"1"},{"name":"B","valueFrom":{"fieldRef":{}}}]}])");
  Answer(Review(pod).dump());
  ASSERT_TRUE(extender_.seen);
  EXPECT_EQ(extender_.seen->ns, "ml");
  EXPECT_EQ(extender_.seen->operation, "CREATE");
  const kube::SubmittedPod& seen = extender_.seen->pod;
  EXPECT_EQ(seen.annotations, (StringMap{{"a/b", "1"}}));
  EXPECT_EQ(seen.scheduler_name, "default-scheduler");
  EXPECT_EQ(seen.node_name, "n1");
  EXPECT_EQ(seen.runtime_class, "r");
  EXPECT_EQ(seen.containers.size(), 1U);
  ASSERT_EQ(seen.init_containers.size(), 1U);
  EXPECT_EQ(seen.init_containers[0],
            (kube::SubmittedContainer{
                "i", {{"x/card", "1"}}, {{"x/card", "1k"}}, {{"A", "1"}, {"B", ""}}, true, true}));
}

TEST_F(ReviewTest, AcceptsParametersOfTheContentType) {
  for (const char* type : {"application/json; charset=utf-8", "Application/JSON ;v=1"})
    EXPECT_EQ(Answer(Review(kPod).dump(), type)["response"]["allowed"], true) << type;
  EXPECT_EQ(Refusal(Review(kPod).dump(), "text/plain"),
            "400 : contentType=text/plain, expected application/json");
  EXPECT_EQ(Refusal(Review(kPod).dump(), ""), "400 : contentType=, expected application/json");
}

// The uid is repeated as soon as there is one.
TEST_F(ReviewTest, RefusesWhatItCannotRead) {
  EXPECT_EQ(Refusal(""), "400 : request body is empty");
  EXPECT_EQ(Refusal("{}"), "400 : there is no content to decode");
  EXPECT_EQ(Refusal(R"({"request":null})"), "400 : there is no content to decode");
  EXPECT_EQ(Refusal(R"({"request":{"object":null,"uid":"u"}})"),
            "400 u: there is no content to decode");
  EXPECT_EQ(Refusal(R"({"request":{"object":"none","uid":"u"}})"), "400 u: Pod: not an object");
  EXPECT_EQ(Refusal(R"({"request":{"object":[{}],"uid":"u"}})").substr(0, 12), "400 u: Pod: ");
  EXPECT_EQ(Refusal(R"({"request":{"object":{"kind":"Node"},"uid":"u"}})"),
            "400 u: Pod: kind: not Pod");
  EXPECT_EQ(Refusal(R"({"request":{"object":{"spec":{"containers":"none"}},"uid":"u"}})"),
            "400 u: Pod: spec.containers: not a list");
  EXPECT_EQ(Refusal(R"({"request":{"object":{"spec":{"containers":[null]}},"uid":"u"}})"),
            "400 u: Pod: spec.containers[0]: not an object");
  EXPECT_EQ(
      Refusal(R"({"request":{"uid":"u","object":{"spec":{"containers":[{"env":[{"name":1}]}]}}}})"),
      "400 u: Pod: spec.containers[0].env[0].name: not a string");
  EXPECT_EQ(Refusal(R"({"request":{"uid":7}})"),
            "400 : AdmissionReview: request.uid: not a string");
  EXPECT_EQ(Refusal(R"({"apiVersion":"v1"})"),
            "400 : AdmissionReview: apiVersion: neither admission.k8s.io/v1 nor "
            "admission.k8s.io/v1beta1");
  EXPECT_EQ(Refusal(R"({"kind":"Pod"})"), "400 : AdmissionReview: kind: not AdmissionReview");
  EXPECT_EQ(Refusal("[]"), "400 : AdmissionReview: not an object");
  EXPECT_FALSE(extender_.seen);
}

TEST_F(ReviewTest, RefusesEveryTruncation) {
  const std::string body = Review(kPod).dump();
  for (size_t length = 1; length < body.size(); ++length)
    EXPECT_EQ(Refusal(body.substr(0, length)).substr(0, 4), "400 ") << length;
}

TEST_F(ReviewTest, SurvivesDeepNesting) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  const std::string body = R"({"request":{"uid":"u","object":{"spec":{"x":)" + deep +
                           R"(,"containers":[{"name":"c"}]}}}})";
  const Json answer = Answer(body);
  EXPECT_TRUE(answer["response"]["allowed"].is_boolean());
  Refusal(R"({"request":{"uid":"u","object":)" + std::string(200'000, '{'));
  Refusal(std::string(200'000, '['));
}

TEST_F(ReviewTest, TellsWarnings) {
  extender_.on_admit = [](const AdmissionRequest& request) {
    return AdmissionAnswer{.allowed = true, .pod = request.pod, .warnings = {"a", "b"}};
  };
  EXPECT_EQ(Answer(Review(kPod).dump())["response"], (Json{{"uid", "0a1b"},
                                                           {"allowed", true},
                                                           {"status", {{"code", 200}}},
                                                           {"warnings", {"a", "b"}}}));
}

TEST_F(ReviewTest, WhatCannotBeReadIsDeniedInTheNameOfItsReview) {
  EXPECT_EQ(Refusal(R"({"request":{"uid":"0a1b","namespace":7}})").substr(0, 9), "400 0a1b:");
}

TEST_F(ReviewTest, TellsWhyAPodIsDenied) {
  extender_.on_admit = [](const AdmissionRequest&) {
    return AdmissionAnswer{.allowed = false, .code = 403, .message = "\"no\" \xe2\x82\xac"};
  };
  EXPECT_EQ(Answer(Review(kPod).dump())["response"],
            (Json{{"uid", "0a1b"},
                  {"allowed", false},
                  {"status",
                   {{"message", "\"no\" \xe2\x82\xac"}, {"reason", "Forbidden"}, {"code", 403}}}}));
  extender_.on_admit = [](const AdmissionRequest&) {
    return AdmissionAnswer{.allowed = false, .code = 500, .message = "vendor"};
  };
  EXPECT_EQ(Answer(Review(kPod).dump())["response"]["status"],
            (Json{{"message", "vendor"}, {"code", 500}}));
}

TEST_F(ReviewTest, AFailureOfOursIsADenial) {
  extender_.on_admit = [](const AdmissionRequest&) -> AdmissionAnswer {
    throw std::runtime_error("oops");
  };
  EXPECT_EQ(Refusal(Review(kPod).dump()), "500 0a1b: panic: oops [recovered]");
}

TEST(RefuseReviewTest, DeniesInTheNameOfTheReviewThatBegan) {
  const std::string beginning =
      R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1","request":{"uid":"0a1b",)"
      R"("kind":{"group":"","ver)";
  const Json answer =
      Json::parse(RefuseReview(beginning, {"413 Content Too Large", "too long"}, 7 << 20));
  EXPECT_EQ(answer, (Json{{"kind", "AdmissionReview"},
                          {"apiVersion", "admission.k8s.io/v1beta1"},
                          {"response",
                           {{"uid", "0a1b"},
                            {"allowed", false},
                            {"status",
                             {{"message", "request entity is too large; limit is 7340032 bytes"},
                              {"code", 413}}}}}}));
}

TEST(RefuseReviewTest, SaysWhyWithoutABody) {
  const Json answer = Json::parse(RefuseReview("", {"503 Service Unavailable", "busy"}, 1));
  EXPECT_EQ(
      answer["response"],
      (Json{{"uid", ""}, {"allowed", false}, {"status", {{"message", "busy"}, {"code", 503}}}}));
}

// ---- patches

// The example of the reviews' description: patch and its encoding.
TEST_F(ReviewTest, SendsThePatchInBase64) {
  extender_.on_admit = [](const AdmissionRequest& request) {
    AdmissionAnswer answer{.allowed = true, .pod = request.pod};
    answer.pod.scheduler_name = "s";
    return answer;
  };
  const Json response = Answer(Review(kPod).dump())["response"];
  // [{"op":"add","path":"/spec/schedulerName","value":"s"}]
  EXPECT_EQ(response["patch"],
            "W3sib3AiOiJhZGQiLCJwYXRoIjoiL3NwZWMvc2NoZWR1bGVyTmFtZSIsInZhbHVlIjoicyJ9XQ==");
  EXPECT_EQ(response["patchType"], "JSONPatch");
}

// The object after the patch that `change` asks for.
template <typename Change>
Json Patched(const Json& object, Change change) {
  const Result<kube::SubmittedPod> pod = kube::ParseSubmittedPod(object.dump());
  kube::SubmittedPod changed = pod.value();
  change(changed);
  const std::string patch = PatchBetween(pod.value(), changed);
  return patch.empty() ? object : object.patch(Json::parse(patch));
}

TEST(PatchBetweenTest, IsEmptyForTheSamePod) {
  const Result<kube::SubmittedPod> pod = kube::ParseSubmittedPod(kPod.dump());
  EXPECT_EQ(PatchBetween(pod.value(), pod.value()), "");
}

void ChangeEverything(kube::SubmittedPod& pod) {
  pod.annotations["new/~key"] = "2";
  pod.runtime_class = "r";
  pod.scheduler_name = "s";
  for (std::vector<kube::SubmittedContainer>* list : {&pod.init_containers, &pod.containers})
    for (kube::SubmittedContainer& container : *list) {
      container.limits["x/card"] = "1";
      container.requests["x/card"] = "1";
      container.env.push_back({"A", "1"});
      container.env.push_back({"B", ""});
    }
}

TEST(PatchBetweenTest, CreatesTheParentsThatAreMissing) {
  const Json bare = Json::parse(R"({"spec":{"containers":[{"name":"c"},{"resources":null}]}})");
  const Json container = Json::parse(R"({"resources":{"limits":{"x/card":"1"},
      "requests":{"x/card":"1"}},"env":[{"name":"A","value":"1"},{"name":"B","value":""}]})");
  Json named = container;
  named["name"] = "c";
  EXPECT_EQ(Patched(bare, ChangeEverything),
            (Json{{"metadata", {{"annotations", {{"new/~key", "2"}}}}},
                  {"spec",
                   {{"containers", {named, container}},
                    {"runtimeClassName", "r"},
                    {"schedulerName", "s"}}}}));
}

TEST(PatchBetweenTest, KeepsWhatItDoesNotKnow) {
  const Json full = Json::parse(R"({"fieldOfTomorrow":[1,{"a":null}],
    "metadata":{"name":"p","annotations":{"old/key":"1"},"managedFields":[{}]},
    "spec":{"fieldOfTomorrow":{"a":1.50},"schedulerName":"x",
      "initContainers":[{"name":"i","resources":{"limits":{"cpu":"1"},"claims":[]}}],
      "containers":[{"name":"c","image":"m","env":[{"name":"Z","valueFrom":{"x":{}}}],
        "resources":{"limits":{"x/card":"2"},"requests":{}}}]}})");
  Json want = full;
  want["metadata"]["annotations"]["new/~key"] = "2";
  want["spec"]["schedulerName"] = "s";
  want["spec"]["runtimeClassName"] = "r";
  for (const char* list : {"initContainers", "containers"}) {
    Json& container = want["spec"][list][0];
    container["resources"]["limits"]["x/card"] = "1";
    container["resources"]["requests"]["x/card"] = "1";
    container["env"].push_back({{"name", "A"}, {"value", "1"}});
    container["env"].push_back({{"name", "B"}, {"value", ""}});
  }
  EXPECT_EQ(Patched(full, ChangeEverything), want);
}

TEST(PatchBetweenTest, RemovesKeys) {
  const Json pod = Json::parse(R"({"metadata":{"annotations":{"a/b":"1","c~d":"2","e":"3"},
    "labels":{"a/b":"1"}},"spec":{"containers":[]}})");
  const Json want =
      Json::parse(R"({"metadata":{"annotations":{"e":"3"},"labels":{}},"spec":{"containers":[]}})");
  EXPECT_EQ(Patched(pod,
                    [](kube::SubmittedPod& changed) {
                      changed.annotations.erase("a/b");
                      changed.annotations.erase("c~d");
                      changed.labels.clear();
                    }),
            want);
}

}  // namespace
}  // namespace aliquot::server
