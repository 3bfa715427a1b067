#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "node/link/dial.h"
#include "node/link/door.h"

namespace toprun::link {

// Ends a test that hangs. The limit is not a measurement: a test that takes one second on an idle
// machine takes fifteen with a sanitizer while other tests run.
inline constexpr std::chrono::seconds hang_limit{100};

// Runs the loop until `done`.
inline void run_until(boost::asio::io_context& io, const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + hang_limit;
  while (!done() && std::chrono::steady_clock::now() < deadline)
    io.run_one_for(std::chrono::milliseconds(50));
  ASSERT_TRUE(done());
}

inline Patience quick() {
  using std::chrono::milliseconds;
  return {milliseconds(200), milliseconds(2'000), milliseconds(50), milliseconds(400)};
}

inline Identity identity(std::string job = "job", std::string version = "0.1.0") {
  return {std::move(version), std::move(job), new_agent_id()};
}

// A root on a port that the kernel chooses. It stores the messages that it receives.
struct TestRoot {
  explicit TestRoot(boost::asio::io_context& context, int expected_agents,
                    Secret secret = Secret::given("s"), std::size_t most_visitors = max_visitors,
                    const Patience& patience = quick())
      : io(context),
        acceptor(io, boost::asio::ip::tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)),
        me(identity()),
        door(io, me, patience, most_visitors),
        expected(expected_agents) {
    door.become_root(std::move(secret),
                     {[this](const model::Join& join) { return admit(join); },
                      [this](const model::Join&, std::shared_ptr<Channel> channel) {
                        channel->on_message = [this](nlohmann::json message) {
                          heard.push_back(std::move(message));
                        };
                        channel->on_lost = [this](model::Loss loss) {
                          lost.push_back(std::move(loss));
                        };
                        channels.push_back(std::move(channel));
                      }});
    accept();
  }
  void accept() {
    acceptor.async_accept(
        [this](const boost::system::error_code& error, boost::asio::ip::tcp::socket socket) {
          if (error) return;
          door.visit(Fd(socket.release()), "");
          accept();
        });
  }
  std::optional<model::Refused> admit(const model::Join& join) {
    if (std::ssize(admitted) == expected)
      return model::Refused{model::Refusal::full, "the job has all of its 1 nodes already"};
    for (const model::Join& other : admitted) {
      if (join.node_rank && join.node_rank == other.node_rank) {
        return model::Refused{model::Refusal::rank_taken, "node rank 0 is taken by " + other.host};
      }
    }
    admitted.push_back(join);
    return std::nullopt;
  }
  int port() const { return acceptor.local_endpoint().port(); }

  boost::asio::io_context& io;
  boost::asio::ip::tcp::acceptor acceptor;
  Identity me;
  Door door;
  int expected;
  std::vector<model::Join> admitted;
  std::vector<std::shared_ptr<Channel>> channels;
  std::vector<nlohmann::json> heard;
  std::vector<model::Loss> lost;
};

inline model::Join join_as(const std::string& host, std::optional<int> rank = {}) {
  model::Join join;
  join.agent = new_agent_id();
  join.host = host;
  join.node_rank = rank;
  return join;
}

inline std::optional<Result<Joined>> dial(boost::asio::io_context& io, std::vector<int> ports,
                                          Identity me, Secret secret, model::Join join,
                                          bool by_engine = false,
                                          std::chrono::milliseconds timeout = hang_limit) {
  const auto result = std::make_shared<std::optional<Result<Joined>>>();
  const MakeJoin make_join = [join](const Channel&) -> boost::asio::awaitable<model::Join> {
    co_return join;
  };
  Pool pool(io);
  boost::asio::co_spawn(io,
                        join_root(pool, RootAddress{"127.0.0.1", std::move(ports), by_engine, ""},
                                  std::move(me), std::move(secret), quick(), timeout, make_join),
                        [result](const std::exception_ptr&, Result<Joined> joined) {
                          result->emplace(std::move(joined));
                        });
  run_until(io, [&] { return result->has_value(); });
  return *result;
}

inline std::optional<Result<Joined>> dial(boost::asio::io_context& io, int port, Identity me,
                                          Secret secret, model::Join join, bool by_engine = false,
                                          std::chrono::milliseconds timeout = hang_limit) {
  return dial(io, std::vector{port}, std::move(me), std::move(secret), std::move(join), by_engine,
              timeout);
}

}  // namespace toprun::link
