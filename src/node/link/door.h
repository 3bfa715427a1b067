#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <boost/asio/io_context.hpp>

#include "base/os/fd.h"
#include "node/link/channel.h"
#include "node/link/preamble.h"
#include "node/link/secret.h"
#include "run/model/messages.h"

namespace toprun::link {

// An agent's description for its peers.
struct Identity {
  std::string version;
  std::string job;    // from job_hash()
  std::string agent;  // from new_agent_id()
};

// What a visitor reads where there is no room for it.
std::string busy_line(const Identity& me);

// The limit on connections that have not yet proved the job's secret. Beyond it the oldest is
// turned away as from a busy port. An attacker who wants to keep agents out must fill it faster
// than a handshake, and agents dial again. Answered connections count until they close, for
// `parting` at most.
inline constexpr std::size_t max_visitors = 16'384;  // equals the store's limit "undecided"

// First frames that are too long are reported at most once in this time.
inline constexpr std::chrono::seconds long_frames_while{10};

// Answers connections to an agent's port that use toprun's own protocol: probes at every agent,
// joins at the root. Lives as long as its io_context; everything runs on that thread.
class Door {
 public:
  struct Decisions {
    std::function<std::optional<model::Refused>(const model::Join&)> admit;    // root only
    std::function<void(const model::Join&, std::shared_ptr<Channel>)> joined;  // after a welcome
  };

  Door(boost::asio::io_context& io, Identity identity, Patience patience,
       std::size_t most_visitors = max_visitors);
  // Until one of these is called, visitors wait: an agent listens before it knows whether it is the
  // root. An agent that is not the root refuses every join as not-root.
  void become_root(Secret secret, Decisions decisions);
  void become_agent();

  // Who gets connections of agents that want the environment, with their preamble's line; unset:
  // they are closed.
  std::function<void(Fd, std::string)> on_stage;

  // Takes over a connection from which `first_bytes` were already read.
  void visit(Fd connection, std::string first_bytes);

 private:
  using Visitor = std::uint64_t;  // numbered consecutively

  void open();
  void begin_to_answer(Visitor visitor);
  void answer(Visitor visitor, Channel& channel, std::string line);
  void answer_member(Visitor visitor, Channel& channel, const Preamble& theirs);
  void admit(Visitor visitor, Channel& channel, const nlohmann::json& frame);
  void turn_away(Channel& channel, Turned why);
  void tell_of_long_frame(const Channel& channel);
  // Closes the connection when the visitor has read its answer.
  void dismiss(Visitor visitor, Channel& channel);
  std::optional<Turned> rejection_of(const Preamble& theirs) const;
  std::string my_line() const;

  Channels& channels_;
  Identity identity_;
  Patience patience_;
  const std::size_t most_visitors_;
  std::optional<Secret> secret_;
  Decisions decisions_;
  bool open_ = false;
  Visitor last_visitor_ = 0;
  std::map<Visitor, std::shared_ptr<Channel>> visitors_;
  std::set<Turned> reported_;  // reasons already reported to the root's user
  std::optional<std::chrono::steady_clock::time_point> told_of_long_;  // the last line, …
  int long_untold_ = 0;                                                // … and how many since
};

}  // namespace toprun::link
