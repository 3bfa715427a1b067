#pragma once

#include <string>
#include <vector>

#include "base/os/style.h"
#include "observe/snapshot/picture.h"
#include "observe/top/keys.h"

namespace toprun::top {

inline constexpr TerminalSize least_size{.columns = 40, .rows = 10};

// One screen. Its only escape sequences are toprun's own colours.
struct Frame {
  std::vector<std::string> lines;  // at most as many as the terminal has
  State state;                     // adjusted to what is shown
};
Frame frame(const snapshot::Picture& picture, State state, TerminalSize size, const Style& style);
// The lines above the list: the job, its progress, its problems. A size of 0 rows means unlimited
// room.
std::vector<std::string> head(const snapshot::Picture& picture, TerminalSize size,
                              const Style& style);
// The number of rows for ranks, nodes and racks on a screen.
std::size_t list_lines(const snapshot::Picture& picture, TerminalSize size);

// The whole picture, unfolded, for output without a terminal.
std::vector<std::string> whole(const snapshot::Picture& picture, const Style& style);

// The text that remains on the terminal after the job, folded so that it fits without scrolling.
std::vector<std::string> remains(const snapshot::Picture& picture, TerminalSize size,
                                 const Style& style);

// The log of the selected rank. For a node or rack: the log of its first rank.
struct Log {
  Outside node;
  Outside path;  // of its stdout, or of its node's whole output; empty: no log
  std::size_t rank = 0;
};
Log log_of(const snapshot::Picture& picture, const State& state);

}  // namespace toprun::top
