#include "base/os/pool.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

namespace toprun {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::minutes long_enough{1};

// What a thread waits for until the test lets it go, or for ever.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
  int waiting = 0;

  int wait() {
    std::unique_lock lock(mutex);
    ++waiting;
    changed.notify_all();
    changed.wait(lock, [this] { return open; });
    return 0;
  }
  void let_go() {
    const std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }
  void await(int count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return waiting == count; });
  }
};

TEST(Pool, WorksElsewhereAndAnswersHere) {
  boost::asio::io_context io;
  Pool pool(io);
  const auto here = std::this_thread::get_id();
  std::thread::id worked;
  char name[16] = {};
  std::string got;
  pool.run<std::string>(
      long_enough,
      [&] {
        worked = std::this_thread::get_id();
        ::pthread_getname_np(::pthread_self(), name, sizeof name);
        return std::string("answer");
      },
      [&](Pool::Answer<std::string> answer) {
        EXPECT_EQ(std::this_thread::get_id(), here);
        got = answer.value_or("none");
      });
  io.run();  // does not run out before the answer
  EXPECT_EQ(got, "answer");
  EXPECT_NE(worked, here);
  EXPECT_STREQ(name, "toprun-pool");
}

TEST(Pool, TakesWhatCanOnlyBeMovedAndKeepsItsThreads) {
  boost::asio::io_context io;
  Pool pool(io);
  std::set<std::thread::id> threads;
  for (int i = 0; i < 100; ++i) {
    std::unique_ptr<std::thread::id> got;
    pool.run<std::unique_ptr<std::thread::id>>(
        long_enough, [] { return std::make_unique<std::thread::id>(std::this_thread::get_id()); },
        [&](Pool::Answer<std::unique_ptr<std::thread::id>> answer) { got = *std::move(answer); });
    io.restart();
    io.run();
    ASSERT_TRUE(got);
    threads.insert(*got);
  }
  EXPECT_LE(threads.size(), 4u);
}

TEST(Pool, WhatHangsHoldsUpOnlyItsOwnThread) {
  boost::asio::io_context io;
  const auto gate = std::make_shared<Gate>();
  Pool pool(io, {.threads = 2, .waiting = 10});
  pool.run<int>(
      long_enough, [gate] { return gate->wait(); }, [](Pool::Answer<int>) {});
  int answers = 0;
  for (int i = 0; i < 5; ++i) {
    pool.run<int>(
        long_enough, [i] { return i; },
        [&, i](Pool::Answer<int> answer) {
          EXPECT_EQ(answer, i);
          if (++answers == 5) gate->let_go();
        });
  }
  io.run();
  EXPECT_EQ(answers, 5);
}

TEST(Pool, WhatFindsTheQueueFullHasNoAnswer) {
  boost::asio::io_context io;
  const auto gate = std::make_shared<Gate>();
  Pool pool(io, {.threads = 1, .waiting = 2});
  std::vector<Pool::Answer<int>> answers(4, -1);
  const auto put = [&](std::size_t i) {
    pool.run<int>(
        long_enough, [gate] { return gate->wait(); },
        [&, i](Pool::Answer<int> answer) {
          answers[i] = answer;
          if (i == 3) gate->let_go();  // the last question is the first to be answered
        });
    EXPECT_EQ(answers[i], -1) << "answered before run() returned";
  };
  put(0);
  gate->await(1);
  for (const std::size_t i : {1u, 2u, 3u}) put(i);
  io.run();
  EXPECT_EQ(answers,
            (std::vector<Pool::Answer<int>>{0, 0, 0, std::unexpected(Pool::NoAnswer::not_begun)}));
}

TEST(Pool, WhatTakesTooLongHasNoAnswerAndIsHeardOnce) {
  boost::asio::io_context io;
  const auto gate = std::make_shared<Gate>();
  Pool pool(io, {.threads = 1, .waiting = 2});
  std::vector<Pool::Answer<int>> answers;
  pool.run<int>(
      20ms, [gate] { return gate->wait(); },
      [&](Pool::Answer<int> answer) {
        answers.push_back(answer);
        gate->let_go();
        pool.run<int>(
            long_enough, [] { return 7; },
            [&](Pool::Answer<int> next) { answers.push_back(next); });
      });
  io.run();
  EXPECT_EQ(answers, (std::vector<Pool::Answer<int>>{std::unexpected(Pool::NoAnswer::late), 7}));
}

// The one that hangs is another question: its file system, and not this one's, is to blame.
TEST(Pool, WhatWaitsForAThreadAllTheTimeWasNotBegun) {
  boost::asio::io_context io;
  const auto gate = std::make_shared<Gate>();
  Pool pool(io, {.threads = 1, .waiting = 2});
  std::vector<std::string> words;
  const auto put = [&](std::chrono::milliseconds limit) {
    pool.run<int>(
        limit, [gate] { return gate->wait(); },
        [&, limit](Pool::Answer<int> answer) {
          ASSERT_FALSE(answer);
          words.push_back(Pool::words_for(answer.error(), limit));
          if (words.size() == 2) gate->let_go();
        });
  };
  put(40ms);
  gate->await(1);
  put(20ms);
  io.run();
  std::ranges::sort(words);
  EXPECT_EQ(
      words,
      (std::vector<std::string>{
          "no answer after 40 ms",
          "not started: all threads for such work wait for other files or programs that hang"}));
}

TEST(Pool, EndsAlthoughAThreadIsStuck) {
  const auto gate = std::make_shared<Gate>();
  bool answered = false;
  const auto began = std::make_shared<bool>(false);
  {
    boost::asio::io_context io;
    Pool pool(io, {.threads = 1, .waiting = 2});
    const auto done = [&](Pool::Answer<int>) { answered = true; };
    pool.run<int>(
        long_enough, [gate] { return gate->wait(); }, done);
    gate->await(1);
    pool.run<int>(
        long_enough, [began] { return *began = true, 0; }, done);
  }
  gate->let_go();
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(answered);
  EXPECT_FALSE(*began);
}

TEST(Pool, ACoroutineWaitsUpToItsLimit) {
  boost::asio::io_context io;
  const auto gate = std::make_shared<Gate>();
  Pool pool(io, {.threads = 2, .waiting = 2});
  Pool::Answer<int> soon = 0;
  Pool::Answer<int> never = 1;
  boost::asio::co_spawn(
      io,
      [&]() -> boost::asio::awaitable<void> {
        const std::function<int()> quick = [] { return 7; };
        const std::function<int()> stuck = [gate] { return gate->wait(); };
        soon = co_await pool.answer<int>(quick, 10s);
        never = co_await pool.answer<int>(stuck, 20ms);
        gate->let_go();
      },
      boost::asio::detached);
  io.run();
  EXPECT_EQ(soon, 7);
  EXPECT_EQ(never, std::unexpected(Pool::NoAnswer::late));
}

TEST(Pool, AnAnswerMayEndThePool) {
  boost::asio::io_context io;
  auto pool = std::make_unique<Pool>(io);
  for (int i = 0; i < 3; ++i) {
    pool->run<int>(
        long_enough, [] { return 0; }, [&](Pool::Answer<int>) { pool.reset(); });
  }
  io.run();
  EXPECT_FALSE(pool);
}

}  // namespace
}  // namespace toprun
