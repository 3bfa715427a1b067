#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "run/conductor.h"
#include "run/events.h"
#include "run/record.h"
#include "run/restarts.h"
#include "run/roster.h"
#include "run/settings.h"

namespace toprun::run {

// Where a run stands.
enum class Stage {
  gathering,  // members come
  arranging,  // … get their places
  preparing,  // … find the store, bring their containers up
  running,    // workers run, or are being stopped
  pausing,    // before the next attempt
  asking,     // … the engine why it ended the run
  telling,    // … the user how the run ended
  parting,    // members are told to finish
  over,
};

// The root's part of a run: gathers the agents and lets attempt follow attempt until one ends well
// or no other is allowed. Its own node's agent is a member like any other. Pure: it gets events and
// the time, and gives actions that a driver carries out; what may block is the driver's.
//
//   gathering --all there, or enough and the last call is over--> arranging --arranged--> preparing
//   preparing --all ready--> running --every node's workers gone--> pausing, gathering or asking
//   gathering, arranging, preparing, pausing --an end before the workers' start--> asking
//   asking --told, or not the engine--> telling --told--> parting --all links closed--> over
class Coordinator {
 public:
  Coordinator(Settings settings, Moment now);

  // Whether an agent may join; if so, its Came follows, or nothing.
  std::optional<rendezvous::Refused> admit(const rendezvous::Join& join);
  void on(Event event, Moment now);
  // Nothing happened until now.
  void pass(Moment now);

  std::vector<Action> take() { return std::exchange(actions_, {}); }
  std::optional<SteadyTime> wake_at() const;

  Stage stage() const { return stage_; }
  // The attempt that runs is its last.
  const Course& course() const { return course_; }
  const Roster& roster() const { return roster_; }
  // Nodes that it waits for and that the engine knows; empty when it waits for nobody.
  std::vector<std::string> awaited() const;

 private:
  // What is known of the attempt that runs, beside its record.
  struct Attempt {
    std::vector<std::string> members;  // by part
    std::vector<std::string> hosts;    // likewise
    Arrangement arrangement;
    std::size_t late = 0;     // members that are not ready
    std::size_t started = 0;  // members whose workers run
    std::optional<SteadyTime> first_failure;
    // A member does not reach the store: its node may be the one that is at fault.
    std::optional<Verdict> unreached;
    std::optional<Conductor> conductor;
  };
  // Ctrl-C was passed on, and ranks have until then to end.
  struct Interruption {
    SteadyTime killed_at;
    std::optional<SteadyTime> remind_at;
  };

  void happened(const Came& came);
  void happened(Said& said);
  void happened(const Left& left);
  void happened(Arranged& arranged);
  void happened(const NodeEnded& ended);
  void happened(const EngineTold& told);
  void happened(const EndTold& told);
  void settle();

  // Between attempts: coordinator.cc.
  void begin_attempt();
  void gather();
  void end_attempt(Verdict verdict);
  void end_run();
  void take_over_verdict();
  void conclude();
  void said_between_attempts(Node& node, const rendezvous::ToRoot& message);
  void end_early(Verdict verdict);
  Verdict nobody_else_came() const;
  void say_who_is_missing();
  bool others_may_still_come() const;
  void part();

  // Within one: attempt.cc.
  void arrange();
  void assign();
  rendezvous::StoreAddress store_address() const;
  void said_while_preparing(Node& node, const rendezvous::ToRoot& message);
  void start();
  void said_while_running(Node& node, rendezvous::ToRoot& message);
  void one_more_started(Node& node, const rendezvous::Started& started);
  void exited(std::size_t part, agent::WorkerExit exit);
  void gone(Node& node, const rendezvous::Gone& gone);
  void asked_to_grow(bool by_our_own);
  void count_newcomers();
  void carry_out_orders();
  void remind();
  std::optional<std::chrono::milliseconds> lived() const;
  Verdict nobody_is_ready() const;

  void end_or_go_on_without(Node& node, const rendezvous::Failed& failed);

  void send(const Node& node, rendezvous::ToNode message);
  void send_members(const rendezvous::ToNode& message);
  void dismiss(Node& node, rendezvous::Finish farewell);
  void tell_user(std::string text) { actions_.emplace_back(Say{std::move(text)}); }

  AttemptCourse& course_now() { return course_.attempts.back(); }

  const Settings settings_;
  Roster roster_;
  Restarts restarts_;
  Stage stage_ = Stage::gathering;
  Moment now_;
  Course course_;
  Attempt attempt_;
  std::optional<Interruption> interruption_;
  std::string route_;                    // of this host, by which the first member reached it
  bool same_members_ = false;            // nobody was lost in the last attempt
  SteadyTime deadline_{};                // of the stage
  std::optional<SteadyTime> last_call_;  // unset while fewer than the least are there
  SteadyTime next_word_{};               // about who is missing
  rendezvous::Finish farewell_;
  int to_come_ = 0;  // agents that may come yet, to be told that the run is over
  std::vector<Action> actions_;
};

// An end for a reason of toprun's own.
Verdict early(view::CauseKind kind, const Error& error);
// … because of a node that is gone before its workers were started.
Verdict lost_early(const std::string& host, const rendezvous::Loss& loss);
Verdict root_lost_early(const std::string& host, const rendezvous::Orphaned& orphaned);
Verdict signalled_early(int signal);

}  // namespace toprun::run
