#pragma once

#include <string>
#include <vector>

#include "observe/snapshot/picture.h"
#include "observe/top/row_tree.h"

// The keys that the user presses, and their effects; pure functions.
namespace toprun::top {

struct Key {
  enum class Code { up, down, page_up, page_down, home, end, enter, escape, erase, text };
  Code code = Code::text;
  char letter = 0;  // for text input: the letter

  bool operator==(const Key&) const = default;
};
// Returns the keys in a terminal's input (ECMA-48; function keys as in xterm). The beginning of an
// incomplete key stays in `bytes`. If `is_all` is true, no more bytes belong to the input, so a
// single ESC is a complete key.
std::vector<Key> keys_in(std::string& bytes, bool is_all);

// What the user has chosen to see.
struct State {
  Sort sort = Sort::order;
  // The key s chooses among these; the screen has their columns. A bit for each Sort.
  unsigned sorts = ~0u;
  Folds folds;
  Item selected{Kind::rack, 0};
  std::size_t row = 0;        // the row of the selected item when it was last shown
  std::size_t first_row = 0;  // the first row on the screen
  bool searches = false;      // the search text is being typed
  std::string search;
  bool is_followed = false;  // the user chose the selected rank, so it stays selected when the rows
                             // of a sorted list move
  bool shows_help = false;
  bool shows_rank = false;      // shows only the selected rank instead of the list
  std::size_t lines_below = 0;  // of that rank's details, below the screen
  std::string note;             // shown until the next key
  enum class Wish { none, log, quit };
  Wish wish = Wish::none;  // what the caller has to do now
};

// Like after(), for a display that still waits for the job to begin: only the keys for quit and
// help have an effect.
State after_while_waiting(State state, Key key);
// Returns the state after the user has pressed a key. `lines`: the number of rows on the screen.
State after(State state, Key key, const snapshot::Picture& picture, std::size_t lines);
// Updates the selected item's row number in the state, and scrolls so that this row is shown.
State normalised(State state, const std::vector<Row>& rows, std::size_t lines);

}  // namespace toprun::top
