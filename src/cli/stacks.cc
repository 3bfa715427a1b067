#include "cli/stacks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/complaint.h"
#include "base/print.h"
#include "base/text.h"
#include "cli/dumps.h"
#include "hosts/address.h"
#include "jobs/job_report.h"
#include "jobs/job_words.h"
#include "live/client.h"
#include "live/folder.h"
#include "process/command.h"

namespace toprun::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using options::FlagId;

constexpr std::chrono::seconds name_limit{3};  // for a job to say its name
constexpr std::chrono::seconds places_limit{20};
constexpr std::size_t most_complaints = 2;
constexpr std::chrono::seconds remote_limit{60};  // with a step of the engine's around it

// A job of this user that runs with its root agent on this host.
struct RunningJob {
  live::Socket socket;
  std::string name;
  std::string id;  // the engine's; empty: it has none
};

std::optional<json> object_in(const Result<std::optional<live::Answer>>& answer) {
  if (!answer || !*answer || (*answer)->status != 200) return std::nullopt;
  json object = json::parse((*answer)->body, nullptr, false);
  return object.is_object() ? std::optional(std::move(object)) : std::nullopt;
}

std::vector<RunningJob> jobs_here(const Environment& environment) {
  std::vector<RunningJob> jobs;
  for (const live::Socket& socket : live::sockets(environment)) {
    const auto answer = live::ask(socket.path, {"GET", "/job"}, name_limit);
    // Nobody listens: its job was killed.
    if (answer && !*answer) ::unlink(socket.path.c_str());
    const auto object = object_in(answer);
    if (object) jobs.push_back({socket, object->value("job", ""), object->value("id", "")});
  }
  return jobs;
}

std::string names_of(const std::vector<RunningJob>& jobs) {
  std::vector<std::string> names;
  for (const RunningJob& job : jobs) {
    names.push_back(job.id.empty() ? fmt::to_string(job.socket.pid) : job.id);
  }
  return join(names, ", ");
}

bool is_named(const RunningJob& job, const std::string& name) {
  return job.id == name || job.name == name || fmt::to_string(job.socket.pid) == name;
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
  const auto answer = live::ask(job.socket.path, {"GET", "/stacks"}, places_limit);
  if (!answer) return std::unexpected(answer.error());
  const auto places = object_in(answer);
  if (!places) {
    return fail(fmt::format("cannot tell where the ranks of job {} stand", names_of({job})),
                *answer ? "it did not answer in time" : "it has ended");
  }
  return as_json ? print_bytes(places->dump(2) + '\n') : print(text_of(*places));
}

// By the file of --report, which names the root agent.
Result<int> show_by_report(const std::string& path, const Environment& environment, bool as_json) {
  const auto report = jobs::read_report(path);
  if (!report) return std::unexpected(report.error());
  const std::string what = "cannot ask the job of " + path;
  if (!*report || (*report)->root_pid == 0) {
    return fail(what, "it does not say where the job's root agent is",
                "give the file that --report names");
  }
  if ((*report)->exit_code) return fail(what, "the job has ended");
  if ((*report)->root_host != hosts::host_name()) {
    return fail(what,
                fmt::format("the job's root agent is on {}, this is {}", (*report)->root_host,
                            hosts::host_name()),
                fmt::format("run the same on {}", (*report)->root_host));
  }
  const std::vector<RunningJob> jobs = jobs_here(environment);
  const auto job = std::ranges::find(jobs, (*report)->root_pid,
                                     [](const RunningJob& one) { return one.socket.pid; });
  return job == jobs.end() ? fail(what, "the job has ended") : show(*job, as_json);
}

// The same verb on the node of the root agent, by the engine's own way.
Result<int> show_through_engine(const std::string& id, const Environment& environment,
                                bool as_json) {
  const auto queue = jobs::queue_of(id, environment);
  if (!queue) return std::unexpected(queue.error());
  const auto found = jobs::jobs_of(**queue, id);
  if (!found) return std::unexpected(found.error());
  const std::string what = fmt::format("cannot tell where the ranks of job {} stand", id);
  const auto job = std::ranges::find(*found, scheduler::JobState::running, &scheduler::Job::state);
  if (job == found->end()) {
    return fail(what, "it does not run", fmt::format("toprun status {} says more", id));
  }
  std::error_code error;
  std::vector<std::string> words = {"stacks"};
  if (as_json) words.emplace_back("--json");
  const auto command =
      (*queue)->command_beside_root(*job, fs::read_symlink("/proc/self/exe", error), words);
  if (!command) return std::unexpected(command.error());
  const auto ended = process::run(*command, environment, remote_limit);
  if (!ended) return std::unexpected(ended.error());
  if (ended->code != 0) return fail(what, join(complaint(ended->err, most_complaints), "; "));
  return print(ended->out);
}

}  // namespace

Result<int> run_stacks(const options::Call& call) {
  const Environment& environment = call.environment;
  const std::string name = call.operand();
  const bool as_json = call.has(FlagId::json);
  if (const auto folder = call.text(FlagId::dumps)) {
    if (name.empty()) return show_dumps(*folder, as_json);
    return usage("--dumps and a job", "either tells where ranks stand", "give only one of them");
  }
  std::error_code error;
  if (!name.empty() && fs::is_regular_file(name, error)) {
    return show_by_report(name, environment, as_json);
  }
  const std::vector<RunningJob> jobs = jobs_here(environment);
  if (name.empty()) {
    if (jobs.size() == 1) return show(jobs.front(), as_json);
    if (jobs.empty()) {
      return fail("no job of yours runs here",
                  "toprun stacks without a job asks the one whose root agent is on this host",
                  "name it: toprun stacks JOB");
    }
    return fail(fmt::format("{} jobs of yours run here", jobs.size()), names_of(jobs),
                "name one: toprun stacks JOB");
  }
  const auto job =
      std::ranges::find_if(jobs, [&](const RunningJob& one) { return is_named(one, name); });
  if (job != jobs.end()) return show(*job, as_json);
  const bool is_inside = environment.non_empty("SLURM_JOB_ID") == name;
  if (is_inside) {
    return fail(fmt::format("job {} cannot be asked", name), "its root agent is not on this node");
  }
  return show_through_engine(name, environment, as_json);
}

}  // namespace toprun::cli
