// aliquot-simulation: the whole scheduler on the embedded cluster in virtual time, under
// faults that a seed chooses. docs/development.md says how to read what it prints.
//
//   aliquot-simulation --first 1 --seeds 2000     seeds 1 to 2000
//   aliquot-simulation --first 77 --seeds 1 --print   one, with every step
//   --decisions N    of each seed, before the faults end; 500
//   --twice          every seed a second time, which must go the same way
//
// What runs is the production code from Scheduler and Reflector down, threads and waiting
// included (machine.h), against cluster::Cluster. Not simulated: threads that really run at
// the same time (ThreadSanitizer watches those in unit tests), the HTTP server and
// kube::Client with its retries, EventRecorder, leadership, admission, requests that the API
// server carries out after the caller has given up, watches that go back in time, and clocks
// that disagree.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "aliquot/base/log.h"
#include "aliquot/config/device_config.h"
#include "aliquot/vendors/registry.h"
#include "cli/vendor_configs.h"
#include "simulation/machine.h"
#include "simulation/run.h"

namespace {

using aliquot::simulation::Fault;
using aliquot::simulation::Faults;
using aliquot::simulation::Figures;

// Of one seed, in real time. Only a thread that never gives way needs so long.
constexpr unsigned kStuckSeconds = 120;

volatile uint64_t g_seed = 0;

void TellStuck(int) {
  std::printf("seed %llu: nothing moves any more\n", static_cast<unsigned long long>(g_seed));
  std::fflush(stdout);
  std::abort();
}

aliquot::core::Registry MakeRegistry() {
  const auto devices = aliquot::config::LoadDeviceConfig(DEVICE_CONFIG);
  if (!devices) {
    std::printf("%s\n", devices.error().message.c_str());
    std::exit(2);
  }
  return aliquot::vendors::MakeRegistry(
      aliquot::cli::VendorConfigs(aliquot::config::ServeFlags(), *devices));
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t first = 1, seeds = 100, decisions = 500;
  bool print = false, twice = false;
  for (int i = 1; i < argc; ++i) {
    const auto number = [&](const char* flag, uint64_t& value) {
      if (std::strcmp(argv[i], flag) != 0 || i + 1 == argc) return false;
      value = std::strtoull(argv[++i], nullptr, 10);
      return true;
    };
    if (std::strcmp(argv[i], "--print") == 0) {
      print = true;
    } else if (std::strcmp(argv[i], "--twice") == 0) {
      twice = true;
    } else if (!number("--first", first) && !number("--seeds", seeds) &&
               !number("--decisions", decisions)) {
      std::printf("unknown argument %s\n", argv[i]);
      return 2;
    }
  }
  aliquot::log::SetUp({.file = "/dev/null"});
  const aliquot::core::Registry registry = MakeRegistry();
  std::signal(SIGALRM, TellStuck);

  const double begin = aliquot::simulation::RealSeconds();
  Figures sum;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    g_seed = seed;
    alarm(kStuckSeconds);
    const Figures one = aliquot::simulation::RunSeed(seed, decisions, print, registry);
    if (twice && aliquot::simulation::RunSeed(seed, decisions, false, registry).hash != one.hash) {
      std::printf("seed %llu does not go the same way twice\n",
                  static_cast<unsigned long long>(seed));
      return 1;
    }
    sum.decisions += one.decisions;
    sum.binds += one.binds;
    sum.processes += one.processes;
    sum.steps += one.steps;
    sum.hash = sum.hash * 31 + one.hash;
    for (size_t i = 0; i < sum.faults.size(); ++i) sum.faults[i] += one.faults[i];
  }
  const auto number = [](uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf("seeds=%llu decisions=%llu binds=%llu restarts=%llu steps=%llu hash=%016llx",
              number(seeds), number(sum.decisions), number(sum.binds),
              number(sum.processes - seeds), number(sum.steps), number(sum.hash));
  for (size_t i = 0; i < sum.faults.size(); ++i)
    std::printf(" %s=%llu", aliquot::simulation::NameOf(static_cast<Fault>(i)).data(),
                number(sum.faults[i]));
  std::printf(" violations=0 seconds=%.1f\n", aliquot::simulation::RealSeconds() - begin);
  return 0;
}
