#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>

#include "base/os/files.h"
#include "base/os/os_testing.h"
#include "node/output/console.h"
#include "node/output/output_testing.h"

namespace toprun::output {
namespace {

using namespace std::chrono_literals;

struct Write {
  bool is_err;
  std::string text;
};

struct Case {
  std::string_view what;
  std::vector<Write> writes;
  std::string_view shown;  // text on stdout
  std::string_view file;
};

class CopyingConsoleTest : public testing::Test {
 protected:
  bool run_until(const std::function<bool()>& done) {
    const auto deadline = std::chrono::steady_clock::now() + test_limit;
    while (!done() && std::chrono::steady_clock::now() < deadline) io_.run_one_for(10ms);
    return done();
  }
  Fd open(const std::string& path, int flags) const {
    return Fd(::open(path.c_str(), flags | O_WRONLY | O_APPEND | O_CLOEXEC, 0600));
  }
  std::string path_of(const std::string& name) const { return (folder_.path() / name).string(); }

  const TemporaryFolder folder_;
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
};

TEST_F(CopyingConsoleTest, ShowsAndKeepsEveryLine) {
  const Case cases[] = {
      {"one stream", {{false, "a\n"}, {false, "b\n"}}, "a\nb\n", "a\nb\n"},
      {"both in the order of their coming",
       {{false, "a\n"}, {true, "b\n"}, {false, "c\n"}},
       "a\nc\n",
       "a\nb\nc\n"},
      {"an unfinished line, then the other stream", {{false, "a"}, {true, "b\n"}}, "a", "a\nb\n"},
      {"an unfinished line that goes on", {{false, "a"}, {false, "b\n"}}, "ab\n", "ab\n"},
      {"a line that ends at \\r", {{false, "1%\r"}, {true, "b\n"}}, "1%\r", "1%\rb\n"},
      {"a terminal's new line was given", {{false, "a"}, {true, "\nb\n"}}, "a", "a\nb\n"},
      {"nothing", {{false, ""}}, "", ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    const std::string out = path_of("out"), err = path_of("err"), copy = path_of("copy");
    const Fd out_fd = open(out, O_CREAT | O_TRUNC), err_fd = open(err, O_CREAT | O_TRUNC);
    auto shown =
        std::make_shared<Terminal>(io_, ConsoleDescriptors{out_fd.get(), err_fd.get()}, false);
    CopyingConsole console(io_, shown, open(copy, O_CREAT | O_TRUNC), copy);
    for (const Write& write : c.writes) console.write(write.is_err, write.text);
    ASSERT_TRUE(run_until([&] { return console.idle(); }));
    EXPECT_EQ(read_file(out).value_or("?"), c.shown);
    EXPECT_EQ(read_file(copy).value_or("?"), c.file);
  }
}

TEST_F(CopyingConsoleTest, TheFilesLastLineIsCompletedAtTheEnd) {
  for (const char* last : {"step 1", "1%\r", "step 1\n"}) {
    SCOPED_TRACE(last);
    const std::string out = path_of("out"), copy = path_of("copy");
    const Fd out_fd = open(out, O_CREAT | O_TRUNC);
    auto shown =
        std::make_shared<Terminal>(io_, ConsoleDescriptors{out_fd.get(), out_fd.get()}, false);
    CopyingConsole console(io_, shown, open(copy, O_CREAT | O_TRUNC), copy);
    console.write(false, last);
    console.end_line();
    ASSERT_TRUE(run_until([&] { return console.idle(); }));
    console.end_line();
    EXPECT_TRUE(console.idle()) << "whoever waits for this ends the line each time";
    EXPECT_EQ(read_file(out).value_or("?"), last);
    EXPECT_EQ(read_file(copy).value_or("?"),
              std::string(last) + (std::string(last).ends_with('\n') ? "" : "\n"));
  }
}

TEST_F(CopyingConsoleTest, GoesOnWhereTheDiskIsFull) {
  const std::string out = path_of("out");
  const Fd out_fd = open(out, O_CREAT);
  auto shown =
      std::make_shared<Terminal>(io_, ConsoleDescriptors{out_fd.get(), out_fd.get()}, false);
  Fd full = open("/dev/full", 0);
  ASSERT_TRUE(full);
  CopyingConsole console(io_, shown, std::move(full), "/dev/full");
  testing::internal::CaptureStderr();
  for (const char* line : {"a\n", "b\n", "c\n"}) {
    console.write(false, line);
    ASSERT_TRUE(run_until([&] { return console.idle(); }));
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(read_file(out).value_or("?"), "a\nb\nc\n");
  EXPECT_NE(said.find("cannot write /dev/full: No space left on device; the job goes on"),
            std::string::npos)
      << said;
  EXPECT_EQ(said.find("/dev/full"), said.rfind("/dev/full")) << said;
}

}  // namespace
}  // namespace toprun::output
