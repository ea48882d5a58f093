// InFlight: one filter or bind at a time per pod. Two attempts for one pod at
// once (a retry that overtakes a slow call) would otherwise write two different
// decisions onto it.
//
// Thread safety: any method from any thread.
#pragma once

#include <string>
#include <unordered_set>

#include "aliquot/base/clock.h"
#include "aliquot/base/mutex.h"

namespace aliquot::scheduler {

class InFlight {
 public:
  // While it lives, the pod is this caller's. Empty: the deadline passed first.
  class [[nodiscard]] Turn {
   public:
    Turn(Turn&& other) noexcept : in_flight_(other.in_flight_), uid_(std::move(other.uid_)) {
      other.in_flight_ = nullptr;
    }
    Turn& operator=(Turn&&) = delete;
    ~Turn();
    explicit operator bool() const { return in_flight_ != nullptr; }

   private:
    friend class InFlight;
    Turn(InFlight* in_flight, std::string uid) : in_flight_(in_flight), uid_(std::move(uid)) {}
    InFlight* in_flight_;
    std::string uid_;
  };

  // Waits for the pod's turn until the deadline (steady clock of the machine).
  Turn Enter(const std::string& uid, SteadyTime deadline);

 private:
  Mutex mutex_;
  CondVar changed_;
  std::unordered_set<std::string> busy_ GUARDED_BY(mutex_);
};

}  // namespace aliquot::scheduler
