#include "observe/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <ctime>
#include <ranges>

#include <nlohmann/json.hpp>

#include "base/os/signals.h"
#include "base/process/command.h"
#include "base/text/shown_line.h"
#include "base/text/text.h"
#include "decide/hang/standing.h"
#include "machine/stacks/frame.h"
#include "observe/report/columns.h"
#include "run/conductor/restarts.h"
#include "run/model/cause.h"
#include "run/model/exit.h"

namespace toprun::report {
namespace {

using nlohmann::json;

constexpr std::size_t most_last_lines = 12;
constexpr std::size_t most_message_lines = 4;
constexpr std::size_t most_rows_of_the_last_line = 3;
constexpr std::size_t label_width = 12;

std::string advice_for_signal(int signal, const Outside& node) {
  switch (signal) {
    case SIGKILL:
      return fmt::format(
          "toprun did not send it: look for the out-of-memory killer (dmesg{}) or "
          "the scheduler's memory limit",
          model::on(node));
    case SIGUSR1:
    case SIGUSR2:
      return "Slurm may send --signal and scancel --signal to every process of a step, whether the "
             "process handles it or not: with --signal=B:… and `exec toprun` as the batch script's "
             "last line, toprun passes the signal only to ranks that handle it";
    case SIGTERM:
    case SIGINT:
    case SIGHUP:
      return fmt::format(
          "toprun did not send it: look for what did{}, such as a kill by hand, a script, or the "
          "scheduler's clean-up",
          model::on(node));
    case SIGBUS:
      return "often /dev/shm is full, because data loaders fill it: see `df /dev/shm`";
    case SIGSEGV:
    case SIGABRT:
    case SIGILL:
    case SIGFPE:
      return "native code crashed: PYTHONFAULTHANDLER=1 shows the Python line that called this "
             "code";
    default:
      return {};
  }
}

bool message_contains(const model::Cause& cause, std::string_view words) {
  const auto in = [&](const Outside& text) { return text.raw().contains(words); };
  return in(cause.message) || std::ranges::any_of(cause.last_output, in);
}

// The argument that torch.distributed.launch passed to each script, in the spelling that this
// script's argparse requires.
std::string_view missing_local_rank_option(const model::Cause& cause) {
  if (!message_contains(cause, "the following arguments are required: ")) return {};
  for (const std::string_view name : {"--local-rank", "--local_rank"}) {
    if (message_contains(cause, name)) return name;
  }
  return {};
}

// "/env/bin/python3"; empty: the rank's program is something else, which may have started a Python.
std::string python_of(const model::Cause& cause) {
  const std::string& path = cause.program.raw();
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);  // npos + 1: 0
  return name.starts_with("python") ? cause.program.shown() : "";
}

// toprun's own ranks, as of `toprun bench`, end with an error that says what to do.
bool is_toprun(const model::Cause& cause) {
  return cause.program.raw() == process::own_program;
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

// The innermost frame of the user's own code in the last traceback.
std::string advice_for_traceback(const model::Cause& cause) {
  std::vector<std::string> lines;
  for (const Outside& line : cause.last_output) lines.push_back(line.raw());
  const std::string place = model::users_place(lines);
  return place.empty() ? "" : "see " + place;
}

// Of an exception that proves that this PyTorch was built without CUDA (torch/cuda/__init__.py;
// torch/distributed/distributed_c10d.py). Empty: another error.
std::string advice_for_build_of_pytorch(const model::Cause& cause) {
  const std::string& text = cause.message.raw();
  const std::string place = advice_for_traceback(cause);
  const std::string see = place.empty() ? "" : "; " + place;
  const std::string python = python_of(cause);
  const std::string whose = python.empty() ? "this PyTorch" : "the PyTorch of " + python;
  if (text.contains("Torch not compiled with CUDA enabled")) {
    return fmt::format(
        "{} has no CUDA: use the CPU, or choose a Python whose PyTorch has CUDA with --venv DIR or "
        "PYTHON_EXEC=PATH{}",
        whose, see);
  }
  if (text.contains("Distributed package doesn't have NCCL built in")) {
    return fmt::format(
        "{} has no NCCL: use the backend gloo, or choose a Python whose PyTorch has NCCL with "
        "--venv DIR or PYTHON_EXEC=PATH{}",
        whose, see);
  }
  return {};
}

// Whether the ImportError is about a module of the user's own, by the file that Python names:
// "cannot import name 'f' from 'helper' (/job/helper.py)".
bool is_of_own_module(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  const std::size_t open = text.rfind('(');
  if (!text.contains("cannot import name '") || open == text.npos || !text.ends_with(')')) {
    return false;
  }
  const std::string_view file = text.substr(open + 1, text.size() - open - 2);
  return file.starts_with('/') && !stacks::is_of_library(file);
}

// A call in a traceback, and the line of code that the traceback shows of it.
struct TracedCall {
  std::string file;
  std::string function;
  std::string code;
};

std::vector<TracedCall> last_traceback(const model::Cause& cause) {
  std::vector<TracedCall> calls;
  for (const Outside& line : cause.last_output) {
    const std::string& text = line.raw();
    if (text.contains("Traceback (most recent call last)")) calls.clear();
    if (const auto frame = model::frame_in(text)) {
      calls.push_back({std::string(frame->file), std::string(frame->function), {}});
    } else if (!calls.empty() && calls.back().code.empty()) {
      calls.back().code = text;
    }
  }
  return calls;
}

bool is_of_python_itself(std::string_view file) {
  return stacks::is_of_library(file) && !file.contains("/site-packages/") &&
         !file.contains("/dist-packages/") && !file.starts_with('<');
}

// "re" of "/job/re.py". Empty: the file is not a module of the user.
std::string_view own_module(std::string_view file) {
  constexpr std::string_view suffix = ".py";
  if (stacks::is_of_library(file) || !file.ends_with(suffix)) return {};
  file = file.substr(file.rfind('/') + 1);  // npos + 1: 0
  return file.substr(0, file.size() - suffix.size());
}

// Whether this is an import statement with the name.
bool imports(std::string_view code, std::string_view name) {
  const auto has_word = [&](std::string_view word) {
    const auto is_in_word = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    };
    for (std::size_t at = 0; (at = code.find(word, at)) != code.npos; ++at) {
      const std::size_t end = at + word.size();
      const bool begins = at == 0 || (!is_in_word(code[at - 1]) && code[at - 1] != '.');
      if (begins && (end == code.size() || !is_in_word(code[end]))) return true;
    }
    return false;
  };
  return has_word("import") && has_word(name);
}

// A file of the user's that has the name of another module, which an import then does not find.
// Only what the traceback proves: Python's own code imported the file, or the file imports itself.
std::string advice_for_hidden_module(const model::Cause& cause) {
  const std::vector<TracedCall> calls = last_traceback(cause);
  const std::string& text = cause.message.raw();
  const auto names = [&](std::string_view name) {
    return text.contains(fmt::format("partially initialized module '{}'", name)) ||
           (text.contains("cannot import name '") &&
            text.contains(fmt::format("from '{}' (", name)));
  };
  for (std::size_t i = 1; i < calls.size(); ++i) {
    const std::string_view name = own_module(calls[i].file);
    const TracedCall& caller = calls[i - 1];
    if (name.empty() || calls[i].function != "<module>" || !is_of_python_itself(caller.file) ||
        !imports(caller.code, name)) {
      continue;
    }
    return fmt::format("{} hides Python's module {}: rename the file", printable(calls[i].file),
                       printable(name));
  }
  if (calls.empty()) return {};
  const TracedCall& last = calls.back();
  // "cannot import name 'Random' from 'random' (/job/random.py)"
  const std::size_t open = text.rfind('(');
  const std::string_view file =
      open == text.npos ? std::string_view() : up_to(std::string_view(text).substr(open + 1), ")");
  const std::string_view hiding = own_module(file);
  if (!hiding.empty() && is_of_python_itself(last.file) && imports(last.code, hiding) &&
      names(hiding)) {
    return fmt::format("{} hides Python's module {}: rename the file", printable(file),
                       printable(hiding));
  }
  const std::string_view itself = own_module(last.file);
  const bool names_another_file = file.ends_with(".py") && file != last.file;
  if (itself.empty() || names_another_file || !names(itself)) return {};
  return fmt::format("{} imports itself instead of another module {}: rename the file",
                     printable(last.file), printable(itself));
}

// PyTorch 1.13 has torch.cuda.OutOfMemoryError; before it the same error was a RuntimeError. An
// error of the CUDA driver still is one, and an exception that wraps another contains its text.
bool is_of_gpu_memory(std::string_view type, std::string_view text) {
  if (type.ends_with("OutOfMemoryError") && text.contains("CUDA out of memory")) return true;
  return text.contains("CUDA out of memory. Tried to allocate ") ||
         text.contains("CUDA error: out of memory");
}

// "examples.pi" in what Python says of -m examples.pi.py. Empty: another error.
std::string module_to_try(const model::Cause& cause) {
  const auto in = [](const Outside& line) {
    constexpr std::string_view before = "Try using '";
    const std::string_view text = line.raw();
    const std::size_t begin = text.find(before);
    const bool is_it = text.contains("Error while finding module specification for '") &&
                       begin != text.npos && text.contains("' as the module name.");
    return is_it ? std::string(up_to(text.substr(begin + before.size()), "'")) : std::string();
  };
  if (std::string name = in(cause.message); !name.empty()) return name;
  for (const Outside& line : cause.last_output) {
    if (std::string name = in(line); !name.empty()) return name;
  }
  return {};
}

// Of an exception that says by its type what is missing: a module, or memory. Empty: it is another.
std::string advice_for_exception(const model::Cause& cause) {
  const std::string& text = cause.message.raw();
  const std::string_view type = std::string_view(text).substr(0, text.find_first_of(":\n"));
  const std::string python = python_of(cause);
  const std::string_view module = missing_module(text);
  if (const auto main = module.find(".__main__; "); main != module.npos) {
    return fmt::format(
        "-m runs a module, or a package that has a __main__: give such a name, as in -m {}.train",
        printable(module.substr(0, main)));
  }
  if (const std::string other = module_to_try(cause); !other.empty()) {
    return fmt::format("-m takes the name of a module, not of a file: write -m {}",
                       printable(other));
  }
  if (!module.empty()) {
    return fmt::format(
        "{} does not find the module {}: install the module there, or choose another Python with "
        "--venv DIR or PYTHON_EXEC=PATH; for a module of your own, add its folder to PYTHONPATH",
        python.empty() ? "its Python" : python, printable(module));
  }
  if (std::string hidden = advice_for_hidden_module(cause); !hidden.empty()) return hidden;
  if (type == "ImportError" && is_of_own_module(text)) {
    std::string place = advice_for_traceback(cause);
    if (!text.contains("partially initialized module")) return place;
    return place + (place.empty() ? "" : ": ") + "the modules import each other in a circle";
  }
  if (type == "ImportError" && !python.empty()) {
    return fmt::format(
        "the rank's Python was {}: choose another Python with --venv DIR or PYTHON_EXEC=PATH",
        python);
  }
  if (type == "SyntaxError" || type == "IndentationError" || type == "TabError") {
    return "correct the script: Python cannot run it on any rank";
  }
  if (text.contains(": error: ") && message_contains(cause, "usage: ")) {
    return "correct the arguments after the script: the script refuses them on every rank";
  }
  if (is_of_gpu_memory(type, text)) {
    return "the GPU had no memory left: use less memory per rank (batch size, activation "
           "checkpointing), and check with nvidia-smi whether another process uses GPU memory; if "
           "much memory is reserved but not allocated, "
           "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True helps";
  }
  const bool refused_by_pytorch = text.contains("DefaultCPUAllocator: can't allocate memory");
  if (refused_by_pytorch ||
      (type.ends_with("MemoryError") && !type.ends_with("OutOfMemoryError"))) {
    return "a limit or the host refused memory to the rank: use less memory per rank (batch size, "
           "data loader workers), or request more memory (Slurm: --mem; see ulimit -v)";
  }
  return {};
}

// Of Gloo (gloo/transport/tcp/device.cc) or NCCL that find no interface to use; empty: another
// error.
std::string advice_for_interface(const model::Cause& cause) {
  constexpr std::string_view of_gloo = "Unable to find address for: ";
  const std::string_view text = cause.message.raw();
  if (const std::size_t at = text.find(of_gloo); at != text.npos) {
    const std::string_view rest = text.substr(at + of_gloo.size());
    return fmt::format(
        "check GLOO_SOCKET_IFNAME: Gloo found no address for {}{}; unset it, or name an interface "
        "that has an address on each node (`toprun net env` shows what fits)",
        printable(trim(rest.substr(0, rest.find_first_of(" \n")))), model::on(cause.node));
  }
  if (message_contains(cause, "no socket interface found")) {
    return fmt::format(
        "check NCCL_SOCKET_IFNAME: NCCL found no network interface{}; unset it, or name an "
        "interface that has an address on each node (`toprun net env` shows what fits)",
        model::on(cause.node));
  }
  return {};
}

// Of a data loader's worker that a signal ended: PyTorch names the signal in the rank's exception.
std::string advice_for_worker(const model::Cause& cause) {
  if (message_contains(cause, "is killed by signal: Killed")) {
    return fmt::format(
        "a data loader's worker was killed by SIGKILL, which toprun did not send: look for the "
        "out-of-memory killer (dmesg{}) or the scheduler's memory limit; fewer data loader workers "
        "need less memory and less space in /dev/shm (see `df /dev/shm`)",
        model::on(cause.node));
  }
  if (message_contains(cause, "is killed by signal: Bus error") ||
      message_contains(cause, "insufficient shared memory (shm)")) {
    return "often /dev/shm is full, because data loaders fill it: see `df /dev/shm`, use fewer "
           "workers, or make /dev/shm larger (in a container with --shm-size)";
  }
  return {};
}

std::string advice_for_mismatch(const model::Cause& cause) {
  const std::string place = advice_for_traceback(cause);
  if (model::shows_both_calls(cause.message.raw())) {
    return "compare the two calls in the message" + (place.empty() ? "" : ", and " + place);
  }
  return "start the job again with TORCH_DISTRIBUTED_DEBUG=DETAIL: PyTorch then compares each call "
         "before it runs, and shows the shapes and types of both calls";
}

// "1 failed with another error (rank 2: KeyError: 'label')".
std::string with_exceptions(std::string text, const std::vector<std::string>& say) {
  return say.empty() ? text : fmt::format("{} ({})", text, join(say, "; "));
}

std::string others_text(const Others& others) {
  std::vector<std::string> parts;
  if (others.alike > 0) parts.push_back(fmt::format("{} failed in the same way", others.alike));
  if (others.victims > 0) {
    parts.push_back(fmt::format("{} failed as a consequence", others.victims));
  }
  if (others.failed > 0) parts.push_back(fmt::format("{} failed too", others.failed));
  if (others.other > 0) {
    parts.push_back(with_exceptions(fmt::format("{} failed with another error", others.other),
                                    others.others_say));
  }
  if (others.stopped > 0) {
    parts.push_back(with_exceptions(
        fmt::format("{} {} stopped", others.stopped, others.stopped == 1 ? "was" : "were"),
        others.stopped_say));
  }
  if (others.ended > 0) parts.push_back(fmt::format("{} had ended with 0", others.ended));
  return join(parts, ", ");
}

// Lines of "  label       text"; only the first line has the label.
class Block {
 public:
  explicit Block(const Style& style) : style_(style) {}

  void headline(std::string_view text) {
    out_ += both_ends(fmt::format("toprun: {}", text), style_.columns);
    if (style_.colour) out_ = "\x1b[1;31m" + out_ + "\x1b[0m";
    out_ += '\n';
  }
  void row(std::string_view label, std::string_view text) {
    if (!text.empty()) out_ += both_ends(labelled(label, text), style_.columns) + '\n';
  }
  void rows(std::string_view label, std::span<const std::string> lines) {
    for (const std::string& line : lines) row(std::exchange(label, ""), line);
  }
  // toprun's own text: its advice is at the end, so the text must not be cut off.
  void whole_row(std::string_view label, std::string_view text) {
    if (!text.empty()) out_ += labelled(label, text) + '\n';
  }
  // The columns beside the labels; 0: unlimited.
  std::size_t width() const {
    constexpr std::size_t before = label_width + 2;
    return style_.columns > before ? style_.columns - before : 0;
  }
  std::string take() { return std::move(out_); }

 private:
  static std::string labelled(std::string_view label, std::string_view text) {
    return fmt::format("  {:<{}}{}", label, label_width, text);
  }

  const Style& style_;
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

// The last of them, which mostly is the error, is wrapped to `width` columns (0: it is not).
// PyTorch's notes are left out, unless there is nothing else.
std::vector<std::string> last_lines(const model::Cause& cause, std::size_t width) {
  std::vector<std::string> lines = last_lines_of(cause);
  if (lines.empty()) return lines;
  const auto rows = wrapped(std::exchange(lines.back(), ""), width, most_rows_of_the_last_line);
  lines.pop_back();
  lines.insert(lines.end(), rows.begin(), rows.end());
  if (lines.size() <= most_last_lines) return lines;
  // Why C++ aborted the rank stays: Python may still write what it has buffered.
  const auto first = lines.end() - most_last_lines;
  const auto why = std::find_if(lines.begin(), first, [](const std::string& line) {
    return line.starts_with("terminate called ");
  });
  if (why != first) *first = *why;
  lines.erase(lines.begin(), first);
  return lines;
}

bool has_started_ranks(const model::AttemptRecord& attempt) {
  return !attempt.nodes.empty() && !attempt.started_no_rank;
}

// What toprun itself could not do, as a file that one node lacks. Empty: a rank started, or the
// cause is another.
std::string why_no_rank_started(const model::RunRecord& run) {
  if (run.attempts.empty() || std::ranges::any_of(run.attempts, has_started_ranks)) return {};
  const auto& cause = run.attempts.back().cause;
  if (!cause || cause->kind != model::CauseKind::launcher) return {};
  const std::string_view line = first_line(cause->message.raw());
  return std::string(line.substr(0, line.find("; ")));  // the advice has been printed
}

// Of the last attempt that had ranks: the one after it may have waited for nodes in vain.
std::string size_text(const model::RunRecord& run) {
  const auto last = std::ranges::find_if(run.attempts | std::views::reverse, has_started_ranks);
  if (last == run.attempts.rend()) return "no rank started";
  int ranks = 0;
  for (const model::NodeRecord& node : last->nodes) ranks += node.nproc;
  return fmt::format("{} on {}", counted(ranks, "rank"), counted(last->nodes.size(), "node"));
}

// Why an elastic job has begun again without a failure that counts: "n2 was lost".
std::vector<std::string> changes_of(const model::RunRecord& run) {
  std::vector<std::string> changes;
  for (const model::AttemptRecord& attempt : run.attempts) {
    if (!attempt.cause || &attempt == &run.attempts.back()) continue;
    const model::CauseKind kind = attempt.cause->kind;
    std::string change;
    if (kind == model::CauseKind::grown) change = "more nodes came";
    if (kind == model::CauseKind::node_lost || kind == model::CauseKind::agent_lost) {
      const bool is_known = !attempt.cause->node.empty();
      change = is_known ? attempt.cause->node.shown() + " was lost" : "the other nodes were lost";
    }
    if (kind == model::CauseKind::interrupted && !attempt.cause->node.empty()) {
      change = attempt.cause->node.shown() + " was asked to leave";
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

// "rank 5 on n2, train.py:88 in step", for the first of those that keep the others waiting; empty:
// no rank stands out.
std::string whom_they_wait_for(const model::Hang& hang) {
  if (hang.verdict.suspects.empty() || hang.suspected.empty()) return {};
  const int rank = hang.verdict.suspects.front();
  const std::size_t others = hang.verdict.suspects.size() - 1;
  std::string text = others == 0 ? fmt::format("rank {} on {}", rank, hang.suspected.front())
                                 : fmt::format("rank {} on {} and {}", rank, hang.suspected.front(),
                                               counted(others, "other rank"));
  const auto group = std::ranges::find_if(hang.verdict.groups, [rank](const hang::Group& one) {
    return std::ranges::binary_search(one.ranks, rank);
  });
  if (group == hang.verdict.groups.end()) return printable(text);
  const std::string place = hang::place_text(group->standing);
  return printable(place.empty() ? text : text + ", " + place);
}

std::string outcome(const model::RunRecord& run) {
  const model::Cause* const cause =
      run.attempts.empty() || !run.attempts.back().cause ? nullptr : &*run.attempts.back().cause;
  if (cause == nullptr) {
    if (run.exit_code == 0) return "all ended with 0";
    return fmt::format("exit code {}{}", run.exit_code,
                       run.exit_code == model::exit_found ? ": something was found" : "");
  }
  const auto& hang = run.attempts.back().hang;
  const bool names_none = cause->kind == model::CauseKind::hang && !cause->rank;
  const bool cut_a_hang = cause->kind == model::CauseKind::interrupted && hang && !hang->over;
  const std::string blamed = (names_none || cut_a_hang) && hang ? whom_they_wait_for(*hang) : "";
  if (cut_a_hang) {
    return fmt::format("{} while the job hung{}{}exit code {}", model::sentence(*cause),
                       blamed.empty() ? ", " : ": ", blamed.empty() ? "" : blamed + "; ",
                       run.exit_code);
  }
  if (!blamed.empty()) {
    return fmt::format("{}: {}; exit code {}", model::sentence(*cause), blamed, run.exit_code);
  }
  return model::sentence_with_code(*cause, run.exit_code);
}

std::string closing_line(WallTime started, WallTime ended, std::string_view size,
                         std::string_view outcome) {
  return fmt::format("toprun: {} → {} ({}): {}, {}\n", time_text(started),
                     moment_text(ended, started), duration_text(ended - started), size, outcome);
}

std::string lost_root_words(const LostRoot& lost) {
  return fmt::format("lost the connection to {}, where the job's root was", lost.host);
}

using Fate = int Others::*;

// With the cause's exception, or as the cause fails in every rank.
bool is_alike(const model::WorkerExit& exit, const model::WorkerExit* cause) {
  if (cause == nullptr) return false;
  if (!exit.exception.empty() && exit.exception == cause->exception) return true;
  return exit.exit_code == cause->exit_code && model::fails_in_every_rank(*cause) &&
         model::fails_in_every_rank(exit);
}

bool has_own_exception(const model::WorkerExit& exit) {
  return !exit.exception.empty() && !model::tells_only_of_a_lost_peer(exit);
}

Fate fate_of(const model::WorkerExit& exit, const model::WorkerExit* cause) {
  if (!exit.failed()) return exit.ours ? &Others::stopped : &Others::ended;
  if (is_alike(exit, cause)) return &Others::alike;
  if (exit.ours) return &Others::stopped;
  if (cause != nullptr && has_own_exception(exit)) return &Others::other;
  return model::tells_only_of_a_lost_peer(exit) ? &Others::victims : &Others::failed;
}

// At most most_exceptions_shown lines, and the number of the other ones.
std::vector<std::string> exception_lines(const std::vector<const model::WorkerExit*>& exits,
                                         std::string_view verb) {
  std::vector<std::string> lines;
  for (const model::WorkerExit* exit : exits | std::views::take(most_exceptions_shown)) {
    lines.push_back(
        fmt::format("rank {}{} {}", exit->rank, verb, printable(first_line(exit->exception))));
  }
  if (exits.size() > lines.size()) {
    lines.push_back(fmt::format("{} more", exits.size() - lines.size()));
  }
  return lines;
}

}  // namespace

Others count_others(const std::vector<model::WorkerExit>& exits, const model::WorkerExit* cause) {
  Others others;
  std::vector<const model::WorkerExit*> with_other, stopped;
  for (const model::WorkerExit& exit : exits) {
    if (&exit == cause) continue;
    const Fate fate = fate_of(exit, cause);
    ++(others.*fate);
    if (cause == nullptr || !has_own_exception(exit)) continue;
    if (fate == &Others::other) with_other.push_back(&exit);
    if (fate == &Others::stopped) stopped.push_back(&exit);
  }
  others.others_say = exception_lines(with_other, ":");
  others.stopped_say = exception_lines(stopped, " had printed");
  return others;
}

std::string advice(const model::Cause& cause, bool has_logs) {
  if (!cause.kernel_evidence.empty()) {
    return "use less memory per rank (batch size, data loader workers), or request more memory "
           "(Slurm: --mem)";
  }
  if (cause.kind == model::CauseKind::hang) {
    return cause.rank
               ? "start the job again with --hang-timeout 60, which shows where each rank hangs"
               : "";
  }
  if (cause.kind == model::CauseKind::mismatch) return advice_for_mismatch(cause);
  if (cause.kind == model::CauseKind::ended_early) {
    return "do the ranks have different numbers of steps? give all ranks the same number of steps, "
           "or train within DDP's join()";
  }
  const bool has_exception =
      cause.kind == model::CauseKind::exit || model::is_at_exit_of_python(cause);
  if (model::is_perhaps_at_exit_of_python(cause)) {
    return "C++ threads still ran when Python exited, or native code crashed. If the rank's "
           "program had finished: do the ranks have different numbers of steps? Give all ranks the "
           "same number of steps, and end the program with "
           "torch.distributed.destroy_process_group(). With DistributedDataParallel and Gloo add "
           "os._exit(0) as the last line, because threads may stay. If the program had not "
           "finished, PYTHONFAULTHANDLER=1 shows the Python line that called the native code";
  }
  if (cause.kind == model::CauseKind::signal && !has_exception) {
    return advice_for_signal(*cause.signal, cause.node);
  }
  if (!has_exception || is_toprun(cause)) return {};
  if (std::string of_build = advice_for_build_of_pytorch(cause); !of_build.empty()) return of_build;
  if (message_contains(cause, "doesn't have MPI built in")) {
    return "this PyTorch has no MPI: use the backend gloo or nccl; or use --launcher mpirun with a "
           "PyTorch that is built with MPI";
  }
  if (const auto argument = missing_local_rank_option(cause); !argument.empty()) {
    return fmt::format(
        "read LOCAL_RANK in the script, or write {}='${{local_rank}}' after the script: only "
        "torch.distributed.launch adds this argument by itself",
        argument);
  }
  if (message_contains(cause, "No module named 'torch'")) {
    return fmt::format("{}", cause.program) +
           " has no PyTorch: choose a Python that has PyTorch with --venv DIR or PYTHON_EXEC=PATH; "
           "in a container, use --venv DIR and --bind DIR, or an image that has PyTorch";
  }
  if (message_contains(cause, "DataLoader worker (pid")) {
    if (std::string of_worker = advice_for_worker(cause); !of_worker.empty()) return of_worker;
  }
  if (std::string of_interface = advice_for_interface(cause); !of_interface.empty()) {
    return of_interface;
  }
  if (std::string of_exception = advice_for_exception(cause); !of_exception.empty()) {
    return of_exception;
  }
  if (!cause.message.empty()) return advice_for_traceback(cause);
  const auto is_of_the_rank = [](const Outside& line) { return !is_note_of_pytorch(line.raw()); };
  const auto printed = std::ranges::count_if(cause.last_output, is_of_the_rank);
  if (!has_logs && std::cmp_greater(printed, most_last_lines)) {
    return "use --log-dir DIR --tee 3 to keep all output of every rank";
  }
  const int code = cause.exit_code.value_or(exit_failure);
  if (code == run::no_restart_exit_code) {
    return fmt::format("the rank ended by itself with {}, which tells toprun not to restart{}",
                       code, printed > 0 ? ": the last lines of its output may say why" : "");
  }
  if (printed > 0) {
    return fmt::format(
        "the program ended by itself with {0}: look for the code that ends it with {0}, such as "
        "sys.exit({0}), or for what prints the last line of its output",
        code);
  }
  if (has_logs) {  // its output may be in a file only
    return fmt::format(
        "the program ended by itself with {0}: look for the code that ends it with {0}, such as "
        "sys.exit({0})",
        code);
  }
  return fmt::format(
      "the rank printed nothing{1}: look for the code that ends the rank with {0}, such as "
      "sys.exit({0})",
      code, cause.last_output.empty() ? "" : " of its own");
}

std::string failure_report(const model::Cause& cause, const Others& others, const Outside& logs,
                           const Style& style, const std::string& node_log) {
  Block block(style);
  block.headline(model::sentence(cause));
  if (cause.rank) {
    block.row("rank", fmt::format("{}: local rank {} of {}, pid {}", *cause.rank,
                                  cause.local_rank.value_or(0), cause.node, cause.pid.value_or(0)));
  }
  // Of these kinds the message is toprun's, about other ranks.
  const bool tells_of_others = cause.kind == model::CauseKind::hang ||
                               cause.kind == model::CauseKind::ended_early ||
                               cause.kind == model::CauseKind::mismatch;
  if (cause.rank && !tells_of_others) {
    block.rows("it said", message_lines(cause.message));
  } else if (cause.rank || cause.kind != model::CauseKind::hang) {
    block.whole_row("reason", cause.message.shown());
  }
  block.whole_row("kernel", cause.kernel_evidence.shown());
  block.rows("last lines", last_lines(cause, block.width()));
  const bool are_all = cause.kind == model::CauseKind::hang && !cause.rank;
  block.row(are_all ? "ranks" : "others", others_text(others));
  block.row("error file", cause.error_file.shown());
  if (!logs.empty()) block.row("logs", fmt::format("{}{}", logs, model::on(cause.node)));
  block.whole_row("output", printable(node_log));
  block.whole_row("next", advice(cause, !logs.empty() || !node_log.empty()));
  return block.take();
}

std::vector<std::string> last_lines_of(const model::Cause& cause) {
  std::vector<std::string> lines;
  for (const Outside& line : cause.last_output) {
    if (!is_note_of_pytorch(line.raw())) lines.push_back(line.shown());
  }
  if (lines.empty()) {
    for (const Outside& line : cause.last_output) lines.push_back(line.shown());
  }
  return lines;
}

std::string history_text(const model::RunRecord& run) {
  std::vector<std::string> parts;
  if (run.restarts > 0) parts.push_back(counted(run.restarts, "restart"));
  const std::vector<std::string> changes = changes_of(run);
  const int others = static_cast<int>(run.attempts.size()) - 1 - run.restarts;
  if (others > 0 && !changes.empty()) {
    parts.push_back(fmt::format("{} ({})", counted(others, "new attempt"), join(changes, ", ")));
  }
  const bool was_asked_to_end = !run.attempts.empty() && run.attempts.back().interrupted;
  if (run.exit_code == 0 && was_asked_to_end) {
    parts.push_back(signal_name(run.attempts.back().interrupted->signal));
  }
  return parts.empty() ? "" : " after " + join(parts, " and ");
}

std::string last_line(const model::RunRecord& run) {
  if (const std::string why = why_no_rank_started(run); !why.empty()) {
    return closing_line(run.started, run.ended, "no rank started: " + printable(why),
                        fmt::format("exit code {}", run.exit_code));
  }
  return closing_line(run.started, run.ended, size_text(run), outcome(run) + history_text(run));
}

std::string lost_root_report(const LostRoot& lost, const Style& style) {
  Block block(style);
  block.headline(lost_root_words(lost));
  if (!lost.others.empty()) {
    block.whole_row("others", fmt::format("the ranks on {} are ended too: no other agent can take "
                                          "over from the root agent",
                                          lost.others));
  }
  block.whole_row("next", fmt::format("{} shows whether {} is up; if it is not, start the job "
                                      "again without it",
                                      lost.look, lost.host));
  return block.take();
}

std::string lost_root_line(const LostRoot& lost) {
  return closing_line(lost.started, lost.ended, lost.size,
                      fmt::format("{}, exit code {}", lost_root_words(lost), lost.exit_code));
}

std::string hang_text(const model::Hang& hang, std::string_view next) {
  std::string text = fmt::format("toprun: {}\n", printable(model::headline(hang)));
  for (const std::string& line : hang.lines) text += "  " + printable(line) + "\n";
  if (!next.empty()) text += fmt::format("  {}\n", next);
  return text;
}

std::string node_log_path(std::string_view folder, std::string host) {
  std::ranges::replace(host, '/', '_');
  return fmt::format("{}/{}.out", folder, host);
}

}  // namespace toprun::report
