#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/look.h"
#include "top/tree.h"
#include "watch/picture.h"

// The columns of the list, and what stands in them; pure.
namespace toprun::top {

// The width of each column on a terminal of so many columns; those that do not fit are left out.
class Columns {
 public:
  explicit Columns(std::size_t width);

  std::string heads() const;
  // The line of a row; coloured where a rank is not well.
  std::string line(const watch::Picture& picture, const Tree& tree, const Row& row, bool with_node,
                   const Look& look) const;

 private:
  std::size_t name_width_;
  std::vector<std::size_t> shown_;  // numbers of the columns
};

// As its column says it: "failed".
std::string_view word_of(watch::RankState state);

// So many ranks are in that state.
struct Counts {
  std::size_t all = 0, waiting = 0, running = 0, done = 0, failed = 0, stopped = 0, lost = 0,
              suspect = 0;
};
void count(Counts& counts, const watch::Picture& picture, Ranks ranks);
// "2 hang, 1 failed, 13 run": the worst first.
std::string states_text(const Counts& counts);

}  // namespace toprun::top
