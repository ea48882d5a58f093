// Registrar: which cards each node has, out of its annotations, and whether its
// device plugins are alive. Reacts to changes; nothing runs on a timer except
// what has a time.
//
// Liveness: we write "Requesting_<time>" into a vendor's handshake annotation
// where there is none or a plugin has answered. A vendor's cards are gone when
// that request is older than a minute and the node's allocatable count is 0;
// they come back when the count does, when the register text changes, or when a
// plugin answers.
//
// A card that fails or disappears while pods hold parts of it stays charged to them; each
// of these pods gets an event.
//
// Handshakes are written by a thread of its own in the background lane, one
// patch per node; no decision waits for them. While another replica leads they
// stay in the queue: a new leader writes those that are still wanted.
//
// Thread safety: any method from any thread.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "aliquot/base/clock.h"
#include "aliquot/base/mutex.h"
#include "aliquot/core/vendor.h"
#include "aliquot/kube/api.h"
#include "aliquot/ledger/ledger.h"
#include "aliquot/scheduler/leader.h"
#include "aliquot/scheduler/options.h"

namespace aliquot::scheduler {

class Registrar {
 public:
  // Everything given outlives it.
  Registrar(kube::Api& api, const core::Registry& registry, ledger::Ledger& ledger,
            const Leader& leader, const Options& options, const Clock& clock, RecordEvent record);
  ~Registrar() { Stop(); }

  // The node as the API server shows it now. `old`: as it was before, or null.
  void OnNode(const kube::Node* old, const kube::Node& now);
  void OnNodeGone(const std::string& name);

  // The ledger has the cards that this node's annotations name, read afresh; but of a text
  // that cannot be read those known before, and of a dead plugin none.
  bool Agrees(const kube::Node& now) const;

  // Looks again at the nodes whose time has come (unanswered handshakes), and whether
  // handshakes may be written now.
  void ExpireDue();

  void Start();  // the handshake thread
  void Stop();

  // Writes what is queued and returns; what the handshake thread does. For tests.
  void WriteHandshakes();

 private:
  struct VendorState {
    std::vector<core::Device> cards;  // as last read
    std::string problem;              // why the register text cannot be read, if so
    bool gone = false;                // the plugin is taken for dead
    std::string gone_register;        // the register text they went with
    std::string gone_handshake;       // and the handshake
    std::string pardoned;             // the unanswered handshake that no longer counts
    int64_t allocatable = 0;          // count seen last
  };
  struct NodeState {
    StringMap annotations;                           // of the vendors' register and handshake keys
    StringMap allocatable;                           // of the vendors' counts
    std::vector<VendorState> vendors;                // by VendorId
    bool queued = false;                             // for a handshake
    std::vector<ledger::Ledger::FailedCard> failed;  // told of already
  };

  static bool WantsHandshake(const core::Vendor& vendor, const NodeState& state, WallTime now);
  void ReadCards(const kube::Node& node, NodeState& state) const;
  static std::vector<core::Device> CardsOf(const NodeState& state);
  bool CheckHealth(const std::string& name, NodeState& state) REQUIRES_LOCK(mutex_);
  void Publish(const std::string& name, NodeState& state) REQUIRES_LOCK(mutex_);
  void TellOfFailedCards(const std::string& name, NodeState& state) REQUIRES_LOCK(mutex_);
  void Drop(const std::string& name) REQUIRES_LOCK(mutex_);
  bool Idle() const REQUIRES_LOCK(mutex_) { return queue_.empty() || !leader_.Leads(); }
  bool WriteNextHandshake();

  kube::Api& api_;
  const core::Registry& registry_;
  ledger::Ledger& ledger_;
  const Leader& leader_;
  const Options& options_;
  const Clock& clock_;
  const RecordEvent record_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::map<std::string, NodeState, std::less<>> nodes_ GUARDED_BY(mutex_);
  std::set<std::pair<WallTime, std::string>> due_ GUARDED_BY(mutex_);
  std::deque<std::string> queue_ GUARDED_BY(mutex_);  // nodes to shake hands with
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace aliquot::scheduler
