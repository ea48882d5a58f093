// A machine that exists only in this process: its threads are coroutines of one real
// thread, of which exactly one runs at any time, and its clock stands still while one of
// them can run. Who runs next is drawn from a seed, so that a run can be repeated.
//
// The code under test needs no seam for it. While Run is active this program's own
// pthread_create, pthread_join, pthread_cond_*, clock_gettime and nanosleep stand in for
// those of the C library: std::thread, condition variables (and with them CondVar,
// Reflector, NodeLocks, ...), std::this_thread::sleep_for and the clocks of std::chrono work
// on this machine.
//
// A thread gives way where it waits or sleeps and nowhere else. Nobody may do so while it
// holds a mutex that others lock: the run would hang, which is a finding, too.
#pragma once

#include <cstdint>
#include <functional>

#include "aliquot/base/clock.h"

namespace aliquot::simulation {

// Runs `main` as the first thread of a new machine. When it returns, all other threads must
// have ended. The clock begins at 2026-01-01T00:00:00Z.
void RunMachine(uint64_t seed, const std::function<void()>& main);

// Of the machine that runs.
Duration MachineTime();

void Sleep(Duration time);

// By the hardware's clock, also while a machine runs.
double RealSeconds();

}  // namespace aliquot::simulation
