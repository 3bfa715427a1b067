#include "observe/snapshot/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/text.h"
#include "observe/snapshot/board.h"

namespace toprun::snapshot {
namespace {

using Label = std::pair<std::string_view, std::string_view>;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

// The text of one family of metrics after the other.
class Text {
 public:
  enum class Type { gauge, counter, info, stateset };

  explicit Text(MetricsForm form) : form_(form) {}

  // `unit`: the last part of a name that has one.
  void family(std::string_view name, Type type, std::string_view unit, std::string_view help) {
    static constexpr std::array<std::string_view, 4> names = {"gauge", "counter", "info",
                                                              "stateset"};
    name_ = name;
    suffix_ = type == Type::counter ? "_total" : type == Type::info ? "_info" : "";
    if (form_ == MetricsForm::classic) {  // which names samples, and has neither units nor sets
      out_ += fmt::format("# HELP {0}{1} {3}\n# TYPE {0}{1} {2}\n", name, suffix_,
                          names[type == Type::counter ? 1 : 0], help);
      return;
    }
    out_ += fmt::format("# TYPE {} {}\n", name, names[static_cast<std::size_t>(type)]);
    if (!unit.empty()) out_ += fmt::format("# UNIT {} {}\n", name, unit);
    out_ += fmt::format("# HELP {} {}\n", name, help);
  }
  void sample(std::span<const Label> labels, double value) {
    out_ += name_;
    out_ += suffix_;
    char before = '{';
    for (const auto& [name, text] : labels) {
      out_ += fmt::format("{}{}=\"{}\"", std::exchange(before, ','), name, escaped(text));
    }
    out_ += fmt::format("{} {}\n", labels.empty() ? "" : "}", value);
  }
  void sample(std::initializer_list<Label> labels, double value) {
    sample(std::span(labels.begin(), labels.size()), value);
  }
  std::string take() && {
    return form_ == MetricsForm::openmetrics ? std::move(out_) + "# EOF\n" : std::move(out_);
  }

 private:
  const MetricsForm form_;
  std::string out_;
  std::string name_;
  std::string_view suffix_;
};
using Type = Text::Type;

constexpr std::array<std::pair<RankState, std::string_view>, 8> state_names = {{
    {RankState::waits, "waiting"},
    {RankState::runs, "running"},
    {RankState::done, "done"},
    {RankState::failed, "failed"},
    {RankState::stopped, "stopped"},
    {RankState::lost, "lost"},
    {RankState::suspect, "suspect"},
    {RankState::blocked, "blocked"},
}};

double seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

// "gathering (waiting for nodes), …, running, asking and telling (ending)".
std::string stages_help() {
  std::vector<std::string> texts;
  std::vector<std::string> alike;  // names of stages with the same words
  for (auto stage = stages_by_name().begin(); stage != stages_by_name().end(); ++stage) {
    alike.emplace_back(stage->name);
    const auto next = std::next(stage);
    if (next != stages_by_name().end() && next->words == stage->words) continue;
    texts.push_back(join(alike, " and "));
    if (stage->name != stage->words) texts.back() += fmt::format(" ({})", stage->words);
    alike.clear();
  }
  return join(texts, ", ");
}

void add_job(Text& text, const Run& run) {
  const model::RunRecord& record = run.record;
  text.family("toprun_job", Type::info, "", "The job.");
  // A name that toprun or its engine made up says nothing to a user.
  const std::string name = short_name(record);
  text.sample({{"name", name.empty() ? record.job.raw() : name},
               {"id", run.id},
               {"program", record.program.raw()},
               {"root", record.root_host.raw()}},
              1);
  text.family("toprun_stage", Type::stateset, "", "The stage of the run: " + stages_help() + ".");
  for (const NamedStage& stage : stages_by_name()) {
    text.sample({{"toprun_stage", stage.name}}, run.stage == stage.name ? 1 : 0);
  }
  text.family("toprun_start_time_seconds", Type::gauge, "seconds",
              "The start of the run, in Unix time.");
  text.sample({}, seconds(record.started.time_since_epoch()));
  text.family("toprun_attempts", Type::counter, "",
              "Number of attempts so far, with the current attempt.");
  text.sample({}, record.attempts.empty() ? 0 : record.attempts.back().attempt + 1);
  text.family("toprun_restarts", Type::counter, "", "Attempts that followed a failure.");
  text.sample({}, record.restarts);
  text.family("toprun_restarts_allowed", Type::gauge, "", "The value of --max-restarts.");
  text.sample({}, run.max_restarts);
  text.family("toprun_nodes", Type::gauge, "", "Nodes that take part.");
  text.sample({}, static_cast<double>(run.joined));
  text.family("toprun_nodes_missing", Type::gauge, "",
              "Nodes from the engine that have not joined.");
  text.sample({}, static_cast<double>(run.missing.size()));
}

void add_phases(Text& text, const model::Phases& phases) {
  text.family("toprun_phase_seconds", Type::gauge, "seconds",
              "Time from the attempt's start to the end of each phase of the launch.");
  for (const auto& [name, time, words] : model::phases_by_name()) {
    if (phases.*time) text.sample({{"phase", name}}, seconds(*(phases.*time)));
  }
}

void add_states(Text& text, const Board& board, const Hanging& hanging) {
  std::array<std::size_t, state_names.size()> counts{};
  const auto count = [&](RankState state) -> std::size_t& {
    std::size_t i = 0;
    while (state_names[i].first != state) ++i;
    return counts[i];
  };
  for (const RankState state : states_of(board, hanging)) ++count(state);
  text.family(
      "toprun_ranks", Type::gauge, "",
      "Ranks of the current attempt by their state. In a hang, others wait for a suspect, and "
      "a blocked rank waits for others.");
  for (std::size_t i = 0; i < state_names.size(); ++i) {
    text.sample({{"state", state_names[i].second}}, static_cast<double>(counts[i]));
  }
}

// A figure of nodes or of ranks; nothing where it is unknown.
template <class Of>
struct Figure {
  std::string_view name, unit, help;
  std::optional<double> (*value)(const Of&);
};

std::optional<double> number(const std::optional<std::uint64_t>& value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

constexpr std::array<Figure<meter::Host>, 6> node_figures = {{
    {"toprun_node_cpus_busy", "", "Number of the host's CPUs that are busy.",
     [](const meter::Host& host) { return host.busy_cpus; }},
    {"toprun_node_cpus", "", "Number of the host's CPUs.",
     [](const meter::Host& host) { return std::optional<double>(host.cpus); }},
    {"toprun_node_memory_bytes", "bytes", "The host's memory that is in use.",
     [](const meter::Host& host) { return number(host.memory_bytes); }},
    {"toprun_node_memory_size_bytes", "bytes", "The host's memory.",
     [](const meter::Host& host) { return number(host.memory_total_bytes); }},
    {"toprun_node_receive_bytes_per_second", "", "By all network and RDMA adapters.",
     [](const meter::Host& host) { return host.received_bytes_per_s; }},
    {"toprun_node_transmit_bytes_per_second", "", "By all network and RDMA adapters.",
     [](const meter::Host& host) { return host.sent_bytes_per_s; }},
}};

constexpr std::array<Figure<meter::Rank>, 5> rank_figures = {{
    {"toprun_rank_cpus_busy", "", "Number of CPUs that the rank and its children keep busy.",
     [](const meter::Rank& rank) { return rank.cpus; }},
    {"toprun_rank_memory_bytes", "bytes", "Resident memory of the rank and its children.",
     [](const meter::Rank& rank) { return number(rank.memory_bytes); }},
    {"toprun_rank_silence_seconds", "seconds", "Time since the rank's last output.",
     [](const meter::Rank& rank) {
       return rank.silence ? std::optional(seconds(*rank.silence)) : std::nullopt;
     }},
    {"toprun_rank_gpu_busy_ratio", "ratio", "Share of the time in which the rank's GPU was busy.",
     [](const meter::Rank& rank) {
       const bool is_known = rank.gpu && rank.gpu->percent;
       return is_known ? std::optional(*rank.gpu->percent / 100.0) : std::nullopt;
     }},
    {"toprun_rank_gpu_memory_bytes", "bytes", "Memory of the rank's GPU that is in use.",
     [](const meter::Rank& rank) {
       return rank.gpu ? number(rank.gpu->memory_bytes) : std::nullopt;
     }},
}};

void add_nodes(Text& text, const Board& board, const std::vector<model::NodeRecord>& nodes) {
  for (const Figure<meter::Host>& figure : node_figures) {
    text.family(figure.name, Type::gauge, figure.unit, figure.help);
    for (std::size_t i = 0; i < std::min(nodes.size(), board.nodes().size()); ++i) {
      const NodeFigures& node = board.nodes()[i];
      const auto value = node.at ? figure.value(node.usage) : std::nullopt;
      if (value) text.sample({{"node", nodes[i].name.raw()}}, *value);
    }
  }
}

void add_ranks(Text& text, const Board& board, const std::vector<model::NodeRecord>& nodes) {
  if (board.ranks().size() > most_ranks_with_series) return;
  for (const Figure<meter::Rank>& figure : rank_figures) {
    text.family(figure.name, Type::gauge, figure.unit, figure.help);
    for (const model::NodeRecord& node : nodes) {
      for (int local = 0; local < node.nproc; ++local) {
        const auto at = static_cast<std::size_t>(node.first_rank + local);
        if (at >= board.ranks().size()) break;
        const auto value = figure.value(board.ranks()[at].usage);
        if (value) text.sample({{"rank", fmt::to_string(at)}, {"node", node.name.raw()}}, *value);
      }
    }
  }
}

// Of text only the number: metrics are kept, and seen by others than the job's user.
void add_step(Text& text, const Board& board) {
  std::optional<std::uint64_t> highest;
  for (const RankFigures& rank : board.ranks()) {
    highest = std::max(highest, step_in(rank.usage.last_line.raw()));
  }
  text.family("toprun_step", Type::gauge, "",
              "The highest step number in the last lines of the ranks.");
  if (highest) text.sample({}, static_cast<double>(*highest));
}

}  // namespace

MetricsForm metrics_form(std::string_view accept) {
  return lower(accept).contains("application/openmetrics-text") ? MetricsForm::openmetrics
                                                                : MetricsForm::classic;
}

std::string_view type_of(MetricsForm form) {
  return form == MetricsForm::openmetrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

std::string metrics_text(const Run& run, const Board& board, const Hanging& hanging,
                         MetricsForm form) {
  const std::vector<model::NodeRecord>& nodes = nodes_of(run.record);
  Text text(form);
  add_job(text, run);
  if (!run.record.attempts.empty()) add_phases(text, run.record.attempts.back().phases);
  text.family("toprun_hang", Type::gauge, "", "1 while no rank makes progress (--hang-timeout).");
  text.sample({}, run.hangs ? 1 : 0);
  add_states(text, board, hanging);
  add_step(text, board);
  add_nodes(text, board, nodes);
  add_ranks(text, board, nodes);
  return std::move(text).take();
}

}  // namespace toprun::snapshot
