#include "node/output/writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/os/fd.h"

namespace toprun::output {
namespace {

using namespace std::chrono_literals;

const std::string drawn = "\x1b[?7lwaiting\x1b[?7h\r";
const std::string erased = "\r\x1b[J";

class WriterTest : public testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    reader_ = Fd(ends[0]);
    terminal_ = Fd(ends[1]);
  }
  void TearDown() override { writer_->abandon(); }
  std::string written() {
    EXPECT_TRUE(writer_->flush(std::chrono::steady_clock::now() + 60s));
    std::string text(1 << 12, '\0');
    const ssize_t n = ::read(reader_.get(), text.data(), text.size());
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
  }
  void show_below(std::string line) { writer_->show_below(terminal_.get(), std::move(line)); }
  void write(std::string text) { writer_->write(terminal_.get(), std::move(text)); }

  boost::asio::io_context io_;
  Fd reader_;
  Fd terminal_;
  std::shared_ptr<Writer> writer_ = Writer::create(io_, {}, {});
};

TEST_F(WriterTest, ALineBelowIsErasedBeforeAnyText) {
  show_below("waiting");
  EXPECT_EQ(written(), drawn);
  write("text\n");
  write("more\n");
  EXPECT_EQ(written(), erased + "text\nmore\n");
  show_below("");
  EXPECT_EQ(written(), "") << "there is nothing left to erase";
}

TEST_F(WriterTest, ALineBelowReplacesTheOneBefore) {
  show_below("before");
  written();
  show_below("waiting");
  EXPECT_EQ(written(), erased + drawn);
  show_below("");
  EXPECT_EQ(written(), erased);
}

// Whether or not the two are written at once.
TEST_F(WriterTest, WhatIsOfferedBeginsALine) {
  const auto offer = [&](std::string text) {
    ASSERT_TRUE(writer_->offer(terminal_.get(), std::move(text), 1u << 20));
  };
  for (const char* bar : {"45/100", "\r 45%", "45%\r"}) {
    write(bar);
    offer("toprun: one\n");
    offer("toprun: two\n");
    EXPECT_EQ(written(), std::string(bar) + "\ntoprun: one\ntoprun: two\n");
  }
  write("a line\n");
  offer("toprun: three\n");
  EXPECT_EQ(written(), "a line\ntoprun: three\n");
}

TEST_F(WriterTest, NothingIsShownInTheMiddleOfALine) {
  for (const char* text : {"name? ", " 10%\r"}) {
    write(text);
    show_below("waiting");
    EXPECT_EQ(written(), text);
  }
  write("\n");
  show_below("waiting");
  EXPECT_EQ(written(), "\n" + drawn);
}

}  // namespace
}  // namespace toprun::output
