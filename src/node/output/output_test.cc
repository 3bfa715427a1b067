#include "node/output/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "base/os/files.h"
#include "base/os/os_testing.h"
#include "base/text/text.h"
#include "node/output/output_testing.h"
#include "node/output/relay.h"

namespace toprun::output {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class OutputTest : public testing::Test {
 protected:
  void SetUp() override {
    console_fd_ = Fd(::open((root_ / "out").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  }

  OutputPlan on_console(int fd) {
    OutputPlan plan;
    plan.console = std::make_shared<Terminal>(io_, ConsoleDescriptors{fd, fd}, false);
    return plan;
  }
  // Starts workers whose stdout and stderr share the console `fd`.
  std::vector<Output::Ends> begin(int fd, int workers, const StreamPlan& plan = {}) {
    return begin(on_console(fd), std::vector(static_cast<std::size_t>(workers), plan));
  }
  std::vector<Output::Ends> begin(OutputPlan common, const std::vector<StreamPlan>& plans) {
    output_ = std::make_unique<Output>(io_, std::move(common));
    std::vector<Output::Ends> ends;
    for (const StreamPlan& plan : plans) {
      StreamPlan err;
      err.rank = plan.rank;
      auto added = output_->add(plan, err);
      EXPECT_TRUE(added);
      ends.push_back(std::move(*added));
    }
    output_->start();
    return ends;
  }
  void finish() {
    bool flushed = false;
    output_->finish([&] { flushed = true; });
    const auto deadline = std::chrono::steady_clock::now() + test_limit;
    while (!flushed) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      io_.run_one_for(100ms);
    }
  }
  std::string console() const { return read_file(root_ / "out").value_or(""); }

  const TemporaryFolder folder_;
  const fs::path root_ = folder_.path();
  Fd console_fd_;
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  std::unique_ptr<Output> output_;
};

TEST_F(OutputTest, TearsNoLineWrittenInHalves) {
  constexpr int lines = 2000;
  auto ends = begin(console_fd_.get(), 4);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.emplace_back([fd = Fd(ends[static_cast<std::size_t>(rank)].out.release()), rank] {
      for (int i = 0; i < lines; ++i) {
        write_all(fd.get(), fmt::format("<{}:", rank));
        write_all(fd.get(), fmt::format("{}>\n", i));
      }
    });
  }
  ends.clear();
  finish();
  for (std::thread& rank : ranks) rank.join();

  std::map<std::string, int> next;
  const std::string out = console();
  for (const std::string_view line : words(out)) {
    const std::string rank(line.substr(0, 3));
    ASSERT_EQ(line, fmt::format("{}{}>", rank, next[rank]++));
  }
  EXPECT_EQ(next, (std::map<std::string, int>{
                      {"<0:", lines}, {"<1:", lines}, {"<2:", lines}, {"<3:", lines}}));
}

TEST_F(OutputTest, CopiesToFilesByteForByteAndPrefixesTheConsoleOnly) {
  StreamPlan plan;
  plan.file = root_ / "log";
  plan.prefix = "[default0]:";
  auto ends = begin(console_fd_.get(), 1, plan);
  const std::string bytes("a\n1%\r2%\r\n\0\xff\nlast", 17);
  write_all(ends[0].out.get(), bytes);
  ends.clear();
  finish();
  EXPECT_EQ(*read_file(root_ / "log"), bytes);
  EXPECT_EQ(console(),
            std::string("[default0]:a\n[default0]:1%\r[default0]:2%\r\n[default0]:\0\xff\n"
                        "[default0]:last",
                        72));
}

TEST_F(OutputTest, ShowsAnUnfinishedLineAfterSilence) {
  auto ends = begin(console_fd_.get(), 2);
  write_all(ends[0].out.get(), "(Pdb) ");
  const auto deadline = std::chrono::steady_clock::now() + test_limit;
  while (console().empty() && std::chrono::steady_clock::now() < deadline) io_.run_one_for(10ms);
  EXPECT_EQ(console(), "(Pdb) ");
  write_all(ends[1].out.get(), "other\n");
  ends.clear();
  finish();
  EXPECT_EQ(console(), "(Pdb) \nother\n");
}

TEST_F(OutputTest, KeepsWithinBoundsWithoutANewlineAndWithAStuckConsole) {
  constexpr std::size_t total = 100'000'000;
  constexpr std::size_t bound = 4'000'000;  // Writer's limit, two pipes and a round of reads
  Pipe stuck;
  auto ends = begin(stuck.writer.get(), 1);
  std::atomic<std::size_t> taken = 0;
  std::thread rank([&taken, fd = Fd(ends[0].out.release())] {
    const std::string piece(100'000, 'x');
    for (; taken < total; taken += piece.size()) write_all(fd.get(), piece);
  });
  ends.clear();
  // Nobody reads: output fills the queues up to their limits, then the rank has to wait.
  for (std::size_t before = 1; before != taken;) {
    before = taken;
    io_.run_for(200ms);
  }
  EXPECT_LT(taken, bound);
  std::size_t seen = 0;
  std::thread reader([&] {
    std::vector<char> buffer(1 << 16);
    for (ssize_t n; (n = ::read(stuck.reader.get(), buffer.data(), buffer.size())) > 0;) {
      seen += static_cast<std::size_t>(n);
    }
  });
  finish();
  rank.join();
  output_.reset();
  stuck.writer.reset();
  reader.join();
  EXPECT_EQ(seen, total);
}

TEST_F(OutputTest, AClosedConsoleDoesNotStopTheRank) {
  Pipe console;
  console.reader.reset();
  auto ends = begin(console.writer.get(), 1);
  std::thread rank([fd = Fd(ends[0].out.release())] {
    for (int i = 0; i < 100; ++i) write_all(fd.get(), std::string(100'000, 'x') + "\n");
  });
  ends.clear();
  testing::internal::CaptureStderr();
  finish();
  rank.join();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "toprun: cannot write to standard output: Broken pipe; toprun drops what ranks print "
            "there, and the job goes on\n");
  EXPECT_GT(output_->tail(0).text().size(), 0u);
}

TEST_F(OutputTest, AFullDiskIsSaidOnce) {
  StreamPlan plan;
  plan.file = "/dev/full";
  auto ends = begin(console_fd_.get(), 1, plan);
  std::thread rank([fd = Fd(ends[0].out.release())] {
    for (int i = 0; i < 100; ++i) write_all(fd.get(), std::string(100'000, 'x') + "\n");
  });
  ends.clear();
  testing::internal::CaptureStderr();
  finish();
  rank.join();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "toprun: cannot write to /dev/full: No space left on device; the job goes on, but its "
            "logs have gaps from now on\n");
  EXPECT_EQ(console().size(), 100u * 100'001u);
}

TEST_F(OutputTest, WaitsForANonBlockingConsole) {
  Pipe slow;
  ::fcntl(slow.writer.get(), F_SETFL, O_NONBLOCK);
  auto ends = begin(slow.writer.get(), 1);
  std::thread rank([fd = Fd(ends[0].out.release())] {
    write_all(fd.get(), std::string(1'000'000, 'x') + "\n");
  });
  ends.clear();
  std::size_t seen = 0;
  std::thread reader([&] {
    std::vector<char> buffer(5000);
    for (ssize_t n; (n = ::read(slow.reader.get(), buffer.data(), buffer.size())) > 0;) {
      seen += static_cast<std::size_t>(n);
    }
  });
  finish();
  output_.reset();
  slow.writer.reset();
  rank.join();
  reader.join();
  EXPECT_EQ(seen, 1'000'001u);
}

// Both streams rest after something was read, and are read again together.
TEST_F(OutputTest, WhatWasPrintedStandsBeforeTheTracebackThatFollows) {
  auto ends = begin(console_fd_.get(), 1);
  std::string expected;
  const auto wait_for_all = [&] {
    const auto deadline = std::chrono::steady_clock::now() + test_limit;
    while (output_->tail(0).text().size() < expected.size()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      io_.run_one_for(100ms);
    }
  };
  for (int i = 0; i < 20; ++i) {
    for (const std::string_view text : {"step\n", "hello\n"}) {
      write_all(ends[0].out.get(), text);
      write_all(ends[0].err.get(), "Traceback\n");
      expected += std::string(text) + "Traceback\n";
      wait_for_all();
    }
  }
  EXPECT_EQ(output_->tail(0).text(), expected);
  ends.clear();
  finish();
}

TEST_F(OutputTest, WhatAStreamPrintsWhileItRestsStandsBeforeALaterLineOfTheOther) {
  auto ends = begin(console_fd_.get(), 1);
  for (const bool begins_with_err : {false, true}) {
    const Fd& first = begins_with_err ? ends[0].err : ends[0].out;
    const Fd& second = begins_with_err ? ends[0].out : ends[0].err;
    const auto shown = console().size();
    write_all(first.get(), "1\n");
    while (console().size() == shown) io_.run_one_for(100ms);
    write_all(first.get(), "2\n");
    write_all(second.get(), "3\n");
    std::this_thread::sleep_for(1ms);
    while (console().size() < shown + 6) io_.run_one_for(100ms);
    EXPECT_EQ(console().substr(shown), "1\n2\n3\n");
    io_.run_for(20ms);
  }
  ends.clear();
  finish();
}

TEST_F(OutputTest, DropsWhatIsNotShownButKeepsItsEnd) {
  StreamPlan plan;
  plan.console = false;
  auto ends = begin(console_fd_.get(), 1, plan);
  std::thread rank([fd = Fd(ends[0].out.release())] {
    for (int i = 0; i < 100; ++i) write_all(fd.get(), std::string(100'000, 'x') + "\n");
    write_all(fd.get(), "the end\n");
  });
  ends.clear();
  finish();
  rank.join();
  EXPECT_EQ(console(), "");
  EXPECT_TRUE(output_->tail(0).text().ends_with("x\nthe end\n"));
}

TEST_F(OutputTest, CollectsFilteredLinesOfAllTeedRanks) {
  OutputPlan common = on_console(console_fd_.get());
  common.filtered_out = {root_ / "filtered", {"loss"}};
  StreamPlan teed;
  teed.prefix = "[r0]:";
  teed.filtered = true;
  auto ends = begin(common, {teed, teed, StreamPlan{}});
  for (const int worker : {0, 1, 2}) {
    const Output::Ends& each = ends[static_cast<std::size_t>(worker)];
    write_all(each.out.get(), fmt::format("step\nloss {}", worker));
    write_all(each.err.get(), "loss on stderr\n");
  }
  ends.clear();
  finish();
  EXPECT_EQ(*read_file(root_ / "filtered"), "[r0]:loss 0\n[r0]:loss 1\n");
  EXPECT_NE(console().find("loss 2"), std::string::npos);
}

TEST_F(OutputTest, FoldsWhatRanksSayAlikeAndKeepsTheStreamsApart) {
  const Fd err(::open((root_ / "err").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  OutputPlan common;
  common.console =
      std::make_shared<Terminal>(io_, ConsoleDescriptors{console_fd_.get(), err.get()}, false);
  common.fold = true;
  std::vector<StreamPlan> plans(3);
  for (int rank = 0; rank < 3; ++rank) {
    plans[static_cast<std::size_t>(rank)].rank = rank + 4;
    plans[static_cast<std::size_t>(rank)].file = root_ / fmt::format("log{}", rank);
  }
  auto ends = begin(common, plans);
  for (const Output::Ends& each : ends) write_all(each.out.get(), "start\n");
  write_all(ends[1].out.get(), "alone\n");
  write_all(ends[2].err.get(), "start\n");
  const auto deadline = std::chrono::steady_clock::now() + test_limit;
  while (console().find("alone") == std::string::npos &&
         std::chrono::steady_clock::now() < deadline) {
    io_.run_one_for(10ms);
  }
  EXPECT_EQ(console(), "[ranks 4-6] start\n[rank 5] alone\n");
  write_all(ends[0].out.get(), "bye");
  ends.clear();
  finish();
  EXPECT_EQ(console(), "[ranks 4-6] start\n[rank 5] alone\n[rank 4] bye\n");
  EXPECT_EQ(*read_file(root_ / "err"), "[rank 6] start\n");
  EXPECT_EQ(*read_file(root_ / "log0"), "start\nbye");
}

TEST_F(OutputTest, RotatesLogsWithoutLosingALine) {
  OutputPlan common = on_console(console_fd_.get());
  common.log_max_bytes = 100'000;
  StreamPlan plan;
  plan.console = false;
  plan.file = root_ / "log";
  auto ends = begin(common, {plan});
  std::string all;
  for (int i = 0; i < 45'000; ++i) all += fmt::format("line {}\n", i);  // within five files
  std::thread rank([&, fd = Fd(ends[0].out.release())] { write_all(fd.get(), all); });
  ends.clear();
  finish();
  rank.join();
  std::string joined;
  for (const char* const suffix : {".4", ".3", ".2", ".1", ""}) {
    const auto file = read_file(root_ / fmt::format("log{}", suffix));
    if (!file) continue;
    EXPECT_LE(file->size(), 100'000u);
    EXPECT_EQ(file->back(), '\n');
    joined += *file;
  }
  EXPECT_EQ(joined, all.substr(all.size() - joined.size()));
  EXPECT_GT(joined.size(), 400'000u);
}

TEST_F(OutputTest, ALogFolderThatGoesAwayIsSaidOnce) {
  fs::create_directory(root_ / "logs");
  OutputPlan common = on_console(console_fd_.get());
  common.log_max_bytes = 1000;
  StreamPlan plan;
  plan.file = root_ / "logs" / "log";
  auto ends = begin(common, {plan});
  fs::remove_all(root_ / "logs");
  std::thread rank([fd = Fd(ends[0].out.release())] {
    for (int i = 0; i < 1000; ++i) write_all(fd.get(), std::string(99, 'x') + "\n");
  });
  ends.clear();
  testing::internal::CaptureStderr();
  finish();
  rank.join();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            fmt::format("toprun: cannot write to {}: No such file or directory; the job goes on, "
                        "but its logs have gaps from now on\n",
                        (root_ / "logs" / "log").string()));
  EXPECT_EQ(console().size(), 100'000u);
}

TEST_F(OutputTest, AFilteredFileOnAFullDiskIsSaidOnce) {
  OutputPlan common = on_console(console_fd_.get());
  common.filtered_out = {"/dev/full", {"x"}};
  StreamPlan plan;
  plan.filtered = true;
  auto ends = begin(common, {plan, plan});
  for (const Output::Ends& each : ends) write_all(each.out.get(), "x\nx\n");
  ends.clear();
  testing::internal::CaptureStderr();
  finish();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "toprun: cannot write to /dev/full: No space left on device; the job goes on, but its "
            "logs have gaps from now on\n");
  EXPECT_EQ(console(), "x\nx\nx\nx\n");
}

TEST_F(OutputTest, GoesToARelayAsFarAsItsCreditReaches) {
  constexpr std::size_t total = 3'000'000;
  std::string delivered;
  const auto relay = Relay::create(
      io_, [&](bool, std::string lines) { delivered += lines; }, false);
  OutputPlan common;
  common.console = relay;
  auto ends = begin(common, {StreamPlan{}});
  std::thread rank([fd = Fd(ends[0].out.release())] {
    for (std::size_t i = 0; i < total; i += 100) write_all(fd.get(), std::string(99, 'x') + "\n");
  });
  ends.clear();
  for (std::size_t before = 1; before != delivered.size();) {
    before = delivered.size();
    io_.run_for(200ms);
  }
  EXPECT_GE(delivered.size(), Relay::default_credit_bytes - Output::read_bytes);
  EXPECT_LE(delivered.size(), Relay::default_credit_bytes);
  bool flushed = false;
  output_->finish([&] { flushed = true; });
  std::size_t taken = 0;
  const auto deadline = std::chrono::steady_clock::now() + test_limit;
  while (!flushed && std::chrono::steady_clock::now() < deadline) {
    const std::size_t owed = delivered.size() - std::exchange(taken, delivered.size());
    relay->sent(owed);
    io_.run_one_for(10ms);
  }
  rank.join();
  EXPECT_TRUE(flushed);
  EXPECT_EQ(delivered.size(), total);
}

TEST_F(OutputTest, ColoursThePrefixOnATerminal) {
  int user = -1;
  int ours = -1;
  ASSERT_EQ(::openpty(&user, &ours, nullptr, nullptr, nullptr), 0);
  const Fd user_end(user);
  const Fd our_end(ours);
  OutputPlan common;
  common.console =
      std::make_shared<Terminal>(io_, ConsoleDescriptors{our_end.get(), console_fd_.get()}, true);
  StreamPlan plan;
  plan.prefix = "[a0]:";
  auto ends = begin(common, {plan});
  write_all(ends[0].out.get(), "text\n");
  write_all(ends[0].err.get(), "text\n");
  ends.clear();
  finish();
  std::string seen(1000, '\0');
  const ssize_t n = ::read(user_end.get(), seen.data(), seen.size());
  EXPECT_EQ(seen.substr(0, static_cast<std::size_t>(n)), "\x1b[36m[a0]:\x1b[0mtext\r\n");
  EXPECT_EQ(console(), "text\n");
}

TEST_F(OutputTest, GivesATerminalToOneThatIsShownOnOne) {
  int user = -1;
  int ours = -1;
  const winsize size{.ws_row = 30, .ws_col = 120, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(::openpty(&user, &ours, nullptr, nullptr, &size), 0);
  const Fd user_end(user);
  const Fd our_end(ours);
  OutputPlan common;
  common.console =
      std::make_shared<Terminal>(io_, ConsoleDescriptors{our_end.get(), console_fd_.get()}, true);
  StreamPlan plan;
  plan.as_terminal = true;
  auto ends = begin(common, {plan, {}});
  EXPECT_EQ(::isatty(ends[0].out.get()), 1);
  EXPECT_EQ(::isatty(ends[0].err.get()), 0) << "the console's stderr is a file";
  EXPECT_EQ(::isatty(ends[1].out.get()), 0) << "one rank only";
  winsize seen{};
  ASSERT_EQ(::ioctl(ends[0].out.get(), TIOCGWINSZ, &seen), 0);
  EXPECT_EQ(seen.ws_col, 120);

  const winsize narrow{.ws_row = 30, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(::ioctl(user_end.get(), TIOCSWINSZ, &narrow), 0);
  output_->resize();
  ASSERT_EQ(::ioctl(ends[0].out.get(), TIOCGWINSZ, &seen), 0);
  EXPECT_EQ(seen.ws_col, 80);

  // More text than one read of a terminal returns, and no line end at its end.
  std::string text;
  for (int i = 0; i < 2000; ++i) text += fmt::format("{}%\r", i);
  std::thread rank([fd = Fd(ends[0].out.release()), &text] { write_all(fd.get(), text); });
  ends.clear();
  std::string shown;
  std::thread terminal([&] {
    char buffer[4096];
    while (shown.size() < text.size()) {
      const ssize_t n = ::read(user_end.get(), buffer, sizeof buffer);
      if (n <= 0) return;
      shown.append(buffer, static_cast<std::size_t>(n));
    }
  });
  finish();
  rank.join();
  terminal.join();
  EXPECT_EQ(shown, text);
}

TEST_F(OutputTest, AFileThatCannotBeOpenedIsAnError) {
  Output output(io_, on_console(console_fd_.get()));
  StreamPlan plan;
  plan.file = "/no/such/folder/log";
  const auto added = output.add(plan, {});
  ASSERT_FALSE(added);
  EXPECT_EQ(
      added.error().line(),
      "cannot write the log file /no/such/folder/log: No such file or directory; choose another "
      "folder with --log-dir");
}

}  // namespace
}  // namespace toprun::output
