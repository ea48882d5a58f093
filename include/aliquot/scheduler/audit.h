// Auditor: compares the ledger with the API objects in the caches, and puts right what
// differs. Every event is handled once, when it comes; this is the net below that.
//
// An event may be on its way, so a difference counts only if it is still there at a later
// look, after both caches have heard from the API server well after the first one. What
// is kept of a card and what its pods hold is looked at in one moment: there a difference
// counts at once.
//
// Also finds foreign pods: those that others have put on our cards, which no decision
// knows of.
//
// Thread safety: Start, Stop and Pass by one thread at a time; the rest from any thread.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "aliquot/base/clock.h"
#include "aliquot/base/metrics.h"
#include "aliquot/base/metrics_text.h"
#include "aliquot/base/mutex.h"
#include "aliquot/base/object_ref.h"
#include "aliquot/core/vendor.h"
#include "aliquot/kube/store.h"
#include "aliquot/kube/types.h"
#include "aliquot/ledger/ledger.h"
#include "aliquot/scheduler/assignment.h"
#include "aliquot/scheduler/registrar.h"
#include "aliquot/scheduler/sync.h"

namespace aliquot::scheduler {

enum class Drift {
  kMissing,       // a bound pod has devices, and is not held on its node
  kUnknown,       // a pod is held as bound, and there is no such bound pod
  kShares,        // a bound pod's annotations say something else than when it was bound
  kRegistration,  // a node's cards are not those that it has registered
  kUsage,         // what is kept of a node's cards is not what its pods hold
  kCount,
};
std::string_view Word(Drift kind);  // "missing"

struct Difference {
  Drift kind;
  ObjectRef pod;  // of the first three kinds
  std::string node;
  std::string detail;  // for a human; may be empty

  bool operator==(const Difference&) const = default;
};

// A bound pod that asks for devices which its node has, and was given none by us.
struct ForeignPod {
  ObjectRef pod;
  std::string node;
  std::vector<core::VendorId> vendors;  // ascending

  bool operator==(const ForeignPod&) const = default;
};

// Of the vendors that have one of these cards, those that the pod asks for devices; ascending.
std::vector<core::VendorId> AskedOf(std::span<const core::Device> cards, const kube::Pod& pod,
                                    const core::Registry& registry);

struct Findings {
  std::vector<Difference> differences;
  std::vector<ForeignPod> foreign;
};

class Auditor {
 public:
  // Everything given outlives it.
  Auditor(const core::Registry& registry, ledger::Ledger& ledger, Registrar& registrar,
          const kube::Store<kube::Pod>& pods, const kube::Store<kube::Node>& nodes,
          const SyncState& sync, const Clock& clock)
      : registry_(registry),
        ledger_(ledger),
        registrar_(registrar),
        pods_(pods),
        nodes_(nodes),
        sync_(sync),
        clock_(clock) {}
  ~Auditor() { Stop(); }

  // A pass every minute, on a thread of its own.
  void Start();
  void Stop();

  // Looks, judges, tells and puts right. Nothing before the caches are complete.
  void Pass();

  // What differs now, also what an event on its way will settle; changes nothing. With
  // `node`, of this one alone.
  Findings Look(std::string_view node = {}) const;

  // As the last pass found them.
  std::vector<ForeignPod> foreign() const;

  void WriteMetrics(MetricsText& text) const;

 private:
  static constexpr size_t kKinds = static_cast<size_t>(Drift::kCount);
  // Of a difference that was there at the last pass.
  struct Seen {
    SteadyTime since;
    bool told = false;
  };
  using Key = std::tuple<Drift, std::string, std::string>;  // the pod's UID, the node

  // Called after each object; false ends the look.
  using GoOn = std::function<bool()>;
  Findings Look(std::string_view node, const GoOn& go_on) const;
  void LookAtPod(const kube::Pod& pod, const std::vector<std::string>& registered,
                 Findings& findings) const;
  void LookAtHeld(const ledger::Ledger::Held& held, Findings& findings) const;
  void LookAtRegistered(const std::string& node, Findings& findings) const;
  void Pass(const GoOn& go_on);
  void Judge(const std::vector<Difference>& differences);
  bool Settled(SteadyTime since) const;
  void Repair(const Difference& difference);
  void TellForeign(std::vector<ForeignPod> foreign);
  bool WaitFor(Duration time);

  const core::Registry& registry_;
  ledger::Ledger& ledger_;
  Registrar& registrar_;
  const kube::Store<kube::Pod>& pods_;
  const kube::Store<kube::Node>& nodes_;
  const SyncState& sync_;
  const Clock& clock_;

  // Of the passes.
  std::map<Key, Seen> seen_;
  std::set<std::string> told_foreign_;  // UIDs

  std::array<Counter, kKinds> repairs_;

  mutable Mutex mutex_;
  CondVar stop_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::array<size_t, kKinds> drift_ GUARDED_BY(mutex_){};  // differences that count
  std::vector<ForeignPod> foreign_ GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace aliquot::scheduler
