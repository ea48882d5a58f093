// Fills a ledger and takes decisions, to be run where instructions are counted:
// the difference of two runs with different numbers of decisions is what the
// decisions took.
#include <CLI/CLI.hpp>

#include "decisions.h"

int main(int argc, char** argv) {
  using aliquot::bench::Stream;
  size_t nodes = 1000;
  size_t running = 0;
  size_t decisions = 1;
  Stream stream = Stream::kFits;
  CLI::App app("Takes decisions about pods on a made-up cluster, and prints nothing.");
  app.add_option("--nodes", nodes)->check(CLI::Range(1, 100'000));
  app.add_option("--running", running, "pods that run on each node")->check(CLI::Range(0, 80));
  app.add_option("--decisions", decisions)->check(CLI::Range(0, 1'000'000));
  app.add_option("--pods", stream)
      ->transform(CLI::CheckedTransformer(std::map<std::string, Stream>{
          {"fits", Stream::kFits}, {"mixed", Stream::kMixed}, {"refused", Stream::kRefused}}));
  bool nvidia_alone = false;
  app.add_flag("--nvidia-alone", nvidia_alone, "no other vendor is registered");
  CLI11_PARSE(app, argc, argv);

  aliquot::bench::Vendors(nvidia_alone);
  aliquot::bench::FilledLedger cluster(nodes, running);
  aliquot::bench::Decisions stream_of_pods(cluster, stream, /*spread_nodes=*/false);
  for (size_t i = 0; i < decisions; ++i)
    if (stream_of_pods.Next() != (stream != Stream::kRefused)) return 1;
}
