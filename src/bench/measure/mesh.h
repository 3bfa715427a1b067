#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/net/address.h"
#include "base/os/fd.h"
#include "base/text/error.h"

namespace toprun::measure {

// The address at which a rank's process accepts connections.
struct Peer {
  std::size_t rank = 0;
  std::size_t node = 0;  // in rank order
  std::string host;
  std::string location;  // "/core/r0/n0"; empty: unknown
  std::string address;   // an IP address, not a name
  int port = 0;
  long pid = 0;

  std::string text() const;  // "rank 3 on n1"
};

// The TCP connections of one rank to other ranks, made when they are first needed. Of two ranks,
// the higher rank connects to the lower rank. Each connection begins with a greeting that contains
// the rank and the job's token. If a peer sends another greeting, its connection is closed.
class Mesh {
 public:
  // Listens on a port. `token`: a text that only the ranks of the job know.
  static Result<Mesh> open(std::size_t rank, std::string token);
  int port() const;
  void know(std::vector<Peer> peers) { peers_ = std::move(peers); }

  // Connects to each rank in `ranks` that is not connected yet. All ranks in `ranks` must also call
  // connect() within `limit`. `stripes`: the number of connections to each rank.
  Result<void> connect(std::span<const std::size_t> ranks, std::size_t stripes,
                       std::chrono::milliseconds limit);
  int socket(std::size_t rank, std::size_t stripe) const;
  // Closes all connections to a rank.
  void drop(std::size_t rank);

 private:
  struct Greeting;
  using Key = std::pair<std::size_t, std::size_t>;  // rank, stripe
  Mesh(std::size_t rank, std::string token, Fd listener);
  Result<Fd> dial(const Peer& peer, std::size_t stripe, std::chrono::milliseconds limit) const;
  Result<void> admit(std::chrono::milliseconds limit);
  void add(Key key, Fd socket);

  std::size_t rank_;
  std::string token_;
  Fd listener_;
  std::vector<Peer> peers_;
  std::map<Key, Fd> sockets_;
};

}  // namespace toprun::measure
