#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "base/net/address.h"
#include "base/os/pool.h"
#include "base/text/error.h"
#include "node/link/channel.h"
#include "node/link/door.h"
#include "node/link/secret.h"
#include "run/model/messages.h"

namespace toprun::link {

// The addresses at which a member tries to reach its root.
struct RootAddress {
  std::string host;        // name or literal address
  std::vector<int> ports;  // several if an engine chose them; they are tried in this order
  bool chosen_by_engine = false;
  std::string hint;  // advice if no process answers there
  int nodes = 1;     // the number of nodes that connect to the root
  // Further hosts that may run the root; they are tried after `host`.
  std::vector<std::string> others = {};
  // The error if another program (perhaps not toprun) holds the root's port on this host. It is set
  // if this host has the root's address, but this agent is not the root. If an answer from this
  // host does not prove the job's secret, this other program has sent it.
  std::optional<Error> taken = {};
  // join_root() calls this function after each unsuccessful try. An error means that no root will
  // ever answer, and join_root() returns it.
  std::function<std::optional<Error>()> hopeless = {};
};

// How long a member waits until it repeats why it cannot reach the root. Each further pause is
// twice as long, up to most_waiting_pause.
inline constexpr std::chrono::seconds report_waiting_every{10};
inline constexpr std::chrono::seconds most_waiting_pause{60};
// Each node of the job adds this time to the pause after the first try to connect. The first try
// usually comes before the root listens. The root's host can refuse about 10,000 connections per
// second without noticeable load. So a few members may retry often, but many members must retry
// less often.
inline constexpr std::chrono::microseconds retry_per_node{100};
inline constexpr std::chrono::milliseconds shortest_retry{2};
inline constexpr std::chrono::milliseconds longest_first_retry{10};
// Each node of the job adds this time to the pause when the root is busy. Members retry at random
// times within this pause. This pause leaves the root half of its time for the connections that it
// has accepted.
inline constexpr std::chrono::microseconds busy_retry_per_node{200};
// The time per node that the root may need to answer, if all nodes connect at the same moment.
inline constexpr std::chrono::microseconds answer_per_node{500};
// How long a member waits silently if the reason, such as a busy root, normally ends soon. After
// this time, it prints the reason.
inline constexpr std::chrono::seconds first_report_delay{2};
// Returns the pause after the first try, in a job with this many nodes.
std::chrono::milliseconds first_retry(int nodes);
inline constexpr std::chrono::milliseconds longest_retry{1'000};
// How long a member retries if a program that is not its job's root answers at the root's address;
// perhaps another root is just ending there. This limit applies if the user chose the port and no
// other host can run the root. Otherwise the member tries all addresses until the join time-out. A
// pause (longest_retry) may follow, so the error is reported within 5 s.
inline constexpr std::chrono::seconds stranger_limit{4};
// Replaces stranger_limit if another program is known to hold the port. This limit is shorter,
// because no root will answer at this port.
inline constexpr std::chrono::seconds taken_limit{1};

// What join_root() returns.
struct Joined {
  std::shared_ptr<Channel> channel;  // connected, but not started
  std::string root_agent;
  hosts::Address root;  // the address at which this host reached the root
  int port = 0;
};

// Makes this agent's Join message. Called once the channel is connected, because only then its
// local end has an address, at which other agents can reach this agent. Must take far less time
// than `patience.handshake`.
using MakeJoin = std::function<boost::asio::awaitable<model::Join>(const Channel&)>;

// Tries to connect to the root until `join_timeout`, and prints why it waits. Once connected, the
// root admits or refuses this agent. Accepts a peer as the root only if the peer proves that it
// knows the job's secret. Any other answer, even in toprun's protocol, may come from another user's
// program on the port. Name lookups and munge run on the pool.
boost::asio::awaitable<Result<Joined>> join_root(Pool& pool, RootAddress root, Identity identity,
                                                 Secret secret, Patience patience,
                                                 std::chrono::milliseconds join_timeout,
                                                 MakeJoin make_join);

// Tries the store's addresses and returns the first at which the store's agent answers.
boost::asio::awaitable<Result<hosts::Address>> find_store(boost::asio::io_context& io,
                                                          model::StoreAddress store,
                                                          Identity identity, Patience patience);

// Asks which agent listens at one of the host's addresses, and returns its preamble; nullopt if no
// agent of this job answers.
boost::asio::awaitable<std::optional<Preamble>> who_listens(Pool& pool, std::string host, int port,
                                                            Identity identity, Patience patience);

}  // namespace toprun::link
