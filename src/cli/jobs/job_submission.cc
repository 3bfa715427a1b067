#include "cli/jobs/job_submission.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/os/console.h"
#include "base/process/command.h"
#include "base/text/secrets.h"
#include "cli/jobs/follow.h"
#include "cli/jobs/job_story.h"
#include "cli/options/call.h"
#include "engines/slurm/script.h"
#include "engines/slurm/submit.h"

namespace toprun::jobs {
namespace {

namespace fs = std::filesystem;
using engines::JobOption;
using engines::JobRequest;

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
              "choose another directory with --log-dir");
}

std::string name_of(const JobRequest& request) {
  const JobOption* const name = request.find("--job-name");
  return name == nullptr ? std::string() : name->value.value_or("");
}

// The file of --report; its path may be relative to the job's folder. Empty: not given.
std::string report_of(const SubmitOptions& options) {
  if (!options.run.report) return {};
  const JobOption* const folder = options.request.find("--chdir");
  const fs::path path = *options.run.report;
  return path.is_absolute() || folder == nullptr || !folder->value
             ? path.string()
             : (fs::path(*folder->value) / path).lexically_normal().string();
}

// The job is submitted by now: an error here is only reported.
void keep_script(const std::string& script, const fs::path& folder) {
  if (const auto made = make_folder(folder); !made) return say(made.error().line());
  const fs::path path = folder / "job.sbatch";
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << script;
  file.close();
  if (!file) say("cannot write " + path.string());
}

// Others may read the job's script: Slurm shows it to operators, and a copy lies beside the logs.
Result<void> check_secrets(const JobRequest& request) {
  for (const auto& words : {engines::option_words(request), request.run_options, request.program}) {
    if (const auto word = word_with_secret(words)) {
      return usage(*word,
                   "perhaps other users can read the job's script, which would contain this secret",
                   word->starts_with("--notify")
                       ? "put the address into the variable TOPRUN_NOTIFY"
                       : "put the secret into a variable: -e NAME passes the variable on without "
                         "showing its value");
    }
  }
  return {};
}

std::unexpected<Error> without_cluster(engines::Purpose purpose) {
  const std::string_view here =
      purpose == engines::Purpose::setup ? "; --on local builds on this host, without Slurm" : "";
  return fail("cannot ask Slurm", "this host does not belong to a cluster",
              fmt::format("log in where jobs are submitted, or set SLURM_CONF to the cluster's "
                          "slurm.conf{}",
                          here));
}

}  // namespace

Result<void> enter_directory(const options::Split& split, options::Command command) {
  const options::Flag* chdir = options::find_flag("--chdir", command);
  const auto folder = options::argument_of(*chdir, split, Environment());
  if (!folder || folder->value.empty()) return {};
  std::error_code error;
  fs::current_path(folder->value, error);
  if (error) return usage(folder->label(), error.message(), "check the path");
  return {};
}

Result<void> make_paths_absolute(JobRequest& request) {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  if (error)
    return fail("cannot find the working directory", error.message(),
                "change to another directory");
  const auto chdir = std::ranges::find(request.options, "--chdir", &JobOption::name);
  if (chdir == request.options.end()) {
    request.options.push_back({"--chdir", here.string(), "the current directory"});
  } else {
    chdir->value = here.string();
  }
  request.log_dir = (here / request.log_dir).lexically_normal().string();
  request.toprun = TRY(process::own_path()).string();
  return {};
}

Environment submission_environment(const Environment& environment) {
  Environment out = engines::without_job(environment);
  for (const options::Flag& flag : options::all_flags()) {
    if (flag.id == options::FlagId::slurm_option && !flag.variable.empty())
      out.unset(flag.variable);
  }
  return out;
}

Result<Prepared> prepare(SubmitOptions& options, engines::Purpose purpose,
                         const Environment& clean) {
  const bool has_slurm = process::find_program("sbatch", clean).has_value();
  if (!has_slurm && options.dry_run != DryRun::client) {
    return std::unexpected(engines::no_slurm("sbatch"));
  }
  Prepared prepared;
  if (has_slurm) prepared.facts = engines::ask_slurm(clean, options.notes);
  if (prepared.facts.without_cluster && options.dry_run != DryRun::client) {
    return without_cluster(purpose);
  }
  TRY(engines::add_defaults(options.request, prepared.facts, purpose, options.notes));
  TRY(check_secrets(options.request));
  prepared.script = TRY(engines::slurm_script(options.request));
  for (const std::string& note : options.notes) say(note);
  return prepared;
}

int dry_run(const SubmitOptions& options, const Prepared& prepared, const Environment& clean) {
  tell_reasons(options.request);
  if (options.dry_run == DryRun::server) {
    const auto answer =
        engines::test_slurm(prepared.script, options.request, prepared.facts, clean);
    if (!answer) return give_up(answer.error());
    say(fmt::format("Slurm, asked without submitting: {}", *answer));
  }
  return print_bytes(prepared.script);
}

Result<std::string> submit_job(const SubmitOptions& options, const Prepared& prepared,
                               const Environment& clean) {
  const JobRequest& request = options.request;
  if (options.verbose) tell_reasons(request);
  TRY(make_folder(request.log_dir));
  const auto id = engines::submit_slurm(prepared.script, request, prepared.facts, clean);
  if (!id) return id;
  const fs::path folder = fs::path(request.log_dir) / *id;
  keep_script(prepared.script, folder);
  const JobStory story{.name = name_of(request),
                       .report = report_of(options),
                       .launcher = request.launcher,
                       .submitted = {{own_name(clean), std::chrono::system_clock::now()}}};
  const auto kept = add_to_story(folder.string(), submission_line(story));
  if (!kept) say(kept.error().line());
  return id;
}

int after_submission(const SubmitOptions& options, const std::string& id,
                     const Environment& clean) {
  const JobRequest& request = options.request;
  const std::string folder = (fs::path(request.log_dir) / id).string();
  const int printed = options.follow ? 0 : print(id + '\n');
  say(fmt::format(
      "job {0}: toprun status {0}, toprun logs -f {0}, toprun cancel {0}; its files: {1}", id,
      request.is_array() ? folder + "_*" : folder));
  if (options.follow) return follow_job(id, {}, clean, options.setups);
  return options.wait ? wait_for_job(id, clean, options.setups) : printed;
}

}  // namespace toprun::jobs
