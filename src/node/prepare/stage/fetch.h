#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/net/address.h"
#include "base/text/error.h"
#include "node/prepare/stage/copy.h"
#include "node/prepare/stage/serve.h"
#include "node/prepare/stage/wire.h"

namespace toprun::stage {

// An agent from which this node can fetch the environment, now or later.
struct Upstream {
  std::string agent, host;
  std::vector<hosts::Address> addresses;  // best first
  int port = 0;
};

// What fetch() fetches, and from where.
struct Order {
  std::string environment;          // the environment's path
  std::string base;                 // the folder for copies
  std::vector<Upstream> upstreams;  // the agents to ask, in this order; the root is the last
  Hash key{};
  std::string our_line;  // our preamble
  Waits waits = {};
  // If all upstreams have failed, this is the pause before they are asked again.
  std::chrono::milliseconds pause{1'000};
};

struct Fetched {
  std::uint64_t received_bytes = 0;
  std::string from;  // the host that sent the last part; empty: all data was on this node already
  std::string path;  // the path of the copy
  // While `cache` and `copy` exist, the copy is not removed.
  std::shared_ptr<const CopyCache> cache;
  std::shared_ptr<const Copy> copy;
};

// The maximum number of consecutive rounds through all upstreams (agents that are asked for the
// data) without new data.
inline constexpr int most_idle_rounds = 3;

// Makes this node's copy with data from the first upstream that can provide it; if that upstream
// fails, continues with the next. Offers the received data to other nodes through `share`. Blocks.
// The error is the reason why there is no copy; after an error, `share` is closed.
Result<Fetched> fetch(const Order& order, Share& share);

}  // namespace toprun::stage
