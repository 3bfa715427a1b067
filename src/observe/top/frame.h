#pragma once

#include <string>
#include <vector>

#include "base/os/style.h"
#include "observe/snapshot/picture.h"
#include "observe/top/keys.h"

namespace toprun::top {

inline constexpr TerminalSize least_size{.columns = 40, .rows = 10};

// One screen. The lines contain no escape sequences except toprun's own colours.
struct Frame {
  std::vector<std::string> lines;  // at most as many lines as the terminal has
  State state;                     // the user's state, adjusted to the rows that are shown
};
Frame frame(const snapshot::Picture& picture, State state, TerminalSize size, const Style& style);
// Returns the lines above the list: the job, its progress, its problems. If the size has 0 rows,
// the number of lines is not limited.
std::vector<std::string> head(const snapshot::Picture& picture, TerminalSize size,
                              const Style& style);
// Returns how many rows of ranks, nodes and racks fit on the screen.
std::size_t list_lines(const snapshot::Picture& picture, TerminalSize size);

// Returns the job's whole state, with nothing folded, for output without a terminal.
std::vector<std::string> whole(const snapshot::Picture& picture, const Style& style);

// Returns the text that `toprun top` leaves on the terminal after the job's end. Nodes and racks
// are folded so that the text fits without scrolling, except `unfolded`. If that is too long, rows
// of ranks are left out, then rows of nodes and racks, and those of ranks that failed last. The row
// of the rank at fault stays. If the list has no column of last lines, this rank's last line
// follows.
std::vector<std::string> remains(const snapshot::Picture& picture, TerminalSize size,
                                 const Style& style, const Folds& unfolded = {});

// Returns what `toprun top` shows until the job begins. `waits`: lines that say why the job waits.
std::vector<std::string> waiting_screen(const std::vector<std::string>& waits, const State& state,
                                        std::size_t columns);

// Turns `last`, the newest picture of a cancelled job, into the job's final picture. `words`: which
// user cancelled the job, and when.
snapshot::Picture cancelled(snapshot::Picture last, Outside words);

// The log of the selected rank. If a node or rack is selected: the log of its first rank.
struct Log {
  Outside node;
  Outside path;  // the rank's files, as DIR/*.log, or the file with its node's whole output; empty:
                 // there is no log
  std::vector<std::string> files = {};  // of `path`; some may not exist
  bool newest_first = false;            // how to show several of them; false: in this order
  std::size_t rank = 0;
};
Log log_of(const snapshot::Picture& picture, const State& state);

}  // namespace toprun::top
