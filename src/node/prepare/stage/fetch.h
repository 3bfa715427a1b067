#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/net/address.h"
#include "base/text/error.h"
#include "node/prepare/stage/copy.h"
#include "node/prepare/stage/share.h"
#include "node/prepare/stage/wire.h"

namespace toprun::stage {

// An agent that has the environment, or will have it.
struct Upstream {
  std::string agent, host;
  std::vector<hosts::Address> addresses;  // best first
  int port = 0;
};

struct Order {
  std::string environment;          // its path
  std::string base;                 // the folder for copies
  std::vector<Upstream> upstreams;  // the one to ask first; the root is the last
  Hash key{};
  std::string our_line;  // our preamble
  Waits waits = {};
  std::chrono::milliseconds pause{1'000};  // after all of them failed, before they are asked again
};

struct Fetched {
  std::uint64_t received_bytes = 0;
  std::string from;  // the host that sent the last of it; empty: all was there
  std::string path;  // of the copy
  // They keep the copy from being removed.
  std::shared_ptr<const Shelf> shelf;
  std::shared_ptr<const Copy> copy;
};

// Rounds through all upstreams that bring nothing new.
inline constexpr int most_idle_rounds = 3;

// Makes this node's copy from the first upstream that gives it, goes on with the next where that
// one fails, and offers in `share` what it has received. Blocks. Error: there is no copy, and why;
// `share` is then closed.
Result<Fetched> fetch(const Order& order, Share& share);

}  // namespace toprun::stage
