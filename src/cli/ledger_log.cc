#include "cli/ledger_log.h"

#include <map>
#include <string>
#include <string_view>

#include "aliquot/base/log.h"

namespace aliquot::cli {

void LogLedger(const scheduler::Scheduler& scheduler) {
  constexpr size_t kMostNodes = 50;
  const ledger::Ledger::Counts count = scheduler.ledger().Count();
  const scheduler::Findings findings = scheduler.auditor().Look();
  std::map<std::string_view, std::map<std::string_view, size_t>> nodes;  // kind -> differences
  for (const scheduler::Difference& difference : findings.differences)
    ++nodes[difference.node][Word(difference.kind)];

  log::Info("Looked at the ledger", {{"hash", scheduler.ledger().HoldingsHash()},
                                     {"nodes", count.nodes},
                                     {"boundPods", count.bound},
                                     {"reservations", count.reservations},
                                     {"foreignPods", findings.foreign.size()},
                                     {"nodesThatDiffer", nodes.size()},
                                     {"more", "GET /debug/ledger, /debug/ledger/diff"}});
  size_t lines = 0;
  for (const auto& [node, kinds] : nodes) {
    if (++lines > kMostNodes) break;
    std::string differences;
    for (const auto& [kind, times] : kinds)
      differences +=
          (differences.empty() ? "" : ", ") + std::to_string(times) + " " + std::string(kind);
    log::Info("Found differences from the API server",
              {{"node", node}, {"differences", differences}});
  }
}

}  // namespace aliquot::cli
