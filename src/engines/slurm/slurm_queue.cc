#include "engines/slurm/slurm_queue.h"

#include <unistd.h>

#include <algorithm>

#include "base/os/console.h"
#include "base/process/command.h"
#include "base/text/shown_line.h"
#include "base/text/text.h"
#include "engines/programs.h"
#include "engines/slurm/machines.h"
#include "engines/slurm/patterns.h"
#include "engines/slurm/scontrol_record.h"
#include "engines/slurm/script.h"
#include "engines/slurm/slurm_jobs.h"
#include "engines/slurm/words.h"

namespace toprun::engines {
namespace {

constexpr std::chrono::seconds default_memory{300};  // slurm.conf(5), MinJobAge

// The user's defaults for these programs would change their output.
constexpr std::string_view own_defaults[] = {"SQUEUE_", "SACCT_",       "SCANCEL_",
                                             "SINFO_",  "SCONTROL_ALL", "SLURM_TIME_FORMAT"};

Environment plain(Environment environment) {
  std::vector<std::string> names;
  for (const auto& [name, value] : environment.variables()) {
    const std::string_view text = name;
    if (std::ranges::any_of(own_defaults, [&](auto start) { return text.starts_with(start); })) {
      names.push_back(name);
    }
  }
  for (const std::string& name : names) environment.unset(name);
  environment.set("SLURM_TIME_FORMAT", "%s");
  environment.set("SLURM_BITSTR_LEN", "0");  // lists of an array's tasks in full length
  return environment;
}

// The line of stderr with the reason: the last one, because warnings come first.
std::string complaint(const process::Finished& finished) {
  const std::string said = last_words(finished.err);
  return said.empty() ? fmt::format("exit code {}", finished.code) : said;
}

// Slurm's program failed.
Error failed(std::string_view program, const process::Finished& finished) {
  if (!slurm::advice_without_cluster(finished.err).empty()) {
    Error error{"cannot ask Slurm", slurm::no_cluster,
                "log in where jobs are submitted, or set SLURM_CONF to the cluster's slurm.conf"};
    error->kind = ErrorKind::out_of_reach;
    return error;
  }
  return Error{fmt::format("cannot ask Slurm: {} failed", program), complaint(finished),
               "check with `scontrol ping` that slurmctld is up", exit_failure};
}

// Slurm keeps a record of a job that it refused at its submission.
bool was_never_accepted(const Job& job) {
  return job.end == JobEnd::refused && job.submitted == job.ended;
}

// If other tasks of an array wait, slurmctld (22.05) delivers a signal to a task that runs, but
// answers that the task cannot get it now. scancel then delivers it again after 5 s, and 8 times
// more. So scancel is ended before it does so.
constexpr std::chrono::seconds one_delivery{4};
constexpr int code_of_timeout = 124;  // timeout(1) has ended the command

bool names_tasks(const std::string& id) {
  return id.contains('_');
}

bool mentions(const process::Finished& finished, std::string_view words) {
  return lower(finished.err).contains(words);
}

// What scancel --verbose tells of each task.
struct Delivery {
  std::vector<std::string_view> sent;  // ids
  std::vector<std::string_view> gone;  // ids of tasks that ended before they got the signal
  std::string errors;                  // lines of other errors
};

std::string_view word_behind(std::string_view line, std::string_view start) {
  const std::size_t at = line.find(start);
  if (at == line.npos) return {};
  const std::string_view rest = line.substr(at + start.size());
  return rest.substr(0, rest.find_first_of(": "));
}

// "scancel: Signal 10 to job 1_2", "scancel: error: Kill job error on job id 1_1: Invalid job id
// specified".
Delivery delivery_in(std::string_view err) {
  Delivery out;
  for (const std::string_view line : split(err, '\n')) {
    const std::string_view id = word_behind(line, " job id ");
    const bool is_gone = line.contains("already completing") || line.contains("Invalid job id");
    if (line.contains("error:") && is_gone && !id.empty()) {
      out.gone.push_back(id);
    } else if (line.contains("error:")) {
      out.errors += std::string(line) + '\n';
    } else if (line.contains(": Signal ")) {
      out.sent.push_back(word_behind(line, "job "));
    }
  }
  for (const std::string_view id : out.gone) std::erase(out.sent, id);
  return out;
}

class SlurmQueue : public Queue {
 public:
  SlurmQueue(const Environment& environment, std::chrono::milliseconds timeout)
      : environment_(plain(environment)), timeout_(timeout) {}

  QueueKind kind() const override { return QueueKind::slurm; }
  std::string_view engine_in_words() const override { return "Slurm"; }
  // Only the count of its requeues tells a requeue's pause from --begin.
  Result<JobList> jobs(std::optional<std::uint32_t> uid) const override {
    auto jobs = TRY(queued({"squeue", "-h"}, uid));
    if (std::ranges::find(jobs, slurm::begin_time, &Job::reason) != jobs.end()) {
      std::vector<std::string> argv = {"squeue", "-h"};
      std::ranges::move(slurm::squeue_delay_options(), std::back_inserter(argv));
      if (uid) argv.insert(argv.end(), {"-u", fmt::to_string(*uid)});
      const auto delays = TRY(answer(argv));
      slurm::add_delays(delays, jobs);
    }
    return JobList{std::move(jobs), {}};
  }
  // Asks slurmctld, which has most facts, then the archive. A job that both do not know is not an
  // error.
  Result<std::vector<Job>> find(const JobId& id) const override {
    const bool several_tasks = id.task.starts_with('[');
    const std::string asked = several_tasks ? id.number : id.text;
    auto jobs = find_in_memory(asked);
    if (!jobs) return jobs;
    // Many clusters have no accounting: the job is then unknown.
    if (jobs->empty()) jobs = find_in_accounting(asked).value_or(std::vector<Job>());
    std::ranges::sort(*jobs, natural_less, &Job::id);
    return jobs;
  }
  // The job from the accounting archive if there is one, else from slurmctld's memory.
  Result<JobList> ended(std::uint32_t uid) const override {
    std::vector<std::string> argv =
        slurm::sacct_options({"-S", "now-7days", "-u", fmt::to_string(uid)});
    argv.insert(argv.begin(), "sacct");
    const auto archived = ask(argv);
    std::vector<Job> jobs;
    if (archived && archived->code == 0) {
      jobs = slurm::parse_sacct(archived->out);
    } else {
      const auto reported = TRY(answer({"scontrol", "show", "job", "-o"}));
      jobs = slurm::parse_show_job(reported);
    }
    std::erase_if(jobs, [&](const Job& job) {
      return job.uid != uid || !has_ended(job.state) || was_never_accepted(job);
    });
    return JobList{std::move(jobs), {}};
  }
  Result<std::vector<Job>> starts(std::optional<std::uint32_t> uid) const override {
    return queued({"squeue", "-h", "--start"}, uid);
  }
  bool is_run_by_toprun(const JobId& id) const override {
    const auto script = ask({"scontrol", "write", "batch_script", id.text, "-"});
    return script && script->code == 0 && is_written_by_toprun(script->out);
  }
  Result<std::vector<std::string>> cancel_command(const std::vector<std::string>& ids,
                                                  const std::string& signal,
                                                  Addressee addressee) const override {
    std::vector<std::string> command;
    if (!signal.empty() && std::ranges::any_of(ids, names_tasks)) {
      command = {"timeout", fmt::to_string(one_delivery.count())};
    }
    command.emplace_back("scancel");
    if (command.size() > 1) command.emplace_back("--verbose");
    if (addressee == Addressee::batch_script) command.emplace_back("--batch");
    if (!signal.empty()) command.insert(command.end(), {"--signal", signal});
    command.insert(command.end(), ids.begin(), ids.end());
    return command;
  }
  std::optional<std::vector<std::string>> log_command(const Job&, bool,
                                                      const Printer*) const override {
    return std::nullopt;
  }
  Result<std::vector<std::string>> execute(const std::vector<std::string>& command) const override {
    const auto finished = TRY(ask(command));
    if (command.front() == "timeout") return end_of_delivery(finished);
    const std::vector<std::string> none_is_gone;
    if (finished.code == 0 && trim(finished.err).empty()) return none_is_gone;
    const bool denied = mentions(finished, "permission denied");
    if (finished.code == 0 && !denied && !mentions(finished, "error")) {
      pass_on_warnings(finished.err);
      return none_is_gone;
    }
    return fail(fmt::format("{} failed", command[0]), complaint(finished),
                denied ? "only the job's owner and Slurm's operators may do this" : "");
  }
  Result<Machines> machines() const override {
    const auto partitions = TRY(answer({"scontrol", "show", "partition", "-o"}));
    const auto nodes = TRY(answer({"scontrol", "-d", "show", "node", "-o"}));
    return Machines{slurm::parse_partitions(partitions), slurm::parse_nodes(nodes)};
  }
  std::string reason_words(const Job& job) const override {
    std::string words(slurm::reason_words(job.reason, job.restarts > 0));
    constexpr std::string_view command = "scontrol release ", id = "ID";
    if (const auto at = words.find(command); at != words.npos) {
      if (words.substr(at + command.size()).starts_with(id)) {
        words.replace(at + command.size(), id.size(), printable(job.id));
      }
    }
    return words;
  }
  std::string state_words(std::string_view state_word) const override {
    const slurm::State* const state = slurm::find_state(state_word);
    return state == nullptr ? std::string() : std::string(state->words);
  }
  std::chrono::seconds memory() const override {
    const auto text = answer({"scontrol", "show", "config"});
    if (!text) return default_memory;
    const auto seconds = slurm::leading_number(slurm::config_value(*text, "MinJobAge"));
    return seconds && *seconds > 0 ? std::chrono::seconds(*seconds) : default_memory;
  }
  std::string forgets(const JobId& id) const override {
    if (const auto others = find_in_memory(id.number)) {
      if (std::string why = slurm::missing_part(id, *others); !why.empty()) return why;
    }
    const auto archived = find_in_accounting(id.number);
    if (archived) return "neither slurmctld nor the accounting knows this job";
    return fmt::format(
        "Slurm does not know this job; Slurm forgets jobs {} s after their end, and there is no "
        "accounting here ({})",
        memory().count(), archived.error()->why);
  }
  // The root agent is on the job's first node, where its batch script is. Neither srun nor the
  // agent knows a task of an array by its name.
  Result<std::vector<std::string>> command_beside_root(
      const Job& job, const std::string& self,
      const std::vector<std::string>& words) const override {
    const Job root = leading_part(job);
    std::vector<std::string> command = {"srun",       "--jobid",    root.number,
                                        "--overlap",  "--quiet",    "--nodes=1",
                                        "--ntasks=1", "--mpi=none", "--input=none"};
    // srun finds no component to start on by itself, and knows the job by its first one's number.
    if (!root.het_leader.empty()) command.emplace_back("--het-group=0");
    if (!root.batch_host.empty()) command.push_back("--nodelist=" + root.batch_host);
    command.push_back(self);
    command.insert(command.end(), words.begin(), words.end());
    command.push_back(root.number);
    return command;
  }
  std::string expand(std::string_view pattern, const Job& job) const override {
    return slurm::expand(pattern, job);
  }

 private:
  // A task may have ended after toprun asked for the job: the others have the signal. Returns the
  // ids of those that ended.
  static Result<std::vector<std::string>> end_of_delivery(const process::Finished& finished) {
    const Delivery delivery = delivery_in(finished.err);
    const bool timed_out = finished.code == code_of_timeout;
    const bool are_some_gone = !delivery.gone.empty() && !delivery.sent.empty();
    const bool is_bad = !delivery.errors.empty() || (!delivery.gone.empty() && !are_some_gone);
    if (!is_bad && timed_out && !mentions(finished, "transitional state")) {
      return fail("cannot tell whether the signal was sent",
                  fmt::format("scancel did not end within {} s", one_delivery.count()));
    }
    if (!is_bad && (finished.code == 0 || timed_out || are_some_gone)) {
      for (const std::string_view id : delivery.gone) {
        say(fmt::format("{} had already ended and got no signal", printable(id)));
      }
      return std::vector<std::string>(delivery.gone.begin(), delivery.gone.end());
    }
    const bool denied = mentions(finished, "permission denied");
    return fail("scancel failed",
                delivery.errors.empty() ? complaint(finished)
                                        : complaint({finished.code, {}, delivery.errors}),
                denied ? "only the job's owner and Slurm's operators may do this" : "");
  }
  // Runs the program to its end; any exit code is a result.
  Result<process::Finished> ask(const std::vector<std::string>& argv) const {
    auto finished = process::run(argv, environment_, timeout_);
    if (finished) return finished;
    return fail(fmt::format("cannot ask Slurm: {} failed", argv[0]), finished.error()->why,
                "check with `scontrol ping` that slurmctld is up; set "
                "TOPRUN_ENGINE_TIMEOUT=SECONDS to wait longer");
  }
  Result<std::string> answer(const std::vector<std::string>& argv) const {
    auto finished = TRY(ask(argv));
    if (finished.code == 0) {
      pass_on_warnings(finished.err);
      return std::move(finished.out);
    }
    return std::unexpected(failed(argv[0], finished));
  }
  Result<std::vector<Job>> queued(std::vector<std::string> argv,
                                  std::optional<std::uint32_t> uid) const {
    argv.insert(argv.end(), {"-o", slurm::squeue_format()});
    if (uid) argv.insert(argv.end(), {"-u", fmt::to_string(*uid)});
    const auto text = TRY(answer(argv));
    return slurm::parse_squeue(text);
  }
  // Empty: slurmctld does not know it.
  Result<std::vector<Job>> find_in_memory(const std::string& id) const {
    const auto shown = TRY(ask({"scontrol", "show", "job", "-o", id}));
    if (shown.code == 0) {
      pass_on_warnings(shown.err);
      return slurm::parse_show_job(shown.out);
    }
    if (mentions(shown, "invalid job id") || slurm::says_not_found(shown.out)) {
      return std::vector<Job>();
    }
    return std::unexpected(failed("scontrol", shown));
  }
  Result<std::vector<Job>> find_in_accounting(const std::string& id) const {
    std::vector<std::string> argv = slurm::sacct_options({"-j", id});
    argv.insert(argv.begin(), "sacct");
    const auto reported = TRY(answer(argv));
    return slurm::parse_sacct(reported);
  }
  // Of a heterogeneous job its first component, in which the batch script and so the root agent
  // run.
  Job leading_part(const Job& job) const {
    if (job.het_leader.empty() || job.het_leader == job.number) return job;
    const auto parts = find_in_memory(job.het_leader);
    if (!parts) return job;
    const auto leader = std::ranges::find(*parts, job.het_leader, &Job::number);
    return leader == parts->end() ? job : *leader;
  }

  const Environment environment_;
  const std::chrono::milliseconds timeout_;
};

}  // namespace

std::optional<Error> slurm_job_by_name(const std::string& name, const Environment& environment) {
  constexpr std::chrono::seconds limit{5};
  if (!process::find_program("squeue", environment)) return std::nullopt;
  const auto answer = process::output_of(
      {"squeue", "-h", "--name", name, "-u", fmt::to_string(::getuid()), "-o", "%i"},
      plain(environment), limit);
  const std::string_view ids = answer ? trim(*answer) : std::string_view();
  const std::string id = printable(ids.substr(0, ids.find('\n')));
  const bool is_only = !ids.contains('\n');
  return Error{"job " + name, "Slurm's job ids are numbers",
               id.empty() ? "give a number from squeue"
               : is_only  ? fmt::format("job {} has that name", id)
                          : "several jobs have that name: give a number from squeue",
               exit_failure};
}

Result<std::unique_ptr<Queue>> slurm_queue(const Environment& environment) {
  if (!process::find_program("squeue", environment) ||
      !process::find_program("scontrol", environment)) {
    return nullptr;
  }
  const auto timeout = TRY(engine_timeout_of(environment));
  return std::make_unique<SlurmQueue>(environment, timeout);
}

}  // namespace toprun::engines
