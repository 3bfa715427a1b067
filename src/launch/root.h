#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "base/error.h"
#include "launch/arrange.h"
#include "launch/conductor.h"
#include "launch/ending.h"
#include "launch/inbox.h"
#include "launch/session.h"
#include "rendezvous/gathering.h"
#include "rendezvous/link.h"
#include "rendezvous/secret.h"

namespace toprun::launch {

inline constexpr std::chrono::seconds ready_timeout{60};  // assigned → every agent found the store
inline constexpr std::chrono::seconds farewell_timeout{2};  // finish sent → links closed

// The root of a run: gathers the agents, orders them, gives each its part, and watches until the
// end. Its own node's agent is a Member like any other, over a link within the process.
//
//   gathering → preparing → running → over; any of the first three ends early with a Verdict
class Root {
 public:
  Root(Session& session, rendezvous::Secret secret);

  // The member's end of a link for the agent in this process.
  std::shared_ptr<rendezvous::Link> admit_own(const rendezvous::Join& join);
  // The whole run; the record of how it went is complete then.
  boost::asio::awaitable<Course> run();

 private:
  struct Peer {
    std::shared_ptr<rendezvous::Link> link;
    std::string address;    // as the root sees it; empty for its own process
    std::size_t index = 0;  // among the gathered, once all have come
    bool ready = false;
    bool lifeline = false;  // became its rank: the connection only tells that it lives
  };
  struct Came {};
  struct Said {
    std::string agent;
    nlohmann::json message;
  };
  struct Left {
    std::string agent;
    std::string reason;
    bool properly = false;
  };
  using Event = std::variant<Came, Said, Left>;
  using Early = std::optional<Verdict>;  // an end before the workers were started

  void add(const rendezvous::Join& join, std::shared_ptr<rendezvous::Link> link,
           std::string address);
  boost::asio::awaitable<Early> gather();
  Early place();
  void assign();
  boost::asio::awaitable<Early> all_ready();
  boost::asio::awaitable<Verdict> watch();
  void heard(Conductor& conductor, const Said& said);
  void one_more_started();
  boost::asio::awaitable<void> take_leave();

  Early early_end(const Said& said) const;
  rendezvous::StoreAddress store_address() const;
  std::vector<std::string> node_names() const;
  void say_who_is_missing() const;
  void tell_all(const nlohmann::json& message);
  const rendezvous::Join& member(std::size_t index) const { return gathering_.members()[index]; }

  Session& session_;
  Inbox<Event> inbox_;
  rendezvous::Gathering gathering_;
  std::unordered_map<std::string, Peer> peers_;  // by agent
  Arrangement arrangement_;
  std::size_t started_ = 0;  // members whose workers run
  Course record_;
};

}  // namespace toprun::launch
