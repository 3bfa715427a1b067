// Two channels over a pair of sockets.
#include "node/link/channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <thread>

#include "base/os/os_testing.h"
#include "node/link/link_testing.h"

namespace toprun::link {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using nlohmann::json;

struct Pair {
  explicit Pair(Patience patience = {2s, 10s, 50ms, 10s}) : Pair(patience, patience) {}
  Pair(Patience first, Patience second) {
    std::array<int, 2> sockets{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
      throw std::runtime_error("socketpair");
    }
    int keyed = 0;
    for (std::size_t i = 0; i < 2; ++i) {
      ends[i] =
          std::make_shared<Channel>(Channels::of(io), Fd(sockets[i]), i == 0 ? first : second);
      ends[i]->key(i == 0, "secret", "root", "member");
      ends[i]->write_first("", {{"type", "first"}});
      ends[i]->read_first([&keyed](const Result<json>& frame) { keyed += frame.has_value(); });
    }
    run_until(io, [&] { return keyed == 2; });
    ends[1]->on_message = [this](json message) { heard.push_back(std::move(message)); };
    ends[1]->on_lost = [this](const model::Loss& loss) { lost = loss; };
    ends[0]->start();
    ends[1]->start();
  }
  asio::io_context io;
  std::array<std::shared_ptr<Channel>, 2> ends;
  std::vector<json> heard;  // by the second
  std::optional<model::Loss> lost;
};

TEST(Channel, WhatTheSocketDoesNotTakeAtOnceArrives) {
  if (emulated()) GTEST_SKIP() << "tens of MB, for which an emulator takes minutes";
  Pair pair;
  const std::string text(1u << 20, 'x');
  for (int i = 0; i < 4; ++i) pair.ends[0]->send({{"n", i}, {"text", text}});
  pair.ends[0]->close();
  bool closed = false;
  pair.ends[0]->on_closed = [&] { closed = true; };
  run_until(pair.io, [&] { return closed; });
  ASSERT_EQ(pair.heard.size(), 4u);
  EXPECT_EQ(pair.heard[3]["n"], 3);
  EXPECT_EQ(pair.heard[3]["text"], text);
  EXPECT_FALSE(pair.lost);
}

TEST(Channel, SilenceIsNoticedSoonWhereTheBeatIsLong) {
  Pair pair({2s, 10s, 600s, 100ms});
  run_until(pair.io, [&] { return pair.lost.has_value(); });
  ASSERT_TRUE(pair.lost);
  EXPECT_EQ(pair.lost->kind, model::Loss::Kind::silent);
}

// Each turn of its loop is later than a beat, as at a root with too much to do.
TEST(Channel, SilenceIsNoticedByAnEndThatIsAlwaysLate) {
  const Patience without_beats{2s, 10s, 600s, 600s};
  Pair pair(without_beats, {2s, 10s, 10ms, 200ms});
  constexpr int most_turns = 400;  // of which 40 are enough, as each counts for 5 ms at least
  for (int turn = 0; turn < most_turns && !pair.lost; ++turn) {
    std::this_thread::sleep_for(30ms);
    pair.io.poll();
  }
  ASSERT_TRUE(pair.lost);
  EXPECT_EQ(pair.lost->kind, model::Loss::Kind::silent);
}

TEST(Channel, AnEndThatWasStoppedForLongerThanTheLimitIsNotAlone) {
  Pair pair({2s, 10s, 10ms, 200ms});
  std::this_thread::sleep_for(400ms);
  pair.ends[0]->send({{"n", 1}});
  run_until(pair.io, [&] { return pair.heard.size() == 1; });
  EXPECT_FALSE(pair.lost);
}

TEST(Channel, ManyMessagesOfOneReadComeInTheirOrder) {
  Pair pair;
  constexpr std::size_t messages = 5'000;
  for (std::size_t i = 0; i < messages; ++i) pair.ends[0]->send({{"n", i}});
  run_until(pair.io, [&] { return pair.heard.size() == messages; });
  for (std::size_t i = 0; i < messages; ++i) ASSERT_EQ(pair.heard[i]["n"], i);
}

TEST(Channel, AHandlerMayClose) {
  Pair pair;
  bool closed = false;
  const std::string name(100, 'n');
  pair.ends[1]->on_message = [&, name](const json& message) {
    pair.ends[1]->close();
    pair.heard.push_back({{"by", name}, {"n", message["n"]}});
  };
  pair.ends[1]->on_closed = [&] { closed = true; };
  for (int i = 0; i < 3; ++i) pair.ends[0]->send({{"n", i}});
  run_until(pair.io, [&] { return closed; });
  ASSERT_EQ(pair.heard.size(), 1u) << "who has closed hears no more";
  EXPECT_EQ(pair.heard[0]["by"], name);
  EXPECT_FALSE(pair.lost);
}

TEST(Channel, AMessageThatCannotBeHandledIsALoss) {
  Pair pair;
  pair.ends[1]->on_message = [](const json&) { throw std::runtime_error("no"); };
  pair.ends[0]->send({{"n", 1}});
  run_until(pair.io, [&] { return pair.lost.has_value(); });
  EXPECT_EQ(pair.lost->kind, model::Loss::Kind::malformed);
}

TEST(Channel, AMessageThatTheOtherEndWouldNotTakeIsNotSent) {
  Pair pair;
  std::optional<model::Loss> reported;
  pair.ends[0]->on_lost = [&](const model::Loss& loss) { reported = loss; };
  pair.ends[0]->send({{"text", std::string(max_frame_bytes, 'x')}});
  run_until(pair.io, [&] { return reported && pair.lost; });
  EXPECT_EQ(reported->kind, model::Loss::Kind::malformed);
  EXPECT_NE(reported->words.find("at most 16777"), std::string::npos) << reported->words;
  EXPECT_TRUE(pair.heard.empty());
}

TEST(Channel, AFirstMessageThatIsTooLongIsNamedToItsSender) {
  asio::io_context io;
  std::array<int, 2> sockets{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()), 0);
  const Fd other(sockets[1]);
  const auto channel = std::make_shared<Channel>(Channels::of(io), Fd(sockets[0]), Patience{});
  channel->key(false, "secret", "root", "member");
  channel->write_first("", {{"addresses", std::string(max_first_frame_bytes, 'x')}});
  std::string why;
  channel->read_line(1s, [&](const Result<std::string>& line) { why = line.error()->why; });
  EXPECT_NE(why.find("has 65"), std::string::npos) << why;
}

TEST(Channel, ALossBeforeTheStartIsTold) {
  asio::io_context io;
  std::array<int, 2> sockets{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()), 0);
  const auto channel = std::make_shared<Channel>(Channels::of(io), Fd(sockets[0]), Patience{});
  channel->key(true, "secret", "root", "member");
  ::close(sockets[1]);  // the member's host has come back and knows nothing of it
  channel->write_first("", {{"type", "welcome"}});
  std::optional<model::Loss> lost;
  channel->on_lost = [&](const model::Loss& loss) { lost = loss; };
  channel->start();
  run_until(io, [&] { return lost.has_value(); });
  EXPECT_EQ(lost->kind, model::Loss::Kind::closed);
}

TEST(Channel, WithoutChannelsTheLoopHasNothingToDo) {
  Pair pair;
  pair.ends[1]->abandon("");
  pair.io.run_for(10s);  // returns at once: nothing keeps the loop
  EXPECT_TRUE(pair.io.stopped());
}

}  // namespace
}  // namespace toprun::link
