#include "cli/pods/kept_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/os/console.h"
#include "base/process/child.h"
#include "base/process/command.h"
#include "base/text/text.h"
#include "cli/jobs/job_files.h"
#include "engines/login/login.h"
#include "engines/queue.h"
#include "node/plan/kept_run.h"

namespace toprun::pods {
namespace {

constexpr int no_such_run = 3;
constexpr std::size_t most_line_bytes = 64 * 1024;
constexpr std::size_t longest_run = 32;
constexpr std::size_t own_length = 8;  // of the ids that toprun gives

// Finds the run's folder $f and the process $p, in a folder that is this user's. Where nothing is
// said, the newest run is meant.
constexpr std::string_view find_run = R"sh(d={folder}; r={run}
[ -n "$r" ] || r=$(ls -t "$d" 2>/dev/null | head -n 1)
f=$d/$r; [ -n "$r" ] && [ -O "$d" ] && [ -e "$f/pid" ] || exit {none}
p=$(cat "$f/pid")
)sh";
// Each cat goes on where the last one stopped, because they share an open file; the last begins
// after the end, so that no line is lost. Ends also when its standard input does: the reader is
// gone. What stays behind would keep the connection open.
constexpr std::string_view follow_output = R"sh(e=; exec 3<&0 4<"$f/out"
{ while read -r x; do :; done <&3; kill $$; } >/dev/null 2>&1 4<&- & b=$!
until [ -n "$e" ]; do
  { [ -e "$f/code" ] || ! kill -0 "$p" 2>/dev/null; } && e=1
  cat <&4
  [ -n "$e" ] || sleep 0.2
done
kill $b
[ -e "$f/code" ] && echo "toprun-login ended with $(cat "$f/code")" >&2
)sh";

// The folder as the pod's shell finds it, where TMPDIR may be another's than here.
std::string script(const RunId& id, std::string_view then) {
  return fmt::format(fmt::runtime(find_run),
                     fmt::arg("folder", plan::kept_runs_folder("${TMPDIR:-/tmp}", "$(id -u)")),
                     fmt::arg("run", id.run), fmt::arg("none", no_such_run)) +
         std::string(then);
}

std::string text_of(const RunId& id) {
  return id.run.empty() ? "run in " + id.job : fmt::format("run {}/{}", id.job, id.run);
}

struct RunTarget {
  plan::JobOfPods found;
  std::vector<std::string> command;  // executes the words after it in the job's first pod
  const std::string& pod() const { return found.pods.front().name; }
};

Result<RunTarget> target_of(const RunId& id, const Environment& environment) {
  auto found = TRY(plan::find_pods(text_of(id), id.job, environment));
  if (found.pods.empty()) {
    return fail(text_of(id), "the run's job has no pods", "see toprun status " + id.job);
  }
  const engines::JobPod& first = found.pods.front();
  if (!first.trouble.empty()) {
    return fail(text_of(id),
                fmt::format("the run's files are in pod {}, and this pod does not run: {}",
                            first.name, first.trouble),
                "see toprun status " + id.job);
  }
  auto command = found.queue->exec_command(found.job, first, engines::Terminal::no);
  return RunTarget{std::move(found), std::move(command)};
}

Error no_run(const RunId& id, const RunTarget& target) {
  return {text_of(id), fmt::format("pod {} has no run with this id", target.pod()),
          "a run's files are lost when its pod is deleted", exit_failure};
}

std::vector<std::string> shell(const RunTarget& target, std::string text) {
  std::vector<std::string> words = target.command;
  words.insert(words.end(), {"sh", "-c", std::move(text)});
  return words;
}

// Runs it to its end and returns what it printed.
Result<std::string> answer(const RunId& id, std::string_view then, const Environment& environment) {
  const auto limit = TRY(engines::engine_timeout_of(environment));
  const auto target = TRY(target_of(id, environment));
  auto done = TRY(process::run(shell(target, script(id, then)), environment, limit));
  if (done.code == 0) return std::move(done.out);
  if (done.code == no_such_run) return std::unexpected(no_run(id, target));
  const engines::LoginTrouble trouble = engines::exec_trouble(done.err);
  return fail(text_of(id), trouble.why, trouble.fix);
}

struct Said {
  std::string lines;  // of the engine's program
  std::optional<int> code_of_run;
  int code = 0;
};

// Runs it with its output on ours, until its end or ours.
Result<Said> show(const std::vector<std::string>& words, const Environment& environment) {
  const auto program = process::find_program(words.front(), environment);
  if (!program) return fail(words.front(), "the program is not in PATH");
  auto in = process::make_pipe();
  auto err = TRY(in ? process::make_pipe() : std::unexpected(in.error()));
  const auto pid =
      process::start(*program, words, environment, {.in = in->read.get(), .err = err.write.get()});
  err.write.reset();
  in->read.reset();
  if (!pid) return std::unexpected(pid.error());
  Said said;
  process::read_lines(err.read.get(), most_line_bytes, [&](std::string_view line) {
    std::string text = std::string(line) + '\n';
    if (!said.code_of_run) said.code_of_run = engines::take_login_end(text);
    said.lines += text;
  });
  said.code = process::exit_code(process::await_end(*pid));
  process::end_at_once(said.code);
  return said;
}

Folder folder_of(const std::string& word) {
  std::error_code error;
  const std::string folder = word.substr(0, word.find('/'));
  if (!std::filesystem::is_directory(folder, error)) return Folder::none;
  const auto jobs = jobs::files_beside(folder + "/any", {});
  const bool has_jobs = std::ranges::any_of(jobs, [](const jobs::FoundFiles& job) {
    return !job.files.own.empty() || jobs::is_there(job.files.folder);
  });
  return has_jobs || jobs::is_there(word) ? Folder::of_jobs : Folder::other;
}

}  // namespace

std::optional<Result<RunId>> parse_run_id(std::string_view text, Folder folder) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  RunId id{std::string(text.substr(0, slash)), std::string(text.substr(slash + 1))};
  const bool has_digits_alone = id.run.find_first_not_of("0123456789") == std::string::npos;
  const bool is_hex = id.run.find_first_not_of("0123456789abcdef") == std::string::npos;
  const bool has_own_length = id.run.size() == own_length;
  const bool is_of_slurm = has_digits_alone && !id.run.empty() && !id.run.starts_with('0') &&
                           !has_own_length;  // logs/17
  const bool is_path = slash == 0 || text.starts_with('.') || text.ends_with(".json") ||
                       id.run.contains('/') || is_of_slurm ||
                       (folder != Folder::none && (!is_hex || !has_own_length)) ||
                       (folder == Folder::of_jobs && has_digits_alone);
  if (is_path) return std::nullopt;
  if (is_hex && id.run.size() <= longest_run) return id;
  const std::string_view name = engines::name_behind_kind(text);
  return usage(fmt::format("run {}", printable(text)),
               "the run's id does not have the form JOB/RUN",
               name.empty() ? std::string("toprun run --in JOB --detach prints the id of its run")
                            : fmt::format("for the job {0}, write {0} without its kind", name));
}

std::optional<Result<RunId>> run_id_in(const std::string& word) {
  return parse_run_id(word, folder_of(word));
}

Result<int> show_run(const RunId& id, bool follow, const Environment& environment) {
  const auto target = TRY(target_of(id, environment));
  const auto said =
      TRY(show(shell(target, script(id, follow ? follow_output : "cat \"$f/out\"")), environment));
  if (said.code_of_run) return *said.code_of_run;
  if (said.code == no_such_run) return std::unexpected(no_run(id, target));
  if (said.code == 0 && !follow) return 0;
  if (said.code == 0) {
    return fail(text_of(id), "the run's agent was killed and could not report how the run ended",
                "see toprun status " + id.job);
  }
  const engines::LoginTrouble trouble = engines::exec_trouble(said.lines);
  return fail(text_of(id), trouble.why,
              "the run continues while its pods run: repeat the command to see more");
}

Result<bool> keeps_a_run(const std::string& job, const Environment& environment) {
  const auto found = TRY(plan::find_pods("job " + job, job, environment));
  if (found.pods.empty() || !found.pods.front().sleeps) return false;
  if (!found.pods.front().trouble.empty()) return false;
  return answer({job, {}}, "", environment).has_value();
}

Result<int> signal_run(const RunId& id, const std::string& signal, const Environment& environment) {
  TRY(answer(id, fmt::format("kill -{} \"$p\"\n", signal), environment));
  say(fmt::format("sent {} to {}", signal, text_of(id)));
  return 0;
}

Result<std::string> report_of_run(const RunId& id, const Environment& environment) {
  auto text = answer(id, "[ ! -e \"$f/report.json\" ] || cat \"$f/report.json\"\n", environment);
  if (!text || !text->empty()) return text;
  return fail(text_of(id), "the run's agents have not connected yet, so there is no report",
              fmt::format("toprun logs {} shows the agents' messages", id.job));
}

}  // namespace toprun::pods
