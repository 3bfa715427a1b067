#include "observe/top/frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <span>
#include <utility>

#include "base/text/clock.h"
#include "base/text/text.h"
#include "observe/report/columns.h"
#include "observe/report/report.h"
#include "observe/snapshot/snapshot.h"
#include "observe/top/cells.h"
#include "run/model/record.h"

namespace toprun::top {

using snapshot::Picture;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t columns_of_text = 200;  // of the whole picture
constexpr std::size_t least_rows_for_messages = 16;
constexpr std::size_t share_of_messages = 5;  // of a screen that the list fills, at most
constexpr std::size_t most_message_lines = 8;
constexpr std::size_t share_of_trouble = 5;  // of the screen, at most
constexpr std::size_t share_of_note = 3;     // … and of a note at the foot
constexpr std::size_t most_title_lines = 2;
constexpr std::size_t share_of_title = 6;  // … or this part of a screen

using Lines = std::vector<std::string>;

std::string sort_word(Sort sort) {
  switch (sort) {
    case Sort::order:
      return "place";
    case Sort::cpu:
      return "CPU";
    case Sort::memory:
      return "memory";
    case Sort::silence:
      return "silence";
  }
  return "";
}

// `width` of 0: there is room for all.
bool fits(std::string_view text, std::size_t width) {
  return width == 0 || columns_of(text) <= width;
}

std::string elapsed_text(const Picture& picture) {
  const auto started = model::if_known(picture.run.started);
  if (!started || !picture.now) return "";
  const auto seconds = std::chrono::floor<std::chrono::seconds>(*picture.now - *started);
  return seconds < std::chrono::minutes(1)
             ? fmt::format("{} s", std::max<std::int64_t>(0, seconds.count()))
             : duration_text(seconds);
}

std::string base_name(const Outside& path) {
  return Outside(path.raw().substr(path.raw().rfind('/') + 1)).shown();  // npos + 1 is 0
}

// By the name that its user chose.
std::string name_of(const Picture& picture) {
  const std::string name = !picture.run.title.empty()     ? picture.run.title.shown()
                           : !picture.run.program.empty() ? base_name(picture.run.program)
                                                          : picture.run.job.shown();
  if (name.empty()) return fmt::format("job {}", picture.id);
  const bool has_id = !picture.id.empty() && picture.id != picture.run.job;
  return has_id ? fmt::format("{} ({})", name, picture.id) : name;
}

std::string time_left(const Picture& picture) {
  if (!picture.limit || !picture.now || !picture.run.running_at) return "";
  const auto left = std::chrono::floor<std::chrono::seconds>(*picture.limit - *picture.now);
  if (left <= std::chrono::seconds(0)) return "its time is up";
  return duration_text(left) + " left";
}

std::string nodes_text(const Picture& picture) {
  std::string text = counted(picture.nodes.size(), "node");
  if (!picture.run.spares.empty()) text += ", " + counted(picture.run.spares.size(), "spare");
  if (!picture.run.lost_spares.empty()) {
    text += fmt::format(", {} gone", counted(picture.run.lost_spares.size(), "spare"));
  }
  return text;
}

// In `most` lines, if possible. The number of nodes is left out if that saves a line: the list
// shows the nodes.
Lines title(const Picture& picture, std::size_t width, std::size_t most) {
  Lines parts = {name_of(picture)};
  if (const auto code = model::reported_code(picture.run)) {
    parts.push_back(fmt::format("ended with {}", *code));
  } else {
    parts.push_back(printable(snapshot::words_of_stage(picture.stage.raw())));
  }
  const std::string elapsed = elapsed_text(picture);
  if (!elapsed.empty()) parts.push_back(elapsed);
  const std::string left = time_left(picture);
  if (!left.empty()) parts.push_back(left);
  const int attempt = model::last_attempt(picture.run).attempt;
  if (attempt > 0) parts.push_back(fmt::format("attempt {}", attempt));
  if (picture.run.restarts > 0) {
    parts.push_back(fmt::format("{} of {}", picture.run.restarts,
                                counted(picture.run.max_restarts, "restart")));
  }
  const std::size_t before_nodes = parts.size();
  if (!picture.nodes.empty()) parts.push_back(nodes_text(picture));
  if (!picture.ranks.empty()) {
    Counts counts;
    count(counts, picture, {0, picture.ranks.size()});
    parts.push_back(fmt::format("{}: {}", counted(counts.all, "rank"), states_text(counts)));
  }
  if (parts.size() != before_nodes + 2) return parts;
  Lines brief = parts;
  brief.erase(brief.begin() + static_cast<std::ptrdiff_t>(before_nodes));
  const auto lines_of = [&](const Lines& some) { return report::wrapped(some, width, 0).size(); };
  return lines_of(parts) <= std::min(lines_of(brief), most) ? parts : brief;
}

// On one line: the job and its stage come first and its ranks last; what does not fit is left out.
void keep_ends(Lines& parts, std::size_t width) {
  constexpr std::size_t kept_in_front = 2;
  while (parts.size() > kept_in_front + 1 && !fits(join(parts, " | "), width)) {
    parts.erase(parts.begin() + kept_in_front);
  }
}

bool is_starting(const Picture& picture) {
  const std::string& stage = picture.stage.raw();
  return stage == "gathering" || stage == "arranging" || stage == "preparing";
}

// What is awaited while the job starts; the phases that are over, as many of the last as fit.
std::string progress(const Picture& picture, std::size_t width) {
  if (is_starting(picture) && picture.nodes.empty()) {
    const auto joined = static_cast<std::size_t>(std::max(0, picture.joined));
    std::string text =
        fmt::format("{} of {} have joined", joined, counted(picture.most_nodes, "node"));
    if (!picture.missing.empty()) {
      text += fmt::format(", not {}", picture.missing.front());
      if (picture.missing_count > 1) text += " and " + counted(picture.missing_count - 1, "other");
    } else if (!picture.here.empty()) {
      text += fmt::format(": {}", picture.here.front());
      if (joined > 1) text += " and " + counted(joined - 1, "other");
    }
    const auto at = [&](WallTime time) { return moment_text(time, picture.now.value_or(time)); };
    if (picture.begins_at) return text + "; the job begins at " + at(*picture.begins_at);
    if (picture.waits_until) text += "; toprun waits until " + at(*picture.waits_until);
    return text;
  }
  const model::AttemptRecord& attempt = model::last_attempt(picture.run);
  if (attempt.awaited) return model::awaited_text(*attempt.awaited);
  Lines parts = model::times_texts(attempt.phases);
  if (parts.empty()) return "";
  const auto text = [&] { return "phases: " + join(parts, ", "); };
  while (!fits(text(), width) && parts.size() > 1) parts.erase(parts.begin());
  return text();
}

std::string last_failure(const Picture& picture) {
  for (const model::AttemptRecord& attempt : picture.run.attempts | std::views::reverse) {
    if (!attempt.cause) continue;
    const model::Cause& cause = *attempt.cause;
    const std::string what = fmt::format("attempt {}: {}", attempt.attempt, sentence(cause));
    return cause.message.empty() ? what : fmt::format("{}: {}", what, cause.message);
  }
  return "";
}

// The rank that keeps the others waiting comes first, so that no narrow screen cuts it off.
std::string hang_line(const model::Hang& hang, std::optional<WallTime> now) {
  const auto since = model::if_known(model::since(hang));
  if (hang.alarm) return printable(model::headline(hang));
  const std::string what = printable(hang.verdict.what);
  if (!since || !now || *now < *since) return what;
  return fmt::format("{} (no rank has made progress for {})", what, duration_text(*now - *since));
}

// What is wrong with the job, or which user ended it. Of a job that has ended, its hang is past.
std::string trouble(const Picture& picture) {
  const model::AttemptRecord& last = model::last_attempt(picture.run);
  const model::Hang* const hang = last.hang && !last.hang->over ? &*last.hang : nullptr;
  const bool is_past =
      picture.hang_is_past || !picture.cancelled.empty() || model::reported_code(picture.run);
  if (hang != nullptr && !is_past) return hang_line(*hang, picture.now);
  const bool is_hang = last.cause && last.cause->kind == model::CauseKind::hang;
  std::string how = !picture.cancelled.empty()   ? picture.cancelled.shown()
                    : hang != nullptr && is_hang ? std::string()
                                                 : last_failure(picture);
  if (hang == nullptr) return how;
  if (!how.empty()) how += ", ";
  return how + "it " + model::past_text(*hang, picture.now.value_or(model::since(*hang)));
}

std::string fitted(std::string_view text, std::size_t width) {
  return both_ends(printable(text), width);
}

// The last lines of what toprun said, without the hang that the head shows. `most` lines.
Lines messages(const Picture& picture, std::size_t most, std::size_t width) {
  Lines lines;
  const std::optional<model::Hang>& hang = model::last_attempt(picture.run).hang;
  for (auto message = picture.messages.rbegin();
       message != picture.messages.rend() && lines.size() < most; ++message) {
    if (hang && message->text == model::headline(*hang)) continue;
    const bool is_dated = message->at > WallTime();
    const std::string dated =
        is_dated ? fmt::format("{} {}", moment_text(message->at, picture.now.value_or(message->at)),
                               message->text)
                 : message->text;
    const auto parts = split(trim(dated), '\n');
    for (auto part = parts.rbegin(); part != parts.rend() && lines.size() < most; ++part) {
      const Lines wraps = report::wrapped(printable(*part), width, 0);
      lines.insert(lines.end(), wraps.rbegin(), wraps.rend());
    }
  }
  lines.resize(std::min(lines.size(), most));
  std::ranges::reverse(lines);
  return lines;
}

bool has_lines(const Picture& picture) {
  return std::ranges::any_of(picture.ranks,
                             [](const Picture::Rank& rank) { return !rank.line.empty(); });
}

// What the selected rank said last, or the newest of a node's or rack's ranks, for a screen whose
// list has no column for it.
std::string said_at(const Picture& picture, const Tree& tree, Item item) {
  const auto rank = newest_in(picture, tree, item);
  return rank ? fmt::format("rank {}: {}", *rank, picture.ranks[*rank].line) : "";
}

struct KeyHelp {
  std::string_view keys, effect, brief;
};
constexpr std::array keys_help = {
    KeyHelp{"up down k j", "move", "move"},
    KeyHelp{"PgUp PgDn", "move by a screen", "move by a screen"},
    KeyHelp{"Home End g G", "first, last", "first, last"},
    KeyHelp{"Enter, space", "fold or unfold a rack or node; show all about a rank",
            "fold; show a rank"},
    KeyHelp{"s", "sort: by place, CPU, memory, silence", "sort"},
    KeyHelp{"/", "search a rank, node, rack or state (failed); n: next", "search; n: next"},
    KeyHelp{"l", "the log of the rank", "the log of the rank"},
    KeyHelp{"q", "leave; the job goes on", "leave"},
};
constexpr std::size_t keys_width = 14;
constexpr std::string_view back_words = "any key goes back";

// `rows` of 0: no limit. In few rows it is brief.
Lines help(std::size_t width, std::size_t rows) {
  Lines whole, brief;
  for (const KeyHelp& key : keys_help) {
    brief.push_back(fmt::format("{:<{}}{}", key.keys, keys_width, key.brief));
    std::string_view before = key.keys;
    for (const std::string& part : report::wrapped(key.effect, width - keys_width, 0)) {
      whole.push_back(fmt::format("{:<{}}{}", std::exchange(before, ""), keys_width, part));
    }
  }
  return rows == 0 || whole.size() <= rows ? whole : brief;
}

// All that is known of one rank.
Lines rank_lines(const Picture& picture, const State& state, std::size_t width) {
  const std::size_t rank = state.selected.number;
  const RankWords words = words_of_rank(picture, rank);
  Lines lines = {words.title};
  if (!words.figures.empty()) lines.push_back("  uses       " + words.figures);
  if (!words.silence.empty()) lines.push_back("  printed    last " + words.silence + " ago");
  const Picture::Rank& known = picture.ranks[rank];
  if (const Picture::Place* place = snapshot::place_of(picture, rank)) {
    lines.push_back("  does       " + place->text.shown());
    if (known.state == snapshot::RankState::suspect) {
      for (const Outside& line : place->stack) lines.push_back("    " + line.shown());
    }
  }
  if (known.pid > 0) lines.push_back(fmt::format("  process    pid {}", known.pid));
  if (!known.line.empty()) lines.push_back("  last line  " + known.line.shown());
  const Log log = log_of(picture, state);
  if (!log.path.empty()) lines.push_back(fmt::format("  log        on {}: {}", log.node, log.path));
  for (const model::AttemptRecord& attempt : picture.run.attempts) {
    const std::optional<model::Cause>& cause = attempt.cause;
    if (!cause || cause->rank != static_cast<int>(rank)) continue;
    lines.push_back(fmt::format("  attempt {}  {}", attempt.attempt, model::short_text(*cause)));
    for (const Outside& line : cause->last_output) lines.push_back("    " + line.shown());
  }
  // Those of a rank that has failed stand in its attempt.
  if (known.lines.size() > 1 && known.state != snapshot::RankState::failed) {
    lines.emplace_back("  last lines");
    for (const Outside& line : known.lines) lines.push_back("    " + line.shown());
  }
  Lines wraps;
  for (const std::string& line : lines) {
    for (std::string& part : report::wrapped(line, width, 0)) wraps.push_back(std::move(part));
  }
  return wraps;
}

// Of what is too long for the screen, the title and `rows` - 1 lines up to the end, or to as many
// lines before the end as the user has scrolled.
Lines scrolled(Lines text, std::size_t rows, std::size_t& below) {
  below = std::min(below, text.size() - std::min(text.size(), rows));
  text.resize(text.size() - below);
  if (text.size() <= rows) return text;
  const std::size_t above = text.size() - rows + 1;
  text[above] = fmt::format("  … {} above", counted(above, "line"));
  text.erase(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(above));
  return text;
}

Lines foot(const State& state, TerminalSize size) {
  const std::size_t width = size.columns;
  if (state.searches) return {fitted("/" + state.search + "_", width)};
  if (!state.note.empty()) {
    return report::wrapped(printable(state.note), width, size.rows / share_of_note);
  }
  if (state.shows_help) return {std::string(back_words)};
  if (state.shows_rank) return {fitted("↑↓ scroll  l log  q quit  others go back", width)};
  const std::string enter = state.selected.kind == Kind::rank ? "Enter more" : "Enter fold";
  Lines keys = {"q quit", enter, "l log", "s sort: " + sort_word(state.sort), "/ search", "? help"};
  const auto all = [&] { return join(keys, "  "); };
  while (!fits(all(), width) && keys.size() > 2) keys.erase(keys.end() - 2);
  return {both_ends(all(), width)};
}

// The whole line, so that it shows without colours too where they are not wanted.
std::string marked(std::string line, bool is_marked, const Style& style) {
  if (!is_marked) return style.colour ? line : " " + line;
  return style.colour ? fmt::format("\x1b[7m{}\x1b[0m", line) : ">" + line;
}

// What is on a screen besides the list, and how many rows that has.
struct Layout {
  Columns columns;
  Lines head;
  bool has_said = false;
  Lines messages = {};
  std::size_t list = 1;
};

// The rows that the list cannot fill are for messages.
std::size_t message_rows(const Picture& picture, TerminalSize size, std::size_t rest) {
  if (size.rows < least_rows_for_messages) return 0;
  const std::size_t usual = std::min(size.rows / share_of_messages, most_message_lines);
  if (picture.ranks.size() >= rest) return usual;
  const std::size_t requested =
      tree_of(picture).racks.size() + picture.nodes.size() + picture.ranks.size();
  return requested + 1 < rest ? std::max(usual, rest - requested - 1) : usual;
}

Layout layout(const Picture& picture, TerminalSize size, const Style& style) {
  Layout all{Columns(picture, style.colour ? size.columns : size.columns - 1),
             head(picture, size, style)};
  all.has_said =
      size.rows >= least_rows_for_messages && !all.columns.shows_lines() && has_lines(picture);
  constexpr std::size_t heads_and_foot = 2;
  const std::size_t used = all.head.size() + heads_and_foot + (all.has_said ? 1 : 0);
  const std::size_t rest = size.rows > used ? size.rows - used : 1;
  all.messages = messages(picture, message_rows(picture, size, rest), size.columns);
  all.list = std::max<std::size_t>(1, rest - std::min(rest, all.messages.size()));
  return all;
}

// The rank at fault, its node and its rack.
std::vector<Item> items_of_cause(const Picture& picture, const Tree& tree) {
  const std::optional<model::Cause>& cause = model::last_attempt(picture.run).cause;
  if (!cause || !cause->rank || *cause->rank < 0) return {};
  const auto rank = static_cast<std::size_t>(*cause->rank);
  const std::size_t node = node_of(picture, rank);
  std::vector<Item> items = {{Kind::rank, rank}, {Kind::node, node}};
  for (std::size_t rack = 0; rack < tree.racks.size(); ++rack) {
    const std::vector<std::size_t>& nodes = tree.racks[rack].nodes;
    if (std::ranges::find(nodes, node) != nodes.end()) items.push_back({Kind::rack, rack});
  }
  return items;
}

// `most` of the rows: those of the rank at fault, of other failed ranks and of what is around them,
// then nodes and racks, then other ranks.
std::vector<Row> kept(const Picture& picture, const Tree& tree, const std::vector<Row>& rows,
                      std::size_t most) {
  const std::vector<Item> of_cause = items_of_cause(picture, tree);
  std::vector<int> turns;
  for (const Row& row : rows) {
    const bool is_rank = row.item.kind == Kind::rank;
    turns.push_back(std::ranges::find(of_cause, row.item) != of_cause.end() ? 0
                    : has_failed(picture, tree, row.item)                   ? 1
                    : is_rank                                               ? 3
                                                                            : 2);
  }
  constexpr int taken = -1;
  for (int turn = 0; turn <= 3; ++turn) {
    for (int& own : turns) {
      if (own == turn && most > 0) {
        own = taken;
        --most;
      }
    }
  }
  std::vector<Row> some;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (turns[i] == taken) some.push_back(rows[i]);
  }
  return some;
}

// What stands above the list, and at most `most` lines of the list.
Lines listed(const Picture& picture, std::size_t width, std::size_t most, const Style& style,
             const Folds& unfolded = {}) {
  Lines lines = head(picture, {width, 0}, style);
  // A job that ended before its nodes had joined.
  if (picture.nodes.empty() && model::reported_code(picture.run)) return lines;
  const Columns columns(picture, width);
  lines.push_back(columns.heads());
  const Tree tree = tree_of(picture);
  auto rows = rows_of(picture, tree, Sort::order, unfolded, most);
  const std::size_t all = rows.size();
  if (all > most) rows = kept(picture, tree, rows, most - 1);
  for (const Row& row : rows) lines.push_back(columns.line(picture, tree, row, false, style));
  if (rows.size() < all) lines.push_back(fmt::format("… and {} more", all - rows.size()));
  return lines;
}

// What the rank at fault said last, where neither the list nor the head shows it.
Lines last_words(const Picture& picture, std::size_t width) {
  const std::optional<model::Cause>& cause = model::last_attempt(picture.run).cause;
  if (!cause || !cause->rank || Columns(picture, width).shows_lines()) return {};
  const auto rank = static_cast<std::size_t>(*cause->rank);
  if (rank >= picture.ranks.size() || picture.ranks[rank].line.empty()) return {};
  const std::string line = picture.ranks[rank].line.shown();
  if (trouble(picture).contains(line)) return {};
  return {report::beginning(fmt::format("rank {}: {}", rank, line), width)};
}

}  // namespace

Lines head(const Picture& picture, TerminalSize size, const Style& style) {
  const std::size_t width = size.columns;
  const bool is_low = size.rows > 0 && size.rows < least_rows_for_messages;
  const std::size_t title_lines = is_low ? 1 : most_title_lines;
  Lines parts = title(picture, width, title_lines);
  if (is_low) keep_ends(parts, width);
  const std::size_t share = size.rows / share_of_title;
  Lines lines = report::wrapped(parts, width,
                                is_low      ? 1
                                : share > 0 ? std::max(share, title_lines)
                                            : 0);
  const std::string now = progress(picture, width);
  if (!now.empty()) {
    const std::string line = fitted(now, width);
    const bool waits = is_starting(picture) || model::last_attempt(picture.run).awaited;
    lines.push_back(coloured(line, waits ? Colour::waiting : Colour::faint, style));
  }
  const std::string wrong = trouble(picture);
  const std::size_t most =
      size.rows == 0 ? 0 : std::max<std::size_t>(1, size.rows / share_of_trouble);
  for (const std::string& line : report::wrapped(wrong, width, is_low ? 1 : most)) {
    lines.push_back(coloured(line, Colour::bad, style));
  }
  return lines;
}

std::size_t list_lines(const Picture& picture, TerminalSize size) {
  return layout(picture, size, {}).list;
}

Frame frame(const Picture& picture, State state, TerminalSize size, const Style& style) {
  const std::size_t width = size.columns;
  if (width < least_size.columns || size.rows < least_size.rows) {
    const std::string text =
        fmt::format("top needs {} x {} characters", least_size.columns, least_size.rows);
    return {{both_ends(text, width)}, std::move(state)};
  }
  Layout parts = layout(picture, size, style);
  state.sorts = parts.columns.sorts();
  if ((state.sorts & bit_of(state.sort)) == 0) state.sort = Sort::order;
  Lines lines = std::move(parts.head);
  const std::size_t shown = parts.list;
  const std::size_t end = lines.size() + 1 + shown;
  const Tree tree = tree_of(picture);
  state.shows_rank = state.shows_rank && state.selected.kind == Kind::rank &&
                     state.selected.number < picture.ranks.size();
  if (state.shows_help || state.shows_rank) {
    if (state.shows_help && size.rows < least_rows_for_messages) lines.resize(1);
    const std::size_t rows = end - lines.size();
    const Lines text =
        state.shows_help ? help(width - 2, rows)
                         : scrolled(rank_lines(picture, state, width - 2), rows, state.lines_below);
    if (text.size() < rows) lines.emplace_back();
    for (const std::string& line : text) {
      if (lines.size() < end) lines.push_back("  " + both_ends(line, width - 2));
    }
  } else {
    const std::string heads = parts.columns.heads(state.sort);
    lines.push_back(style.colour ? coloured(heads, Colour::faint, style) : " " + heads);
    const auto rows = rows_of(picture, tree, state.sort, state.folds, shown);
    state = normalised(std::move(state), rows, shown);
    for (std::size_t i = 0; i < shown && state.first_row + i < rows.size(); ++i) {
      const std::size_t row = state.first_row + i;
      const bool is_selected = row == state.row;
      const Style plain;
      lines.push_back(marked(parts.columns.line(picture, tree, rows[row], state.sort != Sort::order,
                                                is_selected ? plain : style),
                             is_selected, style));
    }
  }
  lines.resize(end);
  for (const std::string& line : parts.messages) {
    lines.push_back(coloured(line, Colour::faint, style));
  }
  if (parts.has_said)
    lines.push_back(report::beginning(said_at(picture, tree, state.selected), width));
  const Lines last = foot(state, size);
  lines.resize(size.rows - std::min(size.rows - 1, last.size()));
  for (const std::string& line : last) lines.push_back(coloured(line, Colour::faint, style));
  return {std::move(lines), std::move(state)};
}

Lines whole(const Picture& picture, const Style& style) {
  const std::size_t width = style.columns > 0 ? style.columns : columns_of_text;
  const std::size_t all =
      tree_of(picture).racks.size() + picture.nodes.size() + picture.ranks.size();
  Lines lines = listed(picture, width, all, style);
  for (std::string& line : last_words(picture, width)) lines.push_back(std::move(line));
  for (const std::string& line : messages(picture, most_message_lines, width)) {
    lines.push_back(coloured(line, Colour::faint, style));
  }
  return lines;
}

Lines remains(const Picture& picture, TerminalSize size, const Style& style,
              const Folds& unfolded) {
  constexpr std::size_t heads_and_last_words = 5, least_list = 5;
  const Lines said = last_words(picture, size.columns);
  const std::size_t used =
      head(picture, {size.columns, 0}, style).size() + said.size() + heads_and_last_words;
  const std::size_t rest = size.rows > used ? size.rows - used : 0;
  Lines lines = listed(picture, size.columns, std::max(rest, least_list), style, unfolded);
  lines.insert(lines.end(), said.begin(), said.end());
  return lines;
}

Lines waiting_screen(const Lines& waits, const State& state, std::size_t columns) {
  Lines lines;
  const auto add = [&](std::string_view text) {
    for (std::string& line : report::wrapped(text, columns, 0)) lines.push_back(std::move(line));
  };
  for (const std::string& line : waits) add(line);
  if (waits.empty()) add("waiting for the job's first snapshot");
  lines.emplace_back();
  if (!state.shows_help) {
    lines.emplace_back("q quit  ? help");
    return lines;
  }
  add("q ends top; the job stays in the queue. The other keys work when the job runs:");
  for (std::string& line : help(columns, 0)) lines.push_back(std::move(line));
  add(back_words);
  return lines;
}

Picture cancelled(Picture last, Outside words) {
  using enum snapshot::RankState;
  last.cancelled = std::move(words);
  last.stage = "cancelled";
  last.limit.reset();
  for (Picture::Rank& rank : last.ranks) {
    const bool has_ended =
        rank.state == done || rank.state == failed || rank.state == stopped || rank.state == lost;
    if (!has_ended) rank.state = stopped;
  }
  return last;
}

Log log_of(const Picture& picture, const State& state) {
  std::size_t node = state.selected.number;
  if (state.selected.kind == Kind::rack) {
    const Tree tree = tree_of(picture);
    if (node >= tree.racks.size()) return {};
    node = tree.racks[node].nodes.front();
  }
  Log log;
  log.rank = state.selected.number;
  if (state.selected.kind == Kind::rank) node = node_of(picture, log.rank);
  if (node >= picture.nodes.size()) return {};
  const Picture::Node& where = picture.nodes[node];
  if (state.selected.kind != Kind::rank) log.rank = where.first_rank;
  log.node = where.name;
  // What begins otherwise could be an option of the pager ("+!command").
  const auto is_path = [](const Outside& path) { return path.raw().starts_with('/'); };
  if (!is_path(where.logs)) {
    if (is_path(picture.node_log)) {
      log.path = report::node_log_path(picture.node_log.raw(), where.name.raw());
      log.files.push_back(log.path.raw());
    }
    return log;
  }
  const std::string folder =
      fmt::format("{}/attempt_{}/{}/", where.logs.raw(), model::last_attempt(picture.run).attempt,
                  log.rank - where.first_rank);
  log.path = folder + "*.log";
  log.files = {folder + "stdout.log", folder + "stderr.log"};
  // The reason of a failure is on stderr.
  const bool has_failed = log.rank < picture.ranks.size() &&
                          picture.ranks[log.rank].state == snapshot::RankState::failed;
  if (has_failed) std::swap(log.files[0], log.files[1]);
  log.newest_first = !has_failed;
  return log;
}

}  // namespace toprun::top
