#include "machine/stacks/within.h"

#include <gtest/gtest.h>

#include <future>

namespace toprun::stacks {
namespace {

using namespace std::chrono_literals;

TEST(Within, GivesAnswersThatComeInTime) {
  EXPECT_EQ(within<int>(60s, [] { return 7; }), 7);
  EXPECT_EQ(within<int>(0ms, [] { return 7; }), std::nullopt);
}

TEST(Within, LeavesBehindWhatIsStuck) {
  std::promise<void> promise;
  const auto released = promise.get_future().share();
  const auto ended = std::make_shared<std::promise<void>>();
  EXPECT_EQ(within<int>(1ms,
                        [released, ended] {
                          released.wait();
                          ended->set_value();
                          return 7;
                        }),
            std::nullopt);
  promise.set_value();
  ended->get_future().wait();
}

TEST(Within, StartsNoThreadsWithoutEnd) {
  std::promise<void> promise;
  const auto released = promise.get_future().share();
  const auto started = std::make_shared<std::atomic<int>>(0);
  for (int i = 0; i < 2 * most_stuck; ++i) {
    ends_within(1ms, [released, started] {
      ++*started;
      released.wait();
    });
  }
  EXPECT_LE(*started, most_stuck);
  promise.set_value();
  // Once they have ended others may follow.
  while (!ends_within(60s, [] {})) std::this_thread::yield();
}

}  // namespace
}  // namespace toprun::stacks
