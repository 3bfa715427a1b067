// What a member meets where it looks for its root, and is none.
#include "node/link/dial.h"

#include <gtest/gtest.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include "node/link/link_testing.h"

namespace toprun::link {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

TEST(Dialing, WhoeverIsNotProvedToBeTheRootIsWaitedFor) {
  struct Case {
    Identity me;
    Secret secret;
    const char* expected;
  };
  const Case cases[] = {
      {identity("job", "9.9.9"), Secret::given("s"), "the agent that answers is toprun 0.1.0"},
      {identity("job", "0.3.0"), Secret::given("s"), "the agent that answers is toprun 0.1.0"},
      {identity(), Secret::given("other"), "a different secret"},
      {identity(), Secret::derived("job"), "different kinds of secret"},
      {identity(), Secret::munge_member("job", "/nowhere"),
       "this agent uses munge, but the job's root agent does not"},
      // The job is compared first: another job may have any version.
      {identity("other", "9.9.9"), Secret::given("s"), "an agent of another job answers"},
  };
  for (const Case& one : cases) {
    asio::io_context io;
    TestRoot root(io, 2);
    const auto refused = dial(io, root.port(), one.me, one.secret, join_as("b"), true, 300ms);
    ASSERT_FALSE(refused->has_value()) << one.expected;
    EXPECT_NE(refused->error().line().find("within 300 ms"), std::string::npos);
    EXPECT_NE(refused->error().line().find(one.expected), std::string::npos)
        << refused->error().line();
  }
}

// Listens like another user's program and answers every visitor with these bytes.
struct FakeRoot {
  FakeRoot(asio::io_context& io, std::string its_answer)
      : acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
        answer(std::move(its_answer)) {
    accept();
  }
  void accept() {
    acceptor.async_accept([this](const boost::system::error_code& error, tcp::socket socket) {
      if (error) return;
      ++came;
      guests.push_back(std::move(socket));
      boost::system::error_code ignored;
      asio::write(guests.back(), asio::buffer(answer), ignored);
      if (closes) guests.pop_back();
      accept();
    });
  }
  int port() const { return acceptor.local_endpoint().port(); }

  tcp::acceptor acceptor;
  std::string answer;
  bool closes = false;
  int came = 0;
  std::vector<tcp::socket> guests;
};

std::string root_line(std::string job, std::string proof) {
  return Preamble{"0.1.0", Role::root, std::move(job), new_agent_id(), random_hex(32), proof}
      .line();
}

TEST(Dialing, WhatAPretenderSaysKeepsNobodyFromTheRoot) {
  const std::string header_and_frame(24 + 4 + 17, '\x11');
  const std::string answers[] = {
      "toprun/1 refused secret 0.1.0\n",
      "toprun/1 refused version 7.0.0\n",
      "toprun/1 refused full 0.1.0\n",
      root_line("job", "munge:MUNGE:abcdef:"),
      root_line("job", "secret") + "toprun/1 refused secret 0.1.0\n",
      // It agrees, but lacks the secret for a valid frame.
      root_line("job", "secret") + "toprun/1 agreed\n" + header_and_frame,
  };
  for (const std::string& answer : answers) {
    asio::io_context io;
    FakeRoot fake_root(io, answer);
    TestRoot root(io, 2);
    const auto joined = dial(io, {fake_root.port(), root.port()}, identity(), Secret::given("s"),
                             join_as("b"), true);
    EXPECT_TRUE(joined->has_value()) << answer << joined->error().line();
  }
}

TEST(Dialing, APretenderAtTheOnlyPortIsSoonNamed) {
  asio::io_context io;
  FakeRoot fake_root(io, "toprun/1 refused secret 0.1.0\n");
  const auto start = std::chrono::steady_clock::now();
  const auto failed =
      dial(io, fake_root.port(), identity(), Secret::given("s"), join_as("b"), false, 60s);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 30s);
  ASSERT_FALSE(failed->has_value());
  const std::string line = failed->error().line();
  EXPECT_NE(line.find("set the same TOPRUN_SECRET for all agents"), std::string::npos) << line;
}

TEST(Dialing, ASilentStrangerIsToldFromARoot) {
  asio::io_context io;
  tcp::acceptor silent(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  const auto refused = dial(io, silent.local_endpoint().port(), identity(), Secret::given("s"),
                            join_as("b"), true, 300ms);
  ASSERT_FALSE(refused->has_value());
  EXPECT_NE(refused->error().line().find("not a toprun root"), std::string::npos)
      << refused->error().line();
}

// Members wait for an overloaded root, even if the user chose its port.
TEST(Dialing, ABusyRootIsNotTakenForAnotherProgram) {
  asio::io_context io;
  FakeRoot fake_root(io, "toprun/1 refused busy 0.1.0\n");
  fake_root.closes = true;
  const auto failed =
      dial(io, fake_root.port(), identity(), Secret::given("s"), join_as("b"), false, 7s);
  ASSERT_FALSE(failed->has_value());
  const std::string line = failed->error().line();
  EXPECT_NE(line.find("within 7.0 s: too many processes are connecting to its port"),
            std::string::npos)
      << line;
}

// In 4 s a member dials some 20 times, in 20 s more than 30 times.
TEST(Dialing, WhatClosesWithoutAWordIsSoonGivenUp) {
  asio::io_context io;
  FakeRoot fake_root(io, "");
  fake_root.closes = true;
  const auto failed =
      dial(io, fake_root.port(), identity(), Secret::given("s"), join_as("b"), false, 60s);
  ASSERT_FALSE(failed->has_value());
  const std::string line = failed->error().line();
  EXPECT_NE(line.find("not a toprun root: the connection was closed"), std::string::npos) << line;
  EXPECT_LE(fake_root.came, 25);
}

TEST(Dialing, WhatSpeaksAnotherProtocolIsQuoted) {
  const std::pair<std::string, std::string> rows[] = {
      {"SSH-2.0-OpenSSH_9.2\r\n", "it speaks another protocol: 'SSH-2.0-OpenSSH_9.2'; "},
      {"HTTP/1.1 400 Bad Request\r\nServer: x\r\n", "protocol: 'HTTP/1.1 400 Bad Request'; "},
      {std::string(100, 'a'), "protocol: '" + std::string(60, 'a') + "'; "},
      {"\x1b[31mred\n", "it speaks another protocol; "},
      {std::string("\0\1\2\n", 4), "it speaks another protocol; "},
  };
  for (const auto& [answer, expected] : rows) {
    asio::io_context io;
    FakeRoot fake_root(io, answer);
    const auto failed =
        dial(io, fake_root.port(), identity(), Secret::given("s"), join_as("b"), true, 50ms);
    ASSERT_FALSE(failed->has_value());
    const std::string line = failed->error().line();
    EXPECT_NE(line.find(expected), std::string::npos) << line;
  }
}

// With 12,000 members at once, 10,000 advised their users to choose another port.
TEST(Dialing, ABusyRootIsNotWorthAWordAtFirst) {
  for (const std::string answer : {"toprun/1 refused busy 0.1.0\n", ""}) {
    asio::io_context io;
    FakeRoot fake_root(io, answer);
    fake_root.closes = true;
    testing::internal::CaptureStderr();
    const auto failed =
        dial(io, fake_root.port(), identity(), Secret::given("s"), join_as("b"), false, 1s);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_FALSE(failed->has_value());
  }
}

}  // namespace
}  // namespace toprun::link
