#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/net/address.h"
#include "base/os/console.h"
#include "base/os/files.h"
#include "base/os/mounts.h"
#include "base/process/command.h"
#include "base/text/secrets.h"
#include "base/text/text.h"
#include "cli/config/config.h"
#include "cli/jobs/job_options.h"
#include "cli/jobs/job_submission.h"
#include "cli/jobs/predecessors.h"
#include "cli/options/call.h"
#include "cli/options/container_options.h"
#include "cli/options/split.h"
#include "cli/pods/options.h"
#include "cli/pods/submission.h"
#include "cli/verbs/jobs/activation_check.h"
#include "cli/verbs/run.h"
#include "cli/verbs/run_verbs.h"
#include "cli/verbs/verbs.h"
#include "engines/queue.h"
#include "machine/container/image.h"
#include "node/plan/program.h"

namespace toprun::cli {
namespace {

// A program from modules, a virtual environment or an image can be found only on the job's nodes.
Result<void> check_script(const plan::Options& run, const Environment& environment) {
  const bool is_brought = run.program == plan::Program::executable &&
                          (!run.activation.empty() || !run.container.empty());
  return is_brought ? Result<void>{} : plan::check_program(run, environment);
}

// An image's folder is shared with the job's nodes, whose machines may be others. A job that begins
// after another may find what that one makes. An environment that is entered inside is not here.
Result<void> check_job_surroundings(jobs::SubmitOptions& options, const Environment& environment) {
  const plan::Options& run = options.run;
  if (run.container.empty()) {
    return check_activation(run.activation, options.request, environment, options.notes);
  }
  if (options.request.find("--dependency") != nullptr) return {};
  return container::check_image_file(run.container.image, hosts::host_name(), "");
}

// Whether other hosts have this folder too, or the nearest one above it that exists.
bool shares_files(std::filesystem::path folder) {
  std::error_code error;
  folder = std::filesystem::weakly_canonical(folder, error);
  const auto text = read_file("/proc/self/mountinfo");
  if (error || !text) return false;
  const auto mounts = parse_mounts(*text);
  const Mount* const mount = mount_of(mounts, folder.string());
  return mount != nullptr && is_shared(mount->type) == true;
}

// Values hidden by hide_secrets() reach the job by the environment, if the job gets it.
Result<void> check_hidden(const std::vector<std::string>& hidden,
                          const engines::JobRequest& request, const Environment& environment) {
  if (hidden.empty()) return {};
  const std::string exported = jobs::exported_variables(request, environment);
  if (jobs::passes_all(exported)) return {};
  return usage(fmt::format("-e {}", join(hidden, " -e ")),
               fmt::format("secrets reach the job through the environment, and --export={} does "
                           "not pass the environment on",
                           exported),
               "add ALL to --export, or let the program read the secrets from a file");
}

// What --on says.
std::optional<engines::QueueKind> engine_of(const options::Split& split,
                                            const Environment& environment) {
  const auto on = options::argument_of(
      options::flag_of(options::FlagId::on, options::Command::submit), split, environment);
  return on ? engines::queue_kind(on->value) : std::nullopt;
}

int act_in_pods(const options::Split& argument, const std::vector<std::string>& hidden,
                const std::vector<std::string>& arguments, const Environment& environment) {
  const bool on_runai = engine_of(argument, environment) == engines::QueueKind::runai;
  if (!hidden.empty()) {
    const std::string& name = hidden.front();
    const std::string copied = fmt::format(
        "use --secret-env {0}, which creates a Secret with your value and deletes it with the job, "
        "or --secret-env {0}=SECRET:KEY for an existing Secret",
        name);
    // hide_secrets() left -e NAME of what a file sets.
    const auto from_file =
        std::ranges::find_if(argument.options, [&](const options::ParsedOption& option) {
          return option.flag->id == options::FlagId::env && option.value == name &&
                 !option.origin.empty();
        });
    const bool is_from_file = from_file != argument.options.end();
    return give_up({is_from_file ? fmt::format("{}: {} in env", from_file->origin, name)
                                 : fmt::format("-e {}", join(hidden, " -e ")),
                    "everyone who may read the job's object would read the secret",
                    on_runai ? (is_from_file ? "remove it there, and " : "") +
                                   pods::advice_on_a_secret(name, argument, environment)
                    : is_from_file ? "remove it there, export the variable, and " + copied
                                   : copied,
                    exit_usage});
  }
  const auto options = pods::pod_options(argument, arguments, environment);
  if (!options) return give_up(options.error());
  return on_runai ? pods::submit_to_runai(*options, argument, environment)
                  : pods::submit_pods(*options, environment);
}

// In Slurm a secret goes by the environment, as -e NAME does. One of a cluster's Secrets cannot be
// had there.
Result<options::Split> without_secret_env(options::Split split, std::vector<std::string>& hidden,
                                          const Environment& environment) {
  std::vector<options::ParsedOption> options;
  for (options::ParsedOption& option : split.options) {
    const bool is_secret = option.flag->id == options::FlagId::secret_env;
    const std::string label = is_secret ? "--secret-env " + option.value : std::string();
    if (is_secret && option.value.contains('=')) {
      if (option.origin.empty()) {
        return usage("--secret-env " + option.value.substr(0, option.value.find('=')) + "=…",
                     "Slurm has no Secrets", "export the variable and use --secret-env NAME");
      }
      continue;  // a file may serve several engines
    }
    if (is_secret && !environment.has(option.value)) {
      return usage(label, "the variable is not set here", "export the variable");
    }
    if (is_secret) {
      hidden.push_back(option.value);
      option.flag = &options::flag_of(options::FlagId::env);
    }
    options.push_back(std::move(option));
  }
  split.options = std::move(options);
  return split;
}

// A variable that -e NAME names and that is not set here: the job does not get it. Without a secret
// it would fail only when it begins.
Result<std::vector<std::string>> notes_on_unset(const options::Split& split,
                                                const Environment& environment) {
  std::vector<std::string> notes;
  for (const options::ParsedOption& option : split.options) {
    const bool is_name = option.flag->id == options::FlagId::env && !option.value.contains('=');
    if (!is_name || environment.has(option.value)) continue;
    if (is_secret_name(option.value) && option.origin.empty()) {
      return usage("-e " + printable(option.value), "the variable is not set here",
                   "export the variable, or leave the option out");
    }
    notes.push_back(fmt::format("-e {}: the variable is not set here, so the job does not get it",
                                printable(option.value)));
  }
  return notes;
}

// Of -m MODULE, if the Python that the job would find here does not find the module: the Python of
// the job's nodes may be another. Empty: it is found, or this cannot be known here.
std::string note_on_module(const plan::Options& run, const Environment& environment) {
  constexpr std::chrono::seconds limit{5};
  constexpr int exit_absent = 3;
  const bool is_brought = !run.activation.empty() || !run.container.empty();
  if (run.program != plan::Program::module || is_brought) return {};
  const std::string package = run.script.substr(0, run.script.find('.'));
  const auto python = plan::choose_python("", environment, hosts::host_name());
  if (!python) return {};
  const auto looked = process::run({python->path, "-c",
                                    "import importlib.util, sys; sys.path[0] = ''; "
                                    "sys.exit(0 if importlib.util.find_spec(sys.argv[1]) else 3)",
                                    package},
                                   environment, limit);
  if (!looked || looked->code != exit_absent) return {};
  return fmt::format(
      "-m {}: on this host {} does not find the module {}, neither in this folder "
      "nor elsewhere: the job fails, unless its nodes have it",
      printable(run.script), python->path, printable(package));
}

// Slurm makes no folders for --output and --error: such a job fails without a message. The job's
// host opens the file, and may have other folders, unless the file system is shared.
Result<void> check_output_folders(const engines::JobRequest& request,
                                  std::vector<std::string>& notes) {
  namespace fs = std::filesystem;
  for (const std::string_view name : {"--output", "--error"}) {
    const engines::JobOption* const option = request.find(name);
    if (option == nullptr || !option->value || option->value->contains('\\')) continue;
    const std::string literal = option->value->substr(0, option->value->find('%'));
    const fs::path folder = fs::path(literal.substr(0, literal.rfind('/') + 1));  // npos + 1 is 0
    if (folder.empty()) continue;
    std::error_code error;
    const bool is_there = fs::is_directory(folder, error);
    if (is_there && ::access(folder.c_str(), W_OK | X_OK) == 0) continue;
    const std::string what = fmt::format("{} {}", name, printable(*option->value));
    const std::string why = is_there ? fmt::format("you may not write in {}", folder.string())
                                     : fmt::format("there is no folder {}", folder.string());
    const std::string fix = is_there ? "choose another folder" : "make the folder first";
    if (shares_files(folder)) return usage(what, why, fix);
    notes.push_back(
        fmt::format("{}: {} on this host; if the same holds on the job's first node, "
                    "Slurm ends the job without a message: {}",
                    what, why, fix));
  }
  return {};
}

int act_in_slurm(const options::Split& asked, const std::vector<std::string>& secrets,
                 const std::vector<std::string>& arguments, const Environment& environment) {
  std::vector<std::string> hidden = secrets;
  const auto plain = without_secret_env(asked, hidden, environment);
  if (!plain) return give_up(plain.error());
  const options::Split& argument = *plain;
  if (std::ranges::any_of(argument.options, [](const auto& option) {
        return option.flag->id == options::FlagId::interactive;
      })) {
    return give_up({"--interactive", "Slurm has no jobs of sleeping pods",
                    "use toprun shell, or --on kubernetes", exit_usage});
  }
  if (const auto there = jobs::enter_directory(argument, options::Command::submit); !there) {
    return give_up(there.error());
  }
  auto awaited = jobs::after_setup(argument, environment);
  if (!awaited) return give_up(awaited.error());
  const auto resolved = jobs::resolve_predecessors(awaited->split, environment);
  if (!resolved) return give_up(resolved.error());
  auto options = jobs::submit_options(resolved->split, arguments, environment, is_file);
  if (!options) return give_up(options.error());
  options->setups = awaited->setups;
  for (const std::string& note : resolved->notes) options->notes.push_back(note);
  if (const auto fine = check_hidden(hidden, options->request, environment); !fine) {
    return give_up(fine.error());
  }
  const auto done = options::complete(options->run.container, environment, options->notes);
  if (!done) return give_up(done.error());
  if (const auto there = check_script(options->run, environment); !there) {
    return give_up(there.error());
  }
  if (std::string note = note_on_module(options->run, environment); !note.empty()) {
    options->notes.push_back(std::move(note));
  }
  if (const auto paths = jobs::make_paths_absolute(options->request); !paths) {
    return give_up(paths.error());
  }
  if (const auto fine = check_output_folders(options->request, options->notes); !fine) {
    return give_up(fine.error());
  }
  auto unset = notes_on_unset(argument, environment);
  if (!unset) return give_up(unset.error());
  std::ranges::move(*unset, std::back_inserter(options->notes));
  const Environment clean = jobs::submission_environment(environment);
  if (const auto limit = engines::engine_timeout_of(clean); !limit) {
    return give_up(limit.error());
  }
  if (const auto there = check_job_surroundings(*options, clean); !there) {
    return give_up(there.error());
  }
  if (!awaited->note.empty()) options->notes.push_back(awaited->note);
  if (const auto job = environment.non_empty("SLURM_JOB_ID")) {
    options->notes.push_back(fmt::format(
        "this shell is inside job {}: the new job gets none of that job's variables", *job));
  }
  const auto prepared = jobs::prepare(*options, engines::Purpose::batch, clean);
  if (!prepared) return give_up(prepared.error());
  if (options->dry_run != jobs::DryRun::no && !hidden.empty()) {
    say(
        fmt::format("-e {}: the script names the secret without its value; before `sbatch FILE`, "
                    "set the variable in the environment",
                    join(hidden, " -e ")));
  }
  if (options->dry_run != jobs::DryRun::no) return jobs::dry_run(*options, *prepared, clean);
  const auto id = jobs::submit_job(*options, *prepared, clean);
  return id ? jobs::after_submission(*options, *id, clean) : give_up(id.error());
}

// A user who types --dry-run wants to submit nothing. For a program that is not Python, "--" would
// change its arguments.
Result<void> check_whose_dry_run(const options::Split& split,
                                 const std::vector<std::string>& words) {
  const bool is_given = std::ranges::any_of(split.options, [](const options::ParsedOption& option) {
    return option.flag->id == options::FlagId::job_dry_run;
  });
  const auto end = std::ranges::find(split.arguments, "--");
  if (is_given || std::find(split.arguments.begin(), end, "--dry-run") == end) return {};
  if (is_behind_dashes(split, words)) return {};
  const bool is_executable = std::ranges::any_of(
      split.options,
      [](const options::ParsedOption& option) { return option.flag->name == "--no-python"; });
  if (!is_executable) {
    return usage("--dry-run", "it comes after the script, so it belongs to the script",
                 "write it before the script to submit nothing; if the script needs it, write -- "
                 "before the script's options");
  }
  say("--dry-run comes after the program, so it is passed to the program, and toprun submits the "
      "job; to see only what toprun would submit, write --dry-run before the program");
  return {};
}

}  // namespace

Result<int> run_submit(const options::Call& call) {
  options::Split split = call.split;
  TRY(check_script_is_no_verb(split));
  TRY(check_whose_dry_run(split, call.words));
  Environment environment = call.environment;
  const auto hidden = config::hide_secrets(split.options, environment);
  const auto engine = engine_of(split, environment);
  const auto submit = engine && engines::has_pods(*engine) ? act_in_pods : act_in_slurm;
  return submit(split, hidden, call.words, environment);
}

}  // namespace toprun::cli
