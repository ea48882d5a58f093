#include "server/wire.h"

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>

#include "aliquot/base/strings.h"

namespace aliquot::server {
namespace {

using scheduler::BindAnswer;
using scheduler::BindRequest;
using scheduler::FilterAnswer;
using scheduler::FilterRequest;

constexpr std::string_view kPod =
    R"({"metadata":{"name":"train-0","namespace":"ml","uid":"5f0c"},)"
    R"("spec":{"containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"1"}}}]}})";

std::string WithPod(std::string_view rest) {
  return R"({"Pod":)" + std::string(kPod) + std::string(rest) + "}";
}

std::string FilterError(std::string body) {
  Result<FilterRequest> request = ParseFilterRequest(std::move(body));
  return request.ok() ? "" : request.error().message;
}

std::string BindError(std::string body) {
  Result<BindRequest> request = ParseBindRequest(std::move(body));
  return request.ok() ? "" : request.error().message;
}

std::vector<std::string_view> Names(const Result<FilterRequest>& request) {
  return request.ok() ? request->node_names
                      : std::vector<std::string_view>{request.error().message};
}

using List = std::vector<std::string_view>;

TEST(ParseFilterRequest, ReadsWhatKubeSchedulerSends) {
  auto request = ParseFilterRequest(WithPod(R"(,"Nodes":null,"NodeNames":["gpu-1","gpu-2"])"));
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request->pod.meta.ns, "ml");
  EXPECT_EQ(request->pod.meta.name, "train-0");
  EXPECT_EQ(request->pod.meta.uid, "5f0c");
  ASSERT_EQ(request->pod.containers.size(), 1u);
  EXPECT_EQ(request->pod.containers[0].limits.at("nvidia.com/gpu"), "1");
  EXPECT_EQ(request->node_names, (List{"gpu-1", "gpu-2"}));
  EXPECT_FALSE(request->simulation);
}

TEST(ParseFilterRequest, TakesAbsentAndNullNamesForNoNames) {
  for (std::string_view rest : {"", R"(,"NodeNames":null)", R"(,"NodeNames":[])"}) {
    auto request = ParseFilterRequest(WithPod(rest));
    ASSERT_TRUE(request.ok()) << rest;
    EXPECT_TRUE(request->node_names.empty()) << rest;
    EXPECT_FALSE(request->simulation) << rest;
  }
}

TEST(ParseFilterRequest, MatchesKeysInAnyCase) {
  auto request =
      ParseFilterRequest(R"({"nodenames":["a"],"pOD":)" + std::string(kPod) + R"(,"nodes":null})");
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request->pod.meta.name, "train-0");
  EXPECT_EQ(request->node_names, List{"a"});
}

TEST(ParseFilterRequest, PrefersTheKeyThatIsSpelledExactly) {
  EXPECT_EQ(Names(ParseFilterRequest(WithPod(R"(,"NodeNames":["a"],"nodenames":["b"])"))),
            List{"a"});
  EXPECT_EQ(Names(ParseFilterRequest(WithPod(R"(,"nodenames":["b"],"NodeNames":["a"])"))),
            List{"a"});
  EXPECT_EQ(Names(ParseFilterRequest(WithPod(R"(,"nodenames":["b"],"NODENAMES":["c"])"))),
            List{"c"});
}

TEST(ParseFilterRequest, ResolvesEscapesInKeysAndNames) {
  EXPECT_EQ(Names(ParseFilterRequest(
                WithPod(R"(,"Node\u004eames":["a\u003cb","\u00e9","x\\y","\ud83d\ude00"])"))),
            (List{"a<b", "é", "x\\y", "😀"}));
}

TEST(ParseFilterRequest, SkipsUnknownKeysWhateverTheyHold) {
  EXPECT_EQ(Names(ParseFilterRequest(WithPod(
                R"(,"a":{"NodeNames":["x"]},"b":[[],{}],"c":1e999,"NodeNames":["a"],"d":"]}")"))),
            List{"a"});
}

TEST(ParseFilterRequest, IgnoresWhatFollowsTheFirstValue) {
  const std::string good = WithPod(R"(,"NodeNames":["a"])");
  for (std::string_view tail :
       {"\n", "  ", "garbage", "{", "}", "\"", "]]]", "{\"Pod\":null}", "\xff\xfe", "\"\x01"}) {
    EXPECT_EQ(Names(ParseFilterRequest(good + std::string(tail))), List{"a"}) << tail;
  }
  EXPECT_EQ(Names(ParseFilterRequest(good + std::string(3, '\0'))), List{"a"});
}

TEST(ParseFilterRequest, KeepsEachNodeAsItWasSent) {
  const std::string first = R"({ "metadata" : {"name":"n1"}, "extra":[1, 2.50, "}"] })";
  const std::string second = R"({"metadata":{"name":"n2"}})";
  auto request =
      ParseFilterRequest(WithPod(R"(,"NodeNames":["x"],"Nodes":{"kind":"NodeList","items":[)" +
                                 first + "  ,\n" + second + " ]}"));
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_TRUE(request->simulation);
  ASSERT_EQ(request->nodes.size(), 2u);
  EXPECT_EQ(request->nodes[0].json, first);
  EXPECT_EQ(request->nodes[0].node.meta.name, "n1");
  EXPECT_EQ(request->nodes[1].json, second);
  EXPECT_EQ(request->nodes[1].node.meta.name, "n2");
}

TEST(ParseFilterRequest, IsASimulationEvenWithoutAnyNode) {
  for (std::string_view nodes : {"{}", R"({"items":null})", R"({"items":[]})", R"({"Items":[]})"}) {
    auto request = ParseFilterRequest(WithPod(R"(,"Nodes":)" + std::string(nodes)));
    ASSERT_TRUE(request.ok()) << nodes;
    EXPECT_TRUE(request->simulation) << nodes;
    EXPECT_TRUE(request->nodes.empty()) << nodes;
  }
}

TEST(ParseFilterRequest, ViewsLiveAsLongAsTheRequest) {
  FilterRequest moved;
  {
    auto request = ParseFilterRequest(WithPod(R"(,"NodeNames":["a","bb"])"));
    ASSERT_TRUE(request.ok());
    moved = *std::move(request);
  }
  auto other = ParseFilterRequest(WithPod(R"(,"NodeNames":["c","dd"])"));
  EXPECT_EQ(moved.node_names, (List{"a", "bb"}));
}

TEST(ParseFilterRequest, SaysThatThePodIsMissing) {
  for (std::string_view body :
       {"{}", "null", R"({"Pod":null})", R"({"NodeNames":["a"]})", R"({"pods":{}})", " null "}) {
    EXPECT_EQ(FilterError(std::string(body)), "extender args missing pod") << body;
  }
}

TEST(ParseFilterRequest, NamesWhatIsWrongAndWhere) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "EOF"},
      {" \n\t", "EOF"},
      {"{", "unexpected EOF"},
      {R"({"Pod")", "unexpected EOF"},
      {R"({"Pod":)", "unexpected EOF"},
      {R"({"Pod":{"metadata":{"name":"a)", "unexpected EOF"},
      {R"({"Pod":{})", "unexpected EOF"},
      {R"({"Pod":{},"NodeNames":["a","b)", "unexpected EOF"},
      {R"({"Pod":{},"NodeNames":["a","b\)", "unexpected EOF"},
      {R"({"Pod":{},"NodeNames":["a",)", "unexpected EOF"},
      {"[]", "request body: expected a JSON object"},
      {"12", "request body: expected a JSON object"},
      {"\"x\"", "request body: expected a JSON object"},
      {"true", "request body: expected a JSON object"},
      {"<html>", "request body: expected a JSON object"},
      {R"({"Pod":[]})", "Pod: expected an object, found an array"},
      {R"({"Pod":"x"})", "Pod: expected an object, found a string"},
      {R"({"Pod":12})", "Pod: expected an object, found a number"},
      {R"({"Pod":true})", "Pod: expected an object, found a boolean"},
      {R"({"Pod":nope})", "Pod: "},
      {R"({"Pod":{"metadata":[]}})", "Pod: metadata"},
      {R"({"Pod":{"metadata":{"name":7}}})", "Pod: metadata.name"},
      {WithPod(R"(,"NodeNames":{})"), "NodeNames: expected an array, found an object"},
      {WithPod(R"(,"NodeNames":"a")"), "NodeNames: expected an array, found a string"},
      {WithPod(R"(,"NodeNames":["a",7])"), "NodeNames[1]: expected a string, found a number"},
      {WithPod(R"(,"NodeNames":[null])"), "NodeNames[0]: expected a string, found null"},
      {WithPod(R"(,"NodeNames":["a","\x"])"), "NodeNames[1]: "},
      {WithPod(R"(,"NodeNames":["\ud800"])"), "NodeNames[0]: "},
      {WithPod(R"(,"NodeNames":["a" "b"])"), "NodeNames[1]: "},
      {WithPod(R"(,"NodeNames":[123456789012345678901234567890])"),
       "NodeNames[0]: expected a string"},
      {WithPod(R"(,"Nodes":[])"), "Nodes: expected an object, found an array"},
      {WithPod(R"(,"Nodes":{"items":{}})"), "Nodes.items: expected an array, found an object"},
      {WithPod(R"(,"Nodes":{"items":[{},7]})"),
       "Nodes.items[1]: expected an object, found a number"},
      {WithPod(R"(,"Nodes":{"items":[null]})"), "Nodes.items[0]: expected an object, found null"},
      {WithPod(R"(,"Nodes":{"items":[{"metadata":{"name":[]}}]})"),
       "Nodes.items[0]: Node: metadata.name"},
      {WithPod(",\"NodeNames\":[\"\xff\"]"), "request body: "},
      {WithPod(",\"NodeNames\":[\"a\nb\"]"), "request body: "},
      {R"({"Pod" {}})", "extender args: "},
      {R"({Pod:{}})", "extender args: "},
      {R"({"a":1 "Pod":{}})", "extender args: "},
  };
  for (const auto& [body, want] : cases) {
    EXPECT_TRUE(Contains(FilterError(body), want)) << body << "\n  gave: " << FilterError(body);
  }
}

TEST(ParseFilterRequest, SurvivesDeepNesting) {
  const std::string open(100'000, '[');
  const std::string close(100'000, ']');
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += R"({"a":)";
  EXPECT_NE(FilterError(open), "");
  EXPECT_NE(FilterError(R"({"Pod":)" + open), "");
  EXPECT_NE(FilterError(R"({"Pod":)" + objects), "");
  EXPECT_NE(FilterError(WithPod(R"(,"NodeNames":)" + open + close)), "");
  EXPECT_NE(FilterError(WithPod(R"(,"Nodes":{"items":)" + open + close + "}")), "");
  // What is not read is skipped without recursion.
  EXPECT_EQ(FilterError(WithPod(R"(,"other":)" + open + close)), "");
}

TEST(ParseFilterRequest, SurvivesAnyCutAndAnyChangedByte) {
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  const std::string good =
      WithPod(R"(,"Nodes":{"items":[{"metadata":{"name":"n"}}]},"NodeNames":["a\u003c","b"])");
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_TRUE(Contains(FilterError(good.substr(0, length)), "EOF")) << good.substr(0, length);
  }
  for (int i = 0; i < 20'000; ++i) {
    std::string bad = good;
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
      bad[random() % bad.size()] = static_cast<char>(random());
    }
    auto request = ParseFilterRequest(bad);
    if (!request.ok()) {
      EXPECT_FALSE(request.error().message.empty());
    }
  }
}

TEST(ParseBindRequest, ReadsItsFourTexts) {
  auto request = ParseBindRequest(
      R"({"PodName":"train-0","PodNamespace":"ml","PodUID":"5f0c","Node":"gpu-\u0032"} tail)");
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request->pod_name, "train-0");
  EXPECT_EQ(request->pod_namespace, "ml");
  EXPECT_EQ(request->pod_uid, "5f0c");
  EXPECT_EQ(request->node, "gpu-2");
}

TEST(ParseBindRequest, TakesAbsentAndNullForEmpty) {
  for (std::string_view body :
       {"{}", "null", R"({"PodName":null})", R"({"podname":"a","PodName":null})"}) {
    auto request = ParseBindRequest(std::string(body));
    ASSERT_TRUE(request.ok()) << body;
    EXPECT_EQ(request->pod_name, "") << body;
    EXPECT_EQ(request->node, "") << body;
  }
}

TEST(ParseBindRequest, NamesWhatIsWrongAndWhere) {
  EXPECT_TRUE(Contains(BindError(""), "EOF"));
  EXPECT_TRUE(Contains(BindError(R"({"PodName":"a)"), "unexpected EOF"));
  EXPECT_EQ(BindError(R"({"PodUID":7})"), "PodUID: expected a string, found a number");
  EXPECT_EQ(BindError(R"({"Node":{}})"), "Node: expected a string, found an object");
  EXPECT_TRUE(Contains(BindError(R"({"Node":"\q"})"), "Node: "));
  EXPECT_EQ(BindError("[]"), "request body: expected a JSON object");
}

TEST(FilterAnswerJson, WritesEveryKeyAndNullForWhatIsAbsent) {
  EXPECT_EQ(ToJson(FilterAnswer{}, {}), R"({"Nodes":null,"NodeNames":null,"FailedNodes":null,)"
                                        R"("FailedAndUnresolvableNodes":null,"Error":""})");
}

TEST(FilterAnswerJson, WritesNamesAndReasons) {
  FilterAnswer answer;
  answer.node_names = {"gpu-2", "gpu-3"};
  answer.failed = {{"cpu-7", "node unregistered"}, {"gpu-1", "2/2 CardInsufficientMemory"}};
  answer.unresolvable = {{"x", "y"}};
  answer.error = "e";
  EXPECT_EQ(ToJson(answer, {}),
            R"({"Nodes":null,"NodeNames":["gpu-2","gpu-3"],)"
            R"("FailedNodes":{"cpu-7":"node unregistered","gpu-1":"2/2 CardInsufficientMemory"},)"
            R"("FailedAndUnresolvableNodes":{"x":"y"},"Error":"e"})");
  answer = {};
  answer.node_names.emplace();
  EXPECT_TRUE(Contains(ToJson(answer, {}), R"("NodeNames":[])"));
}

TEST(FilterAnswerJson, EchoesTheChosenNodeAsItWasSent) {
  auto request = ParseFilterRequest(WithPod(
      R"(,"Nodes":{"items":[{"metadata":{"name":"a"}},{"x": 1.50,"metadata":{"name":"b"}}]})"));
  ASSERT_TRUE(request.ok());
  FilterAnswer answer;
  answer.nodes = {1};
  EXPECT_EQ(ToJson(answer, *request),
            R"({"Nodes":{"metadata":{},"items":[{"x": 1.50,"metadata":{"name":"b"}}]},)"
            R"("NodeNames":null,"FailedNodes":null,"FailedAndUnresolvableNodes":null,"Error":""})");
  answer.nodes.emplace();
  EXPECT_TRUE(Contains(ToJson(answer, *request), R"("items":[])"));
}

TEST(BindAnswerJson, EscapesAsGoDoes) {
  EXPECT_EQ(ToJson(BindAnswer{""}), R"({"Error":""})");
  EXPECT_EQ(ToJson(BindAnswer{"<a> & \"b\" \\"}), R"({"Error":"\u003ca\u003e \u0026 \"b\" \\"})");
  EXPECT_EQ(ToJson(BindAnswer{"\b\f\n\r\t\x01\x1f\x7f"}),
            "{\"Error\":\"\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"}");
  EXPECT_EQ(ToJson(BindAnswer{"é\u2028\u2029\u2027😀/"}), "{\"Error\":\"é\\u2028\\u2029\u2027😀/\"}");
}

TEST(BindAnswerJson, IsValidWhateverTheTextHolds) {
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  for (int i = 0; i < 5'000; ++i) {
    std::string text(random() % 20, ' ');
    for (char& c : text) c = static_cast<char>(random());
    const std::string json = ToJson(BindAnswer{text});
    EXPECT_TRUE(nlohmann::json::accept(json)) << json;
  }
}

TEST(Wire, ReadsFiveThousandNamesInMicroseconds) {
  std::string body = WithPod(R"(,"Nodes":null,"NodeNames":[)");
  body.pop_back();
  for (int i = 0; i < 5'000; ++i) {
    body += (i > 0 ? ",\"" : "\"") + ("gpu-node-pool-a-" + std::to_string(10'000 + i)) + "\"";
  }
  body += "]}";
  std::vector<double> micros;
  for (int i = 0; i < 300; ++i) {
    std::string copy;
    copy.reserve(body.size() + 64);
    copy = body;
    const auto start = std::chrono::steady_clock::now();
    auto request = ParseFilterRequest(std::move(copy));
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    ASSERT_TRUE(request.ok());
    ASSERT_EQ(request->node_names.size(), 5'000u);
    micros.push_back(took.count());
  }
  std::sort(micros.begin(), micros.end());
  std::cout << body.size() << " bytes, p50 " << micros[micros.size() / 2] << " us, p99 "
            << micros[micros.size() * 99 / 100] << " us\n";
  RecordProperty("p50_us", std::to_string(micros[micros.size() / 2]));
}

}  // namespace
}  // namespace aliquot::server
