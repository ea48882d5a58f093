// Text to values and back: the body of a /filter, its answers, and what stands in
// the annotations of nodes and pods.
#include <benchmark/benchmark.h>
#include <time.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aliquot/base/check.h"
#include "aliquot/codec/node_devices.h"
#include "aliquot/codec/pod_devices.h"
#include "aliquot/kube/parse.h"
#include "load/filter_requests.h"
#include "manifests.h"
#include "server/wire.h"

namespace aliquot::bench {
namespace {

std::string FilterBody(size_t nodes) {
  const load::FilterRequests requests({load::PodJson(0, FitsEverywhere())}, load::NodeNames(nodes));
  std::string body;
  for (const std::string_view piece : requests.Body(0)) body += piece;
  return body;
}

double CpuSeconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The server gives its buffer away: only the reading is timed, not the copy.
void ReadFilter(benchmark::State& state) {
  const std::string body = FilterBody(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    std::string given;
    given.reserve(body.size() + 64);
    given = body;
    const double begin = CpuSeconds();
    const auto request = server::ParseFilterRequest(std::move(given));
    const double end = CpuSeconds();
    if (!request.ok()) return state.SkipWithError("cannot read the body");
    state.SetIterationTime(end - begin);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(body.size()));
}

void WriteRefused(benchmark::State& state) {
  const std::vector<std::string> names = load::NodeNames(static_cast<size_t>(state.range(0)));
  scheduler::FilterAnswer answer;
  answer.texts.push_back("8/8 CardInsufficientMemory");
  for (const std::string& name : names) answer.failed.push_back({name, answer.texts.back()});
  const scheduler::FilterRequest request;
  for (auto _ : state) benchmark::DoNotOptimize(server::ToJson(answer, request));
}

void WriteFit(benchmark::State& state) {
  scheduler::FilterAnswer answer;
  answer.node_names = {"node-00042"};
  const scheduler::FilterRequest request;
  for (auto _ : state) benchmark::DoNotOptimize(server::ToJson(answer, request));
}

std::string Annotation(const StringMap& annotations, const std::string& key) {
  const auto at = annotations.find(key);
  ALIQUOT_CHECK(at != annotations.end());
  return at->second;
}

std::string RegisterText() {
  const Result<kube::Node> node = kube::ParseNode(NodeManifest(0));
  ALIQUOT_CHECK(node.ok());
  return Annotation(node->meta.annotations, "hami.io/node-nvidia-register");
}

std::string AllocationText() {
  const Result<kube::Pod> pod = kube::ParsePod(RunningPodManifest(0, 0));
  ALIQUOT_CHECK(pod.ok());
  return Annotation(pod->meta.annotations, "hami.io/vgpu-devices-allocated");
}

void ReadNodeCards(benchmark::State& state) {
  const std::string text = RegisterText();
  for (auto _ : state) {
    const auto cards = codec::ParseNodeDevicesJson(text);
    if (!cards.ok() || cards->size() != kCards) return state.SkipWithError("cannot read the cards");
  }
}

void ReadAllocation(benchmark::State& state) {
  const std::string text = AllocationText();
  for (auto _ : state)
    if (!codec::ParsePodDevices(text).ok()) return state.SkipWithError("cannot read the shares");
}

void WriteAllocation(benchmark::State& state) {
  const auto containers = codec::ParsePodDevices(AllocationText());
  ALIQUOT_CHECK(containers.ok());
  for (auto _ : state) benchmark::DoNotOptimize(codec::FormatPodDevices(*containers));
}

void ReadWholePod(benchmark::State& state) {
  const std::string json = load::PodJson(0, FitsEverywhere());
  for (auto _ : state)
    if (!kube::ParsePod(json).ok()) return state.SkipWithError("cannot read the pod");
}

void Sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("nodes")->Unit(benchmark::kMicrosecond);
  for (const int64_t nodes : {10, 100, 1000, 5000, 15000}) benchmark->Arg(nodes);
}

BENCHMARK(ReadFilter)->Name("wire/read-filter")->Apply(Sizes)->UseManualTime();
BENCHMARK(WriteRefused)->Name("wire/write-refused")->Apply(Sizes);
BENCHMARK(WriteFit)->Name("wire/write-fit")->Unit(benchmark::kMicrosecond);
BENCHMARK(ReadWholePod)->Name("kube/read-pod")->Unit(benchmark::kMicrosecond);
BENCHMARK(ReadNodeCards)->Name("codec/read-8-cards")->Unit(benchmark::kMicrosecond);
BENCHMARK(ReadAllocation)->Name("codec/read-allocation")->Unit(benchmark::kMicrosecond);
BENCHMARK(WriteAllocation)->Name("codec/write-allocation")->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace aliquot::bench

BENCHMARK_MAIN();
