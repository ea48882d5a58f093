#include "aliquot/scheduler/admission.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "aliquot/base/quantity.h"
#include "scheduler/keys.h"

namespace aliquot::scheduler {
namespace {

using kube::SubmittedContainer;
using kube::SubmittedPod;

constexpr std::string_view kDefaultScheduler = "default-scheduler";
constexpr std::string_view kOurPrefix = "hami.io/vgpu-";

AdmissionAnswer Allow(SubmittedPod pod, std::string message = "") {
  return {true, 200, std::move(message), std::move(pod)};
}

AdmissionAnswer Deny(std::string message) { return {false, 403, std::move(message)}; }

// Of both lists, init containers first.
template <typename Pod, typename Visit>
void ForEachContainer(Pod& pod, Visit visit) {
  for (auto& container : pod.init_containers) visit(container);
  for (auto& container : pod.containers) visit(container);
}

const SubmittedContainer* FindPrivileged(const SubmittedPod& pod) {
  const SubmittedContainer* found = nullptr;
  ForEachContainer(pod, [&](const SubmittedContainer& container) {
    if (found == nullptr && container.privileged) found = &container;
  });
  return found;
}

core::ContainerSpec SpecOf(const SubmittedContainer& container, core::ContainerKind kind) {
  return {container.name, kind, &container.limits, &container.requests};
}

// Views into `pod`, which see what is written into it. `ref`: the pod has no name yet.
core::PodSpec SpecOf(const SubmittedPod& pod, const ObjectRef& ref) {
  core::PodSpec spec;
  spec.ref = &ref;
  spec.annotations = &pod.annotations;
  for (const SubmittedContainer& container : pod.init_containers)
    spec.containers.push_back(SpecOf(container, container.restart_always
                                                    ? core::ContainerKind::kSidecar
                                                    : core::ContainerKind::kInit));
  for (const SubmittedContainer& container : pod.containers)
    spec.containers.push_back(SpecOf(container, core::ContainerKind::kApp));
  return spec;
}

bool SameAmount(const std::string& a, const std::string& b) {
  const std::optional<Quantity> first = Quantity::Parse(a);
  const std::optional<Quantity> second = Quantity::Parse(b);
  return first && second && first->AsInt64() && first->AsInt64() == second->AsInt64();
}

// An amount that is written differently stays as it is.
void SetQuantities(const StringMap& wanted, StringMap& list) {
  for (const auto& [resource, quantity] : wanted) {
    if (resource.empty()) continue;
    const std::string* there = Find(list, resource);
    if (there == nullptr || !SameAmount(*there, quantity))
      list.insert_or_assign(resource, quantity);
  }
}

// The last entry of a name counts.
void AppendEnv(std::vector<EnvVar> wanted, std::vector<EnvVar>& env) {
  for (EnvVar& variable : wanted) {
    const auto last = std::find_if(
        env.rbegin(), env.rend(), [&](const EnvVar& there) { return there.name == variable.name; });
    if (last == env.rend() || last->value != variable.value) env.push_back(std::move(variable));
  }
}

void Apply(core::Completion completion, SubmittedContainer& container, SubmittedPod& pod) {
  SetQuantities(completion.limits, container.limits);
  SetQuantities(completion.requests, container.requests);
  AppendEnv(std::move(completion.env), container.env);
  for (auto& [key, text] : completion.annotations) pod.annotations.insert_or_assign(key, text);
  if (pod.runtime_class.empty()) pod.runtime_class = std::move(completion.runtime_class);
}

// What a vendor without a hook does.
core::Completion ClaimByCount(const core::Vendor& vendor, const SubmittedContainer& container) {
  return {.claimed = Find(container.limits, vendor.config().count_name) != nullptr};
}

}  // namespace

AdmissionAnswer AdmissionService::Admit(const AdmissionRequest& request) const {
  SubmittedPod pod = request.pod;
  if (pod.containers.empty()) return Deny("pod has no containers");
  if (request.operation == "CREATE") RemoveOurKeys(pod);
  if (IsForeign(pod.scheduler_name))
    return Allow(std::move(pod), "pod already has different scheduler assigned");

  Result<Completed> completed = Complete(pod);
  if (!completed) return {false, 500, completed.error().message};
  const auto parsed = core::ParseRequests(SpecOf(pod, {request.ns, "", ""}), registry_);
  if (const auto* invalid = std::get_if<core::InvalidRequest>(&parsed))
    return Deny(invalid->ToString());
  if (completed->claimed) {
    if (const SubmittedContainer* privileged = FindPrivileged(pod))
      return Deny("container " + privileged->name + " is privileged");
    if (!options_.scheduler_name.empty()) {
      pod.scheduler_name = options_.scheduler_name;
      if (!pod.node_name.empty()) return Deny("pod has node assigned");
    }
  }
  if (core::ExceedsQuota(core::LeastQuotaUse(std::get<core::PodRequest>(parsed), registry_),
                         ledger_.QuotaRoom(request.ns)))
    return Deny("exceeding resource quota");
  AdmissionAnswer answer = Allow(std::move(pod));
  answer.warnings = std::move(completed->warnings);
  return answer;
}

bool AdmissionService::IsForeign(const std::string& scheduler_name) const {
  if (scheduler_name.empty()) return false;
  if (scheduler_name == kDefaultScheduler && options_.force_overwrite_default_scheduler)
    return false;
  return options_.scheduler_name.empty() || scheduler_name != options_.scheduler_name;
}

// Only we may say which devices a pod has got.
void AdmissionService::RemoveOurKeys(SubmittedPod& pod) const {
  std::erase_if(pod.annotations,
                [](const auto& entry) { return entry.first.starts_with(kOurPrefix); });
  const auto remove = [&pod](std::string_view key) {
    if (const auto at = pod.annotations.find(key); at != pod.annotations.end())
      pod.annotations.erase(at);
  };
  remove(kBindPhaseKey);
  remove(kBindTimeKey);
  for (const core::Vendor& vendor : registry_.vendors()) {
    remove(vendor.spec().to_allocate);
    remove(vendor.spec().allocated);
  }
  if (const auto label = pod.labels.find(kAssignedNodeKey); label != pod.labels.end())
    pod.labels.erase(label);
}

Result<AdmissionService::Completed> AdmissionService::Complete(SubmittedPod& pod) const {
  const ObjectRef unnamed;
  const core::PodSpec spec = SpecOf(pod, unnamed);
  std::vector<SubmittedContainer*> containers;
  ForEachContainer(pod, [&](SubmittedContainer& one) { containers.push_back(&one); });

  Completed completed;
  for (size_t i = 0; i < containers.size(); ++i)
    for (const core::Vendor& vendor : registry_.vendors()) {
      SubmittedContainer& container = *containers[i];
      Result<core::Completion> completion =
          vendor.spec().complete == nullptr
              ? ClaimByCount(vendor, container)
              : vendor.spec().complete(vendor,
                                       {registry_, spec, spec.containers[i], container.env});
      if (!completion) return completion.error();
      completed.claimed = completed.claimed || completion->claimed;
      for (const std::string& warning : completion->warnings)
        completed.warnings.push_back("container " + container.name + ": " + warning);
      Apply(*std::move(completion), container, pod);
    }
  return completed;
}

}  // namespace aliquot::scheduler
