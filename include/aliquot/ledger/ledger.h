// Ledger: every device promise there is. What bound pods hold (read from their
// annotations), and reservations: what we promised a moment ago to pods that
// are not bound yet. Usage per card is kept, never rebuilt: an event touches
// the cards it concerns. Amounts are in the vendors' accounting units.
//
// Errors: none. A pod that does not fit is a core::Decision; input was checked
// by those who read it.
//
// Identity is the pod's UID. A pod holds either a reservation or a bound
// holding, never both.
//
// Thread safety: any method from any thread. One mutex, held for one decision at
// the longest; no callback runs and no I/O happens under it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aliquot/base/clock.h"
#include "aliquot/base/mutex.h"
#include "aliquot/base/object_ref.h"
#include "aliquot/base/string_map.h"
#include "aliquot/core/collapse.h"
#include "aliquot/core/model.h"
#include "aliquot/core/policy.h"
#include "aliquot/core/request.h"
#include "aliquot/core/schedule.h"
#include "aliquot/core/vendor.h"
#include "aliquot/core/verdicts.h"
#include "aliquot/ledger/quota.h"
#include "aliquot/ledger/reservation.h"
#include "aliquot/ledger/slot_table.h"
#include "aliquot/ledger/total.h"

namespace aliquot::ledger {

// What a pod holds, or is about to hold, on one node.
struct Holding {
  ObjectRef pod;
  std::string node;
  core::Allocation allocation;
  std::vector<core::ContainerKind> kinds;  // of the pod's containers, init first
  bool init_done = false;                  // all ordinary init containers have succeeded
  // Vendors whose allocation text is there but cannot be read: the node is
  // closed to further pods of them while this pod is there.
  std::vector<core::VendorId> unreadable;
  StringMap notes = {};  // core::PodRequest::notes

  bool empty() const { return allocation.empty() && unreadable.empty(); }
};

// visit(vendor, container, share) for each share, in order.
template <typename Visit>
void ForEachShare(const core::Allocation& allocation, Visit visit) {
  for (const core::VendorAllocation& of_vendor : allocation)
    for (size_t i = 0; i < of_vendor.containers.size(); ++i)
      for (const core::Share& share : of_vendor.containers[i]) visit(of_vendor.vendor, i, share);
}

// Usage as plain values, for audit, tests and metrics. Ordered.
struct UsageTable {
  // node -> per card, in inventory order. Registered nodes only.
  std::map<std::string, std::vector<core::DeviceUse>> nodes;
  // namespace -> by VendorId: memory and cores in use (slots stay 0). Without
  // the namespaces that use neither.
  std::map<std::string, std::vector<core::DeviceUse>> namespaces;
  // Registered nodes that take no further pods of these vendors; ascending.
  std::map<std::string, std::vector<core::VendorId>> closed;
  // node -> per card, in inventory order: NodeUsage::tenants. Nodes that have some.
  std::map<std::string, std::vector<std::vector<core::Tenant>>> tenants = {};

  bool operator==(const UsageTable&) const = default;
};

class Ledger {
 public:
  // Both outlive the ledger.
  Ledger(const core::Registry& registry, const Clock& clock)
      : registry_(registry), clock_(clock), quota_(registry) {}

  // ---- nodes

  // Registers or re-registers a node. What pods hold on it stays and is charged
  // to the cards of the new inventory. An inventory without cards, like
  // RemoveNode, makes the node unregistered; holdings are remembered.
  void SetNode(core::NodeInventory inventory);
  void RemoveNode(std::string_view node);

  // A copy, or no value for a node that is not registered.
  std::optional<core::NodeUsage> Node(std::string_view node) const;

  // Of the registered nodes, ascending. Read a piece at a time, as ForEachPod does.
  std::vector<std::string> NodeNames() const;

  // A card that failed under a pod which holds a part of it.
  struct FailedCard {
    ObjectRef pod;
    core::VendorId vendor = 0;
    std::string device_id;
    bool gone = false;  // not registered any more; otherwise not healthy

    bool operator==(const FailedCard&) const = default;
  };
  // Of the node's pods.
  std::vector<FailedCard> FailedCards(std::string_view node) const;

  // ---- pods

  // A bound pod as the API server shows it. Ends a reservation of this UID. Of
  // a UID that is known as bound on that node only `init_done` (it never goes
  // back) and what could not be read before are taken over: later edits of
  // annotations move nothing. Another node than before: moved there. A holding
  // of nothing (no shares, nothing unreadable) is not kept.
  void Observe(Holding holding);

  // The reservation's pod was bound by us: it counts as bound from now on and
  // does not expire. No effect without a reservation (the pod's end may have
  // been seen before our own call returned).
  void MarkBound(std::string_view uid);

  // The same of a pod that was found bound, perhaps by another scheduler: it counts
  // with what is written on it, not with what was reserved.
  void MarkBound(Holding written);

  // The pod is terminal or gone: whatever it holds is given back. True if it
  // held something.
  bool Remove(std::string_view uid);

  // Drops the reservation of an unbound pod; a bound pod keeps what it holds.
  // True if there was one.
  bool Forget(std::string_view uid);

  struct Held {
    ObjectRef pod;
    std::string node;
    core::Allocation allocation;
    std::vector<core::ContainerKind> kinds;  // Holding::kinds
    bool init_done = false;
    bool bound = false;
    SteadyTime since;  // of the reservation or of the first sight as bound
  };
  std::optional<Held> Find(std::string_view uid) const;

  // The first `limit` pods after `uid`, ascending by UID.
  std::vector<Held> PodsAfter(std::string_view uid, size_t limit) const;

  // visit(held) for every pod, ascending by UID, until it answers false. Pods are copied
  // a piece at a time, so that no decision waits for a copy of everything: together they
  // are no single moment.
  template <typename Visit>
  void ForEachPod(Visit visit) const {
    constexpr size_t kAtOnce = 64;
    std::vector<Held> piece;
    do {
      piece = PodsAfter(piece.empty() ? "" : piece.back().pod.uid, kAtOnce);
      for (const Held& pod : piece)
        if (!visit(pod)) return;
    } while (piece.size() == kAtOnce);
  }

  // Drops reservations of unbound pods that are older than `age`.
  std::vector<Held> ExpireReservations(Duration age);

  // Every card that the pod holds is still there, healthy or not, and not
  // overcommitted with the pod counted in; one that a pod takes with all its cores is
  // shared with nobody. What its vendor's gates do not guard
  // (slots, memory or cores) may be exceeded. False for a pod that holds nothing.
  bool StillFits(std::string_view uid) const;

  // ---- quotas

  // limits.<resource> entries of one ResourceQuota object; the smallest limit
  // of all objects of a namespace applies. Values that are no plain integers
  // and resources of no vendor are passed over.
  void SetQuota(std::string_view ns, std::string_view name, const StringMap& hard);
  void RemoveQuota(std::string_view ns, std::string_view name);

  // By VendorId: what the namespace may still take. Empty: it has no limits.
  std::vector<core::QuotaRoom> QuotaRoom(std::string_view ns) const;

  // Every limit and every use of a resource that can be limited.
  std::vector<QuotaRow> Quotas() const;

  // ---- decisions

  struct Outcome {
    core::Decision decision;
    Reservation reservation;  // armed if the decision fits
  };

  // Drops the pod's reservation if it has one, decides among `nodes` and charges
  // the choice, all in one critical section. Positions in the decision are those
  // of `nodes`. A pod that has been bound meanwhile is refused everywhere.
  // REQUIRES: the pod asks for something.
  Outcome Schedule(const core::PodRequest& pod, std::span<const std::string_view> nodes,
                   const core::SchedulePolicy& policy);

  // The same decision on nodes as they are given, nothing dropped or charged;
  // what the pod itself holds does not count against it. A node whose name is
  // registered is judged with the use of its cards as far as they are in the
  // inventory given; other names start from zero. An inventory without cards is
  // an unregistered node. For simulations.
  core::Decision Simulate(const core::PodRequest& pod, std::span<const core::NodeInventory> nodes,
                          const core::SchedulePolicy& policy) const;

  // Charges an allocation that is already written on the pod, in the place of
  // its reservation if it has one. Not armed, and nothing is changed: the pod is
  // bound or holds nothing readable, a card is missing or has no room (as in
  // StillFits), the node is closed to one of its vendors, or the quota is used up.
  Reservation Adopt(Holding holding);

  // ---- audit

  UsageTable Usage() const;
  // The same, computed from what the pods hold and nothing else.
  UsageTable RebuildUsage() const;

  struct Counts {
    size_t nodes = 0;  // registered
    size_t bound = 0;
    size_t reservations = 0;

    bool operator==(const Counts&) const = default;
  };
  Counts Count() const;

  // A number made of what bound pods hold: processes with the same vendors that know of
  // the same bound pods have the same, also after a restart. Read a piece at a time.
  uint32_t HoldingsHash() const;

  // What is kept of the node's cards is what its pods hold, computed afresh. One node
  // at a time, for a running process.
  bool Agrees(std::string_view node) const;

  // Makes it so, and what its pods use of their quotas. For a mistake of ours.
  void Rebuild(std::string_view node);

  // By VendorId: registered nodes that take no further pods of it.
  std::vector<size_t> ClosedNodes() const;

 private:
  friend class Reservation;

  struct PodEntry {
    Holding holding;
    std::vector<core::Charge> charges;  // the holding, collapsed
    SteadyTime since;
    uint64_t generation = 0;
    bool bound = false;
  };
  using Pods = std::map<std::string, PodEntry, std::less<>>;  // by UID

  using CardKey = std::pair<core::VendorId, std::string>;
  struct CardLess {
    using is_transparent = void;
    bool operator()(const auto& a, const auto& b) const {
      return a.first != b.first ? a.first < b.first
                                : std::string_view(a.second) < std::string_view(b.second);
    }
  };
  struct NodeEntry {
    std::optional<core::NodeUsage> usage;     // registered
    std::map<CardKey, Total, CardLess> held;  // of the cards that pods hold, there or not
    std::map<CardKey, std::vector<core::Tenant>, CardLess> tenants;  // each ascending by uid
    std::map<core::VendorId, int64_t> unreadable;                    // pods with an unreadable text
    std::vector<PodEntry*> pods;                                     // that hold something on it
  };

  // What a decision looks at of every node. After each change of the entry's usage.
  struct Candidate {
    const core::NodeUsage* usage = nullptr;  // null: not registered
    uint64_t stamp = 0;                      // of the usage
  };
  void UpdateCandidate(uint32_t slot, const NodeEntry& node) REQUIRES_LOCK(mutex_);

  // Sets the use of the cards that `usage` has, who is on them but `except_uid`, and
  // what is closed.
  void Project(const NodeEntry& node, std::string_view except_uid, core::NodeUsage& usage) const;
  void ProjectTenants(const NodeEntry& node, core::VendorId vendor, std::string_view device_id,
                      std::string_view except_uid, core::NodeUsage& usage) const;
  void ApplyTenants(const PodEntry& pod, NodeEntry& node, Sign sign) REQUIRES_LOCK(mutex_);
  // What the pod is charged for on its node as it is registered now.
  std::vector<core::Charge> ChargesOf(const Holding& holding) const REQUIRES_LOCK(mutex_);
  // After the node's cards have changed.
  void Recharge(const NodeEntry& node) REQUIRES_LOCK(mutex_);
  static Held ToHeld(const PodEntry& pod);

  // Takes what the pod holds from its node and its quota, or gives it back.
  void Apply(PodEntry& pod, Sign sign) REQUIRES_LOCK(mutex_);
  void EraseIfUnused(std::string_view node, const NodeEntry& entry) REQUIRES_LOCK(mutex_);
  // REQUIRES: the UID is not known.
  PodEntry& Add(Holding holding, bool bound) REQUIRES_LOCK(mutex_);
  void Drop(Pods::iterator pod) REQUIRES_LOCK(mutex_);
  void Forget(std::string_view uid, uint64_t generation);

  // Of a pod that is charged.
  bool CardsSuffice(const PodEntry& pod) const REQUIRES_LOCK(mutex_);
  bool IntrudesOnWholeCard(const PodEntry& pod, const NodeEntry& node, const core::Charge& charge,
                           int device) const REQUIRES_LOCK(mutex_);
  void LookUpCards(Holding& holding) const REQUIRES_LOCK(mutex_);
  bool QuotaSuffices(const PodEntry& pod) const REQUIRES_LOCK(mutex_);
  bool IsClosedTo(const PodEntry& pod) const REQUIRES_LOCK(mutex_);

  const core::Registry& registry_;
  const Clock& clock_;
  mutable Mutex mutex_;
  SlotTable<NodeEntry> nodes_ GUARDED_BY(mutex_);         // registered, or with pods on them
  std::vector<Candidate> candidates_ GUARDED_BY(mutex_);  // by slot
  Pods pods_ GUARDED_BY(mutex_);
  size_t registered_ GUARDED_BY(mutex_) = 0;  // of nodes_
  size_t bound_ GUARDED_BY(mutex_) = 0;       // of pods_
  QuotaTable quota_ GUARDED_BY(mutex_);
  uint64_t generation_ GUARDED_BY(mutex_) = 0;
  core::VerdictMemo verdicts_ GUARDED_BY(mutex_);  // by the nodes' slots
};

}  // namespace aliquot::ledger
