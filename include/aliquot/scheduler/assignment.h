// What goes between a pod's JSON and a decision: the pod's wish out of its
// manifest, the allocation out of its annotations, and the patch that writes a
// decision (or the absence of one) onto the pod.
//
// Thread safety: every function from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aliquot/base/clock.h"
#include "aliquot/core/model.h"
#include "aliquot/core/request.h"
#include "aliquot/core/vendor.h"
#include "aliquot/kube/api.h"
#include "aliquot/kube/types.h"
#include "aliquot/ledger/ledger.h"

namespace aliquot::scheduler {

// Views into `pod`, and into `ref` which is pod.meta's.
core::PodSpec SpecOf(const kube::Pod& pod, const ObjectRef& ref);

// Of the pod's containers, init containers first.
std::vector<core::ContainerKind> KindsOf(const kube::Pod& pod);

// All ordinary init containers have succeeded: there are init statuses, and
// each that does not belong to a sidecar has terminated with exit code 0.
bool InitDone(const kube::Pod& pod);

// What the pod's annotations say that it holds on `node`. An allocation without
// shares: nothing of ours.
struct WrittenHolding {
  ledger::Holding holding;
  std::vector<std::string> problems;          // "NVIDIA: <error>" per unreadable vendor
  std::vector<std::string_view> by_position;  // as vendors::ReadAllocationResult
};
WrittenHolding HoldingOf(const kube::Pod& pod, std::string node, const core::Registry& registry);

// The annotations that say: these devices on this node for this pod. Without bind
// phase and time.
StringMap AssignmentAnnotations(const kube::Pod& pod, const core::Allocation& allocation,
                                std::string_view node, WallTime now,
                                const core::Registry& registry);

// The keys of ours among `annotations`, except those in `keep`: what an earlier
// attempt has left behind.
std::vector<std::string> StaleKeys(const StringMap& annotations, const StringMap& keep,
                                   const core::Registry& registry);

// One patch: sets `annotations` and the node label (if the name is a label
// value), deletes `stale` keys. With no annotations it only deletes, the label
// too. Carries the pod's UID as a precondition.
kube::MetadataPatch AssignmentPatch(const ObjectRef& pod, const StringMap& annotations,
                                    const std::vector<std::string>& stale);

}  // namespace aliquot::scheduler
