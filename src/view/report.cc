#include "view/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <ctime>
#include <ranges>

#include <nlohmann/json.hpp>

#include "agent/finding.h"
#include "base/counted.h"
#include "base/json_members.h"
#include "base/json_text.h"
#include "base/signals.h"
#include "base/text.h"

namespace toprun::view {
namespace {

using nlohmann::json;

constexpr std::size_t most_last_lines = 12;
constexpr std::size_t most_message_lines = 4;
constexpr std::size_t label_width = 12;
constexpr std::array<std::string_view, 14> cause_names = {
    "exit",     "signal",      "node_lost",   "agent_lost", "join_timeout",
    "refused",  "interrupted", "preempted",   "time_limit", "hang",
    "launcher", "grown",       "ended_early", "requeued"};

// "SIGSEGV (segmentation fault)".
std::string signal_words(int signal) {
  const char* const description = ::sigdescr_np(signal);
  if (description == nullptr) return signal_name(signal);
  return fmt::format("{} ({})", signal_name(signal), lower(description));
}

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

json or_null(const std::string& text) {
  return text.empty() ? json(nullptr) : json(text);
}

json or_null(const Outside& text) {
  return or_null(text.raw());
}

// " on n4"; empty: nowhere.
std::string on(const Outside& node) {
  return node.empty() ? "" : fmt::format(" on {}", node);
}

}  // namespace

json cause_json(const Cause& cause) {
  return {{"kind", name_of(cause.kind)},
          {"what", sentence(cause)},
          {"rank", or_null(cause.rank)},
          {"local_rank", or_null(cause.local_rank)},
          {"node", or_null(cause.node)},
          {"exit_code", or_null(cause.exit_code)},
          {"signal", or_null(cause.signal)},
          {"message", cause.message},
          {"error_file", or_null(cause.error_file)},
          {"last_output", cause.last_output},
          {"kernel_evidence", or_null(cause.kernel_evidence)}};
}

namespace {

json order_json(const OrderRecord& order) {
  json levels = json::array();
  for (const OrderRecord::Level& level : order.levels) {
    levels.push_back({{"level", level.name},
                      {"given", level.given},
                      {"ordered", level.ordered},
                      {"minimum", level.minimum}});
  }
  return {
      {"name", order.name},        {"why", order.why},           {"source", or_null(order.source)},
      {"ring", std::move(levels)}, {"unplaced", order.unplaced}, {"warnings", order.warnings},
      {"notes", order.notes},      {"verified", order.verified}};
}

json networks_json(const std::vector<fabric::NetworkByHost>& networks) {
  json all = json::array();
  for (const auto& [host, use] : networks) {
    all.push_back({{"node", host},
                   {"networks", use.networks},
                   {"ranks", use.ranks},
                   {"gpu_direct", use.gpu_direct},
                   {"nccl", use.nccl},
                   {"troubles", use.troubles}});
  }
  return all;
}

json interrupted_json(const std::optional<Interruption>& interrupted) {
  if (!interrupted) return nullptr;
  return {{"signal", interrupted->signal},
          {"at", rfc3339(interrupted->at)},
          {"grace_ms", interrupted->grace.count()}};
}

json gathering_json(const std::optional<Gathering>& gathering) {
  if (!gathering) return nullptr;
  const auto& begins_at = gathering->begins_at;
  return {{"here", gathering->here},
          {"missing", gathering->missing},
          {"least", gathering->least},
          {"most", gathering->most},
          {"begins_at", begins_at ? json(rfc3339(*begins_at)) : json(nullptr)},
          {"ends_at", rfc3339(gathering->ends_at)}};
}

json attempt_json(const AttemptRecord& attempt) {
  json nodes = json::array();
  for (const NodeRecord& node : attempt.nodes) {
    nodes.push_back({{"name", node.name},
                     {"group_rank", node.group_rank},
                     {"first_rank", node.first_rank},
                     {"nproc", node.nproc},
                     {"location", or_null(node.location)},
                     {"logs", or_null(node.logs)}});
  }
  return {{"attempt", attempt.attempt},
          {"started", rfc3339(attempt.started)},
          {"ended", attempt.ended ? json(rfc3339(*attempt.ended)) : json(nullptr)},
          {"phases_ms", phases_json(attempt.phases)},
          {"slowest", slowest_json(attempt.spreads)},
          {"awaited", awaited_json(attempt.awaited)},
          {"hang", hang_json(attempt.hang)},
          {"nodes", std::move(nodes)},
          {"order", attempt.order ? order_json(*attempt.order) : json(nullptr)},
          {"network", networks_json(attempt.networks)},
          {"interrupted", interrupted_json(attempt.interrupted)},
          {"cause", attempt.cause ? cause_json(*attempt.cause) : json(nullptr)}};
}

// "rank 3 on n4", "node n4", "" …
std::string subject(const Cause& cause) {
  if (cause.rank) return fmt::format("rank {}{}", *cause.rank, on(cause.node));
  return cause.node.empty() ? "the job" : fmt::format("node {}", cause.node);
}

}  // namespace

std::string sentence(const Cause& cause) {
  const std::string at = on(cause.node);
  switch (cause.kind) {
    case CauseKind::exit:
      return fmt::format("{} ended with exit code {}", subject(cause), cause.exit_code.value_or(1));
    case CauseKind::signal:
      return fmt::format("{} was killed by {}", subject(cause),
                         signal_words(cause.signal.value_or(0)));
    case CauseKind::node_lost:
      return subject(cause) + " was lost";
    case CauseKind::agent_lost:
      return "the agent" + at + " was lost";
    case CauseKind::join_timeout:
      return "too few nodes joined in time";
    case CauseKind::refused:
      return subject(cause) + " was refused";
    case CauseKind::interrupted:
      return cause.signal ? "interrupted by " + signal_name(*cause.signal) : "interrupted";
    case CauseKind::preempted:
      return "preempted" + at;
    case CauseKind::requeued:
      return "requeued";
    case CauseKind::time_limit:
      return "the time limit was reached";
    case CauseKind::hang:
      return cause.rank ? subject(cause) + " did not come to a collective in which others timed out"
                        : "the job hung";
    case CauseKind::launcher:
      return "toprun failed" + at;
    case CauseKind::grown:
      return "stopped to take in more nodes";
    case CauseKind::ended_early:
      return fmt::format("{} had ended with 0 while {}", cause.rank ? subject(cause) : "some ranks",
                         cause.meanwhile);
  }
  return {};
}

std::string sentence_with_code(const Cause& cause, int exit_code) {
  if (cause.kind == CauseKind::exit && cause.exit_code == exit_code) return sentence(cause);
  return fmt::format("{}, exit code {}", sentence(cause), exit_code);
}

namespace {

std::string advice_for_signal(int signal, const Outside& node) {
  switch (signal) {
    case SIGKILL:
      return fmt::format(
          "toprun did not send it: look for the out-of-memory killer (dmesg{}) or "
          "the scheduler's memory limit",
          on(node));
    case SIGUSR1:
    case SIGUSR2:
      return "Slurm may send --signal and scancel --signal to every process of a step, whether it "
             "handles it or not: with --signal=B:… and `exec toprun` as the batch script's last "
             "line toprun passes it on to ranks that do";
    case SIGBUS:
      return "often a full /dev/shm, which data loaders fill: see df /dev/shm";
    case SIGSEGV:
    case SIGABRT:
    case SIGILL:
    case SIGFPE:
      return "native code crashed: PYTHONFAULTHANDLER=1 shows the Python line it was called from";
    default:
      return {};
  }
}

bool message_contains(const Cause& cause, std::string_view words) {
  const auto in = [&](const Outside& text) { return text.raw().contains(words); };
  return in(cause.message) || std::ranges::any_of(cause.last_output, in);
}

// The argument that torch.distributed.launch passed to each script, in the spelling that this
// script's argparse requires.
std::string_view missing_local_rank_option(const Cause& cause) {
  if (!message_contains(cause, "the following arguments are required: ")) return {};
  for (const std::string_view name : {"--local-rank", "--local_rank"}) {
    if (message_contains(cause, name)) return name;
  }
  return {};
}

// "/env/bin/python3"; empty: the rank's program is something else, which may have started a Python.
std::string python_of(const Cause& cause) {
  const std::string& path = cause.program.raw();
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);  // npos + 1: 0
  return name.starts_with("python") ? cause.program.shown() : "";
}

bool is_python(std::string_view path) {
  return path.substr(path.rfind('/') + 1).starts_with("python");  // npos + 1: 0
}

std::string_view up_to(std::string_view text, std::string_view ends) {
  return text.substr(0, text.find_first_of(ends));
}

// The module that Python did not find: by an exception, or by what Python says of `-m MODULE`
// ("/usr/bin/python3: No module named x"). Empty: another error.
std::string_view missing_module(std::string_view text) {
  constexpr std::string_view of_import = "ModuleNotFoundError: No module named '";
  constexpr std::string_view of_run = "No module named ";
  if (text.starts_with(of_import)) return up_to(text.substr(of_import.size()), "'");
  const std::size_t colon = text.find(": ");
  if (colon == text.npos || !is_python(text.substr(0, colon))) return {};
  const std::string_view said = text.substr(colon + 2);
  if (said.starts_with(of_run)) return up_to(said.substr(of_run.size()), "\n");
  const std::size_t inner = said.find(of_import);
  return inner == said.npos ? std::string_view()
                            : up_to(said.substr(inner + of_import.size()), "'");
}

// Of an exception that says by its type what is missing: a module, or memory. Empty: it is another.
std::string advice_for_exception(const Cause& cause) {
  const std::string& text = cause.message.raw();
  const std::string_view type = std::string_view(text).substr(0, text.find_first_of(":\n"));
  const std::string python = python_of(cause);
  const std::string_view module = missing_module(text);
  if (const auto main = module.find(".__main__; "); main != module.npos) {
    return fmt::format(
        "-m runs a module, or a package that has a __main__: name one, as in -m {}.train",
        printable(module.substr(0, main)));
  }
  if (!module.empty()) {
    return fmt::format(
        "{} does not find the module {}: install it there, or name another Python by --venv DIR or "
        "PYTHON_EXEC=PATH; a module of your own needs its folder in PYTHONPATH",
        python.empty() ? "its Python" : python, printable(module));
  }
  if (type == "ImportError" && !python.empty()) {
    return fmt::format("its Python was {}: --venv DIR or PYTHON_EXEC=PATH names another", python);
  }
  if (type.ends_with("OutOfMemoryError") && text.contains("CUDA out of memory")) {
    return "the GPU had no memory left: use less per rank (batch size, activation checkpointing), "
           "and see by nvidia-smi whether another process holds some; where much is reserved but "
           "not allocated, PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True helps";
  }
  if (type.ends_with("MemoryError") && !type.ends_with("OutOfMemoryError")) {
    return "it was refused memory, by a limit or by its host: use less per rank (batch size, data "
           "loader workers), or ask for more (Slurm: --mem; see ulimit -v)";
  }
  return {};
}

std::string advice(const Cause& cause, bool has_logs) {
  if (!cause.kernel_evidence.empty()) {
    return "use less memory per rank (batch size, data loader workers), or ask for more (Slurm: "
           "--mem)";
  }
  if (cause.kind == CauseKind::hang) {
    return cause.rank ? "start it again with --hang-timeout 60, which tells where each rank stands"
                      : "";
  }
  if (cause.kind == CauseKind::ended_early) {
    return "uneven data? give all ranks equally many steps, or train within DDP's join()";
  }
  if (cause.kind == CauseKind::signal) return advice_for_signal(*cause.signal, cause.node);
  if (cause.kind != CauseKind::exit) return {};
  if (message_contains(cause, "doesn't have MPI built in")) {
    return "this PyTorch has no MPI: use backend gloo or nccl, or one that is built with MPI, by "
           "--launcher mpirun";
  }
  if (const auto argument = missing_local_rank_option(cause); !argument.empty()) {
    return fmt::format(
        "read LOCAL_RANK in the script, or behind it write {}='${{local_rank}}': "
        "only torch.distributed.launch gives that argument by itself",
        argument);
  }
  if (message_contains(cause, "No module named 'torch'")) {
    return fmt::format("{}", cause.program) +
           " has no PyTorch: name a Python that has it by --venv DIR or PYTHON_EXEC=PATH; in a "
           "container by --venv and a --bind of DIR, or take an image that has it";
  }
  if (std::string of_exception = advice_for_exception(cause); !of_exception.empty()) {
    return of_exception;
  }
  if (has_logs) return {};
  return cause.last_output.empty() ? "it printed nothing; --log-dir DIR --tee 3 keeps all output"
                                   : "--log-dir DIR --tee 3 keeps all output of every rank";
}

std::string stopped_text(const Others& others) {
  std::string text =
      fmt::format("{} {} stopped", others.stopped, others.stopped == 1 ? "was" : "were");
  if (others.stopped_with_other == 0) return text;
  const std::string who = others.stopped == 1 ? "it"
                          : others.stopped == others.stopped_with_other
                              ? "all"
                              : fmt::to_string(others.stopped_with_other);
  return fmt::format("{} ({} had shown another exception before)", text, who);
}

std::string others_text(const Others& others) {
  std::vector<std::string> parts;
  if (others.alike > 0) parts.push_back(fmt::format("{} failed in the same way", others.alike));
  if (others.failed > 0) parts.push_back(fmt::format("{} failed as a consequence", others.failed));
  if (others.other > 0) parts.push_back(fmt::format("{} failed with another error", others.other));
  if (others.stopped > 0) parts.push_back(stopped_text(others));
  if (others.ended > 0) parts.push_back(fmt::format("{} had ended with 0", others.ended));
  return join(parts, ", ");
}

// Lines of "  label       text"; only the first line has the label.
class Block {
 public:
  explicit Block(const Look& look) : look_(look) {}

  void headline(std::string_view text) {
    out_ += both_ends(fmt::format("toprun: {}", text), look_.columns);
    if (look_.colour) out_ = "\x1b[1;31m" + out_ + "\x1b[0m";
    out_ += '\n';
  }
  void row(std::string_view label, std::string_view text) {
    if (!text.empty()) out_ += both_ends(labelled(label, text), look_.columns) + '\n';
  }
  void rows(std::string_view label, std::span<const std::string> lines) {
    for (const std::string& line : lines) row(std::exchange(label, ""), line);
  }
  // toprun's own text: its advice is at the end, so the text must not be cut off.
  void whole_row(std::string_view label, std::string_view text) {
    if (!text.empty()) out_ += labelled(label, text) + '\n';
  }
  std::string take() { return std::move(out_); }

 private:
  static std::string labelled(std::string_view label, std::string_view text) {
    return fmt::format("  {:<{}}{}", label, label_width, text);
  }

  const Look& look_;
  std::string out_;
};

// The first lines, which contain the error, and the last lines, which often contain its reason.
std::vector<std::string> message_lines(const Outside& message) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(message.raw(), '\n')) {
    if (!trim(line).empty()) lines.emplace_back(printable(line));
  }
  if (lines.size() <= most_message_lines) return lines;
  const auto first = lines.begin() + most_message_lines / 2;
  const auto last = lines.end() - most_message_lines / 2;
  *first = fmt::format("… {} more lines …", last - first);
  lines.erase(first + 1, last);
  return lines;
}

std::vector<std::string> last_lines(std::span<const Outside> output) {
  std::vector<std::string> lines;
  for (const Outside& line : output.last(std::min(output.size(), most_last_lines))) {
    lines.push_back(line.shown());
  }
  return lines;
}

std::tm local_time(WallTime time) {
  const std::time_t t = std::chrono::system_clock::to_time_t(time);
  std::tm local{};
  ::localtime_r(&t, &local);
  return local;
}

std::string date(const std::tm& t) {
  return fmt::format("{:04}-{:02}-{:02}", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday);
}

std::string clock(const std::tm& t) {
  return fmt::format("{:02}:{:02}:{:02}", t.tm_hour, t.tm_min, t.tm_sec);
}

// Of the last attempt that had nodes: the one after it may have waited for them in vain.
std::string size_text(const RunRecord& run) {
  const auto last =
      std::ranges::find_if(run.attempts | std::views::reverse,
                           [](const auto& attempt) { return !attempt.nodes.empty(); });
  if (last == run.attempts.rend()) return "no rank started";
  int ranks = 0;
  for (const NodeRecord& node : last->nodes) ranks += node.nproc;
  return fmt::format("{} on {}", counted(ranks, "rank"), counted(last->nodes.size(), "node"));
}

// Why an elastic job has begun anew without a failure that counts: "n2 was lost".
std::vector<std::string> changes_of(const RunRecord& run) {
  std::vector<std::string> changes;
  for (const AttemptRecord& attempt : run.attempts) {
    if (!attempt.cause || &attempt == &run.attempts.back()) continue;
    const CauseKind kind = attempt.cause->kind;
    std::string change;
    if (kind == CauseKind::grown) change = "more nodes came";
    if (kind == CauseKind::node_lost || kind == CauseKind::agent_lost) {
      change = attempt.cause->node.shown() + " was lost";
    }
    if (!change.empty() && std::ranges::find(changes, change) == changes.end()) {
      changes.push_back(std::move(change));
    }
  }
  constexpr std::size_t most_changes = 4;
  if (changes.size() > most_changes) {
    const std::size_t others = changes.size() - most_changes;
    changes.resize(most_changes);
    changes.push_back(fmt::format("{} more", others));
  }
  return changes;
}

// What went before the last attempt.
std::string history_text(const RunRecord& run) {
  std::vector<std::string> parts;
  if (run.restarts > 0) parts.push_back(counted(run.restarts, "restart"));
  const std::vector<std::string> changes = changes_of(run);
  const int others = static_cast<int>(run.attempts.size()) - 1 - run.restarts;
  if (others > 0 && !changes.empty()) {
    parts.push_back(fmt::format("{} ({})", counted(others, "new attempt"), join(changes, ", ")));
  }
  return parts.empty() ? "" : " after " + join(parts, " and ");
}

std::string outcome(const RunRecord& run) {
  const Cause* const cause =
      run.attempts.empty() || !run.attempts.back().cause ? nullptr : &*run.attempts.back().cause;
  if (cause == nullptr) {
    if (run.exit_code == 0) return "all ended with 0";
    return fmt::format("exit code {}{}", run.exit_code,
                       run.exit_code == agent::exit_found ? ": something was found" : "");
  }
  return sentence_with_code(*cause, run.exit_code);
}

}  // namespace

std::string_view name_of(CauseKind kind) {
  return cause_names.at(static_cast<std::size_t>(kind));
}

std::optional<CauseKind> cause_kind_called(std::string_view name) {
  const auto found = std::ranges::find(cause_names, name);
  if (found == cause_names.end()) return std::nullopt;
  return static_cast<CauseKind>(found - cause_names.begin());
}

Cause cause_of(const agent::WorkerExit& exit) {
  Cause cause;
  // If we stopped a worker while it was already exiting after its own error, that error is the
  // cause.
  const bool by_signal = exit.signal != 0 && !exit.ours;
  cause.kind = by_signal ? CauseKind::signal : CauseKind::exit;
  cause.rank = exit.rank;
  cause.local_rank = exit.local_rank;
  cause.pid = exit.pid;
  cause.program = exit.program;
  cause.node = exit.host;
  if (by_signal) {
    cause.signal = exit.signal;
  } else {
    cause.exit_code = agent::cause_code(exit);
  }
  cause.message = exit.exception;
  if (exit.error_file) {
    cause.error_file = exit.error_file->path;
    if (!exit.error_file->message.empty()) cause.message = exit.error_file->message;
  }
  cause.last_output.assign(exit.last_output.begin(), exit.last_output.end());
  cause.kernel_evidence = exit.kernel_evidence;
  return cause;
}

std::vector<std::string> order_table(const OrderRecord& order,
                                     const std::vector<NodeRecord>& nodes) {
  std::vector<std::string> ranks;
  std::size_t rank_width = std::string_view("ranks").size();
  std::size_t name_width = std::string_view("node").size();
  for (const NodeRecord& node : nodes) {
    ranks.push_back(node.nproc == 0 ? "none"
                    : node.nproc == 1
                        ? fmt::to_string(node.first_rank)
                        : fmt::format("{}-{}", node.first_rank, node.first_rank + node.nproc - 1));
    rank_width = std::max(rank_width, ranks.back().size());
    name_width = std::max(name_width, node.name.shown().size());
  }
  std::vector<std::string> lines = {
      fmt::format("order: {} ({})", order.name, order.why),
      fmt::format("  {:<{}}  {:<{}}  place", "ranks", rank_width, "node", name_width)};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    lines.push_back(fmt::format("  {:<{}}  {:<{}}  {}", ranks[i], rank_width, nodes[i].name,
                                name_width,
                                nodes[i].location.empty() ? "unknown" : nodes[i].location.shown()));
  }
  for (const std::string& note : order.notes) lines.push_back(note);
  for (const OrderRecord::Level& level : order.levels) {
    lines.push_back(fmt::format(
        "{}: {} of {} neighbours in another {} as given, {} as ordered (minimum {})", level.name,
        level.given, nodes.size(), level.name, level.ordered, level.minimum));
  }
  return lines;
}

json spares_json(const RunRecord& run) {
  json names = json::array();
  for (const Outside& name : run.spares) names.push_back(name);
  return names;
}

json lost_spares_json(const RunRecord& run) {
  json all = json::array();
  for (const LostSpare& spare : run.lost_spares) {
    all.push_back({{"node", spare.node}, {"at", rfc3339(spare.at)}, {"why", spare.why}});
  }
  return all;
}

json report_json(const RunRecord& run) {
  json attempts = json::array();
  for (const AttemptRecord& attempt : run.attempts) attempts.push_back(attempt_json(attempt));
  const bool runs = run.running_at.has_value();
  return {{"schema", report_schema},
          {"job", run.job},
          {"title", or_null(run.title)},
          {"program", or_null(run.program)},
          {"root", {{"host", run.root_host}, {"pid", run.root_pid}}},
          {"grow", or_null(run.grow)},
          {"exit_code", runs ? json(nullptr) : json(run.exit_code)},
          {"started", rfc3339(run.started)},
          {"ended", runs ? json(nullptr) : json(rfc3339(run.ended))},
          {"updated", rfc3339(run.running_at.value_or(run.ended))},
          {"restarts", run.restarts},
          {"max_restarts", run.max_restarts},
          {"spares", spares_json(run)},
          {"lost_spares", lost_spares_json(run)},
          {"gathering", gathering_json(run.gathering)},
          {"attempts", std::move(attempts)}};
}

json earlier_runs(std::string_view old_report) {
  const json report = json_in(old_report);
  if (text_at(report, "schema") != report_schema) return json::array();
  json runs = member(report, "earlier");
  if (!runs.is_array()) runs = json::array();
  const json& attempts = member(report, "attempts");
  const bool has_attempts = attempts.is_array() && !attempts.empty();
  const json& cause = has_attempts ? member(attempts.back(), "cause") : attempts;
  json run = {{"cause", nullptr}};
  for (const char* key : {"started", "ended", "updated", "exit_code"}) {
    run[key] = member(report, key);
  }
  if (cause.is_object()) {
    run["cause"] = json::object();
    for (const char* key : {"kind", "what", "message"}) run["cause"][key] = member(cause, key);
  }
  runs.push_back(std::move(run));
  while (runs.size() > most_earlier_runs) runs.erase(runs.begin());
  return runs;
}

Others count_others(const std::vector<agent::WorkerExit>& exits, const agent::WorkerExit* cause) {
  const auto is_known = [&](const agent::WorkerExit& exit) {
    return cause != nullptr && !exit.exception.empty();
  };
  const auto has_another = [&](const agent::WorkerExit& exit) {
    return is_known(exit) && !agent::tells_only_of_a_lost_peer(exit);
  };
  const auto fate_of = [&](const agent::WorkerExit& exit) {
    if (!exit.failed()) return &Others::ended;
    if (is_known(exit) && exit.exception == cause->exception) return &Others::alike;
    if (exit.ours) return &Others::stopped;
    return has_another(exit) ? &Others::other : &Others::failed;
  };
  Others others;
  for (const agent::WorkerExit& exit : exits) {
    if (&exit == cause) continue;
    const auto fate = fate_of(exit);
    ++(others.*fate);
    if (fate == &Others::stopped && has_another(exit)) ++others.stopped_with_other;
  }
  return others;
}

std::string failure_report(const Cause& cause, const Others& others, const Outside& logs,
                           const Look& look, const std::string& node_log) {
  Block block(look);
  block.headline(sentence(cause));
  if (cause.rank) {
    block.row("rank", fmt::format("{}: local rank {} of {}, pid {}", *cause.rank,
                                  cause.local_rank.value_or(0), cause.node, cause.pid.value_or(0)));
  }
  // Of these kinds the message is toprun's, about other ranks.
  const bool tells_of_others =
      cause.kind == CauseKind::hang || cause.kind == CauseKind::ended_early;
  if (cause.rank && !tells_of_others) {
    block.rows("it said", message_lines(cause.message));
  } else if (cause.rank || cause.kind != CauseKind::hang) {
    block.whole_row("reason", cause.message.shown());
  }
  block.whole_row("kernel", cause.kernel_evidence.shown());
  block.rows("last lines", last_lines(cause.last_output));
  block.row("others", others_text(others));
  block.row("error file", cause.error_file.shown());
  if (!logs.empty()) block.row("logs", fmt::format("{}{}", logs, on(cause.node)));
  block.whole_row("output", printable(node_log));
  block.whole_row("next", advice(cause, !logs.empty() || !node_log.empty()));
  return block.take();
}

std::string last_line(const RunRecord& run) {
  const std::tm start = local_time(run.started);
  const std::tm end = local_time(run.ended);
  const std::string end_date = date(start) == date(end) ? "" : date(end) + " ";
  return fmt::format("toprun: {} {} → {}{} ({}): {}, {}{}\n", date(start), clock(start), end_date,
                     clock(end), duration_text(run.ended - run.started), size_text(run),
                     outcome(run), history_text(run));
}

}  // namespace toprun::view
