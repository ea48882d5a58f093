// aliquot-load: what a scheduler extender's /filter takes, over HTTP as
// kube-scheduler speaks it. Works with any extender.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "aliquot/base/strings.h"
#include "aliquot/kube/parse.h"
#include "load/constant_server.h"
#include "load/run.h"

namespace aliquot::load {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;

struct Options {
  std::string url;
  size_t nodes = 1000;
  std::string names_file;
  size_t pods = 100;
  std::string pods_file;
  std::vector<std::string> limits = {"nvidia.com/gpu=1", "nvidia.com/gpumem=3000",
                                     "nvidia.com/gpucores=10"};
  std::string expected;
  double seconds = 0;
  bool json = false;
  Plan plan;
};

void Define(CLI::App& app, Options& options) {
  Plan& plan = options.plan;
  app.add_option("--url", options.url, "of the filter verb, e.g. http://127.0.0.1:8080/filter")
      ->required();
  app.add_option("--nodes", options.nodes, "candidates node-00000, node-00001, ...")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--names-file", options.names_file, "candidates from a file, one a line");
  app.add_option("--pods", options.pods, "so many different pods take turns")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--limit", options.limits, "RESOURCE=QUANTITY that each pod asks for, repeatable")
      ->capture_default_str();
  app.add_option("--pods-file", options.pods_file,
                 "pods from a list as `kubectl get pods -o json` prints it. An extender that\n"
                 "writes on pods needs pods that exist");
  app.add_option("--expect", options.expected, "take any other answer for an error")
      ->check(CLI::IsMember({"fits", "refused"}));
  app.add_option("--connections", plan.connections, "each with a thread")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--warmup", plan.warmup, "exchanges per connection before it is measured")
      ->capture_default_str();
  app.add_option("--requests", plan.requests, "to measure, in all")->capture_default_str();
  app.add_option("--seconds", options.seconds, "end after this time, if requests are left")
      ->check(CLI::PositiveNumber);
  app.add_option("--rate", plan.rate,
                 "requests per second in all, due at fixed times; without it a connection\n"
                 "sends as soon as it has its answer")
      ->check(CLI::PositiveNumber);
  app.add_flag("--json", options.json, "print one JSON object");
}

Result<std::string> ReadFile(const std::string& name) {
  std::ifstream file(name);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return Error{ErrorCode::kNotFound, "cannot read " + name};
  return text.str();
}

Result<std::vector<std::string>> Names(const Options& options) {
  if (options.names_file.empty()) return NodeNames(options.nodes);
  const Result<std::string> text = ReadFile(options.names_file);
  if (!text) return text.error();
  std::vector<std::string> names;
  for (const std::string_view line : Split(*text, '\n'))
    if (const std::string_view name = Trim(line); !name.empty()) names.emplace_back(name);
  if (names.empty()) return InvalidError(options.names_file + ": no names");
  return names;
}

Result<std::vector<std::string>> PodsOfFile(const std::string& name) {
  const Result<std::string> text = ReadFile(name);
  if (!text) return text.error();
  const Result<kube::ListPage> list = kube::ParseListPage(*text);
  if (!list) return InvalidError(name + ": " + list.error().message);
  if (list->items.empty()) return InvalidError(name + ": no pods");
  return std::vector<std::string>(list->items.begin(), list->items.end());
}

Result<std::vector<std::string>> Pods(const Options& options) {
  if (!options.pods_file.empty()) return PodsOfFile(options.pods_file);
  Limits limits;
  for (const std::string& limit : options.limits) {
    const size_t equals = limit.find('=');
    if (equals == std::string::npos || equals == 0)
      return InvalidError("--limit " + limit + ": not RESOURCE=QUANTITY");
    limits.emplace(limit.substr(0, equals), limit.substr(equals + 1));
  }
  std::vector<std::string> pods;
  for (size_t i = 0; i < options.pods; ++i) pods.push_back(PodJson(i, limits));
  return pods;
}

// The same requests, over as many connections, to a server that does nothing.
Result<Figures> MeasureFloor(Plan plan, FilterRequests requests, size_t answer_bytes) {
  ConstantServer server(answer_bytes);
  if (const Result<void> started = server.Start(); !started) return started.error();
  requests.Address(server.url());
  plan.reads_answers = false;
  return Run(plan, server.url(), requests);
}

double Milliseconds(Duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

nlohmann::json ToJson(const Figures& figures) {
  return {{"p50_ms", Milliseconds(figures.Quantile(0.5))},
          {"p90_ms", Milliseconds(figures.Quantile(0.9))},
          {"p99_ms", Milliseconds(figures.Quantile(0.99))},
          {"max_ms", Milliseconds(figures.Quantile(1))},
          {"requests_per_second", figures.per_second()},
          {"answered", figures.times.size()},
          {"fits", figures.fits},
          {"refused", figures.refused},
          {"answer_bytes", figures.answer_bytes},
          {"errors", figures.errors}};
}

void PrintRow(const char* what, const Figures& figures) {
  std::printf("%-8s %9.3f %9.3f %9.3f %9.3f %12.0f\n", what, Milliseconds(figures.Quantile(0.5)),
              Milliseconds(figures.Quantile(0.9)), Milliseconds(figures.Quantile(0.99)),
              Milliseconds(figures.Quantile(1)), figures.per_second());
}

void Print(const Figures& target, const Figures& floor) {
  std::printf("%-8s %9s %9s %9s %9s %12s\n", "", "p50 ms", "p90 ms", "p99 ms", "max ms",
              "requests/s");
  PrintRow("target", target);
  PrintRow("floor", floor);
  std::printf("%zu fit, %zu refused, %zu failed; answers of up to %zu bytes\n", target.fits,
              target.refused, target.failed(), target.answer_bytes);
  for (const auto& [text, times] : target.errors)
    std::printf("%zu times: %s\n", times, text.c_str());
}

Result<int> Measure(Options options) {
  const Result<Url> url = ParseUrl(options.url);
  if (!url) return url.error();
  const Result<std::vector<std::string>> names = Names(options);
  if (!names) return names.error();
  Result<std::vector<std::string>> pods = Pods(options);
  if (!pods) return pods.error();

  Plan& plan = options.plan;
  if (options.seconds > 0)
    plan.longest =
        std::chrono::duration_cast<Duration>(std::chrono::duration<double>(options.seconds));
  if (!options.expected.empty())
    plan.expected = options.expected == "fits" ? Verdict::kFits : Verdict::kRefused;

  FilterRequests requests(*std::move(pods), *names);
  requests.Address(*url);
  const Figures target = Run(plan, *url, requests);
  const Result<Figures> floor = MeasureFloor(plan, std::move(requests), target.answer_bytes);
  if (!floor) return floor.error();
  if (options.json)
    std::cout << nlohmann::json{{"target", ToJson(target)}, {"floor", ToJson(*floor)}} << "\n";
  else
    Print(target, *floor);
  return target.failed() > 0 || target.times.empty() ? kExitFailure : 0;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Calls a scheduler extender's filter verb and prints how long the answers took, beside\n"
      "the floor: the same exchange with a server in this program that does nothing.");
  Define(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem) == 0 ? 0 : kExitUsage;
  }
  const Result<int> status = Measure(std::move(options));
  if (status) return *status;
  std::cerr << "aliquot-load: " << status.error().message << "\n";
  return kExitUsage;
}

}  // namespace
}  // namespace aliquot::load

int main(int argc, char** argv) { return aliquot::load::Main(argc, argv); }
