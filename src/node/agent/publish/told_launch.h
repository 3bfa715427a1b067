#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/text/clock.h"
#include "node/plan/job.h"

// How far a launch has come, where the terminal is not the root agent's but that of the toprun that
// started the agents by srun or logins: the root tells it on its stderr.
namespace toprun::publish {

// The launcher sets it where it shows launches.
inline constexpr std::string_view launch_variable = "TOPRUN_TELLS_LAUNCH";
// So begins a line that tells; the rest is to be shown, nothing: no longer.
inline constexpr std::string_view launch_mark = "\x1etoprun-launch ";

// Whether this process may show launches: its user wants it, its stderr is a terminal that can, and
// its stdout is not a pipe, whose reader may write to the same terminal.
bool shows_launches(const plan::Job& job);
// This process, or the keeper above it, is in the terminal's foreground.
bool in_foreground();

// The ranks' output is left alone: a launch is shown where there was none since it `began`, or
// where they have been silent for a while and `others_are_awaited`.
bool leaves_room(std::optional<SteadyTime> last_output, SteadyTime began, bool others_are_awaited);

// Takes the lines that tell out of `text`, whole lines; the last one's words.
std::optional<std::string> take_told(std::string& text);

// What a launcher shows of what it hears.
class ToldLaunch {
 public:
  // What to show now; empty: nothing.
  std::string line(std::string told, std::optional<SteadyTime> last_output);

 private:
  std::optional<SteadyTime> began_;
};

}  // namespace toprun::publish
