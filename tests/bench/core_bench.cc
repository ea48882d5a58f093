// The decision alone: Ledger::Schedule, with the pod's reservation made and its
// earlier one dropped.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>

#include "decisions.h"

namespace aliquot::bench {
namespace {

// Benchmarks run one after another, mostly many of them on one cluster.
FilledLedger& ClusterOf(size_t nodes, size_t running) {
  static std::pair<size_t, size_t> size;
  static std::unique_ptr<FilledLedger> cluster;
  if (!cluster || size != std::pair(nodes, running)) {
    cluster.reset();
    cluster = std::make_unique<FilledLedger>(nodes, running);
    size = {nodes, running};
  }
  return *cluster;
}

void Decide(benchmark::State& state, size_t nodes, size_t running, Stream stream, bool spread) {
  Decisions decisions(ClusterOf(nodes, running), stream, spread);
  const bool fits = stream != Stream::kRefused;
  for (auto _ : state)
    if (decisions.Next() != fits) return state.SkipWithError("not the decision that was expected");
}

void Register(size_t nodes, size_t running) {
  const auto add = [&](const std::string& what, Stream stream, bool spread) {
    const std::string name =
        "core/" + what + "/nodes:" + std::to_string(nodes) + "/running:" + std::to_string(running);
    benchmark::RegisterBenchmark(name.c_str(), Decide, nodes, running, stream, spread)
        ->Unit(benchmark::kMicrosecond);
  };
  add("fits", Stream::kFits, false);
  add("fits-spread", Stream::kFits, true);
  add("mixed", Stream::kMixed, false);
  add("refused", Stream::kRefused, false);
}

}  // namespace
}  // namespace aliquot::bench

int main(int argc, char** argv) {
  for (const size_t nodes : {10, 100, 1000, 5000, 15000})
    for (const size_t running : {0, 8}) aliquot::bench::Register(nodes, running);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
