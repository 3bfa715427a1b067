#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/os/console.h"
#include "base/process/command.h"
#include "base/text/shown_line.h"
#include "base/text/text.h"
#include "cli/verbs/jobs/dumps.h"
#include "cli/verbs/jobs/running_jobs.h"
#include "cli/verbs/run_verbs.h"
#include "observe/live/client.h"

namespace toprun::cli {
namespace {

using nlohmann::json;
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
    return fail(cannot_tell(id), remote_complaint(ended.err));
  }
  return print(ended.out);
}

}  // namespace

Result<int> run_stacks(const options::Call& call) {
  const std::string name = call.operand();
  const bool as_json = call.has(FlagId::json);
  if (const auto folder = call.text(FlagId::dumps)) {
    if (name.empty()) return show_dumps(*folder, as_json);
    return usage("--dumps and a job", "both show where the ranks are", "give only one of them");
  }
  const Asking asking{"stacks", cannot_tell(name)};
  const auto job = TRY(find_running_job(name, call.environment, asking));
  return job ? show(*job, as_json) : show_through_engine(name, call.environment, asking, as_json);
}

}  // namespace toprun::cli
