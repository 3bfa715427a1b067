// Tests members that join a root over loopback: admission, refusal and later messages.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include "node/link/dial.h"
#include "node/link/door.h"
#include "node/link/link_testing.h"

namespace toprun::link {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

// What ends in time does not end by the handshake's limit.
Patience without_limit_of_handshake() {
  Patience patience = quick();
  patience.handshake = 10 * hang_limit;
  return patience;
}

TEST(Joining, ManyDialLessOften) {
  const std::vector<std::pair<int, int>> rows = {{1, 2}, {20, 2}, {50, 5}, {100, 10}, {12'500, 10}};
  for (const auto& [nodes, pause_ms] : rows) {
    EXPECT_EQ(first_retry(nodes), std::chrono::milliseconds(pause_ms)) << nodes;
  }
}

TEST(Joining, AMemberIsWelcomedAndHeard) {
  asio::io_context io;
  TestRoot root(io, 2);
  auto joined = dial(io, root.port(), identity(), Secret::given("s"), join_as("a", 0));
  ASSERT_TRUE(joined->has_value()) << (*joined).error().line();
  std::vector<nlohmann::json> member_heard;
  auto channel = (*joined)->channel;
  channel->on_message = [&](nlohmann::json message) { member_heard.push_back(message); };
  channel->start();
  channel->send({{"type", "hello"}, {"n", 1}});
  run_until(io, [&] { return root.heard.size() == 1; });
  root.channels.at(0)->send({{"type", "answer"}});
  run_until(io, [&] { return member_heard.size() == 1; });
  EXPECT_EQ(root.heard[0]["n"], 1);
  EXPECT_EQ((*joined)->root_agent, root.me.agent);
}

TEST(Joining, AMemberOfTheNextVersionIsWelcome) {
  asio::io_context io;
  TestRoot root(io, 2);
  const Identity next = identity("job", "0.2.0");
  ASSERT_TRUE(dial(io, root.port(), next, Secret::given("s"), join_as("a", 0))->has_value());
  ASSERT_EQ(root.admitted.size(), 1u);
  EXPECT_EQ(root.admitted[0].version, "0.2.0");
}

// A message replaces heartbeats; a silent end then sends heartbeats again.
TEST(Joining, WhoSaysSomethingLives) {
  asio::io_context io;
  TestRoot root(io, 1);
  auto joined = dial(io, root.port(), identity(), Secret::given("s"), join_as("a", 0));
  ASSERT_TRUE(joined->has_value()) << (*joined).error().line();
  auto channel = (*joined)->channel;
  channel->start();
  for (int i = 0; i < 20; ++i) {
    channel->send({{"type", "hello"}});
    io.run_for(30ms);
  }
  io.run_for(2 * quick().silence);
  EXPECT_EQ(root.heard.size(), 20u);
  EXPECT_TRUE(root.lost.empty());
}

TEST(Joining, WhatTheCloudSaysTravelsAlong) {
  asio::io_context io;
  TestRoot root(io, 3);
  for (const std::optional<std::string>& text :
       {std::optional<std::string>("/c/r/h"), std::optional<std::string>()}) {
    model::Join join = join_as("a");
    join.cloud = model::CloudPlace{"gcp", text, text ? "" : "refused"};
    ASSERT_TRUE(dial(io, root.port(), identity(), Secret::given("s"), join)->has_value());
    const auto& arrived = root.admitted.back().cloud;
    ASSERT_TRUE(arrived);
    EXPECT_EQ(arrived->cloud, "gcp");
    EXPECT_EQ(arrived->text, text);
    EXPECT_EQ(arrived->trouble, text ? "" : "refused");
  }
  ASSERT_TRUE(dial(io, root.port(), identity(), Secret::given("s"), join_as("b"))->has_value());
  EXPECT_FALSE(root.admitted.back().cloud);
}

TEST(Joining, WhatTheNodeKnowsOfItsPlaceTravelsAlong) {
  asio::io_context io;
  TestRoot root(io, 2);
  model::Join join = join_as("a");
  join.nvlink = model::ProgramOutput{{}, "no answer within 1.0 s"};
  join.kube = model::KubeNode{"node-7", "nvidia.com/gpu.clique=u.1\n"};
  ASSERT_TRUE(dial(io, root.port(), identity(), Secret::given("s"), join)->has_value());
  const model::Join arrived = root.admitted.back();
  ASSERT_TRUE(arrived.nvlink && arrived.kube);
  EXPECT_FALSE(arrived.nvlink->text);
  EXPECT_EQ(arrived.nvlink->trouble, "no answer within 1.0 s");
  EXPECT_EQ(arrived.kube->name, "node-7");
  EXPECT_EQ(arrived.kube->labels, "nvidia.com/gpu.clique=u.1\n");
  ASSERT_TRUE(dial(io, root.port(), identity(), Secret::given("s"), join_as("b"))->has_value());
  EXPECT_FALSE(root.admitted.back().nvlink);
  EXPECT_FALSE(root.admitted.back().kube);
}

TEST(Joining, TheRootComparesItsClockWithTheMembers) {
  asio::io_context io;
  TestRoot root(io, 1);
  model::Join join = join_as("a");
  join.evidence = model::Evidence();
  const auto before = since_1970(std::chrono::system_clock::now());
  ASSERT_TRUE(dial(io, root.port(), identity(), Secret::given("s"), join)->has_value());
  const auto& arrived = root.admitted.back().evidence;
  ASSERT_TRUE(arrived);
  EXPECT_GE(arrived->clock, before);
  EXPECT_GE(arrived->clock_behind, 0ms);
  EXPECT_LT(arrived->clock_behind, hang_limit);
}

TEST(Joining, AProperEndIsNotALoss) {
  asio::io_context io;
  TestRoot root(io, 2);
  auto joined = dial(io, root.port(), identity(), Secret::given("s"), join_as("a"));
  ASSERT_TRUE(joined->has_value());
  bool closed = false;
  auto channel = (*joined)->channel;
  channel->start();
  root.channels.at(0)->on_closed = [&] { closed = true; };
  root.channels.at(0)->send({{"type", "finish"}});
  root.channels.at(0)->close();
  run_until(io, [&] { return closed; });
  EXPECT_TRUE(root.lost.empty());
}

TEST(Joining, AMemberThatFallsSilentIsLost) {
  asio::io_context io;
  TestRoot root(io, 2);
  auto joined = dial(io, root.port(), identity(), Secret::given("s"), join_as("a"));
  ASSERT_TRUE(joined->has_value());
  // Its channel is never started, so it sends no heartbeats.
  run_until(io, [&] { return root.lost.size() == 1; });
  EXPECT_EQ(root.lost[0].kind, model::Loss::Kind::silent) << root.lost[0].words;
}

TEST(Joining, AMemberThatDiesIsLost) {
  asio::io_context io;
  TestRoot root(io, 2);
  {
    auto joined = dial(io, root.port(), identity(), Secret::given("s"), join_as("a"));
    ASSERT_TRUE(joined->has_value());
    ::shutdown((*joined)->channel->descriptor(), SHUT_RDWR);
  }
  run_until(io, [&] { return root.lost.size() == 1; });
}

TEST(Joining, TheRootsRefusalIsFinalAndNamesItsReason) {
  asio::io_context io;
  TestRoot root(io, 2);
  ASSERT_TRUE(dial(io, root.port(), identity(), Secret::given("s"), join_as("a", 0))->has_value());
  const auto refused = dial(io, root.port(), identity(), Secret::given("s"), join_as("b", 0), true);
  ASSERT_FALSE(refused->has_value());
  EXPECT_NE(refused->error().line().find("node rank 0 is taken by a"), std::string::npos)
      << refused->error().line();
}

TEST(Joining, AFullJobSaysSo) {
  asio::io_context io;
  TestRoot root(io, 1);
  ASSERT_TRUE(dial(io, root.port(), identity(), Secret::given("s"), join_as("a"))->has_value());
  const auto refused = dial(io, root.port(), identity(), Secret::given("s"), join_as("b"));
  ASSERT_FALSE(refused->has_value());
  EXPECT_NE(refused->error().line().find("all of its 1 nodes"), std::string::npos);
}

// As an address that is no host's any more: the kernel drops what a full queue has no room for.
TEST(Joining, AnAddressThatDoesNotAnswerIsSaid) {
  asio::io_context io;
  tcp::acceptor full(io, tcp::v4());
  full.bind({asio::ip::address_v4::loopback(), 0});
  full.listen(0);
  std::array waiting = {tcp::socket(io), tcp::socket(io), tcp::socket(io), tcp::socket(io)};
  for (tcp::socket& socket : waiting) {
    socket.async_connect(full.local_endpoint(), [](const boost::system::error_code&) {});
  }
  const auto late = dial(io, full.local_endpoint().port(), identity(), Secret::given("s"),
                         join_as("b"), true, 300ms);
  ASSERT_FALSE(late->has_value());
  EXPECT_NE(late->error().line().find(": no answer from 127.0.0.1"), std::string::npos)
      << late->error().line();
}

// A connection that sends `says` only: nothing, or the first line.
tcp::socket half_done(asio::io_context& io, int port, const std::string& says) {
  tcp::socket socket(io);
  socket.connect({asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(port)});
  asio::write(socket, asio::buffer(says));
  return socket;
}

TEST(Joining, TheOldestVisitorMakesRoomForAMember) {
  asio::io_context io;
  TestRoot root(io, 3, Secret::given("s"), 4);
  auto joined = dial(io, root.port(), identity(), Secret::given("s"), join_as("a"));
  ASSERT_TRUE(joined->has_value());
  (*joined)->channel->start();
  const std::string line =
      Preamble{"0.1.0", Role::member, "job", new_agent_id(), random_hex(32), "secret"}.line();
  std::vector<tcp::socket> held;
  for (int i = 0; i < 12; ++i) {
    held.push_back(half_done(io, root.port(), i % 2 == 0 ? line : "toprun/"));
  }
  EXPECT_TRUE(dial(io, root.port(), identity(), Secret::given("s"), join_as("b"))->has_value());
  // Admitted members stay.
  EXPECT_TRUE(root.lost.empty());
  EXPECT_EQ(root.admitted.size(), 2u);
}

TEST(Joining, VisitorsThatComeBeforeTheRootIsKnownAreBoundedToo) {
  asio::io_context io;
  Door door(io, identity(), quick(), 2);
  tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  std::vector<tcp::socket> held;
  for (int i = 0; i < 5; ++i) {
    held.push_back(half_done(io, acceptor.local_endpoint().port(), "toprun/"));
    door.visit(Fd(acceptor.accept().release()), "toprun/");
  }
  std::vector<bool> closed;
  for (tcp::socket& socket : held) {
    pollfd poller{socket.native_handle(), POLLIN | POLLRDHUP, 0};
    closed.push_back(::poll(&poller, 1, 0) > 0);
  }
  EXPECT_EQ(closed, (std::vector<bool>{true, true, true, false, false}));
}

// The number of descriptors that this process has open.
std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::string probe_line() {
  return Preamble{"0.1.0", Role::probe, "job", new_agent_id(), random_hex(32), "none"}.line();
}

TEST(Joining, WhoHasItsAnswerKeepsNoDescriptor) {
  asio::io_context io;
  TestRoot root(io, 2, Secret::given("s"), max_visitors, without_limit_of_handshake());
  Pool pool(io);
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 20; ++i) {
    std::optional<std::optional<Preamble>> heard;
    asio::co_spawn(io, who_listens(pool, "127.0.0.1", root.port(), identity(), Patience()),
                   [&](const std::exception_ptr&, auto answer) { heard.emplace(answer); });
    run_until(io, [&] { return heard.has_value(); });
    ASSERT_TRUE(*heard);
  }
  ASSERT_FALSE(
      dial(io, root.port(), identity("other"), Secret::given("s"), join_as("b"), true, 50ms)
          ->has_value());
  run_until(io, [&] { return open_descriptors() == before; });
}

TEST(Joining, WhoWantsTheEnvironmentIsHandedOn) {
  asio::io_context io;
  Door door(io, identity(), quick());
  door.become_agent();
  std::vector<std::pair<Fd, std::string>> visits;
  door.on_stage = [&](Fd socket, std::string line) {
    visits.emplace_back(std::move(socket), std::move(line));
  };
  tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  const auto line = [](const std::string& job) {
    return Preamble{"0.1.0", Role::stage, job, new_agent_id(), random_hex(32), "none"}.line();
  };
  const std::string ours = line("job");
  tcp::socket guest = half_done(io, acceptor.local_endpoint().port(), ours);
  tcp::socket stranger = half_done(io, acceptor.local_endpoint().port(), line("other"));
  tcp::socket hasty = half_done(io, acceptor.local_endpoint().port(), line("job") + "more");
  for (int i = 0; i < 3; ++i) door.visit(Fd(acceptor.accept().release()), "");
  run_until(io, [&] { return visits.size() == 2; });
  const auto first = std::ranges::find(visits, ours, &std::pair<Fd, std::string>::second);
  ASSERT_NE(first, visits.end());
  ASSERT_EQ(::write(first->first.get(), "hello", 5), 5);
  std::array<char, 5> heard{};
  asio::read(guest, asio::buffer(heard));
  EXPECT_EQ(std::string_view(heard.data(), heard.size()), "hello");
  EXPECT_FALSE(visits[first == visits.begin() ? 1 : 0].first) << "its bytes would be lost";
}

TEST(Joining, WhoStaysAfterItsAnswerIsClosedSoon) {
  asio::io_context io;
  Door door(io, identity(), without_limit_of_handshake());
  door.become_agent();
  tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  // More than the door reads before it answers: the visitor must still receive the answer.
  tcp::socket guest = half_done(io, acceptor.local_endpoint().port(),
                                "toprun/1 refused\n" + std::string(100'000, 'x'));
  tcp::socket probing = half_done(io, acceptor.local_endpoint().port(), probe_line());
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 2; ++i) door.visit(Fd(acceptor.accept().release()), "");
  run_until(io, [&] { return probing.available() > 100; });  // the answer
  run_until(io, [&] { return open_descriptors() == before; });
}

TEST(Joining, WhoMakesRoomHearsThatThePortIsBusy) {
  asio::io_context io;
  Door door(io, identity(), quick(), 1);
  tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  std::vector<tcp::socket> held;
  for (int i = 0; i < 2; ++i) {
    held.push_back(half_done(io, acceptor.local_endpoint().port(), probe_line()));
    door.visit(Fd(acceptor.accept().release()), "");
  }
  std::string heard;
  boost::system::error_code error;
  asio::read(held.front(), asio::dynamic_buffer(heard), error);
  EXPECT_EQ(error, asio::error::eof);
  EXPECT_EQ(heard, "toprun/1 refused busy 0.1.0\n");
}

// With 12,000 members at once, some were turned away while their last frame was being read: the
// root admitted them over a closed connection and refused them when they dialled again.
TEST(Joining, WhoMakesRoomHasNotJoined) {
  constexpr int most_steps = 40;  // until the root has answered
  for (int steps = 0; steps < most_steps; ++steps) {
    asio::io_context root_io;
    asio::io_context member_io;
    TestRoot root(root_io, 2, Secret::given("s"), 1);
    tcp::acceptor beside(root_io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    const MakeJoin make_join = [](const Channel&) -> asio::awaitable<model::Join> {
      model::Join join = join_as("a", 0);
      co_return join;
    };
    std::optional<Result<Joined>> joined;
    Pool pool(member_io);
    asio::co_spawn(member_io,
                   join_root(pool, RootAddress{"127.0.0.1", {root.port()}, false, ""}, identity(),
                             Secret::given("s"), quick(), hang_limit, make_join),
                   [&](const std::exception_ptr&, Result<Joined> result) { joined = result; });
    for (int step = 0; step < steps; ++step) {
      member_io.poll();
      root_io.poll_one();
    }
    const tcp::socket next = half_done(root_io, beside.local_endpoint().port(), "toprun/");
    root.door.visit(Fd(beside.accept().release()), "");
    const auto limit = std::chrono::steady_clock::now() + hang_limit;
    while (!joined && std::chrono::steady_clock::now() < limit) {
      member_io.run_for(1ms);
      root_io.poll();
    }
    ASSERT_TRUE(joined) << steps;
    EXPECT_TRUE(joined->has_value()) << steps << ": " << joined->error().line();
  }
}

TEST(FindStore, TakesTheAddressWhereTheVeryAgentAnswers) {
  asio::io_context io;
  TestRoot other(io, 1);
  TestRoot right(io, 1);
  model::StoreAddress store;
  store.agent = right.me.agent;
  store.host = "n1";
  store.addresses = {"127.0.0.2", "127.0.0.1"};  // no process listens at the first
  store.port = right.port();
  std::optional<Result<hosts::Address>> found;
  const auto search = [&] {
    found.reset();
    asio::co_spawn(io, find_store(io, store, identity(), quick()),
                   [&](const std::exception_ptr&, Result<hosts::Address> address) {
                     found.emplace(std::move(address));
                   });
    run_until(io, [&] { return found.has_value(); });
  };
  search();
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ((*found)->text(), "127.0.0.1");
  store.port = other.port();
  search();
  ASSERT_FALSE(found->has_value());
  EXPECT_NE(found->error().line().find("n1"), std::string::npos);
}

}  // namespace
}  // namespace toprun::link
