#include <filesystem>

#include "base/os/console.h"
#include "base/process/command.h"
#include "base/text/secrets.h"
#include "base/text/text.h"
#include "cli/jobs/job_submission.h"
#include "cli/jobs/predecessors.h"
#include "cli/jobs/setup_site.h"
#include "cli/options/split.h"
#include "cli/verbs/run_verbs.h"
#include "cli/verbs/setup/builds.h"
#include "cli/verbs/setup/options.h"
#include "engines/queue.h"
#include "machine/container/image.h"
#include "node/plan/activation.h"
#include "node/plan/program.h"

namespace toprun::cli {
namespace {

namespace fs = std::filesystem;

Result<void> make_absolute(SetupOptions& options) {
  const fs::path here = fs::current_path();
  setup::VenvRequest& requested = options.requested;
  options.built = (here / options.built / "").lexically_normal().parent_path().string();
  if (options.image_from.empty()) requested.venv = options.built;
  if (container::names_path(options.image_from)) {
    options.image_from = (here / options.image_from).lexically_normal().string();
    std::error_code error;
    if (!fs::exists(options.image_from, error)) {
      return usage("--from " + options.image_from, "there is no such file", "check the path");
    }
  }
  for (std::string& file : requested.requirement_files) {
    std::error_code error;
    if (!fs::is_regular_file(here / file, error)) {
      const bool is_there = fs::exists(here / file, error);
      return usage("--requirement " + file,
                   is_there ? "it is not a regular file" : "there is no such file",
                   "check the path");
    }
    file = (here / file).lexically_normal().string();
  }
  return {};
}

// The record is written before the job exists: --after setup finds it, and it stops a second setup.
int submit(SetupOptions& options, const Environment& environment) {
  jobs::SubmitOptions& job = options.job;
  if (const auto resolved = jobs::make_paths_absolute(job.request); !resolved)
    return give_up(resolved.error());
  const Environment clean = jobs::submission_environment(environment);
  if (const auto limit = engines::engine_timeout_of(clean); !limit) {
    return give_up(limit.error());
  }
  const auto prepared = jobs::prepare(job, engines::Purpose::setup, clean);
  if (!prepared) return give_up(prepared.error());
  if (job.dry_run != jobs::DryRun::no) return jobs::dry_run(job, *prepared, clean);
  const auto id = jobs::submit_job(job, *prepared, clean);
  if (!id) return give_up(id.error());
  if (const auto noted = jobs::note_submission(options.built, *id); !noted) {
    give_up(noted.error());
  }
  return jobs::after_submission(job, *id, clean);
}

// The Python that a build here would take: --modules and -e have a say in it.
Result<std::string> python_here(const SetupOptions& options, const Environment& environment) {
  if (!options.requested.python.empty()) return options.requested.python;
  const std::string host = jobs::begun_record(environment).host;
  const auto activated = TRY(plan::activate(options.activation, environment, host));
  auto python = TRY(plan::choose_python("", activated.environment, host));
  return python.path;
}

// The commands that would run here, as shell lines.
int show_steps(const SetupOptions& options, const Environment& environment) {
  if (!options.image_from.empty()) {
    const auto command = image_command(options, environment);
    return command ? print_bytes(shown_command(command->argv) + '\n') : give_up(command.error());
  }
  auto python = python_here(options, environment);
  if (!python) return give_up(python.error());
  std::string text;
  setup::VenvRequest requested = options.requested;
  requested.python = *std::move(python);
  for (const setup::Step& step : setup::steps(requested, environment)) {
    text += shown_command(step.argv) + '\n';
  }
  return print_bytes(text);
}

int set_up(const options::Split& argument, const Environment& environment) {
  if (const auto there = jobs::enter_directory(argument, options::Command::setup); !there) {
    return give_up(there.error());
  }
  const auto resolved = jobs::resolve_predecessors(argument, environment);
  if (!resolved) return give_up(resolved.error());
  auto options = setup_options({options::Command::setup, resolved->split, environment});
  if (!options) return give_up(options.error());
  for (const std::string& note : resolved->notes) options->job.notes.push_back(note);
  if (const auto made = make_absolute(*options); !made) return give_up(made.error());
  const std::string own_job = environment.get("SLURM_JOB_ID").value_or("");
  auto asked = contents_asked(*options);
  if (!asked) return give_up(asked.error());
  options->asked = *std::move(asked);
  const auto site =
      jobs::look_at_site(options->built, options->asked, options->force, own_job, environment);
  if (!site) return give_up(site.error());
  if (*site == jobs::Site::finished) {
    say(options->built + " is up to date: nothing is built (--force builds it again)");
    return 0;
  }
  const bool here = options->is_local.value_or(!process::find_program("sbatch", environment));
  if (!here) return submit(*options, environment);
  if (options->job.dry_run != jobs::DryRun::no) return show_steps(*options, environment);
  return options->image_from.empty() ? build_venv(*options, environment)
                                     : build_image(*options, environment);
}

}  // namespace

Result<int> run_setup(const options::Call& call) {
  return set_up(call.split, call.environment);
}

}  // namespace toprun::cli
