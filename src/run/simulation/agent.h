#pragma once

#include <memory>
#include <string>
#include <vector>

#include "run/conductor/node_part.h"
#include "run/simulation/link.h"
#include "run/simulation/scenario.h"

namespace toprun::simulation {

class World;

// Simulates one node's agent, its keeper (parent process) and its ranks in virtual time. `part_` is
// the real code under test. All other members simulate the environment of `part_`.
class Agent {
 public:
  // `place`: the node's index from the engine. Perhaps an earlier agent on the same node had the
  // same index.
  Agent(World& world, int index, int place, Dice dice);

  model::Join join() const;
  // Connects the agent to the root, which has admitted the agent. The agent starts when the
  // admission arrives.
  void attach(std::unique_ptr<Link> link) { link_ = std::move(link); }
  void begin();
  void reported(model::ToNode&& message);
  void root_lost(model::Loss loss);

  // Makes a rank raise an exception. The rank's peers notice the failure, and the rank exits after
  // `takes`.
  void rank_raises(int rank, int code, milliseconds takes);
  void rank_is_killed(int rank, int signal);
  // A rank of the attempt has ended early or is unreachable. Each other rank fails or hangs.
  void peers_are_missed(int attempt);
  void work_is_done(int attempt);
  void network_refused();
  // The ranks of the attempt make no progress from now on. If `guilty` is set, the ranks wait for
  // the rank with this index on this node.
  void ranks_hang(int attempt, std::optional<int> guilty);
  void ranks_go_on(int attempt);
  void agent_dies();
  void keeper_dies();
  void both_die();
  void node_dies();
  void stop_for(milliseconds time);
  // Sends a signal to the agent, `deliveries` times within less than a second.
  void signal(int signal, int deliveries = 1);
  void ask_to_grow();
  void notice(bool for_all);
  void alarm(hang::Alarm alarm);
  void send_malformed();
  void repeat_old_messages();

  int index() const { return index_; }
  int place() const { return place_; }
  bool is_own() const { return index_ == 0; }
  const std::string& id() const { return id_; }
  static std::optional<std::size_t> index_in(std::string_view id);
  const std::string& host() const { return host_; }
  bool lives() const { return process_.is_alive(); }
  bool is_over() const { return !lives() || (part_ && part_->over()); }
  // The agent's exit code, if the agent has ended normally.
  std::optional<int> exit_code() const {
    return part_ && part_->over() ? std::optional(part_->exit_code()) : std::nullopt;
  }
  int living_workers() const;
  bool runs(int rank) const;  // `rank`: index on the node
  int attempt_of_workers() const { return attempt_; }
  Link* link() const { return link_.get(); }
  Process& process() { return process_; }
  bool is_mute() const { return mutes_; }
  // Whether the agent was stopped, was cut off, or got no answer. After such a disturbance, the
  // agent's messages may be late.
  bool was_disturbed() const { return was_disturbed_; }
  void disturb() { was_disturbed_ = true; }
  void be_mute() { mutes_ = true; }
  bool workers_fail_to_start = false;
  bool container_fails = false;
  // True: the agent's next search for the store does not end.
  bool finds_no_store = false;
  int late_stores = 0;  // number of searches for the store that end late; during the first, another
                        // member dies
  bool has_no_workplace = false;
  bool starts_no_ranks = false;
  // The time until which the agent's thread pool refuses all work.
  std::optional<SteadyTime> pool_is_full_until;
  bool has_full_pool() const;
  bool is_sick_at(int attempt) const;
  // What a rank of this node raises when it fails by itself.
  const char* own_error() const;

 private:
  struct Worker {
    int rank = 0;
    int attempt = 0;
    bool alive = true;
    bool stubborn = false;
    bool saves = false;
    std::optional<SteadyTime> raised{};
  };

  milliseconds time_to_obey(const Worker& worker);
  // Whether this agent reports the start of its ranks twice, as an agent of another version might.
  bool says_twice() const;
  void on(run::PartEvent&& event);
  struct Notices {
    int to_ranks = 0;
    int to_root = 0;
    bool operator==(const Notices&) const = default;
  };
  Notices notices_due(const run::PartEvent& event) const;
  void happened(run::PartEvent&& event);
  void carry_out();
  void wait();
  void act(run::Report& report);
  void act(const run::FindStore& find);
  void act(const run::AwaitWorkplace& await);
  void act(const run::StartWorkers&);
  void act(const run::StopWorkers& stop);
  void act(const run::LookAtWorkers& look);
  void looked_at_workers(const run::LookAtWorkers& look);
  void act(const run::MeasureWorkers&) {}  // a simulated job shows no measurements
  void act(const run::InterruptWorkers& interrupt);
  void act(const run::NotifyWorkers&) { ++notices_.to_ranks; }
  void act(const run::CreditOutput& credit);
  void act(const run::CloseOutput&);
  void act(const run::TellUser& tell);
  void act(const run::ShowSummary&) {}
  void act(const run::TellEndWithoutRoot&) {}
  void act(const run::TellKeeperOfSilence&) {}
  void start_workers(const model::Assignment& part);
  void ranks_come(int attempt, int world_size);
  void worker_ends(std::size_t worker, int attempt, int code, int signal, bool ours,
                   std::string exception);
  void workers_die();
  void leave();

  // The output that the ranks print and the root shows (messages.cc).
  void print(std::size_t bytes);
  void deliver_output();
  void flush();
  void flush_in_time();
  void flushed();

  // Checks of the grace periods (limits.cc).
  void heard(const run::GotSignal& got);
  void check_grace(milliseconds grace);
  void check_fence();

  World& world_;
  const int index_;
  const int place_;
  const std::string id_;
  const std::string host_;
  Dice dice_;
  Process process_;
  std::optional<run::NodePart> part_;
  std::unique_ptr<Link> link_;
  std::vector<Worker> workers_;
  int attempt_ = -1;
  int has_workplace_for_ = -1;  // the last attempt whose workplace is ready
  bool stopping_ = false;
  std::optional<SteadyTime> hangs_since_;
  std::optional<int> guilty_;
  std::vector<model::ToRoot> reported_;  // messages that were sent to the root and were not
                                         // repeated yet
  Notices notices_;                      // notices that were passed on
  bool mutes_ = false;
  int said_unfit_ = 0;  // number of attempts for which its check found this node unfit
  bool was_disturbed_ = false;
  bool is_dismissed_ = false;
  // Bytes not delivered to the root yet, and bytes delivered but not yet accepted by the root.
  std::size_t printed_bytes_ = 0;
  std::size_t outstanding_bytes_ = 0;
  bool output_is_closed_ = false;
  bool flushing_ = false;  // all ranks have ended, but the root has not accepted all output yet
  std::optional<SteadyTime> signalled_;       // the last signal, without repeated deliveries
  bool is_impatient_ = false;                 // the user has waited, then sent a second signal
  bool may_kill_at_once_ = false;             // no process would clean up after the agent
  std::optional<SteadyTime> ordered_to_end_;  // when the current attempt's ranks first got the
                                              // command to end
};

}  // namespace toprun::simulation
