#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "base/os/console.h"
#include "base/os/fd.h"
#include "node/output/console.h"
#include "node/output/output_testing.h"

namespace toprun::output {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

struct PipeAsTerminal {
  PipeAsTerminal() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    reader = Fd(ends[0]);
    writer = Fd(ends[1]);
  }
  // The number of bytes after which the terminal takes no more.
  std::size_t fill() const {
    ::fcntl(writer.get(), F_SETFL, O_NONBLOCK);
    const std::string filling(4096, 'x');
    std::size_t filled = 0;
    for (ssize_t n; (n = ::write(writer.get(), filling.data(), filling.size())) > 0;) {
      filled += static_cast<std::size_t>(n);
    }
    ::fcntl(writer.get(), F_SETFL, 0);
    return filled;
  }
  std::string read_some() const {
    std::string text(1 << 16, '\0');
    const ssize_t n = ::read(reader.get(), text.data(), text.size());
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
  }
  std::string read_until(std::string_view end, std::size_t after = 0) const {
    std::string seen;
    while (seen.size() <= after || seen.find(end, after) == std::string::npos) seen += read_some();
    return seen.substr(after);
  }

  Fd reader;
  Fd writer;
};

class OwnLinesTest : public testing::Test {
 protected:
  void TearDown() override { say_also_to(-1); }
  bool run_until(const std::function<bool()>& done) {
    const auto deadline = steady_clock::now() + test_limit;
    while (!done() && steady_clock::now() < deadline) io_.run_one_for(10ms);
    return done();
  }

  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  PipeAsTerminal shown_;
};

TEST_F(OwnLinesTest, StandInOrderWithWhatWorkersPrint) {
  Terminal terminal(io_, {shown_.writer.get(), shown_.writer.get()}, false);
  OwnLines lines(io_, terminal);
  terminal.write(false, "a\n");
  say("b");
  terminal.write(true, "c\n");
  say("d");
  bool written = false;
  lines.when_written([&] { written = true; });
  ASSERT_TRUE(run_until([&] { return written; }));
  EXPECT_EQ(shown_.read_some(), "a\ntoprun: b\nc\ntoprun: d\n");
}

TEST_F(OwnLinesTest, HoldNobodyUpWhileATerminalOrTheCopyTakesNothing) {
  PipeAsTerminal copy;
  for (const bool stuck_copy : {false, true}) {
    SCOPED_TRACE(stuck_copy);
    const std::size_t filled = (stuck_copy ? copy : shown_).fill();
    Terminal terminal(io_, {shown_.writer.get(), shown_.writer.get()}, false);
    OwnLines lines(io_, terminal);
    if (stuck_copy) say_also_to(copy.writer.get());
    say("at last");
    bool written = false;
    lines.when_written([&] { written = true; });
    io_.run_for(50ms);
    EXPECT_FALSE(written);
    std::thread reader([&] {
      EXPECT_EQ((stuck_copy ? copy : shown_).read_until("\n", filled), "toprun: at last\n");
    });
    EXPECT_TRUE(run_until([&] { return written; }));
    reader.join();
  }
}

TEST_F(OwnLinesTest, GetOutAtTheEndWithinALimit) {
  const std::size_t filled = shown_.fill();
  const auto began = steady_clock::now();
  {
    Terminal terminal(io_, {shown_.writer.get(), shown_.writer.get()}, false);
    OwnLines lines(io_, terminal);
    say("lost");
    EXPECT_FALSE(flush_said());
    lines.give_up();
  }
  EXPECT_GE(steady_clock::now() - began, last_words_limit);
  EXPECT_LT(steady_clock::now() - began, test_limit);
  while (shown_.read_until("", 0).size() < filled / 2) {
  }
  {
    Terminal terminal(io_, {shown_.writer.get(), shown_.writer.get()}, false);
    OwnLines lines(io_, terminal);
    say("found");
  }  // no event loop runs
  EXPECT_NE(shown_.read_until("found\n").find("toprun: found\n"), std::string::npos);
}

TEST_F(OwnLinesTest, AreDroppedBeyondALimitAndCounted) {
  Terminal terminal(io_, {shown_.writer.get(), shown_.writer.get()}, false);
  OwnLines lines(io_, terminal);
  const std::size_t filled = shown_.fill();
  const std::string much(1u << 20, 'y');
  for (int i = 0; i < 10; ++i) say(much);
  std::thread reader([&] {
    constexpr std::size_t around = std::string_view("toprun: \n").size();
    shown_.read_until("y\n", filled + 3 * (much.size() + around));  // four lines were accepted
    const auto deadline = steady_clock::now() + test_limit;
    while (!flush_said() && steady_clock::now() < deadline) {
    }
    EXPECT_LT(steady_clock::now(), deadline);
    say("again");
    EXPECT_TRUE(shown_.read_until("again\n").ends_with(
        "toprun: 6 lines of toprun's own are missing here\ntoprun: again\n"));
  });
  reader.join();
}

TEST_F(OwnLinesTest, ComeFromAnyThread) {
  constexpr int threads = 4;
  constexpr int each = 200;
  std::string seen;
  std::thread reader([&] {
    while (std::ranges::count(seen, '\n') < threads * each) seen += shown_.read_some();
  });
  {
    Terminal terminal(io_, {shown_.writer.get(), shown_.writer.get()}, false);
    OwnLines lines(io_, terminal);
    std::vector<std::thread> callers;
    for (int i = 0; i < threads; ++i) {
      callers.emplace_back([] {
        for (int line = 0; line < each; ++line) say("one line");
      });
    }
    for (std::thread& caller : callers) caller.join();
  }
  reader.join();
  std::string expected;
  for (int i = 0; i < threads * each; ++i) expected += "toprun: one line\n";
  EXPECT_EQ(seen, expected);
}

}  // namespace
}  // namespace toprun::output
