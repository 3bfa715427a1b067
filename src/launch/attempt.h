#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "base/error.h"
#include "launch/arrange.h"
#include "launch/conductor.h"
#include "launch/ending.h"
#include "launch/peers.h"
#include "launch/session.h"
#include "rendezvous/messages.h"

namespace toprun::launch {

inline constexpr std::chrono::seconds ready_timeout{60};  // assigned → every agent found the store

// An end before the workers were started.
using Early = std::optional<Verdict>;

// An early end for a reason of toprun's own: kind "launcher", "join_timeout" …
Verdict early(std::string kind, const Error& error);
// What a member's message means for a run whose workers are not running: told to end, failed, lost,
// or nothing.
Early early_end(const nlohmann::json& message, const Peer& peer);

// One attempt of a job, at the root: orders its members, gives each its part, has them start their
// workers and watches until all of these are gone. The members are those of `peers` when it begins;
// they stay the same, less those that are lost.
//
//   placed --assign--> preparing --all ready--> running --all gone--> over
class Attempt {
 public:
  // `number` counts from 0; `restarts` as in TORCHELASTIC_RESTART_COUNT; `before`: the nodes of the
  // attempt before in their order, none for the first. `on_phase` is told at each phase's end.
  Attempt(Session& session, Peers& peers, int number, int restarts, std::vector<std::string> before,
          std::function<void(const AttemptCourse&)> on_phase);

  boost::asio::awaitable<AttemptCourse> run(AttemptCourse course);
  // How long the workers had run when the first of them failed; unset if they never started.
  std::optional<std::chrono::milliseconds> lived() const;
  // Agents that were told to end where the job goes on without them, with the signal.
  const std::map<std::string, int>& leavers() const { return leavers_; }

 private:
  Early place();
  void assign();
  boost::asio::awaitable<Early> all_ready();
  boost::asio::awaitable<Verdict> watch();
  void heard(Conductor& conductor, const Peers::Said& said);
  void count_newcomers(Conductor& conductor);
  void asked_to_grow(Conductor& conductor, bool by_our_own);
  void show_output(const Peers::Said& said);
  void heard_exit(Conductor& conductor, std::size_t member, const nlohmann::json& message);
  void one_more_started(Conductor& conductor, std::size_t member, const nlohmann::json& message);

  rendezvous::StoreAddress store_address();

  Session& session_;
  Peers& peers_;
  const int number_;
  const int restarts_;
  const std::vector<std::string> before_;
  const std::function<void(const AttemptCourse&)> on_phase_;
  const std::vector<rendezvous::Join> members_;
  std::map<std::string, std::size_t> index_;  // of an agent among the members
  Arrangement arrangement_;
  std::size_t started_ = 0;  // members whose workers run
  std::optional<SteadyTime> first_failure_;
  std::map<std::string, int> leavers_;
  AttemptCourse course_;
};

}  // namespace toprun::launch
