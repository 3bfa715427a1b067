#include <algorithm>
#include <array>
#include <vector>

#include "base/text/text.h"
#include "decide/topology/files/formats.h"
#include "decide/topology/position.h"
#include "decide/topology/slurm/switch_tree.h"

namespace toprun::topology {
namespace {

constexpr std::size_t columns_per_depth = 4;  // as "├── " has
constexpr std::string_view block_mark = ": # of Nodes =";

struct Drawn {
  std::size_t depth = 0;
  std::string_view name;  // behind the lines of the drawing
};

// Takes blanks and the four strokes of the drawing away; each is one column.
Drawn without_strokes(std::string_view line) {
  constexpr std::array<std::string_view, 6> strokes = {"│", "├", "└", "─", " ", "\u00a0"};
  std::size_t columns = 0;
  for (;;) {
    const auto stroke =
        std::ranges::find_if(strokes, [&](std::string_view one) { return line.starts_with(one); });
    if (stroke == strokes.end()) break;
    line.remove_prefix(stroke->size());
    ++columns;
  }
  return {columns / columns_per_depth, trim(line)};
}

// The number in "Switch 5 (root)" and "block 1  : # of Nodes = 18"; empty: another line.
std::string_view number_behind(std::string_view word, std::string_view line) {
  const auto parts = words(line);
  const bool fits = parts.size() > 2 && parts[0] == word && parse_int(parts[1]);
  return fits ? parts[1] : std::string_view();
}

std::string_view number_of_switch(std::string_view line) {
  const auto number = number_behind("Switch", line);
  const bool fits = !number.empty() && line.ends_with(')') && words(line)[2].starts_with('(');
  return fits ? number : std::string_view();
}

std::string_view number_of_block(std::string_view line) {
  return line.contains(block_mark) ? number_behind("block", line) : std::string_view();
}

class AzslurmReader {
 public:
  explicit AzslurmReader(const std::string& file) : file_(file) {}

  Result<Map> run(std::string_view text) {
    std::size_t number = 0;
    for (const std::string_view line : split(text, '\n')) {
      ++number;
      if (trim(line).empty()) continue;
      TRY(take(line, number));
    }
    if (!blocks_.empty()) return map_of_blocks(file_, blocks_, {}, 0);
    return map_of_switches(file_, switches_);
  }

 private:
  Result<void> take(std::string_view line, std::size_t number) {
    const std::string where = at(file_, {number, 1});
    const std::string evidence = at_line(file_, number);
    if (const auto block = number_of_block(trim(line)); !block.empty()) {
      blocks_.push_back({fmt::format("block{}", block), {}, where, evidence});
      return {};
    }
    if (!blocks_.empty()) return take_row(trim(line), where);
    const Drawn drawn = without_strokes(line);
    const auto id = number_of_switch(drawn.name);
    above_.resize(std::min(above_.size(), drawn.depth));
    if (above_.size() != drawn.depth || (id.empty() && above_.empty())) {
      return usage(where, "this is not a line of azslurm's drawing of switches",
                   "give the complete output of azslurm");
    }
    if (id.empty()) {
      switches_[above_.back()].nodes.emplace_back(drawn.name);
      return {};
    }
    std::string name = fmt::format("switch{}", id);
    if (!above_.empty()) switches_[above_.back()].children.push_back(name);
    above_.push_back(switches_.size());
    switches_.push_back({std::move(name), {}, {}, where, evidence});
    return {};
  }

  Result<void> take_row(std::string_view line, const std::string& where) {
    if (line.starts_with("|-") || line.starts_with("ClusterUUID")) return {};
    if (!line.starts_with('|')) {
      return usage(where, "this is not a row of azslurm's table of a block",
                   "give the complete output of azslurm");
    }
    for (const std::string_view cell : split(line, '|')) {
      const std::string_view host = trim(cell);
      if (!host.empty()) blocks_.back().nodes.emplace_back(host);
    }
    return {};
  }

  const std::string& file_;
  std::vector<Switch> switches_;
  std::vector<std::size_t> above_;  // the switches around the next line, by depth
  std::vector<Block> blocks_;
};

}  // namespace

Result<Map> parse_azslurm_file(std::string_view text, const std::string& file) {
  return AzslurmReader(file).run(text);
}

bool looks_like_azslurm(std::string_view line) {
  return !number_of_switch(line).empty() || !number_of_block(line).empty();
}

}  // namespace toprun::topology
