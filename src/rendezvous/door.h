#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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
  std::string job;    // as wire_job() gives it
  std::string agent;  // 16 hex digits
};

inline constexpr int max_visitors = 1024;  // in their handshake at once; more wait in the backlog

// Answers what knocks at an agent's port in toprun's own protocol: probes anywhere, joins at the
// root. Lives as long as its io_context; everything runs on that thread.
class Door {
 public:
  struct Decisions {
    std::function<std::optional<Refused>(const Join&)> admit;           // root only
    std::function<void(const Join&, std::shared_ptr<Channel>)> joined;  // after a welcome
  };

  Door(boost::asio::io_context& io, Identity identity, Patience patience);
  // Until one of these is called, visitors wait: an agent listens before it knows whether it is the
  // root. One that is not refuses every join as not-root.
  void become_root(Secret secret, Decisions decisions);
  void become_agent();

  // A connection that began with `first_bytes`.
  void visit(Fd connection, std::string first_bytes);

 private:
  void open();
  boost::asio::awaitable<void> answer(std::shared_ptr<Channel> channel);
  boost::asio::awaitable<void> answer_member(std::shared_ptr<Channel> channel, Preamble theirs);
  std::optional<Refused> unfit(const Preamble& theirs) const;
  std::string my_line() const;

  boost::asio::io_context& io_;
  Identity identity_;
  Patience patience_;
  std::optional<Secret> secret_;
  Decisions decisions_;
  int visitors_ = 0;
  bool open_ = false;
  std::vector<std::shared_ptr<Channel>> waiting_;
};

}  // namespace toprun::rendezvous
