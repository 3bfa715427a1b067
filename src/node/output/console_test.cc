#include "node/output/console.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>

#include <thread>

#include "node/output/output_testing.h"

namespace toprun::output {
namespace {

using namespace std::chrono_literals;

class TerminalTest : public testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    reader_ = Fd(ends[0]);
    writer_ = Fd(ends[1]);
  }
  bool run_until(const std::function<bool()>& done) {
    const auto deadline = std::chrono::steady_clock::now() + test_limit;
    while (!done() && std::chrono::steady_clock::now() < deadline) io_.run_one_for(10ms);
    return done();
  }
  std::string read_some() {
    std::string text(1 << 16, '\0');
    const ssize_t n = ::read(reader_.get(), text.data(), text.size());
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
  }

  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  Fd reader_;
  Fd writer_;
};

TEST_F(TerminalTest, KeepsTheUnfinishedLinesOfNodesApart) {
  Terminal terminal(io_, {writer_.get(), writer_.get()}, false);
  int taken = 0;
  const auto take = [&] { ++taken; };
  terminal.show("n1", false, "a", take);
  terminal.show("n1", false, "b\nc", take);
  terminal.show("n2", true, "d\n", take);
  terminal.show("n1", false, "e\n", take);
  EXPECT_EQ(taken, 4);
  bool written = false;
  terminal.when_written([&] { written = true; });
  ASSERT_TRUE(run_until([&] { return written; }));
  EXPECT_EQ(read_some(), "ab\nc\nd\ne\n");
}

TEST_F(TerminalTest, AnAttemptsFirstLineDoesNotFollowAnUnfinishedOne) {
  for (const bool shared : {false, true}) {
    SCOPED_TRACE(shared);
    Terminal terminal(io_, {writer_.get(), writer_.get(), shared}, false);
    const auto show = [&](const char* text) {
      terminal.write(false,
                     Display(terminal.new_source(), "", terminal.cursor(false)).compose(text));
    };
    const auto written = [&] {
      bool done = false;
      terminal.when_written([&] { done = true; });
      EXPECT_TRUE(run_until([&] { return done; }));
      write_all(writer_.get(), "|");  // read_some() waits for text
      return read_some();
    };
    show("step 1");
    terminal.end_line();
    EXPECT_EQ(written(), shared ? "step 1\n|" : "step 1|");
    show("step 2\n");
    show("step 3");
    terminal.end_line();
    EXPECT_EQ(written(), shared ? "step 2\nstep 3\n|" : "\nstep 2\nstep 3|");
  }
}

TEST_F(TerminalTest, TakesNoMoreThanItHasRoomFor) {
  Terminal terminal(io_, {writer_.get(), writer_.get()}, false);
  const std::string piece(64 * 1024, 'x');
  std::size_t given = 0;
  std::size_t taken = 0;
  while (taken == given) {
    given += piece.size();
    ASSERT_LT(given, 2 * Terminal::limits.high_bytes);
    terminal.show("n1", false, piece, [&] { taken += piece.size(); });
  }
  bool written = false;
  terminal.when_written([&] { written = true; });
  std::size_t seen = 0;
  std::thread reader([&] {
    while (seen < given) seen += read_some().size();
  });
  EXPECT_TRUE(run_until([&] { return written; }));
  reader.join();
  EXPECT_EQ(taken, given);
}

TEST_F(TerminalTest, ShowsColoursOnATerminalOnly) {
  int user = -1;
  int ours = -1;
  ASSERT_EQ(::openpty(&user, &ours, nullptr, nullptr, nullptr), 0);
  const Fd user_end(user);
  const Fd our_end(ours);
  const Terminal coloured(io_, {our_end.get(), writer_.get()}, true);
  EXPECT_TRUE(coloured.shows_colours(false));
  EXPECT_FALSE(coloured.shows_colours(true));
  const Terminal plain(io_, {our_end.get(), our_end.get()}, false);
  EXPECT_FALSE(plain.shows_colours(false));
}

}  // namespace
}  // namespace toprun::output
