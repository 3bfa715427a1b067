#include <fcntl.h>
#include <gtest/gtest.h>

#include "node/output/worker_pipes.h"

namespace toprun::output {
namespace {

struct ReadablePipe {
  ReadablePipe() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    read_end = Fd(ends[0]);
    write_end = Fd(ends[1]);
  }
  void print(std::string_view text) const {
    ASSERT_EQ(::write(write_end.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  Fd read_end;
  Fd write_end;
};

class ReadableTest : public testing::Test {
 protected:
  void SetUp() override {
    auto created = Readable::create(io, [this](std::size_t index) {
      reported.push_back(index);
      if (then) then();
    });
    ASSERT_TRUE(created.has_value());
    readable = *created;
    for (const ReadablePipe& pipe : pipes)
      ASSERT_TRUE(readable->add(pipe.read_end.get()).has_value());
  }

  std::vector<std::size_t> indexes_now() {
    io.restart();
    io.run_for(std::chrono::milliseconds(20));
    std::ranges::sort(reported);
    return std::exchange(reported, {});
  }

  boost::asio::io_context io;
  std::array<ReadablePipe, 2> pipes;
  std::shared_ptr<Readable> readable;
  std::vector<std::size_t> reported;
  std::function<void()> then;
};

using Indexes = std::vector<std::size_t>;

TEST_F(ReadableTest, APipeAtRestIsNotTold) {
  pipes[0].print("text");
  EXPECT_EQ(indexes_now(), Indexes{});
}

TEST_F(ReadableTest, AnArmedOneIsToldOnce) {
  readable->arm(pipes[0].read_end.get(), 7);
  EXPECT_EQ(indexes_now(), Indexes{});
  pipes[0].print("text");
  EXPECT_EQ(indexes_now(), Indexes{7});
  pipes[0].print("more");
  EXPECT_EQ(indexes_now(), Indexes{});
  readable->arm(pipes[0].read_end.get(), 7);
  EXPECT_EQ(indexes_now(), Indexes{7}) << "what came while it was at rest";
}

TEST_F(ReadableTest, TheEndIsToldToo) {
  for (std::size_t i = 0; i < pipes.size(); ++i) readable->arm(pipes[i].read_end.get(), i);
  pipes[1].write_end.reset();
  EXPECT_EQ(indexes_now(), Indexes{1});
}

TEST_F(ReadableTest, NothingAfterRemovalOrClose) {
  for (std::size_t i = 0; i < pipes.size(); ++i) {
    readable->arm(pipes[i].read_end.get(), i);
    pipes[i].print("text");
  }
  readable->remove(pipes[0].read_end.get());
  then = [this] { readable->close(); };
  EXPECT_EQ(indexes_now(), Indexes{1});
  pipes[1].print("more");
  EXPECT_EQ(indexes_now(), Indexes{});
}

TEST_F(ReadableTest, MayBeGivenUpFromWithin) {
  for (std::size_t i = 0; i < pipes.size(); ++i) {
    readable->arm(pipes[i].read_end.get(), i);
    pipes[i].print("text");
  }
  then = [this] {
    readable->close();
    readable.reset();
    then = {};
  };
  EXPECT_EQ(indexes_now().size(), 1u);
}

}  // namespace
}  // namespace toprun::output
