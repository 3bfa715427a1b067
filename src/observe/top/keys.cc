#include "observe/top/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text/text.h"

namespace toprun::top {

using snapshot::Picture;
using Code = Key::Code;

namespace {

constexpr char escape = '\x1b';
constexpr std::size_t longest_search = 60;

struct Sequence {
  std::string_view bytes;  // after ESC
  Code code;
};
constexpr std::array sequences = {
    Sequence{"[A", Code::up},    Sequence{"OA", Code::up},       Sequence{"[B", Code::down},
    Sequence{"OB", Code::down},  Sequence{"[5~", Code::page_up}, Sequence{"[6~", Code::page_down},
    Sequence{"[H", Code::home},  Sequence{"OH", Code::home},     Sequence{"[1~", Code::home},
    Sequence{"[7~", Code::home}, Sequence{"[F", Code::end},      Sequence{"OF", Code::end},
    Sequence{"[4~", Code::end},  Sequence{"[8~", Code::end},
};

// The bytes of the control sequence after ESC, whether it is known or not; 0: it is not complete.
std::size_t length_of_sequence(std::string_view rest) {
  if (rest.empty()) return 0;
  if (rest[0] == 'O') return rest.size() < 2 ? 0 : 2;
  if (rest[0] != '[') return 1;
  const auto last =
      std::ranges::find_if(rest.substr(1), [](char c) { return c >= '@' && c <= '~'; });
  const auto length = static_cast<std::size_t>(last - rest.begin());
  return length == rest.size() ? 0 : length + 1;
}

std::optional<Key> plain_key(char c) {
  switch (c) {
    case '\r':
    case '\n':
      return Key{Code::enter};
    case '\x7f':
    case '\b':
      return Key{Code::erase};
    default:
      return static_cast<unsigned char>(c) < ' ' ? std::nullopt : std::optional(Key{Code::text, c});
  }
}

void open(State& state, const std::vector<Row>& rows) {
  if (state.row >= rows.size()) return;
  const Row& row = rows[state.row];
  if (row.item.kind == Kind::rank) {
    state.shows_rank = true;
    state.lines_below = 0;
  } else {
    state.folds[row.item] = !row.is_open;
  }
}

std::size_t moved(Code code, std::size_t row, std::size_t rows, std::size_t lines) {
  const std::size_t page = std::max<std::size_t>(lines, 2) - 1;
  const std::size_t last = rows == 0 ? 0 : rows - 1;
  switch (code) {
    case Code::up:
      return row == 0 ? 0 : row - 1;
    case Code::down:
      return std::min(row + 1, last);
    case Code::page_up:
      return row < page ? 0 : row - page;
    case Code::page_down:
      return std::min(row + page, last);
    case Code::home:
      return 0;
    case Code::end:
      return last;
    default:
      return row;
  }
}

std::size_t scrolled(Code code, std::size_t below, std::size_t lines) {
  constexpr std::size_t far = 1'000'000;  // frame() knows how many lines there are
  return far - moved(code, far - std::min(below, far), far + 1, lines);
}

struct StateWords {
  snapshot::RankState state;
  std::string_view stem;  // of all that a user may call it
  std::string_view none;  // what is said if no rank is in it
};
constexpr std::array state_words = {
    StateWords{snapshot::RankState::waits, "start", "all ranks have started"},
    StateWords{snapshot::RankState::blocked, "wait", "no rank waits"},
    StateWords{snapshot::RankState::runs, "run", "no rank runs"},
    StateWords{snapshot::RankState::done, "done", "no rank is done"},
    StateWords{snapshot::RankState::failed, "fail", "no rank has failed"},
    StateWords{snapshot::RankState::stopped, "stop", "no rank was stopped"},
    StateWords{snapshot::RankState::lost, "lost", "no rank is lost"},
    StateWords{snapshot::RankState::suspect, "hang", "no rank hangs"},
};
constexpr std::array<std::string_view, 7> endings = {"", "s", "ed", "ing", "ning", "ped", "ure"};

// "hang", "hangs", "hanging"; null: it is not a state.
const StateWords* state_called(std::string_view word) {
  const std::string text = lower(word);
  const auto known = std::ranges::find_if(state_words, [&](const StateWords& words) {
    const auto is_it = [&](std::string_view end) {
      return text == std::string(words.stem).append(end);
    };
    return std::ranges::any_of(endings, is_it);
  });
  return known == state_words.end() ? nullptr : &*known;
}

// The next rank after `from` whose state is called so.
std::optional<Item> found_by_state(const Picture& picture, std::string_view word, Item from) {
  const StateWords* const requested = state_called(word);
  if (requested == nullptr) return std::nullopt;
  const std::size_t ranks = picture.ranks.size();
  const std::size_t after_it = from.kind == Kind::rank ? from.number + 1 : 0;
  for (std::size_t i = 0; i < ranks; ++i) {
    const std::size_t rank = (after_it + i) % ranks;
    if (picture.ranks[rank].state == requested->state) return Item{Kind::rank, rank};
  }
  return std::nullopt;
}

// Ranks by their numbers or states, then nodes and racks by a part of their names, the next one
// after `from`.
std::optional<Item> found(const Picture& picture, const Tree& tree, std::string_view text,
                          Item from) {
  const auto number = parse_int(text.starts_with("rank ") ? text.substr(5) : text);
  if (number && std::cmp_less(*number, picture.ranks.size()) && *number >= 0) {
    return Item{Kind::rank, static_cast<std::size_t>(*number)};
  }
  if (const auto rank = found_by_state(picture, text, from)) return rank;
  const std::size_t nodes = picture.nodes.size();
  const std::size_t after_it = from.kind == Kind::node ? from.number + 1 : 0;
  for (std::size_t i = 0; i < nodes; ++i) {
    const std::size_t node = (after_it + i) % nodes;
    if (picture.nodes[node].name.raw().contains(text)) return Item{Kind::node, node};
  }
  for (std::size_t rack = 0; rack < tree.racks.size(); ++rack) {
    if (tree.racks[rack].name.raw().contains(text)) return Item{Kind::rack, rack};
  }
  return std::nullopt;
}

// Unfolds what is around the place.
void reveal(State& state, const Picture& picture, const Tree& tree, Item item) {
  state.selected = item;
  if (item.kind == Kind::rack) return;
  const std::size_t node = item.kind == Kind::node ? item.number : node_of(picture, item.number);
  if (item.kind == Kind::rank) state.folds[{Kind::node, node}] = true;
  for (std::size_t rack = 0; rack < tree.racks.size(); ++rack) {
    if (std::ranges::find(tree.racks[rack].nodes, node) == tree.racks[rack].nodes.end()) continue;
    state.folds[{Kind::rack, rack}] = true;
  }
}

// A selected rank stays selected. The bar at the top of a sorted list stays at the top, as it is
// there for the largest value.
void next_sort(State& state, const Picture& picture) {
  const bool is_for_largest = state.sort != Sort::order && state.row == 0 && !state.is_followed;
  do {
    state.sort = state.sort == Sort::silence ? Sort::order
                                             : static_cast<Sort>(static_cast<int>(state.sort) + 1);
  } while ((state.sorts & bit_of(state.sort)) == 0);
  state.is_followed = state.selected.kind == Kind::rank && !is_for_largest;
  if (!state.is_followed) {
    state.row = state.first_row = 0;
  } else if (state.sort == Sort::order) {
    reveal(state, picture, tree_of(picture), state.selected);
  }
}

void search(State& state, const Picture& picture, const Tree& tree) {
  if (state.search.empty()) return;
  const auto item = found(picture, tree, state.search, state.selected);
  if (!item) {
    const StateWords* const words = state_called(state.search);
    state.note = words ? std::string(words->none)
                       : fmt::format("no rank, node or rack is called {}", state.search);
    return;
  }
  // Racks and nodes stand only in the list that is not sorted.
  if (item->kind != Kind::rank) state.sort = Sort::order;
  state.is_followed = true;
  reveal(state, picture, tree, *item);
}

State typed(State state, Key key, const Picture& picture) {
  switch (key.code) {
    case Code::enter:
      state.searches = false;
      search(state, picture, tree_of(picture));
      break;
    case Code::escape:
      state.searches = false;
      break;
    case Code::erase:
      if (!state.search.empty()) state.search.pop_back();
      break;
    case Code::text:
      if (state.search.size() < longest_search) state.search += key.letter;
      break;
    default:
      break;
  }
  return state;
}

// A letter that stands for another key, as in less and vi.
Key plain(Key key) {
  if (key.code != Code::text) return key;
  switch (key.letter) {
    case 'k':
      return {Code::up};
    case 'j':
      return {Code::down};
    case 'g':
      return {Code::home};
    case 'G':
      return {Code::end};
    case ' ':
      return {Code::enter};
    default:
      return key;
  }
}

bool is_help(char letter) {
  return letter == '?' || letter == 'h';
}

void command(State& state, char letter, const Picture& picture) {
  if (is_help(letter)) {
    state.shows_help = true;
    return;
  }
  switch (letter) {
    case 's':
      return next_sort(state, picture);
    case '/':
      state.searches = true;
      state.search.clear();
      return;
    case 'n':
      return search(state, picture, tree_of(picture));
    case 'l':
      state.wish = State::Wish::log;
      return;
    case 'q':
      state.wish = State::Wish::quit;
      return;
    default:
      return;
  }
}

}  // namespace

std::vector<Key> keys_in(std::string& bytes, bool is_all) {
  std::vector<Key> keys;
  std::size_t at = 0;
  while (at < bytes.size()) {
    const std::string_view rest = std::string_view(bytes).substr(at + 1);
    if (bytes[at] != escape) {
      if (const auto key = plain_key(bytes[at])) keys.push_back(*key);
      ++at;
      continue;
    }
    const std::size_t length = length_of_sequence(rest);
    if (length == 0 && !is_all) break;
    const auto known = std::ranges::find(sequences, rest.substr(0, length), &Sequence::bytes);
    if (known != sequences.end()) keys.push_back({known->code});
    if (rest.empty()) keys.push_back({Code::escape});
    at += 1 + (length == 0 ? rest.size() : length);
  }
  bytes.erase(0, at);
  return keys;
}

State after_while_waiting(State state, Key key) {
  if (std::exchange(state.shows_help, false)) return state;
  const bool has_meaning = key.code == Code::text && (key.letter == 'q' || is_help(key.letter));
  if (has_meaning) command(state, key.letter, {});
  return state;
}

State after(State state, Key key, const Picture& picture, std::size_t lines) {
  state.note.clear();
  if (state.searches) return typed(std::move(state), key, picture);
  if (std::exchange(state.shows_help, false)) return state;
  const Code scroll = plain(key).code;
  if (state.shows_rank && scroll <= Code::end) {
    state.lines_below = scrolled(scroll, state.lines_below, lines);
    return state;
  }
  const bool goes_on = key.code == Code::text && (key.letter == 'l' || key.letter == 'q');
  if (std::exchange(state.shows_rank, state.shows_rank && goes_on) && !goes_on) return state;
  key = plain(key);
  if (key.code == Code::text) {
    command(state, key.letter, picture);
    return state;
  }
  // Of many ranks this takes the time of a frame.
  const auto rows = rows_of(picture, tree_of(picture), state.sort, state.folds, lines);
  state = normalised(std::move(state), rows, lines);
  if (key.code == Code::enter) {
    open(state, rows);
  } else {
    state.is_followed = false;
    state.row = moved(key.code, state.row, rows.size(), lines);
    if (state.row < rows.size()) state.selected = rows[state.row].item;
  }
  return state;
}

State normalised(State state, const std::vector<Row>& rows, std::size_t lines) {
  // Sorted ranks change their places all the time: there the row stays, not the rank.
  const bool goes_with_it = state.sort == Sort::order || state.is_followed || state.shows_rank;
  const auto selected =
      goes_with_it ? std::ranges::find(rows, state.selected, &Row::item) : rows.end();
  if (selected != rows.end()) {
    state.row = static_cast<std::size_t>(selected - rows.begin());
  } else if (!rows.empty()) {
    state.row = std::min(state.row, rows.size() - 1);
    state.selected = rows[state.row].item;
  }
  state.first_row = std::min(state.first_row, state.row);
  if (state.row >= state.first_row + lines) state.first_row = state.row + 1 - lines;
  const std::size_t last_first = rows.size() > lines ? rows.size() - lines : 0;
  state.first_row = std::min(state.first_row, last_first);
  return state;
}

}  // namespace toprun::top
