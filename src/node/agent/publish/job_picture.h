#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "base/os/pool.h"
#include "base/os/timer.h"
#include "base/text/clock.h"
#include "node/plan/job.h"
#include "observe/snapshot/metrics.h"
#include "observe/snapshot/notice.h"
#include "observe/snapshot/snapshot.h"
#include "run/conductor/coordinator.h"
#include "run/model/run_messages.h"

namespace toprun::publish {

class Follower;

// The picture: the state of the running job, which the root writes for programs that read it. While
// there is a reader, the root asks the members for the resource usage of their ranks. Without a
// reader, the root only keeps the last known state of each rank.
class JobPicture {
 public:
  // How long the root continues to ask the members after the last call of picture(), parts() or
  // metrics().
  static constexpr std::chrono::seconds attention{10};
  static constexpr std::chrono::milliseconds shortest_interval{1'000};
  // The interval between two queries for the job's time limit, which may change while the job runs.
  static constexpr std::chrono::minutes between_limits{5};
  // The root can handle the answers of this many nodes per second. It needs a few percent of a CPU
  // for them.
  static constexpr int nodes_per_second = 2'500;

  // `send`: sends a message to a member that runs ranks. All references must outlive this object.
  JobPicture(Pool& pool, const plan::Job& job, const run::Coordinator& coordinator,
             std::function<void(const std::string& agent, const model::ToNode&)> send);
  ~JobPicture();
  JobPicture(const JobPicture&) = delete;
  JobPicture& operator=(const JobPicture&) = delete;

  // Call heard() for each message from a member, before the coordinator handles it. True: the
  // message is only for this object, so the caller does not pass it to the coordinator.
  bool heard(const std::string& agent, const model::ToRoot& message);
  void lost(const std::string& agent);
  // Call moved_on() after the coordinator has handled a message or another event.
  void moved_on();
  // Adds to the picture a text that was printed for the user.
  void reported(std::string text);

  // picture(), parts() and metrics() return the job's present state, or nullopt if it could not be
  // written in time or the run has ended. If the root has not yet begun to ask the members for
  // resource usage, these functions wait for the members' first answers, for at most
  // first_figures_limit.
  static constexpr std::chrono::milliseconds first_figures_limit{500};
  boost::asio::awaitable<std::optional<std::string>> picture();  // in schema toprun.live/1
  // The picture in three parts. Each part is JSON on one line.
  struct Parts {
    std::string job, nodes, figures;
    bool is_last = false;  // the picture shows the run's end
  };
  boost::asio::awaitable<std::optional<Parts>> parts();
  boost::asio::awaitable<std::optional<std::string>> metrics(snapshot::MetricsForm form);

  // Call ended() when the run is over and its record is complete. `last_line`: the line that the
  // run prints last.
  void ended(std::string last_line);
  // Sends the last picture, with the run's end, to all Followers. Waits until the followers have
  // received the last picture, for at most end_limit.
  static constexpr std::chrono::milliseconds end_limit{1'000};
  boost::asio::awaitable<void> finish();
  // Registers a Follower. The result points to this JobPicture, and to null once the JobPicture is
  // destroyed.
  std::shared_ptr<JobPicture*> joined_by(Follower& follower);
  void left_by(Follower& follower);
  bool is_over() const { return is_over_; }

  std::string notice(snapshot::Happening happening) const;  // JSON, for --notify
  // Returns the time between two requests to the members for their ranks' resource usage.
  std::chrono::milliseconds interval() const;

 private:
  std::optional<snapshot::Part> part_of(const std::string& agent) const;
  boost::asio::awaitable<void> look();
  void ask();
  void ask_for_limit();
  snapshot::Run run() const;
  snapshot::Hanging hanging() const;

  // Points to this JobPicture, and to null once it is destroyed. A coroutine that waits for a
  // picture may outlive the run.
  const std::shared_ptr<JobPicture*> self_;
  Pool& pool_;
  const plan::Job& job_;
  const run::Coordinator& coordinator_;
  std::function<void(const std::string&, const model::ToNode&)> send_;
  snapshot::Board board_;
  std::optional<int> attempt_;  // the attempt that the board shows
  std::deque<snapshot::Message> messages_;
  SteadyTime last_look_{};
  std::optional<WallTime> limit_;  // when the engine will end the job; unset: not known
  std::optional<SteadyTime> limit_asked_;
  bool asks_ = false;
  // The number of members that have not answered the root's last request.
  std::size_t unanswered_ = 0;
  Timer came_;  // cancelled when all members have answered
  Timer pause_;
  std::set<Follower*> followers_;
  bool is_over_ = false;
  Timer left_;  // cancelled when a follower leaves
};

// A reader that receives one picture of the job after another. The next picture is due when an
// event has changed the job's state, and at least once per JobPicture::interval(). There is a
// minimum time between two pictures. A Follower may outlive the run.
class Follower {
 public:
  Follower(boost::asio::io_context& io, JobPicture& picture);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // Waits until the next picture is due, lets a pool thread write it as JSON, and returns it.
  // nullopt: the pool did not write it within live::answer_limit, or the JobPicture was destroyed.
  // After the run's end, returns the last picture.
  boost::asio::awaitable<std::optional<JobPicture::Parts>> next();
  // True if the last picture showed the run's end, or the JobPicture has been destroyed.
  bool is_over() const { return is_over_ || *picture_ == nullptr; }

  // Call wake() after an event.
  void wake();

 private:
  boost::asio::awaitable<void> rest_until(SteadyTime end, bool or_event);

  const std::shared_ptr<JobPicture*> picture_;
  Timer pause_;
  std::optional<SteadyTime> shown_;
  bool has_moved_ = false;
  bool is_over_ = false;
};

}  // namespace toprun::publish
