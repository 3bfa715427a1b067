#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "base/error.h"
#include "base/pool.h"
#include "hosts/address.h"
#include "rendezvous/channel.h"
#include "rendezvous/door.h"
#include "rendezvous/messages.h"
#include "rendezvous/secret.h"

namespace toprun::rendezvous {

// Where a member looks for its root.
struct RootAddress {
  std::string host;        // name or literal
  std::vector<int> ports;  // more than one where an engine chose them: tried in this order
  bool chosen_by_engine = false;
  std::string hint;                      // what to do if nobody answers there
  int nodes = 1;                         // how many there are to dial it
  std::vector<std::string> others = {};  // more hosts that may have it, asked after `host`
  // Asked again and again while nobody answers: why nobody ever will.
  std::function<std::optional<Error>()> hopeless = {};
};

inline constexpr std::chrono::seconds report_waiting_every{10};
// The pause after the first try, which mostly comes before the root listens. A root refuses some
// 10,000 dials a second without effort: a few members may dial often, many each less often.
inline constexpr std::chrono::microseconds retry_per_node{100};
inline constexpr std::chrono::milliseconds shortest_retry{2};
inline constexpr std::chrono::milliseconds longest_first_retry{10};
// A busy root has as many others to answer: each comes again at a moment of its own, so late that
// the root has half of its time for those who are there.
inline constexpr std::chrono::microseconds busy_retry_per_node{200};
// So much later than the first the last of them may be answered that dialled at one moment.
inline constexpr std::chrono::microseconds answer_per_node{500};
// What every one of thousands may meet for a moment is not worth a word before this.
inline constexpr std::chrono::seconds quiet_at_first{2};
std::chrono::milliseconds first_retry(int nodes);
inline constexpr std::chrono::milliseconds longest_retry{1'000};
// What answers may be a root's that is just ending. Where the user chose the port, no other can be
// tried, and after this time there is no hope; else the ports are tried until the join time-out.
inline constexpr std::chrono::seconds stranger_patience{5};
// One that closes without a word may be a root that has no file descriptor left for the moment.
inline constexpr std::chrono::seconds closed_patience{20};

struct Joined {
  std::shared_ptr<Channel> channel;  // not started
  std::string root_agent;
  hosts::Address root;  // as this host reached it
  int port = 0;
};

// Called once connected, with the channel whose local end tells which of our addresses peers reach.
// May take its time, but far less than `patience.handshake`.
using MakeJoin = std::function<boost::asio::awaitable<Join>(const Channel&)>;

// Connects to the root until `join_timeout`, says why it waits, and is admitted or refused. Only
// who has shown to have the job's secret counts as the root: whatever else answers, and be it
// toprun's own words, may be another user's program that sits on the port. Names are looked up, and
// munge is asked, on the pool.
boost::asio::awaitable<Result<Joined>> join_root(Pool& pool, RootAddress root, Identity identity,
                                                 Secret secret, Patience patience,
                                                 std::chrono::milliseconds join_timeout,
                                                 MakeJoin make_join);

// The first of the store's addresses at which this host finds the very agent that holds it.
boost::asio::awaitable<Result<hosts::Address>> find_store(boost::asio::io_context& io,
                                                          StoreAddress store, Identity identity,
                                                          Patience patience);

// Whose toprun answers at one of the host's addresses; nullopt if none of this job does.
boost::asio::awaitable<std::optional<Preamble>> who_listens(Pool& pool, std::string host, int port,
                                                            Identity identity, Patience patience);

}  // namespace toprun::rendezvous
