#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "agent/exit.h"
#include "agent/relay.h"
#include "agent/workers.h"
#include "base/error.h"
#include "hosts/address.h"
#include "launch/ending.h"
#include "launch/inbox.h"
#include "launch/session.h"
#include "launch/workplan.h"
#include "rendezvous/link.h"
#include "rendezvous/messages.h"

namespace toprun::launch {

// One agent's part in a run, whether the root is in this process or elsewhere: it gets its ranks,
// finds the store, starts the workers when told and reports what becomes of them.
//
//   waiting --assign--> renewing --store renewed--> locating --store found--> ready
//   ready --start--> running --all gone--> waiting
//   any --stop, interrupt--> the workers end; any --finish--> over; any --root lost--> fenced
//
// A spare waits until a place is free. What it reports names its attempt.
class Member {
 public:
  // `root_address`: how this host reached the root; unset in the root's own process. A member that
  // cannot take part says so at once.
  Member(Session& session, std::shared_ptr<rendezvous::Link> root,
         std::optional<hosts::Address> root_address, std::string root_agent);

  // Until the root says that the run is over, or is lost; the exit code.
  boost::asio::awaitable<int> run();

 private:
  struct StoreRenewed {
    int attempt;
  };
  struct StoreFound {
    Result<hosts::Address> address;
    int attempt;
  };
  struct ContainerUp {
    Result<void> outcome;
    int attempt;
  };
  struct Lost {
    std::string reason;
  };
  struct Signalled {
    int signal;
    bool for_all;  // the other agents have not heard of it
  };
  struct Orphaned {
    std::string why;
    std::chrono::milliseconds grace;
  };
  struct Gone {};
  using Event = std::variant<nlohmann::json, StoreRenewed, StoreFound, ContainerUp, Lost, Signalled,
                             Orphaned, agent::WorkerExit, Gone>;

  void on(const nlohmann::json& message);
  void on(const StoreRenewed& renewed);
  void on(const StoreFound& found);
  void on(const ContainerUp& container);
  void on(const Lost& lost);
  void on(const Signalled& signalled);
  void on(const Orphaned& orphaned);
  void on(const agent::WorkerExit& exit);
  void on(const Gone& gone);

  void report(nlohmann::json message);
  void become_spare();
  void choose_console();
  void choose_shown_console();
  void report_orphaned();
  void assigned(rendezvous::Assignment assignment);
  boost::asio::awaitable<void> locate_store(rendezvous::StoreAddress store);
  void ready();
  boost::asio::awaitable<void> await_container();
  Result<void> make_logs();
  std::shared_ptr<agent::Children> children();
  Result<void> start();
  bool has_a_terminal_of_its_own() const;
  void interrupt(int signal, std::chrono::milliseconds grace);
  void stop(std::chrono::milliseconds grace);
  void report_failure(const Error& error);
  Course course_without_root() const;
  void pass_on_the_error_file() const;

  Session& session_;
  std::shared_ptr<rendezvous::Link> root_;
  std::optional<hosts::Address> root_address_;
  std::string root_agent_;
  Inbox<Event> inbox_;
  std::shared_ptr<agent::Console> console_;  // of all attempts
  std::shared_ptr<agent::Relay> relay_;      // the same, where the root's terminal is meant
  rendezvous::Assignment assignment_;
  std::string master_addr_;
  std::optional<agent::Logs> logs_;  // of all attempts
  WorkPlan plan_;
  std::unique_ptr<agent::Workers> workers_;
  std::vector<agent::WorkerExit> exits_;  // of the workers that were started last
  bool spare_ = false;
  std::string orphaned_;  // why, once nobody would clear up after this agent
  bool alive_ = false;    // workers were started and are not all gone
  boost::asio::steady_timer patience_;
  bool root_speaks_for_all_ = false;  // the engine takes the root's exit code for the job's
  std::optional<int> exit_code_;
};

}  // namespace toprun::launch
