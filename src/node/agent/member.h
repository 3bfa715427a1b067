#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "base/net/address.h"
#include "node/agent/evidence/recorders.h"
#include "node/agent/inbox.h"
#include "node/agent/ranks_meter.h"
#include "node/agent/services.h"
#include "node/agent/workplan.h"
#include "node/output/relay.h"
#include "node/prepare/probes/network_proof.h"
#include "node/worker/workers.h"
#include "run/conductor/course.h"
#include "run/conductor/node_part.h"
#include "run/model/messages.h"

namespace toprun::agent {

// Does one agent's work in a run: handles the connection to the root, finds the store, and starts
// and ends the container and the workers. The class run::NodePart decides what the member does
// next.
class Member {
 public:
  // `root_address`: the address at which this host reached the root; unset in the root's own
  // process. A member that cannot take part in the run reports this fact to the root at once.
  Member(Services& session, std::shared_ptr<model::Link> root,
         std::optional<hosts::Address> root_address, std::string root_agent);

  // Runs until the root ends the run or is lost; returns the exit code.
  boost::asio::awaitable<int> run();
  // Called after run(): writes a failed worker's error file to the path that the caller of toprun
  // expects (TORCHELASTIC_ERROR_FILE), and removes temporary files.
  boost::asio::awaitable<void> clear_up();

 private:
  void heard(const nlohmann::json& message);
  void push(run::PartEvent event) { inbox_.push(std::move(event)); }
  void carry_out();

  void act(const run::Report& report);
  void act(const run::FindStore& find);
  void act(const run::AwaitWorkplace& await);
  void act(const run::StartWorkers& start);
  void act(const run::LookAtWorkers& look);
  void act(const run::MeasureWorkers& measure);
  void act(const run::StopWorkers& stop);
  void act(const run::InterruptWorkers& interrupt);
  void act(const run::NotifyWorkers& notify);
  void act(const run::CreditOutput& credit);
  void act(const run::CloseOutput&);
  void act(const run::TellUser& tell);
  void act(const run::ShowSummary& show);
  void act(const run::TellEndWithoutRoot&);
  void act(const run::TellKeeperOfSilence&);

  bool runs(int attempt) const;
  // Returns a callback for Pool::run(), whose work concerns the ranks of `attempt`. The work runs
  // on the pool's threads. The callback then runs on the io_context's thread and passes the work's
  // result to `done`. It does not call `done` if the pool gives no result, or if these ranks have
  // ended. If `done` needs facts about the ranks, callers copy these
  // facts before the pool gets the work.
  template <class T>
  std::function<void(Pool::Answer<T>)> for_attempt(int attempt, std::function<void(T)> done) {
    return [this, attempt, done = std::move(done)](Pool::Answer<T> answer) {
      if (answer && runs(attempt)) done(*std::move(answer));
    };
  }

  void locate_store(const model::Assignment& assignment);
  boost::asio::awaitable<void> find_store(int attempt, model::StoreAddress store);
  boost::asio::awaitable<void> await_workplace(int attempt);
  boost::asio::awaitable<Result<void>> check_node();
  void begin_check();
  boost::asio::awaitable<Result<void>> await_copy(int attempt);
  prepare::Workplace workplace() const;
  void choose_console(const model::Assignment& assignment, Fd node_log);
  boost::asio::awaitable<void> begin(run::StartWorkers requested);
  boost::asio::awaitable<Result<WorkPlan>> plan(run::StartWorkers requested);
  boost::asio::awaitable<Result<model::Started>> start(run::StartWorkers requested);
  // Reads the counters of the network adapters while the workers start. The start does not wait for
  // these reads, which may be slow. The counts are still right, because a worker sends nothing
  // before it has loaded its modules.
  void count_network(int attempt);
  // --require-rdma: watches this attempt's workers until it is known which network their NCCL uses.
  boost::asio::awaitable<void> watch_network(int attempt);
  // Called when all workers have ended. If NCCL's output was logged, reads from the log which
  // network the workers used. Then reports the end of the workers to the root.
  void conclude();
  boost::asio::awaitable<void> conclude_with_proof();
  model::Gone last_words() const;
  void report_prefetch();
  void report_arrivals(int attempt);
  void ranks_have_arrived(int attempt);
  // Reports which ranks have connected to this agent's store, until all ranks have.
  boost::asio::awaitable<void> watch_arrivals(int attempt);
  model::Arrivals arrivals() const;
  // --hang-timeout: reports when the ranks stop making progress, and when they resume.
  boost::asio::awaitable<void> watch_progress(int attempt);
  std::vector<RunningRank> running_ranks() const;
  void ask_recorders(const run::LookAtWorkers& look, std::vector<evidence::RecorderFiles> files);
  void ask_nccl(const run::LookAtWorkers& look, std::shared_ptr<Fd> connection);
  // Called before the workers are stopped. If they are stopped because of a hang, makes each rank
  // whose stack could not be read from outside print its stack. False if no rank has to print its
  // stack.
  bool make_unread_tell();
  boost::asio::awaitable<void> stop_later(int attempt, std::chrono::milliseconds grace);
  run::Course course_without_root() const;
  boost::asio::awaitable<void> pass_on_the_error_file() const;

  Services& session_;
  std::shared_ptr<model::Link> root_;
  std::optional<hosts::Address> root_address_;
  std::string root_agent_;
  Inbox<run::PartEvent> inbox_;
  struct Check;
  std::shared_ptr<Check> check_;  // the latest --node-check
  run::NodePart part_;
  std::shared_ptr<output::Console> console_;  // the same object for all attempts
  std::shared_ptr<output::Relay> relay_;      // console_, if the output of console_ goes to the
                                              // root's terminal
  probes::NetworkProof proof_;
  std::shared_ptr<worker::Logs> logs_;     // the same object for all attempts
  std::vector<worker::WorkerPlan> plans_;  // the plans of the workers that were started last
  std::unique_ptr<worker::Workers> workers_;
  std::vector<model::WorkerExit> exits_;  // the exits of these workers
  std::shared_ptr<RanksMeter> meter_;     // null: no client has queried the job yet
  bool is_still_ = false;                 // these workers are making no progress
  std::vector<int> unread_;               // hanging ranks whose stack could not be read
};

}  // namespace toprun::agent
