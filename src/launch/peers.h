#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "launch/inbox.h"
#include "rendezvous/gathering.h"
#include "rendezvous/link.h"

namespace toprun::launch {

// One agent as the root sees it.
struct Peer {
  rendezvous::Join join;
  std::shared_ptr<rendezvous::Link> link;
  std::string address;  // where it dialled from; empty for the root's own process

  bool is_own() const { return address.empty(); }
};

// The agents that the root is linked with, members of the job and spares, and what comes from them.
class Peers {
 public:
  struct Came {
    std::string agent;
  };
  struct Said {
    std::string agent;
    nlohmann::json message;
  };
  struct Left {
    rendezvous::Join join;
    std::string reason;
    bool silent = false;    // no word for too long, rather than the connection's end
    bool properly = false;  // we had closed the link
  };
  struct SparesChanged {};  // one came or went
  using Event = std::variant<Came, Said, Left, SparesChanged>;

  Peers(boost::asio::io_context& io, rendezvous::Size size) : inbox_(io), gathering_(size) {}

  rendezvous::Gathering& gathering() { return gathering_; }
  const rendezvous::Gathering& gathering() const { return gathering_; }
  const rendezvous::Size& size() const { return gathering_.size(); }
  std::vector<std::string> missing(const std::vector<std::string>& all) const {
    return gathering_.missing(all);
  }
  const std::vector<rendezvous::Join>& members() const { return gathering_.members(); }
  // One that was admitted is there only once its welcome has been sent.
  bool all_members_are_there() const;

  void add(const rendezvous::Join& join, std::shared_ptr<rendezvous::Link> link,
           std::string address);
  // What comes next from a member, or that the spares are others; nullopt once `deadline` has
  // passed. Who left is forgotten by then.
  boost::asio::awaitable<std::optional<Event>> next(std::optional<SteadyTime> deadline);

  bool is_own(const std::string& agent) const { return peers_.at(agent).is_own(); }
  Peer& at(const std::string& agent) { return peers_.at(agent); }
  void tell(const std::string& agent, const nlohmann::json& message);
  void tell_members(const nlohmann::json& message);
  void tell_all(const nlohmann::json& message);
  // Ends the run for one of them, or for all; a link is closed once this has been sent.
  void dismiss(const std::string& agent, const nlohmann::json& farewell);
  void dismiss_all(const nlohmann::json& farewell);
  // Until all that were dismissed have closed as well, or `deadline`.
  boost::asio::awaitable<void> all_gone(SteadyTime deadline);

 private:
  bool concerns_the_job(Event& event);

  Inbox<Event> inbox_;
  rendezvous::Gathering gathering_;
  std::map<std::string, Peer> peers_;  // by agent
};

}  // namespace toprun::launch
