#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "agent/workers.h"
#include "hosts/address.h"
#include "node/inbox.h"
#include "node/network_proof.h"
#include "node/session.h"
#include "node/workplan.h"
#include "output/relay.h"
#include "rendezvous/link.h"
#include "run/node_part.h"
#include "run/record.h"

namespace toprun::node {

// Drives one agent's part in a run: the link to the root, the store's place, the container and the
// workers.
class Member {
 public:
  // `root_address`: how this host reached the root; unset in the root's own process. A member that
  // cannot take part says so at once.
  Member(Session& session, std::shared_ptr<rendezvous::Link> root,
         std::optional<hosts::Address> root_address, std::string root_agent);

  // Until the root says that the run is over, or is lost; the exit code.
  boost::asio::awaitable<int> run();
  // After that: passes on why a worker failed, and removes what nobody is to find.
  boost::asio::awaitable<void> clear_up();

 private:
  void heard(const nlohmann::json& message);
  void push(run::PartEvent event) { inbox_.push(std::move(event)); }
  void carry_out();

  void act(const run::Report& report);
  void act(const run::FindStore& find);
  void act(const run::AwaitContainer& await);
  void act(const run::StartWorkers& start);
  void act(const run::StopWorkers& stop);
  void act(const run::InterruptWorkers& interrupt);
  void act(const run::NotifyWorkers& notify);
  void act(const run::CreditOutput& credit);
  void act(const run::CloseOutput&);
  void act(const run::TellUser& tell);
  void act(const run::ShowSummary& show);
  void act(const run::TellEndWithoutRoot&);
  void act(const run::TellKeeperOfSilence&);

  void locate_store(const rendezvous::Assignment& assignment);
  boost::asio::awaitable<void> find_store(int attempt, rendezvous::StoreAddress store);
  boost::asio::awaitable<void> await_container(int attempt);
  void choose_console(const rendezvous::Assignment& assignment, Fd node_log);
  std::shared_ptr<agent::Children> children();
  boost::asio::awaitable<void> begin(run::StartWorkers wanted);
  boost::asio::awaitable<Result<WorkPlan>> plan(run::StartWorkers wanted);
  boost::asio::awaitable<Result<rendezvous::Started>> start(run::StartWorkers wanted);
  // All workers are gone: their network is looked at where it was observed, and the root hears.
  void conclude();
  boost::asio::awaitable<void> conclude_with_proof();
  rendezvous::Gone last_words() const;
  run::Course course_without_root() const;
  boost::asio::awaitable<void> pass_on_the_error_file() const;

  Session& session_;
  std::shared_ptr<rendezvous::Link> root_;
  std::optional<hosts::Address> root_address_;
  std::string root_agent_;
  Inbox<run::PartEvent> inbox_;
  run::NodePart part_;
  std::shared_ptr<output::Console> console_;  // of all attempts
  std::shared_ptr<output::Relay> relay_;      // the same, where the root's terminal is meant
  NetworkProof proof_;
  std::shared_ptr<agent::Logs> logs_;     // of all attempts
  std::vector<agent::WorkerPlan> plans_;  // of the workers that were started last
  std::unique_ptr<agent::Workers> workers_;
  std::vector<agent::WorkerExit> exits_;  // theirs
};

}  // namespace toprun::node
