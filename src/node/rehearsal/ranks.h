#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/os/fd.h"
#include "node/rehearsal/script.h"
#include "node/worker/children.h"

namespace toprun::rehearsal {

// One rank's process in virtual time.
struct Rank {
  int rank = 0;
  int attempt = 0;
  std::size_t node = 0;
  std::size_t index = 0;  // the rank's index on the node
  pid_t pid = 0;
  bool lives = true;
  bool is_stubborn = false;    // ignores SIGTERM
  bool hangs = false;          // makes no progress
  bool is_guilty = false;      // hangs, and the other ranks wait for this rank
  std::uint64_t progress = 0;  // grows while the rank makes progress
  int status = 0;              // once the rank has ended, in the format of waitpid(2)
  bool is_reaped = false;
  std::string unwritten;         // output that is not written yet
  std::optional<int> ends_with;  // an exit code, used once the output is written
  Fd out;
};

// All ranks of a run, on all its nodes.
class Ranks {
 public:
  Ranks(simulation::Timeline& timeline, const Script& script);

  // Returns an object that simulates the processes of one node in one attempt.
  std::shared_ptr<worker::Children> children(boost::asio::io_context& io, std::size_t node);
  // Called when a rank has joined the store, and again when the rank has met the other ranks.
  std::function<void(const Rank& rank, bool has_met)> on_arrival;

  void exits(std::size_t node, std::size_t index, int code);
  void is_killed(std::size_t node, std::size_t index, int signal);
  // Makes this rank hang. All other living ranks then wait for this rank. Returns the number of
  // ranks that stopped making progress.
  int hang(std::size_t node, std::size_t index);
  void go_on();
  void die_with(std::size_t node);
  const Rank* of(pid_t pid) const;
  int living() const;

 private:
  class Of;
  friend class Of;
  Rank* running(std::size_t node, std::size_t index);
  void start(const std::shared_ptr<Rank>& rank);
  void write(const std::shared_ptr<Rank>& rank);
  void end(Rank& rank, int status);
  void is_done(const std::shared_ptr<Rank>& rank);

  simulation::Timeline& timeline_;
  const Script& script_;
  Dice dice_;
  std::map<pid_t, std::shared_ptr<Rank>> ranks_;
  std::vector<std::weak_ptr<Of>> groups_;
  pid_t next_pid_;
};

}  // namespace toprun::rehearsal
