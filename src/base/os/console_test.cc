#include "base/os/console.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "base/os/fd.h"

namespace toprun {
namespace {

// A pipe in the place of stderr.
class ConsoleTest : public testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    reader_ = Fd(ends[0]);
    writer_ = Fd(ends[1]);
    before_ = Fd(::dup(STDERR_FILENO));
    ::dup2(writer_.get(), STDERR_FILENO);
  }
  void TearDown() override {
    ::dup2(before_.get(), STDERR_FILENO);
    set_log_sink(nullptr);
  }
  std::string read_some() {
    std::string text(1 << 16, '\0');
    const ssize_t n = ::read(reader_.get(), text.data(), text.size());
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
  }

  Fd reader_;
  Fd writer_;
  Fd before_;
};

struct Listener : LogSink {
  void write(int fd, std::string text) override {
    heard.push_back(std::to_string(fd == STDERR_FILENO ? 2 : -1) + text);
  }
  bool flush(std::chrono::milliseconds) override { return ++flushed, true; }

  std::vector<std::string> heard;
  int flushed = 0;
};

TEST_F(ConsoleTest, WaitsForANonBlockingDescriptor) {
  ::fcntl(writer_.get(), F_SETFL, O_NONBLOCK);
  const std::string filling(4096, 'x');
  std::size_t filled = 0;
  for (ssize_t n; (n = ::write(writer_.get(), filling.data(), filling.size())) > 0;) {
    filled += static_cast<std::size_t>(n);
  }
  ASSERT_GT(filled, 0u);
  std::atomic<bool> said = false;
  std::thread speaker([&] {
    say("late");
    said = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(said);
  std::string seen;
  while (seen.size() < filled) seen += read_some();
  speaker.join();
  ::fcntl(reader_.get(), F_SETFL, O_NONBLOCK);
  seen += read_some();
  EXPECT_EQ(seen.substr(filled), "toprun: late\n");
}

TEST_F(ConsoleTest, GivesASinkAllThatItWouldWrite) {
  const auto listener = std::make_shared<Listener>();
  const Fd copy(::dup(writer_.get()));
  say("before");
  set_log_sink(listener);
  say("a\033b");
  say_also_to(copy.get());
  say_block("c\n");
  say_also_to(-1);
  EXPECT_TRUE(flush_said());
  set_log_sink(nullptr);
  say("after");
  EXPECT_TRUE(flush_said());
  EXPECT_EQ(listener->flushed, 1);
  ASSERT_EQ(listener->heard.size(), 3u);
  EXPECT_TRUE(listener->heard[0].starts_with("2toprun: a"));
  EXPECT_EQ(listener->heard[0].find('\033'), std::string::npos);
  EXPECT_EQ(listener->heard[1], "2c\n");
  EXPECT_EQ(listener->heard[2], "-1c\n");
  EXPECT_EQ(read_some(), "toprun: before\ntoprun: after\n");
}

}  // namespace
}  // namespace toprun
