#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <optional>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>

#include "base/os/fd.h"
#include "node/prepare/stage/serve.h"

namespace toprun::stage {
namespace {

namespace asio = boost::asio;

const std::string their_line = "an agent that asks\n", our_line = "an agent that answers\n";
constexpr std::size_t room = 4;

Hash key_of_letter(std::uint8_t letter) {
  Hash key{};
  key.fill(letter);
  return key;
}

class EntranceTest : public testing::Test {
 protected:
  // The other end of a connection that has said its line.
  Fd comes() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    entrance_.enter({Fd(ends[0]), their_line, our_line});
    io_.poll();
    return Fd(ends[1]);
  }
  void shows(const Fd& socket, const Hash& key, std::size_t bytes = std::string::npos) {
    const Hash proof = proof_of(key, their_line, our_line, true);
    const std::string record =
        encode({Record::proof, hash_bytes, 0}) + std::string(bytes_of(proof));
    write_all(socket.get(), record.substr(0, bytes));
    io_.poll();
  }
  // Whether this end of the connection has been closed by the other.
  static bool is_closed(const Fd& socket) {
    std::string text(1'000, '\0');
    ssize_t n = 0;
    while ((n = ::recv(socket.get(), text.data(), text.size(), MSG_DONTWAIT)) > 0) {
    }
    return n == 0;
  }

  const Hash key_ = key_of_letter('k');
  asio::io_context io_;
  const asio::executor_work_guard<asio::io_context::executor_type> guard_{io_.get_executor()};
  std::vector<Visit> admitted_;
  Entrance entrance_{io_, [this](Visit visit) { admitted_.push_back(std::move(visit)); }, room};
};

TEST_F(EntranceTest, WhoShowsTheKeyIsAdmitted) {
  entrance_.open(key_);
  const Fd asks = comes();
  shows(asks, key_);
  ASSERT_EQ(admitted_.size(), 1u);
  EXPECT_EQ(admitted_[0].their_line, their_line);
  EXPECT_EQ(admitted_[0].read_ahead.size(), head_bytes + hash_bytes);
  EXPECT_FALSE(is_closed(asks));
}

TEST_F(EntranceTest, WhoCameBeforeTheKeyIsJudgedWhenItIsKnown) {
  const Fd right = comes(), wrong = comes();
  shows(right, key_);
  shows(wrong, key_of_letter('w'));
  EXPECT_TRUE(admitted_.empty());
  entrance_.open(key_);
  EXPECT_EQ(admitted_.size(), 1u);
  EXPECT_TRUE(is_closed(wrong));
}

TEST_F(EntranceTest, WhatIsNoProofIsClosed) {
  entrance_.open(key_);
  const Fd other = comes();
  shows(other, key_of_letter('o'));
  const Fd noise = comes();
  write_all(noise.get(), std::string(head_bytes + hash_bytes, 'x'));
  io_.poll();
  Fd half = comes();
  shows(half, key_, head_bytes + 3);
  half.reset();
  io_.poll();
  EXPECT_TRUE(is_closed(other) && is_closed(noise));
  EXPECT_TRUE(admitted_.empty());
}

TEST_F(EntranceTest, OfThoseWhoShowNothingTheOldestGoes) {
  entrance_.open(key_);
  std::vector<Fd> silent;
  for (std::size_t i = 0; i < 3 * room; ++i) silent.push_back(comes());
  const Fd honest = comes();
  shows(honest, key_);
  EXPECT_EQ(admitted_.size(), 1u);
  std::size_t open = 0;
  for (const Fd& socket : silent) open += is_closed(socket) ? 0 : 1;
  EXPECT_EQ(open, room - 1);
  EXPECT_FALSE(is_closed(silent.back()));
}

TEST_F(EntranceTest, ItsEndClosesAll) {
  std::optional<Entrance> entrance;
  entrance.emplace(io_, [](Visit) {});
  int ends[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  entrance->enter({Fd(ends[0]), their_line, our_line});
  const Fd other(ends[1]);
  io_.poll();
  entrance.reset();
  io_.poll();
  EXPECT_TRUE(is_closed(other));
}

}  // namespace
}  // namespace toprun::stage
