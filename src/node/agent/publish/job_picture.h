#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "base/os/pool.h"
#include "base/os/timer.h"
#include "base/text/clock.h"
#include "node/plan/job.h"
#include "observe/snapshot/notice.h"
#include "observe/snapshot/snapshot.h"
#include "run/conductor/coordinator.h"
#include "run/model/run_messages.h"

namespace toprun::publish {

class Follower;

// The root's picture of the running job, for its readers. While one looks, the members are
// asked what their ranks use; while none does, it costs nothing but a state per rank.
class JobPicture {
 public:
  // For so long after a look the members are asked.
  static constexpr std::chrono::seconds attention{10};
  static constexpr std::chrono::milliseconds shortest_interval{1'000};
  // A time limit may change while the job runs.
  static constexpr std::chrono::minutes between_limits{5};
  // The root can take the answers of so many nodes in a second with a few percent of a CPU.
  static constexpr int nodes_per_second = 2'500;

  // `send`: to a member that runs ranks. All references must outlive this.
  JobPicture(Pool& pool, const plan::Job& job, const run::Coordinator& coordinator,
             std::function<void(const std::string& agent, const model::ToNode&)> send);
  ~JobPicture();
  JobPicture(const JobPicture&) = delete;
  JobPicture& operator=(const JobPicture&) = delete;

  // Before the coordinator hears of it. True: it is meant for nothing else.
  bool heard(const std::string& agent, const model::ToRoot& message);
  void lost(const std::string& agent);
  // After the coordinator has.
  void moved_on();
  // What the user has read.
  void told(std::string text);

  // All count as a look; nothing: it could not be written in time, or the run has ended. The first
  // waits until the members have answered, for first_figures_limit at most.
  static constexpr std::chrono::milliseconds first_figures_limit{500};
  boost::asio::awaitable<std::optional<std::string>> picture();  // schema toprun.live/1
  // … its parts, each as JSON on one line.
  struct Parts {
    std::string job, nodes, figures;
    bool is_last = false;  // it shows the run's end
  };
  boost::asio::awaitable<std::optional<Parts>> parts();
  boost::asio::awaitable<std::optional<std::string>> metrics();  // in OpenMetrics' form

  // The run is over, and its record is complete.
  void ended(std::string last_line);
  // Shows all followers the run's end; waits until they have it, for end_limit at most.
  static constexpr std::chrono::milliseconds end_limit{1'000};
  boost::asio::awaitable<void> finish();
  // By followers: points to null once this is gone.
  std::shared_ptr<JobPicture*> joined_by(Follower& follower);
  void left_by(Follower& follower);
  bool is_over() const { return is_over_; }

  std::string notice(snapshot::Happening happening) const;  // JSON, for --notify
  // Between two answers of the members.
  std::chrono::milliseconds interval() const;

 private:
  std::optional<snapshot::Part> part_of(const std::string& agent) const;
  boost::asio::awaitable<void> look();
  void ask();
  void ask_for_limit();
  snapshot::Run run() const;
  std::vector<int> suspects() const;

  // Null once this is gone: who waits for a picture may outlive the run.
  const std::shared_ptr<JobPicture*> self_;
  Pool& pool_;
  const plan::Job& job_;
  const run::Coordinator& coordinator_;
  std::function<void(const std::string&, const model::ToNode&)> send_;
  snapshot::Board board_;
  std::optional<int> attempt_;  // the board's
  std::deque<snapshot::Message> messages_;
  SteadyTime last_look_{};
  std::optional<WallTime> limit_;  // when the engine ends the job; unset: not known
  std::optional<SteadyTime> limit_asked_;
  bool asks_ = false;
  std::size_t unanswered_ = 0;  // of the members that were asked last
  Timer came_;                  // is cancelled when all have answered
  Timer pause_;
  std::set<Follower*> followers_;
  bool is_over_ = false;
  Timer left_;  // is cancelled when a follower leaves
};

}  // namespace toprun::publish
