#pragma once

#include <string>
#include <vector>

#include "base/os/style.h"
#include "observe/snapshot/picture.h"
#include "observe/top/keys.h"

namespace toprun::top {

inline constexpr TerminalSize least_size{.columns = 40, .rows = 10};

// One screen. Everything in it is harmless to a terminal but for our own colours.
struct Frame {
  std::vector<std::string> lines;  // as many as the terminal has, at most
  State state;                     // normalised for what is shown
};
Frame frame(const snapshot::Picture& picture, State state, TerminalSize size, const Style& style);
// What stands above the list: the job, how far it is, what is wrong. A size of 0 rows: there is
// room for all.
std::vector<std::string> head(const snapshot::Picture& picture, TerminalSize size,
                              const Style& style);
// How many rows of ranks, nodes and racks are on a screen.
std::size_t list_lines(const snapshot::Picture& picture, TerminalSize size);

// The whole picture, where there is no terminal: everything is unfolded.
std::vector<std::string> whole(const snapshot::Picture& picture, const Style& style);

// What stays on the terminal when the job is over: what fits on a screen without scrolling, folded.
std::vector<std::string> remains(const snapshot::Picture& picture, TerminalSize size,
                                 const Style& style);

// Where the log of the selected rank is; a node's or rack's: its first rank's.
struct Log {
  Outside node;
  Outside path;  // of its stdout, or of all that its node printed; empty: none is kept
  std::size_t rank = 0;
};
Log log_of(const snapshot::Picture& picture, const State& state);

}  // namespace toprun::top
