// BindService: /bind. Checks the pod, its reservation and its node, takes the
// node's lock, and binds. A pod without a reservation gets one on the named
// node. For a pod with devices the caches are waited for, as /filter does: until
// then the ledger does not know who has what. A call for a pod that is bound there already is a
// success.
//
// Errors are texts in the answer. One that is final (pod or node gone, bound
// elsewhere, refused by the API server) gives the reservation back; any other
// keeps it for the next attempt. The lock is given back after every failure,
// unless the pod may have been bound all the same, by this call or by another
// replica that leads meanwhile.
//
// Thread safety: Bind from any thread; it blocks while it waits for the lock.
#pragma once

#include "aliquot/core/vendor.h"
#include "aliquot/kube/api.h"
#include "aliquot/kube/store.h"
#include "aliquot/ledger/ledger.h"
#include "aliquot/scheduler/extender.h"
#include "aliquot/scheduler/in_flight.h"
#include "aliquot/scheduler/leader.h"
#include "aliquot/scheduler/metrics.h"
#include "aliquot/scheduler/node_lock.h"
#include "aliquot/scheduler/options.h"
#include "aliquot/scheduler/sync.h"

namespace aliquot::scheduler {

class BindService {
 public:
  // Everything given outlives it.
  BindService(kube::Api& api, const kube::Store<kube::Pod>& pods,
              const kube::Store<kube::Node>& nodes, const SyncState& sync, const Leader& leader,
              const core::Registry& registry, ledger::Ledger& ledger, NodeLocks& locks,
              InFlight& in_flight, const Options& options, const Clock& clock, RecordEvent record,
              Metrics& metrics);

  BindAnswer Bind(const BindRequest& request, const RequestContext& context);

 private:
  class Attempt;  // one call of Bind

  kube::Api& api_;
  const kube::Store<kube::Pod>& pods_;
  const kube::Store<kube::Node>& nodes_;
  const SyncState& sync_;
  const Leader& leader_;
  const core::Registry& registry_;
  ledger::Ledger& ledger_;
  NodeLocks& locks_;
  InFlight& in_flight_;
  const Options& options_;
  const Clock& clock_;
  RecordEvent record_;
  Metrics& metrics_;
};

}  // namespace aliquot::scheduler
