#pragma once

#include <memory>
#include <set>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include "base/os/timer.h"
#include "node/agent/member.h"
#include "node/agent/publish/job_page.h"
#include "node/agent/publish/job_picture.h"
#include "node/agent/publish/job_socket.h"
#include "node/agent/publish/launch_line.h"
#include "node/agent/publish/notifier.h"
#include "node/agent/publish/report_file.h"
#include "node/agent/services.h"
#include "node/link/secret.h"
#include "node/plan/job.h"
#include "node/prepare/probes/presence_watch.h"
#include "run/conductor/coordinator.h"
#include "run/conductor/settings.h"
#include "run/model/messages.h"

namespace toprun::agent {

// Carries out what the run's coordinator (run::Coordinator) decides: handles links, timers and
// blocking work. The agent on the root's own node is a normal Member, with a link within the
// process.
class Root {
 public:
  Root(Services& session, link::Secret secret, std::string stage_key);

  // Makes a link to the agent in this process, and returns the agent's end of the link.
  std::shared_ptr<model::Link> admit_own(const model::Join& join);
  // Leads the whole run and returns the run's record. When run() returns, the record is complete,
  // and all members wait for the final message, which farewell() sends.
  boost::asio::awaitable<run::Course> run();
  // Prints the last attempt's failure, if there is one, and the run's last line. Writes the
  // --report file.
  boost::asio::awaitable<void> tell_the_end(run::Course record);
  boost::asio::awaitable<void> farewell();
  // Returns the answer to a request that another process of this user made on the job's socket.
  boost::asio::awaitable<live::Answer> answer(live::Question question);
  bool is_gathering() const { return coordinator_.stage() == run::Stage::gathering; }

 private:
  void keep_address(const std::string& folder);
  // If the agent has another version of toprun, prints which features that version lacks, once for
  // each version.
  void note_version(const model::Join& join);
  void add(const model::Join& join, std::shared_ptr<model::Link> link, run::Came came);
  void heard(const std::string& agent, const nlohmann::json& message);
  void happened(run::Event event);
  void carry_out();
  void wait();
  void look_for_the_absent();
  void notify(snapshot::Happening happening);
  std::optional<model::Launch> launch() const;

  void act(const run::Send& send);
  void act(const run::Close& close);
  void act(const run::Say& say);
  void act(run::Arrange& arrange);
  void act(run::Show& show);
  void act(const run::TellHang&);
  void act(const run::TellPlaces& tell);
  void act(const run::TellFailure& tell);
  void act(const run::KeepRecord&);
  void act(const run::AskEngine&);
  void act(const run::TellEnd&);
  void act(const run::Over&);

  Services& session_;
  const std::shared_ptr<const plan::Job> job_;  // shared with threads that may outlive the session
  run::Coordinator coordinator_;
  probes::PresenceWatch presence_;
  publish::ReportFile report_;
  publish::Notifier notifier_;
  publish::JobPicture picture_;
  publish::JobSocket socket_;
  std::unique_ptr<publish::JobPage> page_;  // null: the user wants no page, or the page could not
                                            // be opened
  std::optional<publish::LaunchLine> launch_line_;  // unset: no terminal shows the launch line
  boost::unordered_flat_map<std::string, std::shared_ptr<model::Link>> links_;  // by agent
  std::set<std::string> noted_versions_;
  Timer timer_;
  std::optional<SteadyTime> waits_until_;  // the time for which timer_ is set
  Timer stage_;                            // if this timer is cancelled, run() and farewell() wake
                                           // up
};

// Returns the coordinator's settings for a job. `colours`: whether this process's terminal shows
// colours. `leaves_endpoint`: as in Services. `stage_key`: empty without --stage.
run::Settings settings_of(const plan::Job& job, bool colours, bool leaves_endpoint,
                          std::string stage_key);

// Leads the rest of a run in the root's process and returns the run's exit code. After this call,
// the caller only has to call last_words().
boost::asio::awaitable<int> lead(Services& services, Root& root, Member& member);

// Like lead(), for an agent that is not the root; `link` is its link to the root.
boost::asio::awaitable<int> follow(Services& services, Member& member,
                                   std::shared_ptr<model::Link> link);

}  // namespace toprun::agent
