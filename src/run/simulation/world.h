#pragma once

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_set.hpp>

#include "run/conductor/coordinator.h"
#include "run/simulation/agent.h"
#include "run/simulation/link.h"
#include "run/simulation/scenario.h"

namespace toprun::simulation {

inline constexpr milliseconds slowest_exit{4'000};  // between a rank's exception and its exit
inline constexpr std::string_view store_unreachable = "cannot reach the store";

// The result of a simulated run.
struct Outcome {
  std::string broken;  // the first promise (World) that was broken; empty: all were kept
  int exit_code = 0;
  int attempts = 0;
  milliseconds took{0};
  std::uint64_t steps = 0;
};

// Simulates a whole run in virtual time: the coordinator, the agents with their ranks, the links
// between them, and the faults of a scenario. After every step, World checks the promises, which
// are the properties that every run must have.
class World {
 public:
  // `tells`: print every event.
  World(Scenario scenario, bool tells);

  Outcome play();

  bool was_evicted(const std::string& host) const { return evicted_.contains(host); }
  const Scenario& scenario() const { return scenario_; }
  Timeline& timeline() { return timeline_; }
  template <class... Args>
  void trace(fmt::format_string<Args...> what, Args&&... args) {
    if (tells_) tell(fmt::format(what, std::forward<Args>(args)...));
  }
  template <class... Args>
  void expect(bool holds, fmt::format_string<Args...> promise, Args&&... args) {
    if (!holds) report_broken_promise(fmt::format(promise, std::forward<Args>(args)...));
  }

  // Agents call these functions.
  void to_root(Agent& from, model::ToRoot&& message);
  void malformed_from(Agent& agent);
  bool can_reach(const std::string& agent) const;
  void another_dies(const Agent& one);
  void workers_started(Agent& agent, int attempt, int first_rank, int count);
  void peers_are_missed(int attempt);
  void process_ended(Agent& agent);
  void rank_failed(int attempt, const model::WorkerExit& exit) {
    failures_.push_back({attempt, exit, false});
  }
  bool old_messages_return() const { return old_messages_return_; }
  void root_is_ordered_to_end() { root_may_end_ = true; }
  void all_may_be_killed() { may_kill_ = true; }
  bool may_kill() const { return may_kill_; }
  void workers_ended(const Agent& agent, int attempt);

 private:
  // The ranks assigned in one attempt.
  struct AssignedRanks {
    std::vector<bool> given;  // whether each rank was assigned
    std::string store;        // the agent on the store's node
    int started = 0;
    bool disturbed = false;
    bool hangs = false;
    SteadyTime went_on{};              // when the last hang ended
    bool is_late = false;              // without the hang, the work would be finished by now
    std::optional<hang::Alarm> alarm;  // the first alarm that the root must handle
  };
  // The exit of a rank that failed by itself.
  struct Failure {
    int attempt = 0;
    model::WorkerExit exit;
    bool is_known = false;  // the root received this exit while the node was a member
  };

  void tell(const std::string& what) const;
  void report_broken_promise(std::string promise);
  // `place`: the node's index, set if the node had an agent before.
  Agent& add_agent(std::optional<int> place = {});
  void come_again(Agent& before, milliseconds later);
  void flap(Agent& agent);
  void mute(Agent& agent);
  void pause_terminal(milliseconds time);
  void ask_for_places();
  milliseconds slow_order(const std::string& member);
  void alarm(const Fault& fault);
  void alarm_is_known(const run::Said& said);
  std::string failing_attempt(const run::Event& event) const;
  bool is_member(const Agent& agent) const;
  void expect_notices(const run::Event& event);
  void check_notices();
  void join(Agent& agent);
  void link(Agent& agent);
  void inject(const Fault& fault);
  void apply(const Fault& fault);
  void ranks_hang(const Fault& fault);
  void ranks_go_on(int attempt);
  void happened(run::Event&& event);
  std::size_t notice(const run::Event& event);
  void carry_out();
  void wait();
  void act(run::Send& send);
  void act(const run::Close& close);
  void act(const run::Say& say);
  void act(const run::Arrange& arrange);
  void act(const run::Show& show);
  void take_output(const std::string& from, std::size_t bytes);
  void act(const run::TellHang&);
  void act(const run::TellPlaces& tell);
  void act(const run::TellFailure&) {}
  void act(const run::KeepRecord&) {}
  void act(const run::AskEngine&);
  void act(const run::TellEnd&);
  void act(const run::Over&);
  void check_assignment(const std::string& agent, const model::Assignment& assignment);
  void check_attempt(const run::AttemptCourse& attempt);
  void check_cause(const run::AttemptCourse& attempt);
  void failure_is_known(const std::string& from, const model::ToRoot& message);
  std::vector<const model::WorkerExit*> first_failures(int attempt) const;
  void store_dies(const std::string& id);
  void check_phases(const run::AttemptCourse& attempt);
  void check_pause(const run::AttemptCourse& attempt);
  void check_stage();
  void check_growth();
  void check_eviction(const std::string& text);
  void check_loss(const std::string& said);
  void check_message(const run::Send& send);
  void check_members(const run::Arrange& request);
  void check_record();
  std::optional<milliseconds> limit_of_stage() const;
  model::ToRoot as_read(model::ToRoot&& message);
  model::ToNode as_read(model::ToNode&& message);
  void check_end();
  Agent* agent(const std::string& id) const;
  Agent& root() { return *agents_.front(); }

  const Scenario scenario_;
  const bool tells_;
  Timeline timeline_;
  Dice dice_;
  std::optional<run::Coordinator> coordinator_;
  std::vector<std::unique_ptr<Agent>> agents_;
  std::map<int, AssignedRanks> assigned_ranks_;            // by attempt
  std::map<int, boost::unordered_flat_set<int>> working_;  // agents with running ranks, by attempt
  std::vector<Failure> failures_;
  std::set<int> stopped_by_a_failure_;  // attempts in which a rank's failure came first
  int checked_attempts_ = 0;
  bool other_faults_ = false;      // faults other than rank failures
  std::set<std::string> evicted_;  // hosts that the root has excluded for their machine
  bool disturbed_ = false;         // any fault except repeated messages
  int failed_attempts_ = 0;        // attempts that a rank's failure ended
  bool store_is_to_die_ = false;
  bool old_messages_return_ = false;
  bool may_kill_ = false;      // a user has sent a second signal, so ranks may be killed early
  bool root_may_end_ = false;  // the root was ordered to end
  // Faults that take effect later.
  int late_orders_ = 0;
  bool end_is_not_reported_ = false;
  std::string flapping_;  // the host whose agent dies and restarts repeatedly
  int flaps_ = 0;
  // The root's terminal.
  std::optional<SteadyTime> paused_until_;
  std::vector<std::pair<std::string, std::size_t>> untaken_;  // agents and how many of their bytes
                                                              // the terminal has not accepted yet
  std::size_t shown_bytes_ = 0;
  std::set<std::string> closing_;  // agents whose links the root is closing
  int questions_ = 0;
  std::map<int, SteadyTime> unanswered_;
  bool notice_is_due_ = false;      // every member must get a notice
  std::set<std::string> notified_;  // members that got the notice
  // The root's stage.
  run::Stage stage_ = run::Stage::gathering;
  SteadyTime stage_since_{};
  int checked_stage_of_ = 0;              // the attempt to which the checked stage belongs
  std::optional<SteadyTime> stopped_at_;  // in the running stage: when the ranks first got the
                                          // command to end
  SteadyTime grace_ends_{};               // when the grace period of the last command to end is
                                          // over
  bool some_rank_has_ended_ = false;
  bool is_asked_to_grow_ = false;  // the current message asks to grow
  std::optional<SteadyTime> can_grow_since_;
  int short_lives_ = 0;  // consecutive short attempts
  std::set<std::string> lost_in_short_lives_;
  bool ended_by_a_first_loss_ = false;  // the previous attempt ended when a node was first lost
  std::optional<WallTime> last_ended_;
  std::optional<SteadyTime> wakes_at_;  // time at which the coordinator must run next
  SteadyTime last_fault_{};
  bool over_ = false;
  std::string broken_;
};

}  // namespace toprun::simulation
