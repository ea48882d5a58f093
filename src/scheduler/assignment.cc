#include "aliquot/scheduler/assignment.h"

#include <algorithm>

#include "aliquot/base/strings.h"
#include "aliquot/base/time_text.h"
#include "aliquot/vendors/allocation.h"
#include "scheduler/keys.h"

namespace aliquot::scheduler {
namespace {

core::ContainerKind InitKind(const kube::Container& container) {
  return container.restart_always ? core::ContainerKind::kSidecar : core::ContainerKind::kInit;
}

core::ContainerSpec SpecOf(const kube::Container& container, core::ContainerKind kind) {
  return {container.name, kind, &container.limits, &container.requests};
}

}  // namespace

core::PodSpec SpecOf(const kube::Pod& pod, const ObjectRef& ref) {
  core::PodSpec spec;
  spec.ref = &ref;
  spec.annotations = &pod.meta.annotations;
  for (const kube::Container& container : pod.init_containers)
    spec.containers.push_back(SpecOf(container, InitKind(container)));
  for (const kube::Container& container : pod.containers)
    spec.containers.push_back(SpecOf(container, core::ContainerKind::kApp));
  return spec;
}

std::vector<core::ContainerKind> KindsOf(const kube::Pod& pod) {
  std::vector<core::ContainerKind> kinds;
  for (const kube::Container& container : pod.init_containers) kinds.push_back(InitKind(container));
  kinds.resize(kinds.size() + pod.containers.size(), core::ContainerKind::kApp);
  return kinds;
}

bool InitDone(const kube::Pod& pod) {
  const auto is_sidecar = [&](const std::string& name) {
    return std::any_of(
        pod.init_containers.begin(), pod.init_containers.end(),
        [&](const kube::Container& c) { return c.name == name && c.restart_always; });
  };
  return !pod.init_statuses.empty() &&
         std::all_of(pod.init_statuses.begin(), pod.init_statuses.end(),
                     [&](const kube::InitStatus& status) {
                       return is_sidecar(status.name) ||
                              (status.terminated && status.exit_code == 0);
                     });
}

WrittenHolding HoldingOf(const kube::Pod& pod, std::string node, const core::Registry& registry) {
  WrittenHolding written;
  ledger::Holding& holding = written.holding;
  holding.pod = pod.meta.Ref();
  holding.node = std::move(node);
  holding.kinds = KindsOf(pod);
  holding.init_done = InitDone(pod);
  holding.notes = core::NotesOf(pod.meta.annotations, registry);
  vendors::ReadAllocationResult read =
      vendors::ReadAllocation(pod.meta.annotations, SpecOf(pod, holding.pod), registry);
  holding.allocation = std::move(read.allocation);
  written.by_position = std::move(read.by_position);
  for (vendors::UnreadableAllocation& unreadable : read.unreadable) {
    holding.unreadable.push_back(unreadable.vendor);
    written.problems.push_back(std::string(registry[unreadable.vendor].key()) + ": " +
                               unreadable.problem);
  }
  return written;
}

StringMap AssignmentAnnotations(const kube::Pod& pod, const core::Allocation& allocation,
                                std::string_view node, WallTime now,
                                const core::Registry& registry) {
  const ObjectRef ref = pod.meta.Ref();
  StringMap annotations =
      vendors::WriteAllocation(allocation, SpecOf(pod, ref), node, now, registry);
  annotations.emplace(kAssignedNodeKey, node);
  annotations.emplace(kAssignedTimeKey, FormatUnixSeconds(now));
  return annotations;
}

std::vector<std::string> StaleKeys(const StringMap& annotations, const StringMap& keep,
                                   const core::Registry& registry) {
  std::vector<std::string_view> keys = vendors::AllocationKeys(registry);
  keys.insert(keys.end(), {kAssignedNodeKey, kAssignedTimeKey, kBindPhaseKey, kBindTimeKey});
  std::vector<std::string> stale;
  for (const std::string_view key : keys)
    if (annotations.contains(key) && !keep.contains(key)) stale.emplace_back(key);
  return stale;
}

kube::MetadataPatch AssignmentPatch(const ObjectRef& pod, const StringMap& annotations,
                                    const std::vector<std::string>& stale) {
  kube::MetadataPatch patch;
  patch.uid = pod.uid;
  for (const auto& [key, value] : annotations) patch.annotations[key] = value;
  for (const std::string& key : stale) patch.annotations[key] = std::nullopt;
  const std::string* node = Find(annotations, kAssignedNodeKey);
  std::optional<std::string>& label = patch.labels[std::string(kAssignedNodeKey)];
  if (node != nullptr && IsLabelValue(*node)) label = *node;
  return patch;
}

}  // namespace aliquot::scheduler
