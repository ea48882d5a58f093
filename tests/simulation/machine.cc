#include "simulation/machine.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <thread>
#include <vector>

#include "aliquot/base/check.h"

namespace aliquot::simulation {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kRealtimeAtStart = 1767225600 * kSecond;  // 2026-01-01T00:00:00Z
constexpr int64_t kMonotonicAtStart = 3600 * kSecond;       // far from zero, as on machines
constexpr size_t kStackBytes = 512 << 10;
constexpr size_t kStackGuard = 4096;

// Kept when a thread ends: the next one gets it.
class Stacks {
 public:
  void* Take() {
    if (free_.empty()) {
      void* memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
      ALIQUOT_CHECK(memory != MAP_FAILED);
      ALIQUOT_CHECK(mprotect(memory, kStackGuard, PROT_NONE) == 0);
      return memory;
    }
    void* stack = free_.back();
    free_.pop_back();
    return stack;
  }
  void GiveBack(void* stack) { free_.push_back(stack); }

 private:
  std::vector<void*> free_;
};

Stacks g_stacks;

struct Thread {
  pthread_t id = 0;
  ucontext_t context = {};
  void* stack = nullptr;
  void* (*run)(void*) = nullptr;
  void* argument = nullptr;
  bool ended = false;
  bool detached = false;
  Thread* joined_by = nullptr;

  const pthread_cond_t* waits_for = nullptr;
  bool timed_out = false;
  uint64_t waits = 0;  // so far; tells an old timer from the one that counts
};

class Machine {
 public:
  explicit Machine(uint64_t seed) : random_(seed) {
    main_.id = ++last_id_;
    running_ = &main_;
  }

  int64_t now() const { return now_; }

  pthread_t Start(void* (*run)(void*), void* argument) {
    auto thread = std::make_unique<Thread>();
    Thread& started = *thread;
    started.id = ++last_id_;
    started.run = run;
    started.argument = argument;
    started.stack = g_stacks.Take();
    ALIQUOT_CHECK(getcontext(&started.context) == 0);
    started.context.uc_stack.ss_sp = started.stack;
    started.context.uc_stack.ss_size = kStackBytes;
    makecontext(&started.context, &Machine::Begin, 0);
    threads_.emplace(started.id, std::move(thread));
    ready_.push_back(&started);
    return started.id;
  }

  void Join(pthread_t id) {
    Thread& other = *threads_.at(id);
    if (!other.ended) {
      other.joined_by = running_;
      GiveWay();
    }
    threads_.erase(id);
  }

  void Detach(pthread_t id) {
    Thread& other = *threads_.at(id);
    other.detached = true;
    if (other.ended) threads_.erase(id);
  }

  // False when the time was over first.
  bool Wait(const pthread_cond_t* condition, std::optional<int64_t> until) {
    if (until && *until <= now_) return false;
    running_->waits_for = condition;
    running_->timed_out = false;
    ++running_->waits;
    if (condition != nullptr) waiting_.push_back(running_);
    if (until) timers_.push({*until, ++last_timer_, running_, running_->id, running_->waits});
    GiveWay();
    return !running_->timed_out;
  }

  void Wake(const pthread_cond_t* condition, size_t most) {
    for (auto it = waiting_.begin(); it != waiting_.end() && most > 0;) {
      if ((*it)->waits_for == condition) {
        --most;
        ++(*it)->waits;
        (*it)->waits_for = nullptr;
        ready_.push_back(*it);
        it = waiting_.erase(it);
      } else {
        ++it;
      }
    }
  }

  bool alone() const { return threads_.empty(); }

 private:
  struct Timer {
    int64_t at;
    uint64_t order;
    Thread* thread;
    pthread_t id;
    uint64_t wait;

    bool operator>(const Timer& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };

  static void Begin();

  [[noreturn]] void End() {
    Thread& self = *running_;
    self.ended = true;
    g_stacks.GiveBack(self.stack);  // nobody takes it before this one has left it
    if (self.joined_by != nullptr) ready_.push_back(self.joined_by);
    Thread& next = Next();
    running_ = &next;
    if (self.detached) threads_.erase(self.id);
    setcontext(&next.context);
    std::abort();
  }

  void GiveWay() {
    Thread& self = *running_;
    Thread& next = Next();
    if (&next == &self) return;
    running_ = &next;
    ALIQUOT_CHECK(swapcontext(&self.context, &next.context) == 0);
  }

  Thread& Next() {
    while (ready_.empty()) MoveClock();
    const size_t at = ready_.size() == 1 ? 0 : random_() % ready_.size();
    Thread& next = *ready_[at];
    ready_[at] = ready_.back();
    ready_.pop_back();
    return next;
  }

  void MoveClock() {
    if (timers_.empty()) {
      std::fprintf(stderr, "every thread waits for ever\n");
      std::abort();
    }
    const Timer timer = timers_.top();
    timers_.pop();
    const auto at = threads_.find(timer.id);
    Thread* thread = timer.id == main_.id ? &main_ : at == threads_.end() ? nullptr : &*at->second;
    if (thread == nullptr || thread->waits != timer.wait) return;  // woken before, or gone
    now_ = std::max(now_, timer.at);
    ++thread->waits;
    thread->timed_out = true;
    if (thread->waits_for != nullptr) std::erase(waiting_, thread);
    thread->waits_for = nullptr;
    ready_.push_back(thread);
  }

  std::mt19937_64 random_;
  int64_t now_ = 0;
  Thread main_;
  Thread* running_ = nullptr;
  pthread_t last_id_ = 0;
  std::map<pthread_t, std::unique_ptr<Thread>> threads_;  // without the first
  std::vector<Thread*> ready_;
  std::vector<Thread*> waiting_;  // for a condition, in the order they came
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  uint64_t last_timer_ = 0;
};

Machine* g_machine = nullptr;

void Machine::Begin() {
  g_machine->running_->run(g_machine->running_->argument);
  g_machine->End();
}

int64_t Nanoseconds(const timespec& time) { return time.tv_sec * kSecond + time.tv_nsec; }

int64_t OffsetOf(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ? kRealtimeAtStart
                                                                   : kMonotonicAtStart;
}

int WaitOnCondition(pthread_cond_t* condition, pthread_mutex_t* mutex,
                    std::optional<int64_t> until) {
  pthread_mutex_unlock(mutex);
  const bool woken = g_machine->Wait(condition, until);
  pthread_mutex_lock(mutex);
  return woken ? 0 : ETIMEDOUT;
}

}  // namespace

void RunMachine(uint64_t seed, const std::function<void()>& main) {
  Machine machine(seed);
  g_machine = &machine;
  main();
  ALIQUOT_CHECK(machine.alone());
  g_machine = nullptr;
}

Duration MachineTime() { return Duration(g_machine->now()); }

void Sleep(Duration time) { g_machine->Wait(nullptr, g_machine->now() + time.count()); }

double RealSeconds() {
  timespec time = {};
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
  return static_cast<double>(Nanoseconds(time)) / static_cast<double>(kSecond);
}

}  // namespace aliquot::simulation

// -------------------------------------------- in the place of the C library's

using aliquot::simulation::g_machine;

extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t*, void* (*run)(void*), void* argument) {
  if (g_machine == nullptr) return EAGAIN;
  *thread = g_machine->Start(run, argument);
  return 0;
}

int pthread_join(pthread_t thread, void** result) {
  g_machine->Join(thread);
  if (result != nullptr) *result = nullptr;
  return 0;
}

int pthread_detach(pthread_t thread) {
  g_machine->Detach(thread);
  return 0;
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  return aliquot::simulation::WaitOnCondition(condition, mutex, std::nullopt);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
  return aliquot::simulation::WaitOnCondition(
      condition, mutex,
      aliquot::simulation::Nanoseconds(*until) - aliquot::simulation::OffsetOf(clock));
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* until) {
  return pthread_cond_clockwait(condition, mutex, CLOCK_REALTIME, until);
}

int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  if (g_machine != nullptr) g_machine->Wake(condition, 1);
  return 0;
}

int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  if (g_machine != nullptr) g_machine->Wake(condition, SIZE_MAX);
  return 0;
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (g_machine == nullptr) return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  const int64_t now = g_machine->now() + aliquot::simulation::OffsetOf(clock);
  *time = {now / 1'000'000'000, now % 1'000'000'000};
  return 0;
}

int nanosleep(const timespec* time, timespec*) {
  aliquot::simulation::Sleep(aliquot::Duration(aliquot::simulation::Nanoseconds(*time)));
  return 0;
}

}  // extern "C"
