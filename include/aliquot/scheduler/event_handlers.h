// What the caches see, told to the ledger and to those who wait for it.
//
// Thread safety: each handler is called by one reflector's thread; they share
// only thread-safe things.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "aliquot/core/vendor.h"
#include "aliquot/kube/store.h"
#include "aliquot/ledger/ledger.h"
#include "aliquot/scheduler/filter.h"
#include "aliquot/scheduler/node_lock.h"
#include "aliquot/scheduler/options.h"
#include "aliquot/scheduler/registrar.h"
#include "aliquot/scheduler/sync.h"

namespace aliquot::scheduler {

class NodeEvents : public kube::Observer<kube::Node> {
 public:
  // Everything given outlives it.
  NodeEvents(Registrar& registrar, NodeLocks& locks, SyncState& sync)
      : registrar_(registrar), locks_(locks), sync_(sync) {}

  void OnUpsert(const std::shared_ptr<const kube::Node>& old,
                const std::shared_ptr<const kube::Node>& now) override;
  void OnDelete(const std::shared_ptr<const kube::Node>& last) override;
  void OnSynced() override { sync_.SetSynced(SyncState::kNodes); }

 private:
  Registrar& registrar_;
  NodeLocks& locks_;
  SyncState& sync_;
};

// Only bound pods hold anything by their annotations: what an unbound pod
// carries, anybody may have written.
class PodEvents : public kube::Observer<kube::Pod> {
 public:
  // Everything given outlives it.
  PodEvents(const core::Registry& registry, const kube::Store<kube::Pod>& pods,
            ledger::Ledger& ledger, FilterService& filter, NodeLocks& locks, SyncState& sync,
            RecordEvent record)
      : registry_(registry),
        pods_(pods),
        ledger_(ledger),
        filter_(filter),
        locks_(locks),
        sync_(sync),
        record_(std::move(record)) {}

  void OnUpsert(const std::shared_ptr<const kube::Pod>& old,
                const std::shared_ptr<const kube::Pod>& now) override;
  void OnDelete(const std::shared_ptr<const kube::Pod>& last) override;
  void OnSynced() override { sync_.SetSynced(SyncState::kPods); }
  void OnListed(SteadyTime asked) override;

 private:
  void Observe(const kube::Pod& pod);

  const core::Registry& registry_;
  const kube::Store<kube::Pod>& pods_;
  ledger::Ledger& ledger_;
  FilterService& filter_;
  NodeLocks& locks_;
  SyncState& sync_;
  RecordEvent record_;
};

// Quotas with scopes limit only some pods of their namespace; they are passed
// over, once with a log line.
class QuotaEvents : public kube::Observer<kube::ResourceQuota> {
 public:
  // Everything given outlives it.
  QuotaEvents(ledger::Ledger& ledger, SyncState& sync) : ledger_(ledger), sync_(sync) {}

  void OnUpsert(const std::shared_ptr<const kube::ResourceQuota>& old,
                const std::shared_ptr<const kube::ResourceQuota>& now) override;
  void OnDelete(const std::shared_ptr<const kube::ResourceQuota>& last) override;
  void OnSynced() override { sync_.SetSynced(SyncState::kQuotas); }

 private:
  ledger::Ledger& ledger_;
  SyncState& sync_;
  std::set<std::string> passed_over_;  // "namespace/name", told of already
};

}  // namespace aliquot::scheduler
