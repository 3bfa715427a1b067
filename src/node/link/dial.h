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

// The addresses at which a member looks for its root.
struct RootAddress {
  std::string host;        // name or literal
  std::vector<int> ports;  // more than one if an engine chose them: tried in this order
  bool chosen_by_engine = false;
  std::string hint;                      // advice if no process answers there
  int nodes = 1;                         // the number of nodes that connect to the root
  std::vector<std::string> others = {};  // further hosts that may run the root, tried after `host`
  // Why this host, which has the root's address, is not the root: a program that is not known to be
  // a toprun holds the port. What answers there by something else than a root is that program.
  std::optional<Error> taken = {};
  // Called repeatedly while no process answers; an error means that none ever will.
  std::function<std::optional<Error>()> hopeless = {};
};

inline constexpr std::chrono::seconds report_waiting_every{10};
// The pause after the first attempt, which mostly comes before the root listens. A root refuses
// some 10,000 connections a second easily: a few members may retry often, many members less often.
inline constexpr std::chrono::microseconds retry_per_node{100};
inline constexpr std::chrono::milliseconds shortest_retry{2};
inline constexpr std::chrono::milliseconds longest_first_retry{10};
// Pause per node for a busy root: members retry at random times, so spread out that the root has
// half of its time for the connections it has accepted.
inline constexpr std::chrono::microseconds busy_retry_per_node{200};
// If all nodes connect at one moment, the root may need this time per node to answer them all.
inline constexpr std::chrono::microseconds answer_per_node{500};
// States that thousands of members may meet briefly are not reported before this time.
inline constexpr std::chrono::seconds first_report_delay{2};
std::chrono::milliseconds first_retry(int nodes);
inline constexpr std::chrono::milliseconds longest_retry{1'000};
// A foreign answer may come from another root that is just ending. If the user chose the port and
// no other host may run the root, this is the time limit; else all are tried until the join
// time-out.
// A pause (longest_retry) may follow: it is said within 5 s.
inline constexpr std::chrono::seconds stranger_limit{4};
// Where another program is known to hold the port: no root will come.
inline constexpr std::chrono::seconds taken_limit{1};

struct Joined {
  std::shared_ptr<Channel> channel;  // not started
  std::string root_agent;
  hosts::Address root;  // as this host reached it
  int port = 0;
};

// Called once connected; the channel's local end shows which of our addresses peers can reach. It
// must take far less time than `patience.handshake`.
using MakeJoin = std::function<boost::asio::awaitable<model::Join>(const Channel&)>;

// Connects to the root until `join_timeout`, reports why it waits, and is admitted or refused. Only
// a peer that proves the job's secret counts as the root. Any other answer, even in toprun's
// protocol, may come from another user's program on the port. Name look-ups and munge run on the
// pool.
boost::asio::awaitable<Result<Joined>> join_root(Pool& pool, RootAddress root, Identity identity,
                                                 Secret secret, Patience patience,
                                                 std::chrono::milliseconds join_timeout,
                                                 MakeJoin make_join);

// The first of the store's addresses at which this host reaches the agent that holds the store.
boost::asio::awaitable<Result<hosts::Address>> find_store(boost::asio::io_context& io,
                                                          model::StoreAddress store,
                                                          Identity identity, Patience patience);

// The agent that answers at one of the host's addresses; nullopt if none belongs to this job.
boost::asio::awaitable<std::optional<Preamble>> who_listens(Pool& pool, std::string host, int port,
                                                            Identity identity, Patience patience);

}  // namespace toprun::link
