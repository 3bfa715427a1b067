#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "launch/attempt.h"
#include "launch/ending.h"
#include "launch/peers.h"
#include "launch/presence_watch.h"
#include "launch/restarts.h"
#include "launch/session.h"
#include "rendezvous/link.h"
#include "rendezvous/secret.h"

namespace toprun::launch {

inline constexpr std::chrono::seconds farewell_timeout{2};  // finish sent → links closed
// How long a run that ended before all had come waits for the others, to tell them so.
inline constexpr std::chrono::seconds latecomers_limit{10};

// The root of a run: gathers the agents and lets attempt follow attempt until one ends well or no
// other is allowed. Its own node's agent is a Member like any other, over a link within the
// process.
//
//   gathering → attempt → pausing → gathering …; gathering, attempt → over
class Root {
 public:
  Root(Session& session, rendezvous::Secret secret);

  // The member's end of a link for the agent in this process.
  std::shared_ptr<rendezvous::Link> admit_own(const rendezvous::Join& join);
  // The whole run; the record of how it went is complete then, and all members wait for a farewell.
  boost::asio::awaitable<Course> run();
  boost::asio::awaitable<void> farewell();
  bool is_gathering() const { return peers_.gathering().is_open(); }

 private:
  boost::asio::awaitable<Restarts::Next> one_attempt();
  boost::asio::awaitable<Early> gather(AttemptCourse& course);
  boost::asio::awaitable<Early> pause(std::chrono::milliseconds time);
  void ask_why();
  void note_progress(const AttemptCourse& running) const;
  std::vector<std::string> last_order() const;  // of the attempt before, by group rank
  Early heard_between_attempts(const Peers::Event& event);
  void dismiss(const std::string& agent, int exit_code);
  Early ended_before_joining();
  bool others_may_still_come() const;

  bool everybody_is_there() { return peers_.gathering().full() && peers_.all_members_are_there(); }
  Verdict nobody_else_came() const;
  void say_who_is_missing() const;
  std::vector<std::string> missing() const;

  Session& session_;
  Peers peers_;
  Restarts restarts_;
  std::optional<SteadyTime> last_call_;  // unset while fewer than the least are there
  bool same_members_ = false;            // nobody was lost in the last attempt
  PresenceWatch presence_;
  Course course_;
};

}  // namespace toprun::launch
