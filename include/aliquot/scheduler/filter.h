// FilterService: /filter. Bytes have become a FilterRequest; here it becomes a
// decision, a reservation, one patch of the pod, and an answer.
//
// Thread safety: any method from any thread; Filter blocks for the patch.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "aliquot/base/mutex.h"
#include "aliquot/core/vendor.h"
#include "aliquot/kube/api.h"
#include "aliquot/kube/store.h"
#include "aliquot/ledger/ledger.h"
#include "aliquot/scheduler/extender.h"
#include "aliquot/scheduler/in_flight.h"
#include "aliquot/scheduler/leader.h"
#include "aliquot/scheduler/metrics.h"
#include "aliquot/scheduler/options.h"
#include "aliquot/scheduler/sync.h"

namespace aliquot::scheduler {

class FilterService {
 public:
  // Everything given outlives it.
  FilterService(kube::Api& api, const kube::Store<kube::Pod>& pods, const SyncState& sync,
                const Leader& leader, const core::Registry& registry, ledger::Ledger& ledger,
                InFlight& in_flight, const Options& options, const Clock& clock, RecordEvent record,
                Metrics& metrics);

  FilterAnswer Filter(const FilterRequest& request, const RequestContext& context);

  // The pod is gone: what was written on it is forgotten.
  void ForgetPod(const std::string& uid);

 private:
  FilterAnswer Place(const FilterRequest& request, const core::PodRequest& pod,
                     const RequestContext& context);
  FilterAnswer Simulate(const FilterRequest& request, const core::PodRequest& pod);
  std::string BoundTo(const kube::Pod& pod) const;
  FilterAnswer RefuseUnreadable(const FilterRequest& request, const std::string& reason);
  Result<void> WriteAssignment(const FilterRequest& request, const StringMap& annotations,
                               SteadyTime deadline);
  void RemoveAssignment(const FilterRequest& request, SteadyTime deadline);
  // What a pod carries as far as anybody knows.
  struct Carried {
    StringMap annotations;
    std::string version;  // resourceVersion of the pod; empty: not known
  };
  Carried CarriedBy(const kube::Pod& pod) const;
  kube::MetadataPatch PatchOf(const kube::Pod& pod, const StringMap& annotations) const;
  void Remember(const std::string& uid, Carried written);

  kube::Api& api_;
  const kube::Store<kube::Pod>& pods_;
  const SyncState& sync_;
  const Leader& leader_;
  const core::Registry& registry_;
  ledger::Ledger& ledger_;
  InFlight& in_flight_;
  const Options& options_;
  const Clock& clock_;
  RecordEvent record_;
  Metrics& metrics_;

  // By UID: what the latest filter of an unbound pod wrote. Ahead of the caches, which
  // lag behind our own writes.
  mutable Mutex mutex_;
  std::unordered_map<std::string, Carried> written_ GUARDED_BY(mutex_);
};

}  // namespace aliquot::scheduler
