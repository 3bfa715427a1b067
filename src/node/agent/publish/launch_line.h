#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>

#include "base/os/timer.h"
#include "base/text/clock.h"
#include "node/output/console.h"
#include "node/plan/job.h"
#include "run/model/launch.h"

namespace toprun::publish {

// Shows the progress of the launch in one line, below all other text on the root's terminal. The
// line is removed when the ranks have met. If the terminal belongs to a launcher, the line is sent
// to the launcher instead.
//
//   resting --a launch is under way--> waiting --first_after--> showing --it is over--> resting
class LaunchLine {
 public:
  // `launch`: returns the progress of the launch; nullopt: no launch is under way, or the run is
  // paused.
  LaunchLine(boost::asio::io_context& io, const plan::Job& job,
             std::shared_ptr<output::Terminal> terminal,
             std::function<std::optional<model::Launch>()> launch);

  // Call changed() after an event. `is_launching`: a launch is under way.
  void changed(bool is_launching);

 private:
  void draw_later(std::chrono::milliseconds pause);
  void draw();
  void show(std::string line);
  void tell(const std::string& line);
  bool may_draw(const model::Launch& launch) const;

  const std::shared_ptr<output::Terminal> terminal_;
  const std::function<std::optional<model::Launch>()> launch_;
  const bool has_terminal_;
  const bool tells_;  // true: sends the line to a launcher
  bool is_launching_ = false;
  bool is_shown_ = false;
  SteadyTime began_{};  // the start of this launch
  std::string reported_;
  Timer timer_;
};

}  // namespace toprun::publish
