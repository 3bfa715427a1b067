#include "top/frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/counted.h"
#include "base/text.h"
#include "top/cells.h"
#include "view/phases.h"

namespace toprun::top {

using std::chrono::milliseconds;
using watch::Picture;

namespace {

constexpr std::size_t columns_of_text = 200;  // of the whole picture
constexpr std::size_t least_rows_for_messages = 16;
constexpr std::size_t share_of_messages = 5;  // of the screen, at most
constexpr std::size_t most_message_lines = 8;

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
  if (!picture.started || !picture.now) return "";
  const auto seconds = std::chrono::floor<std::chrono::seconds>(*picture.now - *picture.started);
  return seconds < std::chrono::minutes(1)
             ? fmt::format("{} s", std::max<std::int64_t>(0, seconds.count()))
             : duration_text(seconds);
}

// On a narrow screen without the number of nodes: the list shows them.
std::string title(const Picture& picture, std::size_t width) {
  const Outside& name = picture.program.empty() ? picture.name : picture.program;
  const bool has_id = !picture.id.empty() && picture.id != picture.name;
  Lines parts = {has_id ? fmt::format("{} ({})", name, picture.id) : name.shown()};
  if (picture.exit_code) {
    parts.push_back(fmt::format("ended with {}", *picture.exit_code));
  } else {
    parts.push_back(picture.stage.shown());
  }
  const std::string elapsed = elapsed_text(picture);
  if (!elapsed.empty()) parts.push_back(elapsed);
  if (picture.attempt > 0) parts.push_back(fmt::format("attempt {}", picture.attempt));
  if (picture.restarts > 0) {
    parts.push_back(
        fmt::format("{} of {}", picture.restarts, counted(picture.max_restarts, "restart")));
  }
  const std::size_t before_nodes = parts.size();
  if (!picture.nodes.empty()) parts.push_back(counted(picture.nodes.size(), "node"));
  if (!picture.ranks.empty()) {
    Counts counts;
    count(counts, picture, {0, picture.ranks.size()});
    parts.push_back(fmt::format("{}: {}", counted(counts.all, "rank"), states_text(counts)));
  }
  std::string all = join(parts, " | ");
  if (fits(all, width) || parts.size() < before_nodes + 2) return all;
  parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(before_nodes));
  return join(parts, " | ");
}

bool is_starting(const Picture& picture) {
  const std::string& stage = picture.stage.raw();
  return stage == "gathering" || stage == "arranging" || stage == "preparing";
}

// Who is awaited while the job starts; the phases that are over, as many of the last as fit.
std::string progress(const Picture& picture, std::size_t width) {
  if (is_starting(picture) && picture.nodes.empty()) {
    const auto joined = static_cast<std::size_t>(std::max(0, picture.joined));
    std::string text =
        fmt::format("{} of {} have joined", joined, counted(picture.most_nodes, "node"));
    if (picture.missing.empty()) return text;
    text += fmt::format(", not {}", picture.missing.front());
    if (picture.missing_count > 1) text += " and " + counted(picture.missing_count - 1, "other");
    return text;
  }
  if (picture.awaited) return view::awaited_text(*picture.awaited);
  const std::pair<std::string_view, std::optional<milliseconds>> phases[] = {
      {"joined", picture.phases.join},     {"ordered", picture.phases.order},
      {"staged", picture.phases.stage},    {"started", picture.phases.spawn},
      {"imported", picture.phases.import}, {"first collective", picture.phases.first_collective},
  };
  Lines parts;
  for (const auto& [name, took] : phases) {
    if (took) parts.push_back(fmt::format("{} {}", name, duration_text(*took)));
  }
  if (parts.empty()) return "";
  std::string text = "after: " + join(parts, ", ");
  for (; !fits(text, width) && parts.size() > 1; text = "after: " + join(parts, ", ")) {
    parts.erase(parts.begin());
  }
  return text;
}

std::string last_failure(const Picture& picture) {
  for (auto attempt = picture.attempts.rbegin(); attempt != picture.attempts.rend(); ++attempt) {
    if (attempt->what.empty()) continue;
    return fmt::format("attempt {}: {}", attempt->attempt, attempt->what);
  }
  return "";
}

std::string fitted(std::string_view text, std::size_t width) {
  return both_ends(printable(text), width);
}

// The last lines of what toprun said. `most` lines.
Lines messages(const Picture& picture, std::size_t most, std::size_t width, const Look& look) {
  Lines lines;
  for (auto message = picture.messages.rbegin();
       message != picture.messages.rend() && lines.size() < most; ++message) {
    const auto parts = split(trim(message->text), '\n');
    for (auto part = parts.rbegin(); part != parts.rend() && lines.size() < most; ++part) {
      lines.push_back(coloured(fitted(*part, width), Colour::faint, look));
    }
  }
  std::ranges::reverse(lines);
  return lines;
}

std::size_t message_lines(const Picture& picture, std::size_t rows) {
  if (rows < least_rows_for_messages) return 0;
  std::size_t there = 0;
  const std::size_t most = std::min(rows / share_of_messages, most_message_lines);
  for (const watch::Message& message : picture.messages) {
    there += split(trim(message.text), '\n').size();
    if (there >= most) return most;
  }
  return there;
}

Lines help() {
  return {"up down k j      move",
          "PgUp PgDn        move by a screen",
          "Home End g G     first, last",
          "Enter, space     fold or unfold a rack or node",
          "s                sort: by place, CPU, memory, silence",
          "/                search a rank, node, rack or state (failed); n: next",
          "l                the log of the rank",
          "q                leave; the job goes on",
          "",
          "any key goes back"};
}

std::string foot(const State& state, std::size_t width) {
  if (state.searches) return fitted("/" + state.search + "_", width);
  if (!state.note.empty()) return fitted(state.note, width);
  return both_ends(
      fmt::format("q quit  s sort: {}  / search  Enter fold  l log  ? help", sort_word(state.sort)),
      width);
}

// The whole line, so that it shows without colours too where they are not wanted.
std::string marked(std::string line, bool is_marked, const Look& look) {
  if (!is_marked) return look.colour ? line : " " + line;
  return look.colour ? fmt::format("\x1b[7m{}\x1b[0m", line) : ">" + line;
}

}  // namespace

Lines head(const Picture& picture, std::size_t width, const Look& look) {
  Lines lines = {fitted(title(picture, width), width)};
  const std::string now = progress(picture, width);
  if (!now.empty()) {
    const std::string line = fitted(now, width);
    const bool waits = is_starting(picture) || picture.awaited;
    lines.push_back(coloured(line, waits ? Colour::waiting : Colour::faint, look));
  }
  const std::string wrong = picture.hang.empty() ? last_failure(picture) : picture.hang.shown();
  if (!wrong.empty()) lines.push_back(coloured(fitted(wrong, width), Colour::bad, look));
  return lines;
}

std::size_t list_lines(const Picture& picture, TerminalSize size) {
  const std::size_t used =
      head(picture, size.columns, {}).size() + 2 + message_lines(picture, size.rows);
  return size.rows > used + 1 ? size.rows - used : 1;
}

Frame frame(const Picture& picture, State state, TerminalSize size, const Look& look) {
  const std::size_t width = size.columns;
  if (width < least_size.columns || size.rows < least_size.rows) {
    const std::string text =
        fmt::format("at least {} x {} characters", least_size.columns, least_size.rows);
    return {{both_ends(text, width)}, std::move(state)};
  }
  Lines lines = head(picture, width, look);
  const std::size_t shown = list_lines(picture, size);
  const std::size_t first = lines.size() + 1;
  const Columns columns(look.colour ? width : width - 1);
  const std::string heads = columns.heads();
  lines.push_back(look.colour ? coloured(heads, Colour::faint, look) : " " + heads);
  if (state.shows_help) {
    for (std::string& line : help()) {
      if (lines.size() < first + shown) lines.push_back("  " + both_ends(line, width - 2));
    }
  } else {
    const Tree tree = tree_of(picture);
    const auto rows = rows_of(picture, tree, state.sort, state.folds, shown);
    state = settled(std::move(state), rows, shown);
    for (std::size_t i = 0; i < shown && state.first_row + i < rows.size(); ++i) {
      const std::size_t row = state.first_row + i;
      const bool is_selected = row == state.row;
      const Look plain;
      lines.push_back(marked(columns.line(picture, tree, rows[row], state.sort != Sort::order,
                                          is_selected ? plain : look),
                             is_selected, look));
    }
  }
  lines.resize(first + shown);
  for (std::string& line : messages(picture, message_lines(picture, size.rows), width, look)) {
    lines.push_back(std::move(line));
  }
  lines.push_back(coloured(foot(state, width), Colour::faint, look));
  return {std::move(lines), std::move(state)};
}

Lines whole(const Picture& picture, const Look& look) {
  const std::size_t width = look.columns > 0 ? look.columns : columns_of_text;
  Lines lines = head(picture, width, look);
  const Columns columns(width);
  lines.push_back(columns.heads());
  const Tree tree = tree_of(picture);
  const std::size_t all = tree.racks.size() + picture.nodes.size() + picture.ranks.size();
  for (const Row& row : rows_of(picture, tree, Sort::order, {}, all)) {
    lines.push_back(columns.line(picture, tree, row, false, look));
  }
  for (std::string& line : messages(picture, most_message_lines, width, look)) {
    lines.push_back(std::move(line));
  }
  return lines;
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
  if (!where.logs.raw().starts_with('/')) return log;
  log.path = fmt::format("{}/attempt_{}/{}/stdout.log", where.logs.raw(), picture.attempt,
                         log.rank - where.first_rank);
  return log;
}

}  // namespace toprun::top
