#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "live/server.h"
#include "node/job_page.h"
#include "node/launch_line.h"
#include "node/notifier.h"
#include "node/report_file.h"
#include "node/session.h"
#include "node/showing.h"
#include "probes/presence_watch.h"
#include "rendezvous/link.h"
#include "rendezvous/secret.h"
#include "run/coordinator.h"

namespace toprun::node {

// Drives the coordinator of a run: links, timers and blocking work. The agent of its own node is a
// Member like any other, over a link within the process.
class Root {
 public:
  Root(Session& session, rendezvous::Secret secret, std::string stage_key);

  // The member's end of a link for the agent in this process.
  std::shared_ptr<rendezvous::Link> admit_own(const rendezvous::Join& join);
  // The whole run. Afterwards the record is complete and all members wait for the final message.
  boost::asio::awaitable<run::Course> run();
  // Prints the last attempt's failure, if there is one, and the run's last line; writes --report's
  // file.
  boost::asio::awaitable<void> tell_the_end(run::Course record);
  boost::asio::awaitable<void> farewell();
  bool is_gathering() const { return coordinator_.stage() == run::Stage::gathering; }

 private:
  void add(const rendezvous::Join& join, std::shared_ptr<rendezvous::Link> link, run::Came came);
  void heard(const std::string& agent, const nlohmann::json& message);
  void happened(run::Event event);
  void carry_out();
  void wait();
  void look_for_the_absent();
  void notify(watch::Happening happening);
  std::optional<view::Launch> launch() const;
  // What this user's other processes may ask while the job runs.
  void open_socket();
  boost::asio::awaitable<live::Answer> answer(live::Question question);
  boost::asio::awaitable<live::Answer> name();
  boost::asio::awaitable<live::Answer> report();
  boost::asio::awaitable<live::Answer> places();
  boost::asio::awaitable<live::Answer> picture();
  boost::asio::awaitable<live::Answer> metrics();

  void act(const run::Send& send);
  void act(const run::Close& close);
  void act(const run::Say& say);
  void act(const run::Arrange& arrange);
  void act(run::Show& show);
  void act(const run::TellHang&);
  void act(const run::TellPlaces& tell);
  void act(const run::TellFailure& tell);
  void act(const run::KeepRecord&);
  void act(const run::AskEngine&);
  void act(const run::TellEnd&);
  void act(const run::Over&);

  Session& session_;
  const std::shared_ptr<const plan::Job> job_;  // shared with threads that may outlive the session
  run::Coordinator coordinator_;
  probes::PresenceWatch presence_;
  ReportFile report_;
  Notifier notifier_;
  Showing showing_;
  std::unique_ptr<JobPage> page_;  // null: nobody wants it, or it could not be opened
  LaunchLine launch_line_;
  std::unordered_map<std::string, std::shared_ptr<rendezvous::Link>> links_;  // by agent
  std::unique_ptr<live::Server> socket_;  // null: it could not be opened
  // By number: who waits to hear where the ranks stand.
  std::unordered_map<int, std::function<void(const view::Places&)>> questions_;
  int last_question_ = 0;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer stage_;  // its end wakes run() and farewell()
};

}  // namespace toprun::node
