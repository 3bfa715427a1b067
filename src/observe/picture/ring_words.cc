#include "observe/picture/ring_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/os/style.h"
#include "base/text/text.h"
#include "observe/chart/page.h"

namespace toprun::picture {
namespace {

constexpr std::size_t unit_columns = 22;
constexpr std::size_t folded_unit_columns = 18;  // if no unit lists its hosts
constexpr std::size_t name_columns = 40;         // per domain
constexpr std::size_t level_columns = 24;
constexpr std::size_t source_columns = 90;
constexpr std::size_t about_columns = 300;
constexpr std::size_t most_detailed_units = 64;  // above it, no unit lists its hosts

std::string run_text(const Run& run) {
  return run.count == 1 ? fmt::format("{}", run.first)
                        : fmt::format("{}–{}", run.first, run.first + run.count - 1);
}

// The first `most` ranges of ranks: "ranks 0–7, 64–71 …".
std::string ranks_of(const Unit& unit, std::size_t most) {
  if (unit.ranks.empty()) return "no rank";
  const bool one = unit.runs == 1 && unit.ranks.front().count == 1;
  std::string text = one ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(most, unit.ranks.size()); ++i) {
    text += (i == 0 ? "" : ", ") + run_text(unit.ranks[i]);
  }
  return unit.runs > most ? text + " …" : text;
}

bool is_detailed(const Sketch& sketch) {
  return !sketch.folded() || sketch.units.size() <= most_detailed_units;
}

std::size_t room_in_unit(const Sketch& sketch) {
  return is_detailed(sketch) ? unit_columns : folded_unit_columns;
}

// As many ranges as fit into a box, at least one.
std::string short_ranks(const Sketch& sketch, const Unit& unit) {
  constexpr std::size_t most_runs = 2;
  std::string text = ranks_of(unit, most_runs);
  return columns_of(text) <= room_in_unit(sketch) ? text : ranks_of(unit, 1);
}

// "pp 3", "pp 0–3".
std::string team_text(const Sketch& sketch, const placement::Teams::Range& teams) {
  return teams.first == teams.last
             ? fmt::format("{} {}", sketch.team_kind, teams.first)
             : fmt::format("{} {}–{}", sketch.team_kind, teams.first, teams.last);
}

std::string seconds_words(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} µs", seconds * 1e6);
}

// "12 out", "12 out, 1.3 s".
std::string leaving_text(const Sketch& sketch, const std::optional<std::size_t>& level,
                         std::size_t leaving) {
  std::string text = fmt::format("{} out", leaving);
  if (!level || *level >= sketch.step_seconds.size() || sketch.step_seconds[*level] == 0)
    return text;
  return text + ", " + seconds_words(static_cast<double>(leaving) * sketch.step_seconds[*level]);
}

// "16 nodes", "20 × rack, 320 nodes".
std::string size_of(const Sketch& sketch, const Unit& unit) {
  const std::string nodes = counted(unit.nodes, "node");
  return unit.domains < 2
             ? nodes
             : fmt::format("{} × {}, {}", unit.domains, level_words(sketch, *unit.level), nodes);
}

// The host's name, without its DNS domain if the full name does not fit; an address has none.
std::string short_host(std::string name) {
  const std::size_t dot = name.find('.');
  const bool has_letter = name.find_first_not_of("0123456789.") != std::string::npos;
  if (columns_of(name) > unit_columns && has_letter && dot > 0)
    name.resize(std::min(dot, name.size()));
  return name;
}

bool shows_leaving(const Frame& frame) {
  return std::ranges::any_of(frame.inside, [](const Frame& inside) {
    return inside.leaving > 1 || shows_leaving(inside);
  });
}

bool shows_leaving(const Sketch& sketch) {
  return shows_leaving(sketch.whole) ||
         (sketch.folded() &&
          std::ranges::any_of(sketch.units, [](const Unit& unit) { return unit.leaving > 1; }));
}

bool has_unknown(const Frame& frame) {
  return std::ranges::any_of(
      frame.inside, [](const Frame& inside) { return !inside.name || has_unknown(inside); });
}

std::optional<std::size_t> outermost_crossed(const Sketch& sketch) {
  std::optional<std::size_t> level;
  for (const Step& step : sketch.steps) {
    if (step.crosses) level = std::min(*step.crosses, level.value_or(*step.crosses));
  }
  return level;
}

// The step from the last box to the first leaves no domain of the outermost level.
bool closes_around_a_domain(const Sketch& sketch) {
  return !sketch.levels.empty() && std::ranges::any_of(sketch.steps, [&](const Step& step) {
    const bool closes = step.to == 0 && step.from + 1 == sketch.units.size();
    return closes && !step.unknown && step.crosses != std::optional<std::size_t>(0);
  });
}

}  // namespace

std::string level_words(const Sketch& sketch, std::size_t level) {
  return both_ends(chart::clean_text(sketch.levels[level]), level_columns);
}

std::vector<std::string> heading_of(const Sketch& sketch, const std::string& order) {
  return {fmt::format("{} in {}", counted(sketch.nodes, "node"), order),
          sketch.source.empty()
              ? "nothing is known about the network"
              : "places from " + both_ends(chart::clean_text(sketch.source), source_columns)};
}

std::string title_of(const Sketch& sketch, const Frame& frame) {
  std::string title =
      fmt::format("{} {} · {}", frame.level ? level_words(sketch, *frame.level) : "place",
                  both_ends(chart::clean_text(frame.name.value_or("unknown")), name_columns),
                  counted(frame.nodes, "node"));
  if (frame.leaving < 2) return title;
  return title + " · " + leaving_text(sketch, frame.level, frame.leaving);
}

std::string whole_name_of(const Frame& frame) {
  const std::string name = chart::clean_text(frame.name.value_or(""));
  return columns_of(name) <= name_columns ? std::string() : both_ends(name, about_columns);
}

std::vector<std::string> lines_of(const Sketch& sketch, const Unit& unit) {
  std::vector<std::string> lines;
  if (unit.hosts.empty()) {
    lines = {short_host(chart::clean_text(unit.name))};
  } else {
    lines = {chart::clean_text(unit.name), size_of(sketch, unit)};
    if (unit.level && is_detailed(sketch)) lines.push_back(chart::clean_text(unit.hosts));
  }
  lines.push_back(short_ranks(sketch, unit));
  if (unit.teams) lines.push_back(team_text(sketch, *unit.teams));
  if (sketch.folded() && unit.leaving > 1)
    lines.push_back(leaving_text(sketch, unit.level, unit.leaving));
  for (std::string& line : lines) line = both_ends(line, room_in_unit(sketch));
  return lines;
}

std::string about(const Sketch& sketch, const Unit& unit) {
  const std::string name = chart::clean_text(unit.name);
  const std::string ranks = ranks_of(unit, max_runs);
  const std::string text = unit.hosts.empty()
                               ? fmt::format("{}: {}", name, ranks)
                               : fmt::format("{}: {}, {}, {}", name, size_of(sketch, unit), ranks,
                                             chart::clean_text(unit.hosts));
  return both_ends(text, about_columns);
}

std::vector<std::string> notes_of(const Sketch& sketch) {
  std::vector<std::string> notes;
  if (const auto level = outermost_crossed(sketch); level && *level + 1 < sketch.levels.size()) {
    notes.push_back(fmt::format(
        "A step that leaves its {0} also leaves the smaller domains in it; its line has the colour "
        "of the {0}.",
        level_words(sketch, *level)));
  }
  if (closes_around_a_domain(sketch)) {
    notes.push_back(fmt::format(
        "The line that closes the ring runs around all boxes; its step does not leave the {}.",
        level_words(sketch, 0)));
  }
  if (has_unknown(sketch.whole) || std::ranges::any_of(sketch.units, &Unit::unknown)) {
    notes.push_back("Dashed: the domain is not known; these nodes may or may not share one.");
  }
  if (shows_leaving(sketch)) {
    notes.push_back(
        "N out: N steps of the ring leave the box, and N enter it; without a number, N is 1.");
  }
  if (sketch.folded()) {
    notes.push_back(fmt::format("Folded: {} into {} box{}; {} of the ring stay inside one.",
                                counted(sketch.nodes, "node"), sketch.units.size(),
                                sketch.units.size() == 1 ? "" : "es",
                                counted(sketch.steps_inside, "step")));
  }
  if (!sketch.team_kind.empty()) {
    notes.push_back(
        fmt::format("{0} N: the nodes whose ranks share {0} groups, {1} in all; one colour each.",
                    sketch.team_kind, counted(sketch.teams, "set")));
  }
  return notes;
}

}  // namespace toprun::picture
