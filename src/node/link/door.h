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

// What an agent sends to other agents to identify itself.
struct Identity {
  std::string version;
  std::string job;    // from job_hash()
  std::string agent;  // from new_agent_id()
};

// Returns the line that a visitor receives if there are too many visitors. A visitor is a
// connection to an agent's port that uses toprun's own protocol.
std::string busy_line(const Identity& me);

// The limit on connections that have not yet proved that they know the job's secret. If there are
// more such connections, the oldest connection is refused with the answer "busy". To block agents,
// an attacker would have to open this many connections in less time than a handshake takes;
// besides, refused agents retry. A connection that was answered still counts towards this limit
// until it is closed, which takes at most the time `parting`.
inline constexpr std::size_t max_visitors = 16'384;  // same value as the store's limit "undecided"

// The minimum time between two messages about first frames that are too long.
inline constexpr std::chrono::seconds long_frames_while{10};

// Answers the visitors of an agent's port. Every agent answers probes; only the root answers joins
// (Role in preamble.h). A Door exists as long as its io_context, and all its code runs on the
// io_context's thread.
class Door {
 public:
  struct Decisions {
    std::function<std::optional<model::Refused>(const model::Join&)> admit;  // only at the root
    // Called after the root's welcome was sent to an admitted agent.
    std::function<void(const model::Join&, std::shared_ptr<Channel>)> joined;
  };

  Door(boost::asio::io_context& io, Identity identity, Patience patience,
       std::size_t most_visitors = max_visitors);
  // Visitors wait until one of the next two functions is called, because an agent listens before it
  // knows whether it is the root. An agent that is not the root refuses every join with the code
  // not-root.
  void become_root(Secret secret, Decisions decisions);
  void become_agent();

  // Called for each agent that wants a copy of the Python environment (--stage). The arguments are
  // its connection and its preamble line. Unset: the connections are closed.
  std::function<void(Fd, std::string)> on_stage;

  // Takes over a new visitor's connection. `first_bytes` were already read from the connection.
  void visit(Fd connection, std::string first_bytes);

 private:
  using Visitor = std::uint64_t;  // visitors are numbered consecutively

  void open();
  void begin_to_answer(Visitor visitor);
  void answer(Visitor visitor, Channel& channel, std::string line);
  void answer_member(Visitor visitor, Channel& channel, const Preamble& theirs);
  void admit(Visitor visitor, Channel& channel, const std::string& member_version,
             const nlohmann::json& frame);
  void turn_away(Channel& channel, Turned why);
  void tell_of_long_frame(const Channel& channel);
  // Removes the visitor, and closes its connection once it has received its answer.
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
  std::set<Turned> reported_;  // reasons for a refusal already reported to the root's user
  // When a frame that was too long was last reported.
  std::optional<std::chrono::steady_clock::time_point> long_reported_at_;
  int long_untold_ = 0;  // the number of frames that were too long since long_reported_at_
};

}  // namespace toprun::link
