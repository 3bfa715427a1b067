#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "base/fd.h"
#include "rendezvous/channel.h"
#include "rendezvous/messages.h"
#include "rendezvous/preamble.h"
#include "rendezvous/secret.h"

namespace toprun::rendezvous {

// How an agent shows itself to others.
struct Identity {
  std::string version;
  std::string job;    // as job_hash() gives it
  std::string agent;  // 16 hex digits
};

// Who has not shown yet to have the job's secret. One more, and the oldest of them is sent away as
// from a busy port: whoever keeps honest agents out that way has to be quicker than their
// handshake, and these dial again. Who has had an answer is here until it closes, for `parting` at
// most.
inline constexpr std::size_t max_visitors = 16'384;  // as the store's undecided

// Answers what knocks at an agent's port in toprun's own protocol: probes anywhere, joins at the
// root. Lives as long as its io_context; everything runs on that thread.
class Door {
 public:
  struct Decisions {
    std::function<std::optional<Refused>(const Join&)> admit;           // root only
    std::function<void(const Join&, std::shared_ptr<Channel>)> joined;  // after a welcome
  };

  Door(boost::asio::io_context& io, Identity identity, Patience patience,
       std::size_t most_visitors = max_visitors);
  // Until one of these is called, visitors wait: an agent listens before it knows whether it is the
  // root. One that is not refuses every join as not-root.
  void become_root(Secret secret, Decisions decisions);
  void become_agent();

  // A connection that began with `first_bytes`.
  void visit(Fd connection, std::string first_bytes);

 private:
  using Visitor = std::uint64_t;  // counted from the first on

  void open();
  void begin_to_answer(Visitor visitor);
  boost::asio::awaitable<void> attend(Visitor visitor, std::shared_ptr<Channel> channel);
  // Whether it has joined.
  boost::asio::awaitable<bool> answer(Visitor visitor, std::shared_ptr<Channel> channel);
  boost::asio::awaitable<bool> answer_member(Visitor visitor, std::shared_ptr<Channel> channel,
                                             Preamble theirs);
  boost::asio::awaitable<void> turn_away(std::shared_ptr<Channel> channel, Turned why);
  std::optional<Turned> unfit(const Preamble& theirs) const;
  std::string my_line() const;

  boost::asio::io_context& io_;
  Identity identity_;
  Patience patience_;
  const std::size_t most_visitors_;
  std::optional<Secret> secret_;
  Decisions decisions_;
  bool open_ = false;
  Visitor last_visitor_ = 0;
  std::map<Visitor, std::shared_ptr<Channel>> visitors_;
  std::set<Turned> told_;  // reasons that the root's user has read
};

}  // namespace toprun::rendezvous
