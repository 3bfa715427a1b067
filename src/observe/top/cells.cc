#include "observe/top/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/text/text.h"
#include "observe/report/columns.h"

namespace toprun::top {

using snapshot::Picture;
using snapshot::RankState;

namespace {

using Number = std::optional<double>;

constexpr std::size_t least_name = 14;
constexpr std::size_t most_name = 44;
constexpr double mib_per_gib = 1024;
constexpr double stale_intervals = 5;  // figures of a node that are older are doubtful

// The words for ranks in a state, the worst state first.
struct StateText {
  RankState state;
  std::string_view of_one, of_several;
  std::size_t Counts::*count;
};
constexpr std::array state_texts = {
    StateText{RankState::suspect, "hangs", "hang", &Counts::suspect},
    StateText{RankState::lost, "lost", "lost", &Counts::lost},
    StateText{RankState::failed, "failed", "failed", &Counts::failed},
    StateText{RankState::stopped, "stopped", "stopped", &Counts::stopped},
    StateText{RankState::waits, "not started", "not started", &Counts::not_started},
    StateText{RankState::blocked, "waits", "wait", &Counts::blocked},
    StateText{RankState::runs, "runs", "run", &Counts::running},
    StateText{RankState::done, "done", "done", &Counts::done},
};

const StateText& words_of(RankState state) {
  return *std::ranges::find(state_texts, state, &StateText::state);
}

// What stands in a row, of a rank, a node or a rack.
struct Facts {
  std::string name;
  std::string after_name;   // what a narrow column leaves out of the name is at its beginning
  std::string after_brief;  // … and says after it instead
  std::string state;
  Colour colour = Colour::faint;
  bool is_plain = true;                           // no colour
  Number cpu, memory;                             // of the ranks
  std::string host_cpu = "-", host_memory = "-";  // of all programs on the hosts
  Number gpu, gpu_memory, silence, received, sent;
};

void add(Number& sum, Number more) {
  if (more) sum = sum.value_or(0) + *more;
}

std::string cpus_text(Number busy) {
  return busy ? fmt::format("{:.1f}", *busy) : "-";
}

std::string memory_text(Number mib) {
  if (!mib) return "-";
  if (*mib < mib_per_gib) return fmt::format("{:.0f}M", *mib);
  const double gib = *mib / mib_per_gib;
  return gib < 99.5 ? fmt::format("{:.1f}G", gib) : fmt::format("{:.0f}G", gib);
}

std::string percent_text(Number percent) {
  return percent ? fmt::format("{:.0f}%", *percent) : "-";
}

std::string rate_text(Number mb_per_s) {
  if (!mb_per_s) return "-";
  return *mb_per_s < 9.95 ? fmt::format("{:.1f}", *mb_per_s) : fmt::format("{:.0f}", *mb_per_s);
}

std::string age_text(Number seconds) {
  if (!seconds) return "-";
  const double s = *seconds;
  if (s < 60) return fmt::format("{:.0f}s", std::floor(s));
  if (s < 3600) return fmt::format("{:.0f}m", std::floor(s / 60));
  if (s < 48 * 3600.0) return fmt::format("{:.0f}h", std::floor(s / 3600));
  return fmt::format("{:.0f}d", std::floor(s / 86400));
}

struct Column {
  std::string_view head;
  std::size_t width;  // with a blank before it
  int worth;          // the least worth is left out first
  std::string (*text)(const Facts& facts);
  bool is_of_gpus = false;
  Sort sort = Sort::order;  // that goes by this column
};
constexpr std::array columns = {
    Column{"CPU", 8, 4, [](const Facts& facts) { return cpus_text(facts.cpu); }, false, Sort::cpu},
    Column{"MEM", 8, 2, [](const Facts& facts) { return memory_text(facts.memory); }, false,
           Sort::memory},
    Column{"GPU", 6, 3, [](const Facts& facts) { return percent_text(facts.gpu); }, true},
    Column{"GPUMEM", 8, 1, [](const Facts& facts) { return memory_text(facts.gpu_memory); }, true},
    Column{"OUTPUT", 8, 5, [](const Facts& facts) { return age_text(facts.silence); }, false,
           Sort::silence},
    Column{"HOST CPU", 10, 0, [](const Facts& facts) { return facts.host_cpu; }},
    Column{"HOST MEM", 12, 0, [](const Facts& facts) { return facts.host_memory; }},
    Column{"IN MB/s", 9, 0, [](const Facts& facts) { return rate_text(facts.received); }},
    Column{"OUT MB/s", 9, 0, [](const Facts& facts) { return rate_text(facts.sent); }},
};
// Of the column's width, with two blanks before it; narrower beside last lines.
constexpr std::size_t least_state = 19, least_beside_lines = 17;
// The column of the last lines, with two blanks before it. It is worth more than all others where
// it has the least width; where it has enough, more than the network.
constexpr std::string_view line_head = "LAST LINE";
constexpr std::size_t least_line = 26, enough_line = 46;
constexpr int worth_of_enough = 1;
constexpr std::size_t name_beside_lines = 28;  // at most

void colour(Facts& facts, const Counts& counts) {
  facts.is_plain = false;
  if (counts.failed + counts.lost + counts.suspect > 0) {
    facts.colour = Colour::bad;
  } else if (counts.not_started + counts.blocked > 0) {
    facts.colour = Colour::waiting;
  } else if (counts.running > 0) {
    facts.is_plain = true;
  } else {
    facts.colour = Colour::faint;
  }
}

void add_silence(Number& shortest, Number more) {
  if (more) shortest = std::min(shortest.value_or(*more), *more);
}

// The figures of the ranks together; their silence is that of the newest to print.
void add_ranks(Facts& facts, const Picture& picture, Ranks ranks) {
  Number gpu;
  double gpus = 0;
  for (std::size_t i = ranks.first; i < ranks.end; ++i) {
    const Picture::Rank& rank = picture.ranks[i];
    if (rank.gpu_percent) ++gpus;
    add(gpu, rank.gpu_percent);
    add(facts.cpu, rank.busy_cpus);
    add(facts.memory, rank.memory_mib);
    add(facts.gpu_memory, rank.gpu_memory_mib);
    add_silence(facts.silence, rank.silence_s);
  }
  if (gpu) facts.gpu = *gpu / gpus;
}

// "failed, code 3".
std::string state_text(const Picture::Rank& rank) {
  std::string text(word_of(rank.state));
  if (rank.code) text += fmt::format(", code {}", *rank.code);
  return text;
}

Facts facts_of_rank(const Picture& picture, std::size_t number, bool with_node) {
  const Picture::Rank& rank = picture.ranks[number];
  Facts facts;
  facts.name = fmt::format("rank {}", number);
  if (with_node) {
    const std::size_t node = node_of(picture, number);
    if (node < picture.nodes.size()) facts.name += fmt::format("  {}", picture.nodes[node].name);
  }
  facts.state = state_text(rank);
  Counts counts;
  count(counts, picture, {number, number + 1});
  colour(facts, counts);
  facts.cpu = rank.busy_cpus;
  facts.memory = rank.memory_mib;
  facts.gpu = rank.gpu_percent;
  facts.gpu_memory = rank.gpu_memory_mib;
  facts.silence = rank.silence_s;
  return facts;
}

bool is_silent(const Picture& picture, const Picture::Node& node, const Counts& counts) {
  return node.age_s && *node.age_s > stale_intervals * picture.interval_s && counts.running > 0;
}

std::string silence_text(const Picture::Node& node) {
  return fmt::format("silent for {}", age_text(node.age_s));
}

Facts facts_of_node(const Picture& picture, std::size_t number) {
  const Picture::Node& node = picture.nodes[number];
  Facts facts;
  facts.name = node.name.shown();
  const Ranks ranks = ranks_of(picture, number);
  Counts counts;
  count(counts, picture, ranks);
  facts.state = states_text(counts);
  colour(facts, counts);
  if (is_silent(picture, node, counts)) {
    facts.state = silence_text(node);
    facts.is_plain = false;
    facts.colour = Colour::waiting;
  }
  facts.host_cpu = cpus_text(node.busy_cpus);
  if (node.busy_cpus && node.cpus) facts.host_cpu += fmt::format("/{}", *node.cpus);
  facts.host_memory = memory_text(node.memory_mib);
  if (node.memory_mib && node.memory_total_mib) {
    facts.host_memory += "/" + memory_text(node.memory_total_mib);
  }
  facts.received = node.received_mb_per_s;
  facts.sent = node.sent_mb_per_s;
  add_ranks(facts, picture, ranks);
  return facts;
}

Facts facts_of_rack(const Picture& picture, const Rack& rack) {
  Facts facts;
  facts.name = rack.name.shown();
  facts.after_name = fmt::format(" ({})", counted(rack.nodes.size(), "node"));
  facts.after_brief = fmt::format(" ({})", rack.nodes.size());
  Counts counts;
  Number gpu, host_cpu, host_memory;
  double nodes_with_gpus = 0;
  for (const std::size_t number : rack.nodes) {
    const Picture::Node& node = picture.nodes[number];
    const Ranks ranks = ranks_of(picture, number);
    count(counts, picture, ranks);
    add(host_cpu, node.busy_cpus);
    add(host_memory, node.memory_mib);
    add(facts.received, node.received_mb_per_s);
    add(facts.sent, node.sent_mb_per_s);
    Facts of_node;
    add_ranks(of_node, picture, ranks);
    if (of_node.gpu) ++nodes_with_gpus;
    add(gpu, of_node.gpu);
    add(facts.cpu, of_node.cpu);
    add(facts.memory, of_node.memory);
    add(facts.gpu_memory, of_node.gpu_memory);
    add_silence(facts.silence, of_node.silence);
  }
  if (gpu) facts.gpu = *gpu / nodes_with_gpus;
  facts.state = states_text(counts);
  colour(facts, counts);
  facts.host_cpu = cpus_text(host_cpu);
  facts.host_memory = memory_text(host_memory);
  return facts;
}

Facts facts_of(const Picture& picture, const Tree& tree, Item item, bool with_node) {
  switch (item.kind) {
    case Kind::rack:
      return facts_of_rack(picture, tree.racks[item.number]);
    case Kind::node:
      return facts_of_node(picture, item.number);
    case Kind::rank:
      break;
  }
  return facts_of_rank(picture, item.number, with_node);
}

std::string padded(std::string text, std::size_t width) {
  text = both_ends(text, width);
  text.append(width - columns_of(text), ' ');
  return text;
}

// At most so wide; a longer text keeps its end.
std::string last_end(std::string_view text, std::size_t width) {
  if (columns_of(text) <= width) return std::string(text);
  while (!text.empty() && columns_of(text) >= width) {
    text.remove_prefix(1);
    while (!text.empty() && (static_cast<unsigned char>(text[0]) & 0xc0) == 0x80) {
      text.remove_prefix(1);  // the rest of a character of UTF-8
    }
  }
  return fmt::format("…{}", text);
}

// A rack's name ends with what tells it from others: "…w0/rack7 (16)".
std::string name_in(const Facts& facts, std::size_t width) {
  const std::string whole = facts.name + facts.after_name;
  if (facts.after_name.empty() || columns_of(whole) <= width) return whole;
  const std::size_t after = columns_of(facts.after_brief);
  return last_end(facts.name, width > after ? width - after : 0) + facts.after_brief;
}

// With a blank before it even if it is too wide.
std::string to_the_right(std::string text, std::size_t width) {
  text = both_ends(text, width - 1);
  return std::string(width - columns_of(text), ' ') + text;
}

// The widest of what the rows of nodes and racks say of their ranks' states.
std::size_t widest_states(const Picture& picture) {
  const Tree tree = tree_of(picture);
  std::size_t widest = 0;
  const auto counted_in = [&](std::span<const std::size_t> nodes) {
    Counts counts;
    for (const std::size_t node : nodes) count(counts, picture, ranks_of(picture, node));
    widest = std::max(widest, states_text(counts).size());
    return counts;
  };
  for (const Rack& rack : tree.racks) counted_in(rack.nodes);
  for (std::size_t i = 0; i < picture.nodes.size(); ++i) {
    const Picture::Node& node = picture.nodes[i];
    const Counts counts = counted_in({&i, 1});
    if (is_silent(picture, node, counts)) widest = std::max(widest, silence_text(node).size());
  }
  for (const Picture::Rank& rank : picture.ranks) {
    if (rank.code) widest = std::max(widest, state_text(rank).size());
  }
  return widest;
}

}  // namespace

std::optional<std::size_t> newest_in(const Picture& picture, const Tree& tree, Item item) {
  if (item.kind == Kind::rank) {
    return snapshot::newest_to_speak(picture, item.number, item.number + 1);
  }
  const bool is_node = item.kind == Kind::node;
  if (item.number >= (is_node ? picture.nodes.size() : tree.racks.size())) return std::nullopt;
  const std::vector<std::size_t> nodes =
      is_node ? std::vector{item.number} : tree.racks[item.number].nodes;
  std::vector<std::size_t> newest;
  for (const std::size_t node : nodes) {
    const Ranks ranks = ranks_of(picture, node);
    const auto rank = snapshot::newest_to_speak(picture, ranks.first, ranks.end);
    if (rank) newest.push_back(*rank);
  }
  if (newest.empty()) return std::nullopt;
  return std::ranges::min(newest, {}, [&](std::size_t rank) {
    return picture.ranks[rank].silence_s.value_or(std::numeric_limits<double>::infinity());
  });
}

RankWords words_of_rank(const Picture& picture, std::size_t number) {
  const Picture::Rank& rank = picture.ranks[number];
  RankWords words;
  words.title = fmt::format("rank {}", number);
  const std::size_t node = node_of(picture, number);
  if (node < picture.nodes.size()) {
    words.title += fmt::format(" on {}, its local rank {}", picture.nodes[node].name,
                               number - picture.nodes[node].first_rank);
  }
  words.title += fmt::format(": {}", word_of(rank.state));
  if (rank.code) words.title += fmt::format(", exit code {}", *rank.code);
  std::vector<std::string> figures;
  if (rank.busy_cpus) figures.push_back("CPU " + cpus_text(rank.busy_cpus));
  if (rank.memory_mib) figures.push_back("MEM " + memory_text(rank.memory_mib));
  if (rank.gpu_percent) figures.push_back("GPU " + percent_text(rank.gpu_percent));
  if (rank.gpu_memory_mib) figures.push_back("GPUMEM " + memory_text(rank.gpu_memory_mib));
  words.figures = join(figures, ", ");
  if (rank.silence_s) words.silence = age_text(rank.silence_s);
  return words;
}

std::string_view word_of(RankState state) {
  return words_of(state).of_one;
}

void count(Counts& counts, const Picture& picture, Ranks ranks) {
  counts.all += ranks.end - ranks.first;
  for (std::size_t i = ranks.first; i < ranks.end; ++i) {
    ++(counts.*words_of(picture.ranks[i].state).count);
  }
}

std::string states_text(const Counts& counts) {
  std::vector<std::string> texts;
  for (const StateText& words : state_texts) {
    const std::size_t number = counts.*words.count;
    if (number == 0) continue;
    texts.push_back(fmt::format("{} {}", number, number == 1 ? words.of_one : words.of_several));
  }
  return join(texts, ", ");
}

// A state is never cut while a name has room: other columns are left out for it, as the last lines.
Columns::Columns(const Picture& picture, std::size_t width) {
  const bool prints = std::ranges::any_of(
      picture.ranks, [](const Picture::Rank& rank) { return !rank.line.empty(); });
  const std::size_t most_state = width - std::min(width, least_name);
  const std::size_t wished = std::min(widest_states(picture) + 2, most_state);
  const bool has_lines =
      prints && least_name + std::max(least_beside_lines, wished) + least_line <= width;
  state_width_ = std::max(has_lines ? least_beside_lines : least_state, wished);
  const bool has_gpus = std::ranges::any_of(picture.ranks, [](const Picture::Rank& rank) {
    return rank.gpu_percent || rank.gpu_memory_mib;
  });
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (has_gpus || !columns[i].is_of_gpus) shown_.push_back(i);
  }
  const auto rest = [&] {
    std::size_t used = state_width_;
    for (const std::size_t i : shown_) used += columns[i].width;
    return used < width ? width - used : 0;
  };
  const auto worth = [](std::size_t i) { return columns[i].worth; };
  while (!shown_.empty()) {
    const int worthless = worth(*std::ranges::min_element(shown_, {}, worth));
    const std::size_t for_lines = worthless <= worth_of_enough ? enough_line : least_line;
    if (rest() >= least_name + (has_lines ? for_lines : 0)) break;
    std::erase_if(shown_, [&](std::size_t i) { return worth(i) == worthless; });
  }
  const std::size_t room = rest();
  if (has_lines) {
    name_width_ = std::clamp(room - std::min(room, enough_line), least_name, name_beside_lines);
    line_width_ = room - name_width_;
  } else {
    name_width_ = std::clamp<std::size_t>(room, 1, most_name);
  }
}

unsigned Columns::sorts() const {
  unsigned sorts = bit_of(Sort::order);
  for (const std::size_t i : shown_) sorts |= bit_of(columns[i].sort);
  return sorts;
}

std::string Columns::heads(Sort sort) const {
  std::string line = padded("  RANKS", name_width_) + padded("  STATE", state_width_);
  for (const std::size_t i : shown_) {
    const bool is_sorted = columns[i].sort == sort && sort != Sort::order;
    line += to_the_right(std::string(columns[i].head) + (is_sorted ? "↓" : ""), columns[i].width);
  }
  if (shows_lines()) line += "  " + std::string(line_head);
  return line;
}

std::string Columns::line(const Picture& picture, const Tree& tree, const Row& row, bool with_node,
                          const Style& style) const {
  const Facts facts = facts_of(picture, tree, row.item, with_node);
  const std::string_view mark = row.item.kind == Kind::rank ? "  " : row.is_open ? "- " : "+ ";
  const std::string before = std::string(2 * row.depth, ' ') + std::string(mark);
  const std::size_t room = name_width_ > before.size() ? name_width_ - before.size() : 0;
  const std::string name = before + name_in(facts, room);
  const std::string state = padded("  " + facts.state, state_width_);
  std::string line = padded(name, name_width_);
  line += facts.is_plain ? state : coloured(state, facts.colour, style);
  for (const std::size_t i : shown_) {
    line += to_the_right(columns[i].text(facts), columns[i].width);
  }
  if (!shows_lines()) return line;
  const auto said = newest_in(picture, tree, row.item);
  return line + "  " +
         (said ? report::beginning(picture.ranks[*said].line.shown(), line_width_ - 2) : "");
}

}  // namespace toprun::top
