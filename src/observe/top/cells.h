#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/style.h"
#include "observe/snapshot/picture.h"
#include "observe/top/row_tree.h"

// The columns of the list, and what stands in them; pure.
namespace toprun::top {

// The width of each column on a terminal of so many columns. Those that do not fit are left out,
// and those that have nothing to say: of GPUs where there are none.
class Columns {
 public:
  Columns(const snapshot::Picture& picture, std::size_t width);

  std::string heads() const;
  // The line of a row; coloured where a rank is not well.
  std::string line(const snapshot::Picture& picture, const Tree& tree, const Row& row,
                   bool with_node, const Style& style) const;
  bool shows_lines() const { return line_width_ > 0; }

 private:
  std::size_t name_width_ = 0;
  std::size_t state_width_ = 0;
  std::size_t line_width_ = 0;      // of the last lines; 0: they are not shown
  std::vector<std::size_t> shown_;  // numbers of the columns
};

// The rank whose output is the newest in a rack or node, or the rank itself; nullopt: nothing was
// said.
std::optional<std::size_t> newest_in(const snapshot::Picture& picture, const Tree& tree, Item item);

// All that is known of a rank, each part in words: its state, figures, last line.
struct RankWords {
  std::string title;    // "rank 3 on n1, its local rank 1: runs"
  std::string figures;  // "CPU 1.0, MEM 512M, GPU 93%, GPUMEM 70.0G"; empty: none is known
  std::string silence;  // "2m": since its last output; empty: not known
};
RankWords words_of_rank(const snapshot::Picture& picture, std::size_t number);

// As its column says it: "failed".
std::string_view word_of(snapshot::RankState state);

// So many ranks are in that state.
struct Counts {
  std::size_t all = 0, waiting = 0, running = 0, done = 0, failed = 0, stopped = 0, lost = 0,
              suspect = 0;
};
void count(Counts& counts, const snapshot::Picture& picture, Ranks ranks);
// "2 hang, 1 failed, 13 run": the worst first.
std::string states_text(const Counts& counts);

}  // namespace toprun::top
