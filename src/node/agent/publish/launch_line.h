#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>

#include "base/os/timer.h"
#include "base/text/clock.h"
#include "node/output/console.h"
#include "node/plan/job.h"
#include "run/model/phases.h"

namespace toprun::publish {

// Reports the progress of a launch to the launcher: a toprun that started the agents by srun or
// logins. Only the launcher has the terminal. So the root writes progress lines to its stderr,
// which the launcher reads.

// The launcher sets this variable for the agents if it shows the progress of launches.
inline constexpr std::string_view launch_variable = "TOPRUN_TELLS_LAUNCH";
// A progress line begins with this mark. The rest of the line is the text to show; an empty rest
// removes the line from the terminal.
inline constexpr std::string_view launch_mark = "\x1etoprun-launch ";

// Whether this process may show the progress of launches. True if the user has not switched the
// display of progress off and stderr is a suitable terminal. False if stdout is a pipe, because the
// pipe's reader may write to the same terminal.
bool shows_launches(const plan::Job& job);
// Whether this process, or its parent (the keeper), is in the terminal's foreground.
bool in_foreground();

// Whether a progress line can be shown without disturbing the ranks' output. True if the ranks have
// printed nothing since the launch `began`. Also true if the ranks have been silent for a while and
// the launch still waits for other nodes or ranks (`others_are_awaited`).
bool leaves_room(std::optional<SteadyTime> last_output, SteadyTime began, bool others_are_awaited);

// Removes the progress lines from `text`, which contains whole lines. Returns the text of the last
// progress line, or nullopt if there was none.
std::optional<std::string> take_report(std::string& text);

// Decides which of the progress lines that a launcher receives are shown.
class ToldLaunch {
 public:
  // Returns the text to show now; empty if none. `reported`: the text of the newest progress line.
  std::string line(std::string reported, std::optional<SteadyTime> last_output);

 private:
  std::optional<SteadyTime> began_;
};

// Shows the progress of the launch in one line, below all other text on the root's terminal. The
// line is removed when all ranks have entered their first collective. If the terminal belongs to a
// launcher, the line is sent to the launcher instead.
//
//   resting --a launch begins--> waiting --first_after--> showing --the launch is over--> resting
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
