// Decisions: a ledger with a whole cluster in it, and a stream of pods for it to
// place; no sockets, no JSON. The ledger is filled through the same code as the
// daemon's, from the same objects.
//
// Thread safety: one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "aliquot/core/policy.h"
#include "aliquot/core/request.h"
#include "aliquot/core/vendor.h"
#include "aliquot/ledger/ledger.h"

namespace aliquot::bench {

// A registry as the daemon's with the usual resource names.
const core::Registry& Vendors(bool nvidia_alone = false);

class FilledLedger {
 public:
  FilledLedger(size_t nodes, size_t running_per_node);

  ledger::Ledger& ledger() { return ledger_; }
  const std::vector<std::string_view>& names() const { return views_; }

 private:
  ledger::Ledger ledger_;
  std::vector<std::string> names_;
  std::vector<std::string_view> views_;
};

enum class Stream {
  kFits,    // every pod fits on every node; all ask for the same
  kMixed,   // every pod fits on every node; each asks for another amount of memory
  kRefused  // no pod fits anywhere
};

// Pods take turns, each of them another one for the ledger. A pod keeps what it
// got until its next turn, so that the cluster stays as full as it is.
class Decisions {
 public:
  // Asks about all nodes of `cluster`, which outlives it.
  Decisions(FilledLedger& cluster, Stream stream, bool spread_nodes);
  ~Decisions();  // gives everything back

  // Decides about the next pod. Whether it fits.
  bool Next();

 private:
  FilledLedger& cluster_;
  core::SchedulePolicy policy_;
  std::vector<core::PodRequest> pods_;
  size_t next_ = 0;
};

}  // namespace aliquot::bench
