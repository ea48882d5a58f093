#include "aliquot/scheduler/in_flight.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>
#include <vector>

namespace aliquot::scheduler {
namespace {

using namespace std::chrono_literals;

SteadyTime In(Duration time) { return std::chrono::steady_clock::now() + time; }

TEST(InFlightTest, APodIsOneCallersAtATime) {
  InFlight in_flight;
  const InFlight::Turn first = in_flight.Enter("uid-p", In(-1s));
  EXPECT_TRUE(first);
  EXPECT_FALSE(in_flight.Enter("uid-p", In(-1s)));
  EXPECT_FALSE(in_flight.Enter("uid-p", In(10ms)));
  EXPECT_TRUE(in_flight.Enter("uid-q", In(-1s)));
}

TEST(InFlightTest, TheTurnEndsWithItsObject) {
  InFlight in_flight;
  {
    InFlight::Turn first = in_flight.Enter("uid-p", In(-1s));
    const InFlight::Turn moved = std::move(first);
    EXPECT_TRUE(moved);
    EXPECT_FALSE(first);  // NOLINT: what a moved-from turn says
  }
  EXPECT_TRUE(in_flight.Enter("uid-p", In(-1s)));
}

TEST(InFlightTest, ARefusedTurnDoesNotEndTheOther) {
  InFlight in_flight;
  const InFlight::Turn first = in_flight.Enter("uid-p", In(-1s));
  { const InFlight::Turn refused = in_flight.Enter("uid-p", In(-1s)); }
  EXPECT_FALSE(in_flight.Enter("uid-p", In(-1s)));
}

TEST(InFlightTest, TheNextCallerIsWoken) {
  InFlight in_flight;
  std::optional<InFlight::Turn> first(in_flight.Enter("uid-p", In(-1s)));
  std::thread next([&] { EXPECT_TRUE(in_flight.Enter("uid-p", In(60s))); });
  first.reset();
  next.join();
}

TEST(InFlightTest, ManyCallersTakeTurns) {
  InFlight in_flight;
  int inside = 0;  // guarded by the turn alone
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i)
    callers.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        const InFlight::Turn turn = in_flight.Enter("uid-p", In(60s));
        ASSERT_TRUE(turn);
        EXPECT_EQ(++inside, 1);
        --inside;
      }
    });
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace aliquot::scheduler
