#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decide/hang/hang_verdict.h"
#include "run/conductor/arrivals.h"
#include "run/conductor/conductor.h"
#include "run/conductor/course.h"
#include "run/conductor/events.h"
#include "run/conductor/hang_watch.h"
#include "run/conductor/restarts.h"
#include "run/conductor/roster.h"
#include "run/conductor/settings.h"
#include "run/model/phases.h"

namespace toprun::run {

// The stages of a run.
enum class Stage {
  gathering,  // members join
  arranging,  // the members get their node ranks
  preparing,  // the members find the store, copy the environment, start containers and warm parents
  running,    // workers run, or are being stopped
  pausing,    // the pause before the next attempt
  asking,     // the root asks the engine why the engine ended the run
  telling,    // the root reports the end to the user
  parting,    // the members finish
  over,
};
std::string_view name_of(Stage stage);  // the enumerator's name

// Makes the root's decisions in a run. The coordinator gathers the agents and runs attempts until
// one succeeds or no further attempt is allowed. The root node's agent is a member like any other.
// The class performs no I/O: it receives events and the time, and returns actions. A driver carries
// out everything that may block.
//
//   gathering --all there, or the minimum at last_call_--> arranging --arranged--> preparing
//   preparing --all ready--> running --every node's workers gone--> pausing, gathering or asking
//   gathering, arranging, preparing, pausing --an end before the workers' start--> asking
//   asking --answered, or not the engine--> telling --EndReported--> parting --all links closed-->
//   over
class Coordinator {
 public:
  Coordinator(Settings settings, Moment now);

  // Returns why an agent may not join; nullopt: it may join. If the agent may join, a Came event
  // follows, unless the agent's connection ends before.
  std::optional<model::Refused> admit(const model::Join& join);
  void on(Event event, Moment now);
  // Advances the time without an event.
  void pass(Moment now);

  std::vector<Action> take() { return std::exchange(actions_, {}); }
  std::optional<SteadyTime> wake_at() const;

  Stage stage() const { return stage_; }
  // The history of the run. The last attempt in this history is the current attempt.
  const Course& course() const { return course_; }
  const Roster& roster() const { return roster_; }
  // Whether an attempt is being launched, and how far the launch has got. A launch ends when all
  // ranks have reached their first collective.
  bool is_launching() const;
  model::Launch launch(SteadyTime now) const;
  // The nodes that the engine (such as Slurm) has allocated and that the run awaits. Empty if the
  // run waits for no node.
  std::vector<std::string> awaited() const;
  // The engine's nodes that have not joined; empty if the run does not know the nodes' names.
  std::vector<std::string> missing() const { return roster_.missing(settings_.node_names); }
  const Settings& settings() const { return settings_; }
  // The nodes that have joined, and the nodes for which the run still waits. Unset if an attempt
  // has begun, or if no attempt will begin.
  std::optional<model::Gathering> gathering() const;
  // The nodes that wait as spares, by name.
  std::vector<Outside> spares() const;
  // The agent's assignment in the current attempt; null if the agent does not take part in the
  // attempt.
  const model::Assignment* part_of(const std::string& agent) const;
  // The signal that ends the job, if one does.
  std::optional<int> ending_signal() const {
    return attempt_.conductor ? attempt_.conductor->ending_signal() : std::nullopt;
  }
  // Whether the ranks have been ordered to end, but some of them still run.
  bool is_stopping() const {
    return stage_ == Stage::running && attempt_.conductor && attempt_.conductor->is_stopping();
  }
  // While the ranks are being stopped: the reason that is known so far, without the ranks' exits.
  // Unset at other times.
  std::optional<Verdict> verdict_so_far() const {
    return is_stopping() ? std::optional(attempt_.conductor->verdict_without_exits())
                         : std::nullopt;
  }
  // Whether a hang was reported to the user and no rank has made progress since.
  bool hangs() const { return attempt_.watch && attempt_.watch->is_reported(); }

 private:
  // A member in the current attempt: its assignment and its processes.
  struct Part {
    std::string agent;
    std::string host;
    model::Assignment plan;             // set once the order is computed
    std::optional<SteadyTime> started;  // when its workers started
    std::vector<int> pids;              // 4 bytes per rank, to name the slow ranks
  };
  // The state of the current attempt that the attempt's record does not contain.
  struct Attempt {
    std::vector<Part> parts;
    bool is_arranged = false;    // every member has an assignment
    std::size_t store_host = 0;  // index in `parts` of the member on the store's node
    std::size_t late = 0;        // members that are preparing
    std::size_t started = 0;     // members whose workers run
    SteadyTime start_sent{};
    std::optional<SteadyTime> stopped;  // when the workers failed or all ended
    std::vector<model::Share> staged;   // the nodes that have copied the environment
    std::uint64_t staged_bytes = 0;     // bytes that these nodes received
    std::vector<std::pair<std::string, std::string>> unstaged;  // nodes without a copy, and why
    std::vector<model::Share> warmed;      // the nodes whose warm parent has finished its imports
    std::vector<model::Share> prefetched;  // the nodes that have read the files that ranks import
    // The ranks' arrivals at the store that were reported before all members had started. The time
    // says when they were reported.
    std::optional<std::pair<model::Arrivals, SteadyTime>> arrivals;
    bool import_is_reported = false;
    // The error of a member that cannot reach the ranks' store. Perhaps the fault is on the node
    // that runs the store.
    std::optional<Verdict> store_unreachable;
    std::optional<Conductor> conductor;
    std::optional<HangWatch> watch;  // set together with `conductor`
    int first_look = 0;              // the number of the first look in this attempt (HangWatch)
  };
  // A Ctrl-C that was forwarded to the ranks. At `killed_at`, ranks that still run are killed.
  struct Interruption {
    SteadyTime killed_at;
    std::optional<SteadyTime> remind_at;
  };

  void happened(const Came& came);
  void happened(Said& said);
  void happened(const Left& left);
  void happened(Arranged& arranged);
  void happened(const NodeEnded& ended);
  void happened(const EngineAnswered& reported);
  void happened(const EndReported& reported);
  void happened(const PlacesAsked& asked);
  void advance();

  // Gathering nodes before an attempt (gathering.cc).
  void make_way_for(const model::Join& join);
  // Tells the user that an agent joins, waits or leaves. The number of such lines is limited,
  // because agents may join and leave at any rate.
  void tell_of_visitor(std::string text);
  void gather();
  bool no_other_can_come() const;
  bool chooses_later();
  void on_report_between_attempts(Node& node, const model::ToRoot& message);
  void gathering_changed();
  void report_missing();
  std::string who_is_missing() const;
  Verdict too_few_joined() const;
  Verdict too_many_have_left() const;
  std::string too_few_are_left(int left) const;
  model::Until spare_waits_until(bool has_place) const;
  void tell_to_wait(Node& node, bool has_place);
  void tell_spares();
  void keep_spares();
  void lost_spare(const std::string& host, std::string why);
  bool has_spare() const;

  // The following functions lead from one attempt to the next, or to the end of the run
  // (coordinator.cc).
  void begin_attempt();
  void forget_old_attempts();
  void end_early(Verdict verdict);
  void end_attempt(Verdict verdict);
  std::string words_for_the_last_call() const;
  bool is_at_the_root(const std::string& host) const;
  bool is_hopeless_without(const std::string& node);
  bool is_too_small();
  std::vector<std::string> gone_members() const;
  void tell_other_losses();
  void end_run();
  void copy_verdict();
  void conclude();
  bool others_may_still_come() const;
  void dismiss_all();
  std::optional<SteadyTime> report_due() const;
  void report_waiting();

  // Within an attempt (attempt.cc).
  void arrange();
  std::vector<std::string> candidates(Arrange& request);
  std::optional<std::string> seat_the_chosen(const std::vector<std::size_t>& spares);
  void tell_of_arrivals();
  void assign();
  bool others_need_no_preparation() const;
  model::StoreAddress address_of(std::size_t part) const;
  model::StoreAddress store_address() const;
  void on_report_while_preparing(Node& node, const model::ToRoot& message);
  void start();
  void on_report_while_running(Node& node, model::ToRoot& message);
  void on_started(Node& node, const model::Started& started);
  void all_started();
  void exited(std::size_t part, model::WorkerExit exit);
  void gone(Node& node, const model::Gone& gone);
  void lost_member(Node& node, bool silent, std::string why);
  void asked_to_grow();
  void count_newcomers();
  void carry_out_orders();
  void remind();
  std::optional<std::chrono::milliseconds> lifetime() const;
  Verdict nobody_is_ready() const;
  Verdict no_order_in_time() const;
  std::optional<SteadyTime> last_word_due() const;
  std::string awaited_words() const;
  std::string order_sources() const;
  void lose_the_late();
  void lose(std::size_t part, std::string words);

  // Plans how the Python environment is copied to all nodes (--stage; staging.cc).
  void plan_staging();
  void on_staged(const Node& node, const model::Staged& staged);
  void tell_staging();

  // The phases of an attempt (phases.cc).
  std::optional<model::Spread> time_to_join() const;
  std::optional<model::Spread> time_to_start() const;
  void arrived(const model::Arrivals& arrivals, SteadyTime reported);
  std::vector<MemberRanks> ranks_of_members() const;
  std::vector<std::string> awaited_members() const;
  void tell_phase(std::string_view what, SteadyTime end, const model::Spreads& spreads);

  // Ranks that make no progress (hang_watch.cc).
  HangWatch new_watch() const;
  void alarmed(std::size_t part, hang::Alarm alarm);
  void carry_out_wishes();
  void carry_out(HangWatch::Ask& ask);
  void carry_out(HangWatch::Answer& answer);
  void carry_out(HangWatch::Hung& hung);
  void carry_out(HangWatch::Over& over);
  void tell_places(std::vector<int> questions, const hang::Verdict& verdict);
  std::optional<SteadyTime> wake_while_running() const;
  hang::NodeOf node_of_rank() const;

  void end_or_go_on_without(Node& node, const model::Failed& failed);
  void evict_by(const Verdict& verdict);
  Node* member_with(int rank);
  void bar(const std::string& host, std::string why);
  void dismiss_all_of(const std::string& host, const std::string& why);

  void send(const Node& node, model::ToNode message);
  void send_members(const model::ToNode& message);
  void dismiss(Node& node, model::Finish finish);
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
  std::string root_address_;   // this host's address, which the first member reached
  bool same_members_ = false;  // no member was lost in the last attempt
  SteadyTime deadline_{};      // the time limit of the stage
  // The time when the run begins without the missing nodes. Unset while fewer nodes than the
  // minimum are present.
  std::optional<SteadyTime> last_call_;
  SteadyTime next_report_{};              // when to report what the stage waits for
  std::chrono::seconds missing_pause_{};  // between two reports of missing nodes
  int reported_present_ = 0;              // nodes that were present at the last of these reports
  model::Finish finish_message_;
  std::map<std::string, std::string> barred_;  // hosts whose agents are refused, and why
  std::set<std::string> ended_;  // the engine's nodes whose process ended before it joined
  std::set<std::string> came_;   // the engine's nodes whose agent has joined or ended, if no agent
                                 // joins twice
  std::optional<std::pair<std::string, std::string>> left_early_;  // a node, and why it left
  // Set once the run has enough nodes to begin. Until this time, the run still waits for the
  // engine's spare nodes, so that it can choose its members among all nodes, spares included.
  std::optional<SteadyTime> choice_due_;
  SteadyTime growth_answered_{};  // when a message last said that no node is admitted
  SteadyTime visitors_reported_since_{};
  int visitors_reported_ = 0;  // number of lines of tell_of_visitor() since then, including the
                               // lines that were not printed
  int late_agents_ = 0;        // agents that may still join, only to receive the message that the
                               // run is over
  std::optional<SteadyTime> gathering_due_;  // when to record the nodes that have joined meanwhile
  std::vector<Action> actions_;
};

// Returns the verdict for a run that toprun itself ended early.
Verdict early(model::CauseKind kind, const Error& error);
// Returns the verdict for a run that ended because a node was lost before its workers started.
Verdict lost_early(const std::string& host, const model::Loss& loss);
Verdict root_lost_early(const std::string& host, const model::Orphaned& orphaned);
Verdict signalled_early(int signal);

}  // namespace toprun::run
