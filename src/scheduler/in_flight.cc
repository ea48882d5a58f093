#include "aliquot/scheduler/in_flight.h"

namespace aliquot::scheduler {

InFlight::Turn InFlight::Enter(const std::string& uid, SteadyTime deadline) {
  MutexLock lock(mutex_);
  while (!busy_.insert(uid).second)
    if (!changed_.WaitUntil(mutex_, deadline) && busy_.contains(uid)) return Turn(nullptr, "");
  return Turn(this, uid);
}

InFlight::Turn::~Turn() {
  if (in_flight_ == nullptr) return;
  MutexLock lock(in_flight_->mutex_);
  in_flight_->busy_.erase(uid_);
  in_flight_->changed_.NotifyAll();
}

}  // namespace aliquot::scheduler
