// StopSignals: SIGINT and SIGTERM as something to look at between two steps.
#pragma once

#include <signal.h>

#include <chrono>

namespace aliquot::cli {

// While it lives, the signals are kept back from this thread and from those that
// it starts.
//
// Thread safety: the thread that made it.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  ~StopSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Whether one comes within this time (below a second), or has come before.
  bool Within(std::chrono::milliseconds time) {
    const timespec wait{0, std::chrono::nanoseconds(time).count()};
    stopped_ = stopped_ || sigtimedwait(&signals_, nullptr, &wait) > 0;
    return stopped_;
  }

 private:
  sigset_t signals_;
  sigset_t before_;
  bool stopped_ = false;
};

}  // namespace aliquot::cli
