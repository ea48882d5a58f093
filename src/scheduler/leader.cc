#include "aliquot/scheduler/leader.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "aliquot/base/time_text.h"

namespace aliquot::scheduler {
namespace {

bool IsOn(std::string_view host, std::string_view holder) {
  return holder.starts_with(host) && (holder.size() == host.size() || holder[host.size()] == '_');
}

}  // namespace

std::optional<std::string> Leader::Obstacle() const {
  MutexLock lock(mutex_);
  return ObstacleNow();
}

std::optional<std::string> Leader::ObstacleNow() const {
  if (shadow_) return "it runs with --shadow";
  if (!election_) return std::nullopt;
  const std::string lease = "lease " + election_->ns + "/" + election_->lease;
  if (!lease_) return lease + " is not there";
  if (!IsOn(election_->host, lease_->holder))
    return lease + " is held by \"" + lease_->holder + "\"";
  const Duration age = clock_.Steady() - seen_;
  if (age < lease_->duration) return std::nullopt;
  return lease + " was last renewed " +
         FormatGoDuration(std::chrono::duration_cast<std::chrono::seconds>(age)) + " ago";
}

bool Leader::Wait(SteadyTime deadline, const std::function<bool()>& give_up) const {
  constexpr auto kLook = std::chrono::milliseconds(200);
  MutexLock lock(mutex_);
  while (ObstacleNow()) {
    const SteadyTime now = std::chrono::steady_clock::now();
    if (stopped_ || now >= deadline || (give_up && give_up())) return false;
    changed_.WaitUntil(mutex_, std::min(deadline, now + kLook));
  }
  return true;
}

void Leader::Stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  changed_.NotifyAll();
}

void Leader::OnUpsert(const std::shared_ptr<const kube::Lease>&,
                      const std::shared_ptr<const kube::Lease>& now) {
  MutexLock lock(mutex_);
  lease_ = now;
  seen_ = clock_.Steady();
  changed_.NotifyAll();
}

void Leader::OnDelete(const std::shared_ptr<const kube::Lease>&) {
  MutexLock lock(mutex_);
  lease_ = nullptr;
}

}  // namespace aliquot::scheduler
