// Tests with workers that print more than the console takes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "base/text/clock.h"
#include "node/output/output.h"
#include "node/output/output_testing.h"

namespace toprun::output {
namespace {

using namespace std::chrono_literals;

constexpr auto pause_of_reader = 10ms;
constexpr std::size_t bytes_per_read = 50'000;  // so the console takes 5 MB/s

// The reading end of a pipe: a slow terminal that records the arrival time of each message.
class SlowConsole {
 public:
  SlowConsole() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    reader_ = Fd(ends[0]);
    writer_ = Fd(ends[1]);
    thread_ = std::thread([this] { read(); });
  }
  ~SlowConsole() { join(); }

  int fd() const { return writer_.get(); }
  void speed_up() { slow_ = false; }
  void join() {
    writer_.reset();
    if (thread_.joinable()) thread_.join();
  }
  // The arrival times of the lines that begin with "message".
  std::map<std::string, SteadyTime> messages() {
    const std::lock_guard lock(mutex_);
    return messages_;
  }
  // Bytes of other lines, by their first letter.
  std::map<char, std::size_t> shares() {
    const std::lock_guard lock(mutex_);
    return shares_;
  }

 private:
  void read() {
    std::vector<char> buffer(bytes_per_read);
    std::string held;
    for (ssize_t n; (n = ::read(reader_.get(), buffer.data(), buffer.size())) > 0;) {
      held.append(buffer.data(), static_cast<std::size_t>(n));
      for (std::size_t end; (end = held.find('\n')) != std::string::npos;) {
        note(held.substr(0, end));
        held.erase(0, end + 1);
      }
      if (slow_) std::this_thread::sleep_for(pause_of_reader);
    }
  }
  void note(const std::string& line) {
    const std::lock_guard lock(mutex_);
    if (line.starts_with("message")) {
      messages_[line] = std::chrono::steady_clock::now();
    } else {
      shares_[line.front()] += line.size();
    }
  }

  Fd reader_;
  Fd writer_;
  std::atomic<bool> slow_ = true;
  std::mutex mutex_;
  std::map<std::string, SteadyTime> messages_;
  std::map<char, std::size_t> shares_;
  std::thread thread_;
};

// Two workers print without end; a third one prints a message now and then.
class Flood {
 public:
  static constexpr int messages = 5;

  explicit Flood(std::vector<Output::Ends> ends) {
    for (const char letter : {'a', 'b'}) {
      Fd& end = ends[static_cast<std::size_t>(letter - 'a')].out;
      threads_.emplace_back([this, letter, fd = std::move(end)] {
        const std::string line = std::string(99, letter) + "\n";
        while (!enough_) write_all(fd.get(), line);
      });
    }
    threads_.emplace_back([this, fd = std::move(ends[2].out)] {
      for (int i = 0; i < messages; ++i) {
        std::this_thread::sleep_for(100ms);  // the message then meets a full queue
        const std::string line = fmt::format("message {}", i);
        said_[line] = std::chrono::steady_clock::now();
        write_all(fd.get(), line + "\n");
      }
    });
  }
  void stop() { enough_ = true; }
  std::map<std::string, SteadyTime> said() {
    for (std::thread& thread : threads_) thread.join();
    return said_;
  }

 private:
  std::atomic<bool> enough_ = false;
  std::map<std::string, SteadyTime> said_;
  std::vector<std::thread> threads_;
};

TEST(OutputFlood, DelaysOthersByNoMoreThanTheQueueAndSharesTheConsole) {
  constexpr auto limit = 20s;  // the queue is 256 KiB: 0.1 s on an idle machine
  boost::asio::io_context io;
  const auto work = boost::asio::make_work_guard(io);
  SlowConsole console;
  OutputPlan plan;
  plan.console =
      std::make_shared<Terminal>(io, ConsoleDescriptors{console.fd(), console.fd()}, false);
  auto output = std::make_unique<Output>(io, plan);
  std::vector<Output::Ends> ends;
  for (int i = 0; i < 3; ++i) ends.push_back(std::move(*output->add({}, {})));
  output->start();
  Flood flood(std::move(ends));

  const auto deadline = std::chrono::steady_clock::now() + test_limit;
  const auto run_until = [&](const std::function<bool()>& done) {
    while (!done() && std::chrono::steady_clock::now() < deadline) io.run_one_for(10ms);
    ASSERT_TRUE(done());
  };
  run_until([&] { return console.messages().size() == Flood::messages; });
  auto shares = console.shares();
  flood.stop();
  console.speed_up();
  bool flushed = false;
  output->finish([&] { flushed = true; });
  run_until([&] { return flushed; });
  output.reset();
  plan.console.reset();
  console.join();

  const auto seen = console.messages();
  for (const auto& [line, time] : flood.said()) EXPECT_LT(seen.at(line) - time, limit) << line;
  // A loaded machine does not share evenly, but neither worker may starve.
  EXPECT_GT(shares['a'], shares['b'] / 20);
  EXPECT_GT(shares['b'], shares['a'] / 20);
}

}  // namespace
}  // namespace toprun::output
