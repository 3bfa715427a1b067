#include "run/model/exit.h"

#include <fmt/format.h>

#include <array>
#include <csignal>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/os/timer.h"
#include "base/text/text.h"
#include "run/model/cause.h"

namespace toprun::model {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds longest_age = std::chrono::hours(24 * 365);
// From the moment when a rank closes its connections to its end.
constexpr std::chrono::seconds farewell{2};

// Texts (in lower case) of a rank whose peer or store went away or did not respond in time. Both
// parts must occur; the second may be empty.
struct LostPeer {
  std::string_view text;
  std::string_view also;
};

constexpr std::array lost_peer = {
    // Gloo (gloo/transport/tcp/pair.cc), toprun bench (bench/measure/lane.cc), NCCL (by remote
    // peer).
    LostPeer{"connection closed by ", "peer"},
    LostPeer{"connectfullmesh", "connection refused"},
    LostPeer{"connectfullmesh", "timed out"},
    LostPeer{"timed out waiting", "operation to complete"},
    LostPeer{"application timeout caused pair closure", ""},
    // errno texts, from any transport.
    LostPeer{"connection reset by peer", ""},
    LostPeer{"broken pipe", ""},
    LostPeer{"software caused connection abort", ""},
    LostPeer{"socket closed", ""},
    LostPeer{"socket is closed", ""},
    // NCCL (nccl.h, ncclGetErrorString) and PyTorch's watchdog (ProcessGroupNCCL.cpp).
    LostPeer{"remote process exited or there was a network error", ""},
    LostPeer{"remote process exiting prematurely", ""},
    LostPeer{"ncclremoteerror", ""},
    LostPeer{"nccl communicator was aborted", ""},
    LostPeer{"nccl communicator encountered error set by processgroupnccl", ""},
    LostPeer{"watchdog caught collective operation timeout", ""},
    // TCPStore's client (TCPStore.cpp, TCPStoreBackend, socket.cpp).
    LostPeer{"recvvalue failed", ""},
    LostPeer{"recvvector failed", ""},
    LostPeer{"sendbytes failed", ""},
    LostPeer{"failed to recv, got 0 bytes", ""},
    LostPeer{"connection was likely closed", ""},
    LostPeer{"the client socket has failed to connect", ""},
    LostPeer{"the client socket has timed out", ""},
    LostPeer{"wait timeout after", ""},
    LostPeer{"store", "closed"},
    LostPeer{"socket timeout", ""},
    // toprun bench (bench/measure/lane.cc). Other programs may report a transfer that stalls, too.
    LostPeer{"waiting for bytes from rank ", ": no data was transferred for "},
    LostPeer{" takes no more bytes: ", "no data was transferred for "},
};

bool mentions_a_lost_peer(std::string_view text) {
  const std::string lowered = lower(text);
  return std::ranges::any_of(lost_peer, [&](const LostPeer& pattern) {
    return lowered.find(pattern.text) != std::string::npos &&
           lowered.find(pattern.also) != std::string::npos;
  });
}

// Applies `mentions` to the worker's final error: the error file's message, else the traceback's
// exception, else the last lines.
bool final_error_matches(const WorkerExit& exit, bool (*mentions)(std::string_view)) {
  if (exit.error_file && !exit.error_file->message.empty()) {
    return mentions(exit.error_file->message);
  }
  if (!exit.exception.empty()) return mentions(exit.exception);
  return std::ranges::any_of(exit.last_output, mentions);
}

// Texts of Gloo (gloo/transport/tcp/unbound_buffer.cc) and of PyTorch's NCCL watchdog.
bool mentions_a_collective_timeout(std::string_view text) {
  const std::string lowered = lower(text);
  return (lowered.contains("timed out waiting") && lowered.contains("operation to complete")) ||
         lowered.contains("watchdog caught collective operation timeout");
}

// Gloo's check of the sizes (gloo/transport/tcp/pair.cc), and PyTorch's of the calls.
bool mentions_a_mismatch(std::string_view text) {
  return text.contains("op.preamble.length <= op.nbytes") || shows_both_calls(text);
}

SteadyTime time_of(const WorkerExit& exit) {
  return exit.error_file && exit.error_file->raised ? *exit.error_file->raised : exit.ended;
}

const WorkerExit* earliest(const std::vector<WorkerExit>& exits,
                           const std::function<bool(const WorkerExit&)>& requested) {
  const WorkerExit* best = nullptr;
  for (const WorkerExit& exit : exits) {
    if (requested(exit) && (best == nullptr || time_of(exit) < time_of(*best))) best = &exit;
  }
  return best;
}

// The function of torch.distributed in which a traceback ends: its frames in the file that has the
// collectives; the last is the innermost ("wrapper" stands around each).
std::string collective_in(const std::vector<std::string>& output) {
  constexpr std::string_view file = "distributed_c10d.py\", line ";
  constexpr std::string_view before_name = ", in ";
  std::string call;
  for (const std::string_view line : output) {
    const std::size_t frame = line.find(file);
    const std::size_t name = frame == line.npos ? frame : line.find(before_name, frame);
    if (name == line.npos) continue;
    const std::string_view found = trim(line.substr(name + before_name.size()));
    if (found != "wrapper") call = found;
  }
  return call;
}

// Whether its last error is of this class.
bool raised(const WorkerExit& exit, std::string_view error) {
  const bool has_file = exit.error_file && !exit.error_file->message.empty();
  const std::string_view text = has_file ? exit.error_file->message : exit.exception;
  return text == error || text.starts_with(fmt::format("{}:", error));
}

void cut(std::string& text, std::size_t most) {
  if (text.size() > most) text.resize(most);
}

// What has its default value is not on the wire: nearly all ranks end with nothing to tell.
template <class T>
void put(nlohmann::json& json, const char* name, const T& value) {
  if (value != T()) json[name] = value;
}

template <class T>
void take(const nlohmann::json& json, const char* name, T& value) {
  if (const auto found = json.find(name); found != json.end()) found->get_to(value);
}

std::int64_t age_ms(SteadyTime time, SteadyTime now) {
  return std::chrono::duration_cast<milliseconds>(now - time).count();
}

}  // namespace

void to_json(nlohmann::json& json, const WorkerExit& exit) {
  const SteadyTime now = SteadyClock::now();
  json["host"] = exit.host;
  json["rank"] = exit.rank;
  json["age_ms"] = age_ms(exit.ended, now);
  put(json, "local_rank", exit.local_rank);
  put(json, "pid", exit.pid);
  put(json, "program", exit.program);
  put(json, "exit_code", exit.exit_code);
  put(json, "signal", exit.signal);
  put(json, "ours", exit.ours);
  put(json, "exception", exit.exception);
  put(json, "last_output", exit.last_output);
  put(json, "kernel_evidence", exit.kernel_evidence);
  if (!exit.error_file) return;
  auto& file =
      json["error_file"] = {{"path", exit.error_file->path}, {"message", exit.error_file->message}};
  if (exit.error_file->raised) file["age_ms"] = age_ms(*exit.error_file->raised, now);
}

void from_json(const nlohmann::json& json, WorkerExit& exit) {
  const SteadyTime now = SteadyClock::now();
  const auto time = [&](const nlohmann::json& age) {
    return now -
           milliseconds(std::clamp<std::int64_t>(age.get<std::int64_t>(), 0, longest_age.count()));
  };
  exit = {};
  json.at("host").get_to(exit.host);
  json.at("rank").get_to(exit.rank);
  exit.ended = time(json.at("age_ms"));
  take(json, "local_rank", exit.local_rank);
  take(json, "pid", exit.pid);
  take(json, "program", exit.program);
  take(json, "exit_code", exit.exit_code);
  take(json, "signal", exit.signal);
  take(json, "ours", exit.ours);
  take(json, "exception", exit.exception);
  take(json, "last_output", exit.last_output);
  take(json, "kernel_evidence", exit.kernel_evidence);
  cut(exit.host, longest_text_bytes);
  cut(exit.program, longest_text_bytes);
  cut(exit.exception, longest_text_bytes);
  cut(exit.kernel_evidence, longest_text_bytes);
  if (exit.last_output.size() > last_output_lines) exit.last_output.resize(last_output_lines);
  for (std::string& line : exit.last_output) cut(line, last_output_line_bytes);
  exit.exit_code = std::clamp(exit.exit_code, 0, highest_exit_code);
  exit.signal = std::clamp(exit.signal, 0, NSIG - 1);
  const auto file = json.find("error_file");
  if (file == json.end()) return;
  exit.error_file = ErrorFile{file->at("path"), file->at("message"), std::nullopt};
  cut(exit.error_file->path, longest_text_bytes);
  cut(exit.error_file->message, longest_text_bytes);
  if (file->contains("age_ms")) exit.error_file->raised = time(file->at("age_ms"));
}

bool tells_only_of_a_lost_peer(const WorkerExit& exit) {
  // A crash or a kill is an independent event, whatever was printed before. abort() is not: C++
  // code and NCCL's watchdog call it for an error that they have just printed.
  const bool tells_an_error =
      !exit.exception.empty() || (exit.error_file && !exit.error_file->message.empty());
  if (!tells_an_error && exit.signal != 0 && exit.signal != SIGABRT) return false;
  return final_error_matches(exit, mentions_a_lost_peer);
}

const WorkerExit* root_cause(const std::vector<WorkerExit>& exits) {
  const auto candidate = [](const WorkerExit& exit) { return exit.failed() && !exit.ours; };
  const auto had_failed_when_stopped = [](const WorkerExit& exit) {
    return exit.failed() && exit.ours && (!exit.exception.empty() || exit.error_file);
  };
  const auto first_hand = [](const auto& requested) {
    return [requested](const WorkerExit& exit) {
      return requested(exit) && !tells_only_of_a_lost_peer(exit);
    };
  };
  if (const auto* cause = earliest(exits, first_hand(candidate))) return cause;
  if (const auto* cause = earliest(exits, first_hand(had_failed_when_stopped))) return cause;
  return earliest(exits, candidate);
}

std::optional<MissedCollective> missed_collective(const std::vector<WorkerExit>& exits) {
  std::size_t victims = 0;
  MissedCollective missed;
  for (const WorkerExit& exit : exits) {
    if (exit.failed() && !exit.ours) {
      if (!tells_only_of_a_lost_peer(exit)) return std::nullopt;
      ++victims;
    } else if (exit.ours && exit.exception.empty() && !exit.error_file) {
      missed.absent.push_back(&exit);
    }
  }
  missed.waited = earliest(exits, [](const WorkerExit& exit) {
    return exit.failed() && !exit.ours && final_error_matches(exit, mentions_a_collective_timeout);
  });
  const bool tells =
      missed.waited != nullptr && !missed.absent.empty() && missed.absent.size() <= victims;
  if (!tells) return std::nullopt;
  std::ranges::sort(missed.absent, {}, &WorkerExit::rank);
  return missed;
}

std::optional<EndedEarly> ended_early(const std::vector<WorkerExit>& exits) {
  const auto fails = [](const WorkerExit& exit) { return exit.failed() && !exit.ours; };
  EndedEarly early;
  early.victim = earliest(exits, fails);
  if (early.victim == nullptr) return std::nullopt;
  early.call = collective_in(early.victim->last_output);
  for (const WorkerExit& exit : exits) {
    if (fails(exit) && !tells_only_of_a_lost_peer(exit)) return std::nullopt;
    const bool ended = !exit.failed() && !exit.ours;
    if (ended && time_of(exit) <= time_of(*early.victim) + farewell) early.ranks.push_back(&exit);
    const bool counts = early.call.empty() || collective_in(exit.last_output) == early.call;
    if (!ended && counts) ++early.others;
  }
  if (early.ranks.empty()) return std::nullopt;
  std::ranges::sort(early.ranks, {}, &WorkerExit::rank);
  return early;
}

bool shows_both_calls(std::string_view text) {
  return text.contains("Detected mismatch between collectives on ranks");
}

bool tells_of_a_mismatch(const WorkerExit& exit) {
  return final_error_matches(exit, mentions_a_mismatch);
}

std::optional<Mismatch> mismatch(const std::vector<WorkerExit>& exits) {
  const WorkerExit* const noticed = root_cause(exits);
  if (noticed == nullptr || !tells_of_a_mismatch(*noticed)) return std::nullopt;
  Mismatch found{noticed, {}};
  for (const WorkerExit& exit : exits) {
    const std::string place = users_place(exit.last_output);
    if (!place.empty()) found.places[place].push_back(exit.rank);
  }
  for (auto& [place, ranks] : found.places) std::ranges::sort(ranks);
  return found;
}

std::string refusal_of_arguments(const WorkerExit& exit) {
  if (exit.signal != 0 || exit.exit_code != 2) return {};
  const auto shows_usage = [](std::string_view line) { return line.starts_with("usage: "); };
  if (std::ranges::none_of(exit.last_output, shows_usage)) return {};
  const auto error = std::ranges::find_if(
      exit.last_output, [](std::string_view line) { return line.contains(": error: "); });
  return error == exit.last_output.end() ? "" : *error;
}

bool is_of_the_program_s_text(const WorkerExit& exit) {
  constexpr std::array errors = {"SyntaxError", "IndentationError", "TabError"};
  return std::ranges::any_of(errors, [&](const char* error) { return raised(exit, error); }) ||
         !refusal_of_arguments(exit).empty();
}

bool tells_of_a_missing_program(std::string_view line) {
  constexpr std::array<std::string_view, 4> errors = {
      "No module named ", "Error while finding module specification for '", "can't open file '",
      "can't find '__main__' module in '"};
  const std::size_t colon = line.find(": ");
  if (colon == std::string_view::npos) return false;
  const std::string_view path = line.substr(0, colon);
  const std::string_view name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  if (!name.starts_with("python") || name.contains(' ')) return false;
  return std::ranges::any_of(
      errors, [&](std::string_view error) { return line.substr(colon + 2).starts_with(error); });
}

bool fails_in_every_rank(const WorkerExit& exit) {
  return is_of_the_program_s_text(exit) ||
         (exit.signal == 0 && tells_of_a_missing_program(exit.exception));
}

bool is_of_an_import(const WorkerExit& exit) {
  return raised(exit, "ModuleNotFoundError") || raised(exit, "ImportError");
}

int cause_code(const WorkerExit& cause) {
  if (!cause.ours) return cause.code();
  return cause.signal == 0 ? cause.exit_code : exit_failure;
}

}  // namespace toprun::model
