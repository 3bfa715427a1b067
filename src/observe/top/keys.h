#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "observe/snapshot/picture.h"
#include "observe/top/row_tree.h"

// What a user presses, and what it changes; pure.
namespace toprun::top {

struct Key {
  enum class Code { up, down, page_up, page_down, home, end, enter, escape, erase, text };
  Code code = Code::text;
  char letter = 0;  // of text

  bool operator==(const Key&) const = default;
};
// The keys in what a terminal sent (ECMA-48, and xterm's for function keys). `bytes` keeps the
// beginning of a key whose rest has not come; a single ESC is one whole key if `is_all`.
std::vector<Key> keys_in(std::string& bytes, bool is_all);

// What a user has chosen to see.
struct State {
  Sort sort = Sort::order;
  Folds folds;
  Item selected{Kind::rack, 0};
  std::size_t row = 0;        // … its row when it was last seen
  std::size_t first_row = 0;  // the first that is shown
  bool searches = false;      // the search text is being typed
  std::string search;
  bool is_followed = false;  // the selected rank was searched: the row goes with it when sorted
  bool shows_help = false;
  bool shows_rank = false;  // the selected rank alone instead of the list
  std::string note;         // one line, until the next key
  enum class Wish { none, log, quit };
  Wish wish = Wish::none;  // for the caller to fulfil
};

// The state after a key. `lines`: how many rows are shown.
State after(State state, Key key, const snapshot::Picture& picture, std::size_t lines);
// The state with its row where the selected place is now, and what is shown around it.
State normalised(State state, const std::vector<Row>& rows, std::size_t lines);

}  // namespace toprun::top
