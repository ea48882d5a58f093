#include "server/worker_pool.h"

#include <gtest/gtest.h>

#include <latch>

namespace aliquot::server {
namespace {

TEST(WorkerPool, StartsThreadsAsJobsWaitAndQueuesTheRest) {
  std::latch four_run(4);
  std::latch all_done(6);
  std::latch release(1);
  WorkerPool pool({.name = "test", .max_threads = 4});
  for (int i = 0; i < 4; ++i) {
    pool.Run([&] {
      four_run.count_down();
      release.wait();
      all_done.count_down();
    });
  }
  four_run.wait();
  for (int i = 0; i < 2; ++i) pool.Run([&] { all_done.count_down(); });
  EXPECT_EQ(pool.threads(), 4u);
  EXPECT_TRUE(pool.Crowded());
  release.count_down();
  all_done.wait();
  EXPECT_FALSE(pool.Crowded());
}

TEST(WorkerPool, EndsIdleThreadsButOne) {
  WorkerPool pool({.name = "test", .max_threads = 8, .idle_timeout = std::chrono::milliseconds(1)});
  std::latch all_run(8);
  for (int i = 0; i < 8; ++i) pool.Run([&] { all_run.arrive_and_wait(); });
  all_run.wait();
  while (pool.threads() > 1) std::this_thread::yield();
  std::latch ran(1);
  pool.Run([&] { ran.count_down(); });
  ran.wait();
}

TEST(WorkerPool, DropsWaitingJobsWhenItStops) {
  std::latch started(1);
  std::latch release(1);
  std::atomic<int> ran = 0;
  WorkerPool pool({.name = "test", .max_threads = 1});
  pool.Run([&] {
    started.count_down();
    release.wait();
    ++ran;
  });
  started.wait();
  pool.Run([&] { ++ran; });
  std::thread stopper([&] { pool.Stop(); });
  while (pool.Crowded()) std::this_thread::yield();
  release.count_down();
  stopper.join();
  pool.Run([&] { ++ran; });
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace aliquot::server
