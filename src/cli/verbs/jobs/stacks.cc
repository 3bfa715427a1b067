#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/os/console.h"
#include "base/os/files.h"
#include "base/process/command.h"
#include "base/text/error.h"
#include "base/text/shown_line.h"
#include "base/text/text.h"
#include "cli/jobs/known_job.h"
#include "cli/verbs/jobs/running_jobs.h"
#include "cli/verbs/run_verbs.h"
#include "decide/recorder/recorder_verdict.h"
#include "observe/live/client.h"

namespace toprun::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using recorder::Finding;

constexpr std::size_t most_dumps = 100'000;
constexpr std::size_t most_dump_bytes = 64u << 20;
constexpr std::size_t most_reported = 8;  // files that are passed over
constexpr std::int64_t most_ranks = 100'000'000;

// comm_lib_trace_rank_17, nccl_trace_rank_17.pkl, rank_17.json, or whatever stem the user chose.
std::optional<int> rank_of(std::string_view name) {
  for (const std::string_view ending : {".pkl", ".pickle", ".json"}) {
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  const std::size_t last = name.find_last_not_of("0123456789");
  const auto rank = parse_int(last == std::string_view::npos ? name : name.substr(last + 1));
  if (!rank || *rank >= most_ranks) return std::nullopt;
  return static_cast<int>(*rank);
}

struct PassedOver {
  std::string file, why;
};

struct Dumps {
  std::map<int, recorder::Dump> by_rank;
  std::vector<PassedOver> passed_over;
};

// Files whose names end with a rank, in the order of their names.
Result<std::vector<fs::path>> candidates(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const bool fits = rank_of(entry.path().filename().string()).has_value();
    std::error_code of_this;
    if (fits && entry.is_regular_file(of_this) && files.size() < most_dumps) {
      files.push_back(entry.path());
    }
  }
  if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory) {
    return usage("--dumps " + folder, error.message(), "check the path");
  }
  if (error) return fail("cannot read " + folder, error.message());
  std::ranges::sort(files);
  return files;
}

// Of two files of a rank the later one counts: a time-out writes over nothing that has another
// name.
bool is_later(const fs::path& file, const fs::path& than) {
  std::error_code error;
  const auto its = fs::last_write_time(file, error);
  return !error && its > fs::last_write_time(than, error) && !error;
}

Result<recorder::Dump> read_dump(const fs::path& file) {
  const auto bytes = TRY(read_plain_file(file, most_dump_bytes));
  return recorder::parse_dump(bytes);
}

Result<Dumps> read_dumps(const std::string& folder) {
  const auto files = TRY(candidates(folder));
  Dumps dumps;
  std::map<int, fs::path> taken;
  for (const fs::path& file : files) {
    auto dump = read_dump(file);
    if (!dump) {
      dumps.passed_over.push_back({file.string(), dump.error().line()});
      continue;
    }
    const int rank = *rank_of(file.filename().string());
    const auto [other, is_new] = taken.try_emplace(rank, file);
    if (!is_new) {
      const bool replaces = is_later(file, other->second);
      const fs::path& old = replaces ? other->second : file;
      const fs::path& kept = replaces ? file : other->second;
      dumps.passed_over.push_back(
          {old.string(),
           fmt::format("for rank {}, toprun uses the dump in {}", rank, kept.filename().string())});
      if (!replaces) continue;
      other->second = file;
    }
    dumps.by_rank[rank] = *std::move(dump);
  }
  if (!dumps.by_rank.empty()) return dumps;
  if (!dumps.passed_over.empty()) {
    const PassedOver& first = dumps.passed_over.front();
    return usage(folder + ": this folder contains no dump of PyTorch's flight recorder",
                 fmt::format("{}: {}", first.file, first.why),
                 "the names of dumps end with a rank, as in comm_lib_trace_rank_17");
  }
  return usage(folder + ": this folder contains no dump of PyTorch's flight recorder",
               "the names of dumps end with a rank, as in comm_lib_trace_rank_17 or rank_17.json",
               "see TORCH_FR_DUMP_TEMP_FILE in the job's environment");
}

void tell_passed_over(const std::vector<PassedOver>& files) {
  for (std::size_t i = 0; i < std::min(files.size(), most_reported); ++i) {
    say(Error("ignored " + files[i].file, files[i].why).line());
  }
  if (files.size() > most_reported) {
    say(fmt::format("ignored {} more files", files.size() - most_reported));
  }
}

json members_json(const Finding& finding) {
  if (finding.members.empty()) return nullptr;
  return recorder::ranks_of(finding.members);
}

json json_of(const Finding& finding) {
  return {{"kind", recorder::name_of(finding.kind)},
          {"group", finding.group},
          {"description", finding.description},
          {"members", members_json(finding)},
          {"sequence", finding.sequence},
          {"operation", finding.operation},
          {"ranks", finding.ranks},
          {"others", finding.others},
          {"expected", finding.expected},
          {"got", finding.got},
          {"blames", finding.blames},
          {"text", recorder::text_of(finding)}};
}

json json_of(const Dumps& dumps, const std::vector<Finding>& findings) {
  json all = json::array();
  for (const Finding& finding : findings) all.push_back(json_of(finding));
  json passed_over = json::array();
  for (const PassedOver& one : dumps.passed_over) {
    passed_over.push_back({{"file", one.file}, {"why", one.why}});
  }
  return {{"schema", "toprun.dumps/1"},
          {"ranks", dumps.by_rank.size()},
          {"findings", std::move(all)},
          {"passed_over", std::move(passed_over)}};
}

// "group 4 (tp, ranks 2-3)": the name alone says little, and the default group needs no more.
std::string group_text(const Finding& finding) {
  if (finding.group.empty()) return "";
  std::vector<std::string> more;
  if (!recorder::is_default(finding.group, finding.description)) {
    if (!finding.description.empty()) more.push_back(finding.description);
    const auto ranks = recorder::ranks_of(finding.members);
    if (!ranks.empty()) more.push_back("ranks " + ranges_text(ranks, recorder::most_ranges));
  }
  return fmt::format("group {}{}: ", finding.group,
                     more.empty() ? "" : fmt::format(" ({})", join(more, ", ")));
}

std::string text_of(const Dumps& dumps, const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += printable(group_text(finding) + recorder::text_of(finding)) + '\n';
  }
  if (!text.empty()) return text;
  const bool some_called = std::ranges::any_of(
      dumps.by_rank, [](const auto& dump) { return !dump.second.entries.empty(); });
  return some_called ? "all ranks made the same calls, and all calls have ended\n"
                     : "no rank has recorded a call\n";
}

// `toprun stacks --dumps DIR`: shows the dumps that PyTorch's flight recorder wrote for each rank
// after a time-out, and which rank caused the time-out. The number at the end of a dump's file name
// is the rank.
Result<int> show_dumps(const std::string& folder, bool as_json) {
  const auto dumps = TRY(read_dumps(folder));
  const std::vector<Finding> findings = recorder::judge(recorder::summary_of(dumps.by_rank));
  tell_passed_over(dumps.passed_over);
  if (as_json) return print_bytes(json_text(json_of(dumps, findings), 2) + '\n');
  return print(text_of(dumps, findings));
}

using options::FlagId;

constexpr std::chrono::seconds places_limit{20};
constexpr std::chrono::seconds remote_limit{60};  // with a step of the engine's around it

std::string cannot_tell(const std::string& job) {
  return fmt::format("cannot tell where the ranks of job {} are", job);
}

std::string text_of(const json& places) {
  const auto lines = places.find("lines");
  if (lines == places.end() || !lines->is_array() || lines->empty()) {
    return "no rank runs now\n";
  }
  std::string text;
  for (const json& line : *lines) text += printable(line.get<std::string>()) + '\n';
  return text;
}

Result<int> show(const RunningJob& job, bool as_json) {
  const auto answer = TRY(live::ask(job.socket.path, {"GET", "/stacks"}, places_limit));
  if (!answer) return fail(cannot_tell(name_of(job)), "the job has ended");
  const json places = answer->status == 200 ? json_in(answer->body) : json();
  if (!places.is_object()) return fail(cannot_tell(name_of(job)), "the job did not answer in time");
  return as_json ? print_bytes(json_text(places, 2) + '\n') : print(text_of(places));
}

// What toprun said there; without the engine's line about its exit code, and our own name.
std::string remote_complaint(std::string_view err) {
  constexpr std::string_view own = "toprun: ";
  const std::vector<std::string> lines = complaint(err, most_complaints);
  const auto ours =
      std::ranges::find_if(lines, [&](const std::string& line) { return line.starts_with(own); });
  return ours == lines.end() ? join(lines, "; ") : ours->substr(own.size());
}

// The same verb on the node of the root agent, by the engine's own way.
Result<int> show_through_engine(const std::string& id, const Environment& environment,
                                const Asking& asking, bool as_json) {
  std::vector<std::string> words = {"stacks"};
  if (as_json) words.emplace_back("--json");
  const auto command = TRY(command_beside_root(id, environment, asking, words));
  const auto ended = TRY(process::run(command, environment, remote_limit));
  if (ended.code != 0) {
    std::error_code error;
    const bool is_by_ssh = fs::is_regular_file(id, error) && ended.code == code_of_ssh;
    return fail(cannot_tell(id), remote_complaint(ended.err),
                is_by_ssh ? instead_of_ssh(id, "stacks", environment) : std::string());
  }
  return print(ended.out);
}

}  // namespace

Result<int> run_stacks(const options::Call& call) {
  const std::string name = TRY(jobs::name_at(call.operand(), call.environment));
  const bool as_json = call.has(FlagId::json);
  if (const auto folder = call.text(FlagId::dumps)) {
    if (name.empty()) return show_dumps(*folder, as_json);
    return usage("--dumps and a job", "only one of them can be read", "give only one of them");
  }
  const Asking asking{"stacks", cannot_tell(name)};
  const auto job = TRY(find_running_job(name, call.environment, asking));
  return job ? show(*job, as_json) : show_through_engine(name, call.environment, asking, as_json);
}

}  // namespace toprun::cli
