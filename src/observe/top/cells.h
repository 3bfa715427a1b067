#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/style.h"
#include "observe/snapshot/picture.h"
#include "observe/top/row_tree.h"

// The columns of the list in `toprun top`, and the text in each column; pure functions.
namespace toprun::top {

// The list's columns, for a terminal that is `width` wide. Columns that do not fit are omitted, and
// so are columns without values, such as GPU columns on hosts without GPUs.
class Columns {
 public:
  Columns(const snapshot::Picture& picture, std::size_t width);

  // Returns the column headings. Marks the column by which the rows are sorted, unless they are in
  // the ranks' order.
  std::string heads(Sort sort = Sort::order) const;
  // Returns the line of a row, coloured if a rank has a problem.
  std::string line(const snapshot::Picture& picture, const Tree& tree, const Row& row,
                   bool with_node, const Style& style) const;
  // Returns a bit for each Sort by a column that is shown, and for Sort::order.
  unsigned sorts() const;
  bool shows_lines() const { return line_width_ > 0; }

 private:
  std::size_t name_width_ = 0;
  std::size_t state_width_ = 0;
  std::size_t line_width_ = 0;      // width of the column with the ranks' last lines; 0: not shown
  std::vector<std::size_t> shown_;  // which columns are shown, by their numbers
};

// Returns the rank with the newest output among the item's ranks. For a rank, this is the rank
// itself. nullopt: none of the item's ranks has output.
std::optional<std::size_t> newest_in(const snapshot::Picture& picture, const Tree& tree, Item item);

// All that is known about a rank, in words: its state, resource use and time without output.
struct RankWords {
  std::string title;    // "rank 3 on n1, its local rank 1: runs"
  std::string figures;  // "CPU 1.0, MEM 512M, GPU 93%, GPUMEM 70.0G"; empty: unknown
  std::string silence;  // "2m": the time since its last output; empty: unknown
};
RankWords words_of_rank(const snapshot::Picture& picture, std::size_t number);

// Returns the word in the state column, such as "failed".
std::string_view word_of(snapshot::RankState state);

// How many ranks are in each state.
struct Counts {
  std::size_t all = 0, not_started = 0, blocked = 0, running = 0, done = 0, failed = 0, stopped = 0,
              lost = 0, suspect = 0;
};
void count(Counts& counts, const snapshot::Picture& picture, Ranks ranks);
// Returns "2 hang, 1 failed, 13 run", with the worst state first.
std::string states_text(const Counts& counts);

}  // namespace toprun::top
