#include "cli/submit.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/console.h"
#include "base/process.h"
#include "cli/activation_check.h"
#include "cli/config.h"
#include "cli/container_options.h"
#include "cli/follow.h"
#include "cli/given.h"
#include "cli/help.h"
#include "cli/job_options.h"
#include "cli/print.h"
#include "launch/program.h"
#include "scheduler/queue.h"
#include "scheduler/slurm_defaults.h"
#include "scheduler/slurm_script.h"
#include "scheduler/slurm_submit.h"

namespace toprun::cli {
namespace {

namespace fs = std::filesystem;
using scheduler::JobOption;
using scheduler::JobRequest;
using scheduler::SlurmFacts;

bool is_file(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error) && !fs::is_directory(path, error);
}

// A program that modules or a virtual environment bring is found on the job's nodes only.
Result<void> check_script(const launch::Options& run, const Environment& environment) {
  const bool is_brought = run.program == launch::Program::executable && !run.activation.empty();
  return is_brought ? Result<void>{} : launch::check_program(run, environment);
}

// From here on relative paths are the job's: the script's, --topology's, the log directory's.
Result<void> enter_directory(const Split& split) {
  const Flag* chdir = find_flag("--chdir", Dialect::submit);
  const auto folder = given_of(*chdir, split, Environment());
  if (!folder || folder->value.empty()) return {};
  std::error_code error;
  fs::current_path(folder->value, error);
  if (error) return usage(folder->label(), error.message(), "check the path");
  return {};
}

Result<void> settle_paths(JobRequest& request) {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  if (error) return fail("the working directory", error.message(), "change to another");
  const auto chdir = std::ranges::find(request.options, "--chdir", &JobOption::name);
  if (chdir == request.options.end()) {
    request.options.push_back({"--chdir", here.string(), "the current directory"});
  } else {
    chdir->value = here.string();
  }
  request.log_dir = (here / request.log_dir).lexically_normal().string();
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return fail("toprun's own path", error.message(), "mount /proc");
  request.toprun = self.string();
  return {};
}

// The environment in which Slurm is asked, and which the job inherits. What the script's lines say
// must not be said once more by variables, which sbatch would prefer.
Environment submission_environment(const Environment& environment) {
  Environment out = scheduler::without_job(environment);
  for (const Flag& flag : all_flags()) {
    if (flag.id == FlagId::slurm_option && !flag.variable.empty()) out.unset(flag.variable);
  }
  return out;
}

void tell_reasons(const JobRequest& request) {
  for (const JobOption& option : request.options) {
    if (option.reason.empty()) continue;
    say(fmt::format("{}{}: {}", option.name, option.value ? " " + *option.value : "",
                    option.reason));
  }
  say(fmt::format("the job's files: {}/ID", request.log_dir));
}

Result<void> make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return {};
  return fail("cannot make the log directory " + folder.string(), error.message(),
              "choose another with --log-dir");
}

// The job runs by now: what goes wrong here is said and no more.
void keep_script(const std::string& script, const fs::path& folder) {
  if (const auto made = make_folder(folder); !made) return say(made.error().line());
  const fs::path path = folder / "job.sbatch";
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << script;
  file.close();
  if (!file) say("cannot write " + path.string());
}

int dry_run(const SubmitOptions& options, const std::string& script, const SlurmFacts& facts,
            const Environment& environment) {
  tell_reasons(options.request);
  if (options.dry_run == DryRun::server) {
    const auto answer = scheduler::test_slurm(script, options.request, facts, environment);
    if (!answer) return give_up(answer.error());
    say("Slurm: " + *answer);
  }
  return print(script);
}

int submit(const SubmitOptions& options, const std::string& script, const SlurmFacts& facts,
           const Environment& environment) {
  const JobRequest& request = options.request;
  if (options.verbose) tell_reasons(request);
  if (const auto made = make_folder(request.log_dir); !made) return give_up(made.error());
  const auto id = scheduler::submit_slurm(script, request, facts, environment);
  if (!id) return give_up(id.error());
  const fs::path folder = fs::path(request.log_dir) / *id;
  keep_script(script, folder);
  const int printed = print(*id + '\n');
  say(fmt::format(
      "job {0}: toprun status {0}, toprun logs -f {0}, toprun cancel {0}; its files: {1}", *id,
      request.is_array() ? folder.string() + "_*" : folder.string()));
  if (options.follow) return follow_job(*id, environment);
  return options.wait ? wait_for_job(*id, environment) : printed;
}

int act(const Split& split, const std::vector<std::string>& arguments,
        const Environment& environment) {
  if (const auto there = enter_directory(split); !there) return give_up(there.error());
  auto options = submit_options(split, arguments, environment, is_file);
  if (!options) return give_up(options.error());
  if (const auto done = complete(options->run.container); !done) return give_up(done.error());
  if (const auto there = check_script(options->run, environment); !there) {
    return give_up(there.error());
  }
  if (const auto settled = settle_paths(options->request); !settled) {
    return give_up(settled.error());
  }
  const Environment clean = submission_environment(environment);
  if (const auto limit = scheduler::engine_timeout_of(clean); !limit) {
    return give_up(limit.error());
  }
  if (const auto there =
          check_activation(options->run.activation, options->request, clean, options->notes);
      !there) {
    return give_up(there.error());
  }
  const bool has_slurm = find_program("sbatch", clean).has_value();
  if (!has_slurm && options->dry_run != DryRun::client)
    return give_up(scheduler::no_slurm("sbatch"));
  if (const auto job = environment.non_empty("SLURM_JOB_ID")) {
    options->notes.push_back(
        fmt::format("inside job {}: the new job gets none of its variables", *job));
  }
  const SlurmFacts facts = has_slurm ? scheduler::ask_slurm(clean, options->notes) : SlurmFacts{};
  const auto added =
      scheduler::add_defaults(options->request, facts, scheduler::Purpose::batch, options->notes);
  if (!added) return give_up(added.error());
  const auto script = scheduler::slurm_script(options->request);
  if (!script) return give_up(script.error());
  for (const std::string& note : options->notes) say(note);
  if (options->dry_run != DryRun::no) return dry_run(*options, *script, facts, clean);
  return submit(*options, *script, facts, clean);
}

}  // namespace

int run_submit(const std::vector<std::string>& arguments, const Environment& environment) {
  const auto split = split_verb(arguments, Dialect::submit);
  if (!split) return give_up(split.error());
  if (!split->options.empty()) {
    const FlagId last = split->options.back().flag->id;
    if (last == FlagId::help_short) return print(short_help(Dialect::submit));
    if (last == FlagId::help) return print(full_help(Dialect::submit));
  }
  const auto whole = with_config(*split, Dialect::submit, environment);
  if (!whole) return give_up(whole.error());
  return act(whole->split, arguments, whole->environment);
}

}  // namespace toprun::cli
