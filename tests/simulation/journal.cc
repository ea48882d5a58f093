#include "simulation/journal.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "simulation/machine.h"

namespace aliquot::simulation {

void Journal::Say(const std::string& what) {
  char head[48];
  std::snprintf(head, sizeof head, "%6" PRIu64 " %10.3f s  ", ++steps_,
                static_cast<double>(MachineTime().count()) / 1e9);
  std::string line = head + what;
  for (const char c : line) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  if (print_) std::printf("%s\n", line.c_str());
  last_.push_back(std::move(line));
  if (last_.size() > kKept) last_.pop_front();
}

void Journal::Violation(const std::string& rule, const std::string& what) {
  if (!print_)
    for (const std::string& line : last_) std::printf("%s\n", line.c_str());
  std::printf("seed %" PRIu64 ", step %" PRIu64 ": %s broken: %s\n", seed_, steps_, rule.c_str(),
              what.c_str());
  std::printf("again: aliquot-simulation --first %" PRIu64 " --seeds 1\n", seed_);
  std::fflush(stdout);
  std::_Exit(1);
}

}  // namespace aliquot::simulation
