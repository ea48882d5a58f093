#include "aliquot/scheduler/role_label.h"

#include <chrono>
#include <optional>
#include <string>

#include "aliquot/base/log.h"
#include "scheduler/keys.h"

namespace aliquot::scheduler {
namespace {

constexpr auto kBeat = std::chrono::seconds(1);
constexpr auto kRetry = std::chrono::seconds(10);

}  // namespace

void RoleLabel::Start() {
  if (pod_.ns.empty() || pod_.name.empty()) {
    log::Info("Labelled no pod with our role: POD_NAMESPACE and POD_NAME are not both set");
    return;
  }
  thread_ = std::thread([this] {
    for (;;) {
      const SteadyTime next = std::chrono::steady_clock::now() + (Write() ? kBeat : kRetry);
      MutexLock lock(mutex_);
      if (!stopping_) stop_.WaitUntil(mutex_, next);
      if (stopping_) return;
    }
  });
}

void RoleLabel::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    stop_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

bool RoleLabel::Write() {
  const std::shared_ptr<const kube::Pod> pod = pods_.Get(pod_.ns, pod_.name);
  if (pod == nullptr || pod == patched_) return true;  // the cache has to catch up
  const std::string* role = Find(pod->meta.labels, kRoleLabel);
  const bool labelled = role != nullptr && *role == kRoleLeader;
  const bool leads = leader_.Leads();
  if (labelled == leads) return true;

  kube::MetadataPatch patch;
  patch.uid = pod->meta.uid;
  patch.labels[std::string(kRoleLabel)] =
      leads ? std::optional(std::string(kRoleLeader)) : std::nullopt;
  const Result<kube::Pod> patched =
      api_.PatchPod(pod->meta.Ref(), patch.ToJson(), {kube::Lane::kScheduling, SteadyTime::max()});
  if (!patched) {
    log::Warn("Could not label our pod; it will be tried again",
              {{"pod", Display(pod_)}, {"error", patched.error().message}});
    return false;
  }
  patched_ = pod;
  log::Info("Labelled our pod", {{"pod", Display(pod_)}, {"leader", leads}});
  return true;
}

}  // namespace aliquot::scheduler
