#include "run/model/cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/os/signals.h"
#include "base/text/text.h"
#include "machine/stacks/frame.h"

namespace toprun::model {
namespace {

std::string_view without_rank(std::string_view line) {
  if (!line.starts_with("[rank")) return line;
  const std::size_t end = line.find("]:");
  return end == line.npos ? line : line.substr(end + 2);
}

// Not a file of the user's, or one without a name that helps: "<string>".
bool is_elsewhere(std::string_view file) {
  return file.starts_with('<') || stacks::is_of_library(file);
}

using nlohmann::json;

constexpr std::array<std::string_view, 16> cause_names = {
    "exit",        "signal",    "node_lost",  "agent_lost", "join_timeout", "refused",
    "interrupted", "preempted", "time_limit", "hang",       "launcher",     "grown",
    "ended_early", "mismatch",  "requeued",   "other"};

// "SIGSEGV (segmentation fault)".
std::string signal_words(int signal) {
  const char* const description = ::sigdescr_np(signal);
  if (description == nullptr || signal == SIGKILL) return signal_name(signal);
  return fmt::format("{} ({})", signal_name(signal), lower(description));
}

CauseKind kind_called(std::string_view name) {
  const auto found = std::ranges::find(cause_names, name);
  if (found == cause_names.end()) return CauseKind::other;
  return static_cast<CauseKind>(found - cause_names.begin());
}

// "AssertionError", of "AssertionError: Torch not compiled with CUDA enabled".
std::string type_of_exception(const Outside& message) {
  const std::string& text = message.raw();
  const std::string_view type = std::string_view(text).substr(0, text.find_first_of(": \n"));
  return printable(type);
}

// "rank 3 on n4", "node n4", "" …
std::string subject(const Cause& cause) {
  if (cause.rank) return fmt::format("rank {}{}", *cause.rank, on(cause.node));
  return cause.node.empty() ? "the job" : fmt::format("node {}", cause.node);
}

}  // namespace

std::optional<Frame> frame_in(std::string_view text) {
  constexpr std::string_view before_file = "File \"", before_line = "\", line ",
                             before_name = ", in ";
  text = trim(without_rank(text));
  const std::size_t line = text.find(before_line);
  if (!text.starts_with(before_file) || line == text.npos) return std::nullopt;
  Frame frame;
  frame.file = text.substr(before_file.size(), line - before_file.size());
  const std::string_view rest = text.substr(line + before_line.size());
  frame.line = rest.substr(0, rest.find(','));
  const std::size_t name = text.find(before_name, line);
  if (name != text.npos) frame.function = text.substr(name + before_name.size());
  return frame;
}

std::string users_place(const Frame& frame) {
  const bool is_named = !frame.function.empty() && !frame.function.starts_with('<');
  return fmt::format("{}, line {}{}", printable(frame.file), printable(frame.line),
                     is_named ? ", in " + printable(frame.function) : "");
}

std::string users_place(std::span<const std::string> output) {
  std::string place;
  for (const std::string& line : output) {
    const auto frame = frame_in(line);
    if (frame && !is_elsewhere(frame->file)) place = users_place(*frame);
  }
  return place;
}

bool was_caught_nowhere(std::string_view exception, std::span<const std::string> output) {
  const std::string_view first = trim(exception.substr(0, exception.find('\n')));
  if (first.empty()) return false;
  bool in_traceback = false;
  for (const std::string_view line : output) {
    const std::string_view text = without_rank(line);
    if (text.size() == line.size()) continue;
    if (frame_in(line)) in_traceback = true;
    if (in_traceback && trim(text) == first) return true;
  }
  return false;
}

std::string on(const Outside& node) {
  return node.empty() ? "" : fmt::format(" on {}", node);
}

std::string_view name_of(CauseKind kind) {
  return cause_names.at(static_cast<std::size_t>(kind));
}

Cause cause_of(const WorkerExit& exit) {
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
    cause.exit_code = cause_code(exit);
  }
  cause.message = exit.exception.empty() ? refusal_of_arguments(exit) : exit.exception;
  if (exit.error_file) {
    cause.error_file = exit.error_file->path;
    if (!exit.error_file->message.empty()) cause.message = exit.error_file->message;
  }
  cause.last_output.assign(exit.last_output.begin(), exit.last_output.end());
  cause.kernel_evidence = exit.kernel_evidence;
  return cause;
}

json cause_json(const Cause& cause) {
  return {{"kind", name_of(cause.kind)},      {"what", sentence(cause)},
          {"rank", or_null(cause.rank)},      {"local_rank", or_null(cause.local_rank)},
          {"node", or_null(cause.node)},      {"exit_code", or_null(cause.exit_code)},
          {"signal", or_null(cause.signal)},  {"message", cause.message},
          {"next", or_null(cause.next)},      {"error_file", or_null(cause.error_file)},
          {"last_output", cause.last_output}, {"kernel_evidence", or_null(cause.kernel_evidence)}};
}

std::optional<Cause> cause_in(const json& object) {
  Cause cause;
  cause.what = text_at(object, "what");
  cause.message = text_at(object, "message");
  cause.next = text_at(object, "next");
  if (cause.what.empty() && cause.message.empty()) return std::nullopt;
  cause.kind = kind_called(text_at(object, "kind"));
  cause.rank = int_at(object, "rank");
  cause.local_rank = int_at(object, "local_rank");
  cause.node = text_at(object, "node");
  cause.exit_code = int_at(object, "exit_code");
  cause.signal = int_at(object, "signal");
  cause.error_file = text_at(object, "error_file");
  cause.kernel_evidence = text_at(object, "kernel_evidence");
  for (std::string& line : texts_at(object, "last_output")) {
    if (cause.last_output.size() == last_output_lines) break;
    cause.last_output.emplace_back(std::move(line));
  }
  return cause;
}

std::string short_text(const Cause& cause) {
  const std::string what = sentence(cause);
  const std::string message = printable(first_line(cause.message.raw()));
  if (message.empty()) return what;
  // The engine's message contains the sentence.
  if (cause.kind == CauseKind::time_limit) return message;
  return fmt::format("{}: {}", what, message);
}

bool is_at_exit_of_python(const Cause& cause) {
  const bool is_of_native_code =
      cause.signal == SIGABRT || cause.signal == SIGSEGV || cause.signal == SIGBUS;
  if (cause.kind != CauseKind::signal || !is_of_native_code) return false;
  std::vector<std::string> output;
  for (const Outside& line : cause.last_output) output.push_back(line.raw());
  return was_caught_nowhere(cause.message.raw(), output);
}

bool is_perhaps_at_exit_of_python(const Cause& cause) {
  if (cause.kind != CauseKind::signal || cause.signal != SIGABRT) return false;
  const std::string& program = cause.program.raw();
  const std::string_view name =
      std::string_view(program).substr(program.rfind('/') + 1);  // npos: 0
  if (!name.starts_with("python") || !cause.message.empty()) return false;
  const auto shows_python = [](const Outside& line) {  // a traceback, or that of faulthandler
    return frame_in(line.raw()).has_value();
  };
  const auto is_of_terminate = [](const Outside& line) {
    return line.raw() == "terminate called without an active exception";  // libstdc++
  };
  return std::ranges::any_of(cause.last_output, is_of_terminate) &&
         std::ranges::none_of(cause.last_output, shows_python);
}

std::string sentence(const Cause& cause) {
  if (!cause.what.empty()) return cause.what.shown();
  const std::string at = on(cause.node);
  switch (cause.kind) {
    case CauseKind::exit:
      return fmt::format("{} ended with exit code {}", subject(cause), cause.exit_code.value_or(1));
    case CauseKind::signal:
      if (is_at_exit_of_python(cause)) {
        return fmt::format("{} failed with {} (and {} as Python exited)", subject(cause),
                           type_of_exception(cause.message), signal_name(*cause.signal));
      }
      return fmt::format("{} was killed by {}{}", subject(cause),
                         signal_words(cause.signal.value_or(0)),
                         is_perhaps_at_exit_of_python(cause) ? ", perhaps as Python exited" : "");
    case CauseKind::node_lost:
      return cause.node.empty() ? "the root agent lost all other nodes"
                                : subject(cause) + " was lost";
    case CauseKind::agent_lost:
      return "the agent" + at + " was lost";
    case CauseKind::join_timeout:
      return "too few nodes joined in time";
    case CauseKind::refused:
      return subject(cause) + " was refused";
    case CauseKind::interrupted:
      if (!cause.node.empty()) return subject(cause) + " was asked to leave";
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
    case CauseKind::mismatch:
      return fmt::format("ranks made different calls of a collective, as {} noticed",
                         subject(cause));
    case CauseKind::ended_early:
      return fmt::format("{} had ended with 0 while {}", cause.rank ? subject(cause) : "some ranks",
                         cause.meanwhile);
    case CauseKind::other:
      return subject(cause) + " failed";
  }
  return {};
}

std::string sentence_with_code(const Cause& cause, int exit_code) {
  if (cause.kind == CauseKind::exit && cause.exit_code == exit_code) return sentence(cause);
  return fmt::format("{}, exit code {}", sentence(cause), exit_code);
}

}  // namespace toprun::model
