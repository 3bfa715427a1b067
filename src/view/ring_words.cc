#include "view/ring_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "view/markup.h"

namespace toprun::view {
namespace {

using placement::Frame;
using placement::Sketch;
using placement::Unit;

constexpr std::size_t unit_columns = 22;
constexpr std::size_t name_columns = 40;  // of a domain
constexpr std::size_t level_columns = 24;
constexpr std::size_t source_columns = 90;
constexpr std::size_t about_columns = 300;
constexpr std::size_t most_detailed_units = 64;  // with more, no unit lists its hosts

std::string ranks_of(const Unit& unit) {
  if (unit.nproc == 0) return "no rank";
  if (unit.nproc == 1) return fmt::format("rank {}", unit.first_rank);
  return fmt::format("ranks {}–{}", unit.first_rank, unit.first_rank + unit.nproc - 1);
}

// "16 nodes", "20 × rack, 320 nodes".
std::string size_of(const Sketch& sketch, const Unit& unit) {
  const std::string nodes = counted(unit.nodes, "node");
  return unit.domains < 2
             ? nodes
             : fmt::format("{} × {}, {}", unit.domains, level_words(sketch, *unit.level), nodes);
}

// A host's name without its domain where it does not fit with it; an address has none.
std::string short_host(std::string name) {
  const std::size_t dot = name.find('.');
  const bool has_letter = name.find_first_not_of("0123456789.") != std::string::npos;
  if (columns(name) > unit_columns && has_letter && dot > 0)
    name.resize(std::min(dot, name.size()));
  return name;
}

bool has_unknown(const Frame& frame) {
  return std::ranges::any_of(
      frame.inside, [](const Frame& inside) { return !inside.name || has_unknown(inside); });
}

}  // namespace

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string level_words(const Sketch& sketch, std::size_t level) {
  return shortened(clean_text(sketch.levels[level]), level_columns);
}

std::vector<std::string> heading_of(const Sketch& sketch, const std::string& order) {
  return {fmt::format("{} in {}", counted(sketch.nodes, "node"), order),
          sketch.source.empty()
              ? "nothing is known about the network"
              : "places from " + shortened(clean_text(sketch.source), source_columns)};
}

std::string title_of(const Sketch& sketch, const Frame& frame) {
  return fmt::format("{} {} · {}",
                     frame.level ? level_words(sketch, *frame.level) : std::string("place"),
                     shortened(clean_text(frame.name.value_or("unknown")), name_columns),
                     counted(frame.nodes, "node"));
}

std::string whole_name_of(const Frame& frame) {
  const std::string name = clean_text(frame.name.value_or(""));
  return columns(name) <= name_columns ? std::string() : shortened(name, about_columns);
}

std::vector<std::string> lines_of(const Sketch& sketch, const Unit& unit) {
  std::vector<std::string> lines;
  if (unit.hosts.empty()) {
    lines = {short_host(clean_text(unit.name)), ranks_of(unit)};
  } else {
    lines = {clean_text(unit.name), size_of(sketch, unit)};
    const bool detailed = sketch.units.size() <= most_detailed_units;
    if (unit.level && detailed) lines.push_back(clean_text(unit.hosts));
  }
  for (std::string& line : lines) line = shortened(line, unit_columns);
  return lines;
}

std::string about(const Sketch& sketch, const Unit& unit) {
  const std::string name = clean_text(unit.name);
  const std::string text =
      unit.hosts.empty()
          ? fmt::format("{}: {}", name, ranks_of(unit))
          : fmt::format("{}: {}, {}", name, size_of(sketch, unit), clean_text(unit.hosts));
  return shortened(text, about_columns);
}

std::vector<std::string> notes_of(const Sketch& sketch) {
  std::vector<std::string> notes;
  if (sketch.levels.size() > 1) {
    notes.push_back(fmt::format(
        "A step that leaves a {} leaves all inside it; it has the colour of the outermost.",
        level_words(sketch, 0)));
  }
  if (has_unknown(sketch.whole) || std::ranges::any_of(sketch.units, &Unit::unknown)) {
    notes.push_back("Dashed: not known; such nodes may share a domain or not.");
  }
  if (sketch.units.size() < sketch.nodes) {
    notes.push_back(fmt::format("Folded: {} into {} box{}; {} of the ring stay inside one.",
                                counted(sketch.nodes, "node"), sketch.units.size(),
                                sketch.units.size() == 1 ? "" : "es",
                                counted(sketch.steps_inside, "step")));
  }
  if (sketch.steps_left_out > 0) {
    notes.push_back(
        fmt::format("Not drawn: {} of {} ways between boxes, those that fewest steps take.",
                    sketch.steps_left_out, sketch.steps_left_out + sketch.steps.size()));
  }
  return notes;
}

}  // namespace toprun::view
