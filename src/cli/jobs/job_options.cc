#include "cli/jobs/job_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/text/text.h"
#include "cli/jobs/predecessors.h"
#include "cli/options/call.h"
#include "cli/options/container_options.h"
#include "cli/options/flags.h"
#include "cli/options/run_options.h"
#include "cli/options/values.h"
#include "engines/queue.h"
#include "engines/slurm/forms.h"

namespace toprun::jobs {
namespace {

using engines::JobOption;
using engines::JobRequest;

// Options with which sbatch would not just submit the script and print its number.
constexpr std::array<std::string_view, 9> not_for_scripts = {
    "--wrap", "--quiet", "-Q", "--parsable", "--test-only", "--wait", "-W", "--help", "--version"};

// The last word of the command line about a flag; an optional value that is left out is empty.
const options::ParsedOption* last_of(const options::Split& split, const options::Flag& flag) {
  const auto found = std::ranges::find(split.options.rbegin(), split.options.rend(), &flag,
                                       &options::ParsedOption::flag);
  return found == split.options.rend() ? nullptr : &*found;
}

bool is_given(const options::Split& split, options::FlagId id) {
  return std::ranges::find(split.options, &options::flag_of(id), &options::ParsedOption::flag) !=
         split.options.end();
}

std::vector<std::string> all_of(const options::Split& split, options::FlagId id) {
  std::vector<std::string> values;
  for (const options::ParsedOption& option : split.options) {
    if (option.flag->id == id) values.push_back(option.value);
  }
  return values;
}

// A variable of sbatch's: of a switch its being there is what counts.
std::optional<JobOption> from_variable(const options::Flag& flag, const std::string& variable,
                                       const Environment& environment) {
  if (variable.empty() || !environment.has(variable)) return std::nullopt;
  const std::string value = environment.get(variable).value_or("");
  std::string name(flag.name);
  if (flag.is_switch() || flag.value_optional) return JobOption{name, std::nullopt, variable};
  if (value.empty()) return std::nullopt;
  return JobOption{name, value, variable};
}

Result<void> add_slurm_options(JobRequest& request, const options::Split& split,
                               options::Command command, const Environment& environment) {
  for (const options::Flag& flag : options::all_flags()) {
    if (flag.id != options::FlagId::slurm_option || !options::knows(command, flag)) continue;
    const options::ParsedOption* argument = last_of(split, flag);
    if (argument == nullptr) {
      // salloc reads its variables itself.
      if (command == options::Command::shell) continue;
      if (auto set = from_variable(flag, options::variable_of(flag, command), environment)) {
        request.options.push_back(*std::move(set));
      }
      continue;
    }
    if (argument->value.empty() && !flag.is_switch() && !flag.value_optional) {
      return usage(options::as_argument(*argument).label(), "must not be empty");
    }
    if (const auto wrong = engines::slurm::wrong_form(flag.name, argument->value); !wrong.empty()) {
      return usage(options::as_argument(*argument).label(), std::string(wrong));
    }
    const bool alone = flag.is_switch() || argument->value.empty();
    request.options.push_back({std::string(flag.name),
                               alone ? std::nullopt : std::optional(argument->value),
                               argument->origin});
  }
  return {};
}

// "--name VALUE" as one word of --slurm-arg means "--name=VALUE".
std::string with_equals(std::string word) {
  const std::size_t blank = word.find(' ');
  if (word.starts_with("--") && blank < word.find('=')) word[blank] = '=';
  return word;
}

// sbatch's long name of a letter; empty: it has none here.
std::string_view name_of_letter(char letter) {
  if (letter == 'e') return "--error";  // not its letter here, see -e K=V
  for (const options::Flag& flag : options::all_flags()) {
    if (flag.id == options::FlagId::slurm_option && flag.letter == letter) return flag.name;
  }
  return {};
}

Result<void> check_raw(const std::string& word, const std::string& label,
                       options::Command command) {
  if (!word.starts_with('-') || word.size() < 2) {
    return usage(label, "is not an option of sbatch",
                 "write the option with its dashes, as in --slurm-arg=--nice=100");
  }
  const std::string_view name = std::string_view(word).substr(0, word.find('='));
  if (std::ranges::find(not_for_scripts, name) != not_for_scripts.end()) {
    return usage(label, "toprun itself writes the batch script and reads sbatch's answer",
                 "leave it out");
  }
  std::string_view known;
  if (const options::Flag* flag = options::find_flag(name, command)) known = flag->name;
  if (word[1] != '-') known = name_of_letter(word[1]);
  if (known.empty()) return {};
  return usage(label, "toprun has an option for this", fmt::format("use {}", known));
}

Result<void> add_raw_options(JobRequest& request, const options::Split& split,
                             options::Command command) {
  for (const options::ParsedOption& argument : split.options) {
    if (argument.flag->id != options::FlagId::slurm_arg) continue;
    std::string word = with_equals(argument.value);
    const std::string label =
        argument.origin.empty() ? "--slurm-arg=" + word : options::as_argument(argument).label();
    if (auto fine = check_raw(word, label, command); !fine) return fine;
    request.raw_options.push_back(std::move(word));
  }
  return {};
}

// ID, ID_TASK of an array, or ID+COMPONENT of a heterogeneous job.
bool is_job_id(std::string_view text) {
  const std::size_t end = text.find_first_of("_+");
  const auto id = parse_int(text.substr(0, end));
  if (!id || *id < 1 || *id > UINT32_MAX) return false;
  if (end == std::string_view::npos) return true;
  const auto part = parse_int(text.substr(end + 1));  // a task, or a component
  return part && *part >= 0 && *part <= UINT32_MAX;
}

Result<void> add_dependencies(JobRequest& request, const options::Split& split) {
  std::vector<std::string> all;
  for (const std::string& text : all_of(split, options::FlagId::after)) {
    const auto after = TRY(parse_after(text));
    all.push_back(dependency_text(after));
  }
  if (all.empty()) return {};
  const auto argument = std::ranges::find(request.options, "--dependency", &JobOption::name);
  if (argument == request.options.end()) {
    request.options.push_back({"--dependency", join(all, ","), "--after"});
  } else if (argument->value->find('?') != std::string::npos) {
    return usage(
        "--after and --dependency",
        "--after waits for all of its jobs, and a ? in --dependency means that one job is enough: "
        "Slurm cannot combine the two",
        "put all jobs into --dependency");
  } else {
    *argument->value += "," + join(all, ",");
  }
  if (!request.has_raw("--kill-on-invalid-dep")) {
    request.options.push_back(
        {"--kill-on-invalid-dep", "yes", "Slurm cancels the job if it can never begin"});
  }
  return {};
}

Result<DryRun> dry_run_of(const options::Split& split, options::Command command) {
  const options::ParsedOption* argument =
      last_of(split, options::flag_of(options::FlagId::job_dry_run, command));
  if (argument == nullptr) return DryRun::no;
  if (argument->value.empty() || argument->value == "client") return DryRun::client;
  if (argument->value == "server" && command == options::Command::submit) return DryRun::server;
  if (command == options::Command::submit) {
    return usage("--dry-run=" + argument->value, "must be client or server");
  }
  return usage("--dry-run=" + argument->value,
               command == options::Command::shell
                   ? "salloc cannot check a job, so only --dry-run=client is possible"
                   : "must be client");
}

// A folder for files becomes the job's own.
bool names_the_jobs_folder(const options::ParsedOption& option) {
  return option.flag->id == options::FlagId::log_dir && option.value != options::null_device;
}

// The largest number of nodes in --nodes.
std::optional<std::int64_t> most_nodes(const JobRequest& request) {
  const JobOption* nodes = request.find("--nodes");
  if (nodes == nullptr) return std::nullopt;
  return parse_int(std::string_view(*nodes->value).substr(nodes->value->find('-') + 1));
}

// One script runs on every node of the job: what tells one node from another has no place in it.
Result<void> check_run(const plan::Options& run, const JobRequest& request) {
  if (run.node_rank.is_set()) {
    return usage("--node-rank",
                 "a batch job cannot use it, because every node runs the same command",
                 "leave it out: Slurm sets the node ranks");
  }
  for (const plan::Setting<std::string>* hosts : {&run.hosts, &run.host_file}) {
    if (!hosts->is_set()) continue;
    return usage(fmt::format("{} {}", hosts->source, hosts->value),
                 "it lists hosts for ssh, but Slurm chooses the nodes of this job",
                 "leave it out, or choose nodes with --nodelist");
  }
  if (run.script == "-") {
    return usage("script \"-\"", "it means standard input, which a batch job does not have",
                 "name the script's file");
  }
  const auto most = most_nodes(request);
  if (!most || !run.nnodes.value) return {};
  const int least = run.min_nodes.value_or(*run.nnodes.value);
  if (least <= *most) return {};
  const std::string number =
      run.min_nodes ? fmt::format("{}:{}", least, *run.nnodes.value) : fmt::format("{}", least);
  return usage(fmt::format("{} {}", run.nnodes.source, number),
               fmt::format("--nodes requests only {} nodes for the job", *most),
               "use only --nodes");
}

bool has_idle_nodes(const JobRequest& request, const plan::Options& run) {
  return run.nnodes.value > 1 && run.nnodes.value < most_nodes(request);
}

bool has_spares(const JobRequest& request, const plan::Options& run) {
  return run.max_restarts > 0 && has_idle_nodes(request, run);
}

std::string idle_note(const JobRequest& request, const plan::Options& run) {
  return fmt::format(
      "{} {} of {} nodes: the other nodes stay idle; with --max-restarts 1 they are spares, which "
      "replace lost nodes",
      run.nnodes.source, *run.nnodes.value, *most_nodes(request));
}

// Slurm chooses from a range once, before the start; with pods a range is elastic. Empty: no note.
std::string range_note(const JobRequest& request, const plan::Options& run) {
  const JobOption* nodes = request.find("--nodes");
  if (nodes == nullptr || run.nnodes.value || run.max_restarts == 0) return {};
  const std::size_t dash = nodes->value->find('-');
  const auto least = parse_int(std::string_view(*nodes->value).substr(0, dash));
  const auto most = most_nodes(request);
  if (!least || !most || *least >= *most) return {};
  return fmt::format(
      "--nodes {0}-{1}: Slurm chooses {0} to {1} nodes before the start; --nnodes {0}:{1} lets the "
      "job go on with fewer nodes later",
      *least, *most);
}

void choose_nodes(JobRequest& request, const plan::Options& run) {
  if (request.find("--nodes") != nullptr || request.has_raw("--nodes")) return;
  const auto most = run.standalone ? std::optional(1) : run.nnodes.value;
  if (!most) return;
  const int least = run.min_nodes.value_or(*most);
  request.options.insert(
      request.options.begin(),
      {"--nodes", least < *most ? fmt::format("{}-{}", least, *most) : fmt::format("{}", *most),
       run.standalone ? "--standalone" : run.nnodes.source});
}

// The script's name without folder and ending; a module's or program's as it is called.
std::string name_of(const plan::Options& run) {
  if (run.program == plan::Program::module) return run.script;
  std::filesystem::path path(run.script);
  if (!path.has_filename()) path = path.parent_path();  // a directory to run
  return run.program == plan::Program::script ? path.stem().string() : path.filename().string();
}

Result<void> choose_name(JobRequest& request, const plan::Options& run) {
  const JobOption* argument = request.find("--job-name");
  if (argument == nullptr) {
    request.options.insert(request.options.begin(),
                           {"--job-name", name_of(run), "the script's name"});
    return {};
  }
  if (argument->value->find('/') == std::string::npos) return {};
  return usage("--job-name " + *argument->value, "the name becomes part of file names",
               "leave the / out");
}

// As without_unfit() of cli/pods/options.cc, the other way round.
Result<void> check_pod_options(const options::Split& split, std::vector<std::string>& notes) {
  for (const options::ParsedOption& option : split.options) {
    if (option.flag->id != options::FlagId::pod_option) continue;
    const std::string label = options::as_argument(option).label();
    if (option.origin.empty()) {
      return usage(label, "works only for pods",
                   "leave it out, or use --on kubernetes or --on runai");
    }
    notes.push_back(label + " has no effect: it works only for pods");
  }
  return {};
}

bool keeps_rank_files(const plan::Options& run, const options::Split& split) {
  const options::ParsedOption* log_dir = last_of(split, options::flag_of(options::FlagId::log_dir));
  if (log_dir != nullptr && log_dir->value == options::null_device) return false;
  return run.log_dir || !run.duplicate_stdout_filters.empty() ||
         !run.duplicate_stderr_filters.empty() || !run.tee.empty() || !run.redirects.empty();
}

// Whether a script's own option is less likely: it has the form that sbatch wants.
bool is_for_the_job(const options::Flag& flag, std::string_view value, bool is_letter) {
  using options::FlagId;
  if (flag.id == FlagId::nnodes || flag.id == FlagId::nproc_per_node) return !is_letter;
  if (flag.id != FlagId::slurm_option) return false;
  return !is_letter || (engines::slurm::has_form(flag.name) &&
                        engines::slurm::wrong_form(flag.name, value).empty());
}

// "-N 2", if the word is an option of submit's; `next` is the word behind it. Empty: it is not.
std::string option_in(std::string_view word, const std::string& next) {
  if (!word.starts_with('-') || word.size() < 2) return {};
  const bool is_letter = word[1] != '-';
  if (is_letter && word.size() != 2) return {};
  const std::size_t equals = word.find('=');
  const options::Flag* const flag =
      is_letter ? options::find_flag(word[1], options::Command::submit)
                : options::find_flag(word.substr(0, equals), options::Command::submit);
  if (flag == nullptr) return {};
  const bool has_own = equals != word.npos || flag->is_switch() || flag->value_optional;
  if (!is_for_the_job(*flag, has_own ? std::string_view() : next, is_letter)) return {};
  return has_own || next.empty() ? std::string(word) : fmt::format("{} {}", word, next);
}

// Options that a user may have meant for the job. A program has letters of its own, as sh -c.
std::string note_of_options_behind(const plan::Options& run) {
  if (run.program == plan::Program::executable) return {};
  std::vector<std::string> found;
  for (std::size_t i = 0; i < run.arguments.size() && run.arguments[i] != "--"; ++i) {
    const bool is_last = i + 1 == run.arguments.size();
    std::string option = option_in(run.arguments[i], is_last ? "" : run.arguments[i + 1]);
    if (!option.empty()) found.push_back(std::move(option));
  }
  if (found.empty()) return {};
  const bool is_one = found.size() == 1;
  return fmt::format(
      "{} {} after the script, so {} to the script; write options of the job before the script",
      join(found, ", "), is_one ? "comes" : "come", is_one ? "it belongs" : "they belong");
}

// The job keeps one report. The job's story names the file of --report, but others can replace it.
std::string report_note(const std::string& path) {
  return fmt::format(
      "--report {0}: toprun report, status and jobs --recent show this file by the job's id only "
      "until another job replaces it; leave --report out to have the report in the job's folder",
      path);
}

// Every task of an array would write the same file.
Result<void> check_report(const std::string& path, const JobRequest& request) {
  const JobOption* const array = request.find("--array");
  const bool has_several_tasks =
      array != nullptr && array->value && array->value->find_first_of("-,") != std::string::npos;
  if (!has_several_tasks || path.starts_with("/dev/")) return {};
  return usage(
      "--report " + path,
      fmt::format("each task of --array {} would replace this file", *array->value),
      fmt::format("leave --report out: each task has its own report in {}/ARRAY_TASK/report.json, "
                  "and toprun report ARRAY_TASK shows it",
                  request.log_dir));
}

Result<SubmitOptions> common_options(const options::Split& split, options::Command command,
                                     const Environment& environment) {
  SubmitOptions out;
  TRY(add_slurm_options(out.request, split, command, environment));
  TRY(add_raw_options(out.request, split, command));
  out.dry_run = TRY(dry_run_of(split, command));
  out.verbose = is_given(split, options::FlagId::verbose);
  return out;
}

void note_mail_without_events(const JobRequest& request, std::vector<std::string>& notes) {
  const JobOption* const user = request.find("--mail-user");
  if (user == nullptr || request.find("--mail-type") != nullptr) return;
  notes.push_back(
      fmt::format("--mail-user {} has no effect without --mail-type: Slurm sends mail only for the "
                  "events that --mail-type lists, as in --mail-type END,FAIL",
                  *user->value));
}

bool is_about_config(options::FlagId id) {
  return id == options::FlagId::profile || id == options::FlagId::config_file ||
         id == options::FlagId::no_config;
}

}  // namespace

Result<SubmitOptions> submit_options(const options::Split& split,
                                     const std::vector<std::string>& arguments,
                                     const Environment& environment,
                                     const std::function<bool(const std::string&)>& is_file) {
  const auto on = options::argument_of(options::flag_of(options::FlagId::on), split, environment);
  const bool is_for_setup = on && on->from_variable && on->value == "local";
  if (on && !is_for_setup && engines::queue_kind(on->value) != engines::QueueKind::slurm) {
    const auto meant = engines::nearest_engine(on->value);
    return usage(on->label(), "toprun submits to slurm, kubernetes and runai",
                 meant ? fmt::format("did you mean {}?", *meant) : "choose one of them");
  }
  auto out = common_options(split, options::Command::submit, environment);
  if (!out) return out;
  auto run = TRY(options::run_options(split, arguments, environment, is_file));
  TRY(check_pod_options(split, run.notes));
  JobRequest& request = out->request;
  TRY(check_run(run.options, request));
  choose_nodes(request, run.options);
  TRY(choose_name(request, run.options));
  TRY(add_dependencies(request, split));
  request.run_options = run_words(split, names_the_jobs_folder);
  if (run.options.segment > 1) {
    request.options.push_back({"--segment", fmt::format("{}", run.options.segment), {}});
  }
  request.log_dir = run.options.log_dir.value_or(std::string(default_log_dir));
  request.keeps_rank_files = keeps_rank_files(run.options, split);
  request.reports = !run.options.report;
  if (!request.reports) {
    TRY(check_report(*run.options.report, request));
    run.notes.push_back(report_note(*run.options.report));
  }
  if (std::string note = note_of_options_behind(run.options); !note.empty()) {
    run.notes.push_back(std::move(note));
  }
  request.workers = parse_int(run.options.nproc_per_node.value);
  // The run in the job reads the variable again, if it gets the variable.
  const bool is_from_variable = run.options.launcher.source.starts_with("TOPRUN_");
  const std::string exported = exported_variables(request, environment);
  if (!is_from_variable || passes_all(exported) || passes(exported, run.options.launcher.source)) {
    request.launcher = run.options.launcher.value;
  }
  request.survives_a_node = run.options.min_nodes || has_spares(request, run.options);
  if (!request.survives_a_node && has_idle_nodes(request, run.options)) {
    run.notes.push_back(idle_note(request, run.options));
  }
  if (std::string note = range_note(request, run.options); !note.empty()) {
    run.notes.push_back(std::move(note));
  }
  request.program = {run.options.script};
  request.program.insert(request.program.end(), run.options.arguments.begin(),
                         run.options.arguments.end());
  note_mail_without_events(request, run.notes);
  out->wait = is_given(split, options::FlagId::wait);
  out->follow = is_given(split, options::FlagId::follow);
  out->notes = std::move(run.notes);
  out->run = std::move(run.options);
  return out;
}

Result<SubmitOptions> setup_job_options(const options::Split& split,
                                        const Environment& environment) {
  auto out = common_options(split, options::Command::setup, environment);
  if (!out) return out;
  TRY(add_dependencies(out->request, split));
  const auto log_dir =
      options::argument_of(options::flag_of(options::FlagId::log_dir), split, environment);
  out->request.log_dir = log_dir ? log_dir->value : std::string(default_log_dir);
  out->request.reports = false;
  note_mail_without_events(out->request, out->notes);
  out->wait = is_given(split, options::FlagId::wait);
  out->follow = is_given(split, options::FlagId::follow);
  return out;
}

Result<SubmitOptions> shell_options(const options::Split& split, const Environment& environment) {
  if (split.script) {
    return usage("toprun shell " + *split.script, "a shell takes no script",
                 "run the script in the shell, or use toprun submit");
  }
  auto out = common_options(split, options::Command::shell, environment);
  if (!out) return out;
  if (const options::ParsedOption* attach =
          last_of(split, options::flag_of(options::FlagId::attach))) {
    if (!is_job_id(attach->value)) {
      return usage("--attach " + attach->value, "is not a job's number",
                   "squeue --me lists your jobs");
    }
    out->attach = attach->value;
  }
  note_mail_without_events(out->request, out->notes);
  out->activation = TRY(options::activation_options(split, environment));
  out->container = TRY(options::container_options(split, environment, out->notes));
  return out;
}

std::string exported_variables(const JobRequest& request, const Environment& environment) {
  constexpr std::string_view option = "--export=";
  std::string exported = environment.get("SBATCH_EXPORT").value_or("ALL");
  for (const std::string& word : request.raw_options) {
    if (word.starts_with(option)) exported = word.substr(option.size());
  }
  return exported;
}

bool passes(std::string_view exported, std::string_view name) {
  const auto names = split(exported, ',');
  return std::ranges::find(names, name) != names.end();
}

bool passes_all(std::string_view exported) {
  return passes(exported, "ALL");
}

std::vector<std::string> run_words(
    const options::Split& split,
    const std::function<bool(const options::ParsedOption&)>& leave_out) {
  std::vector<std::string> words{std::string(options::flag_of(options::FlagId::no_config).name)};
  for (const options::ParsedOption& option : split.options) {
    if (!options::knows(options::Command::run, *option.flag)) continue;
    if (is_about_config(option.flag->id) || leave_out(option)) continue;
    words.push_back(options::word_of(option));
  }
  return words;
}

}  // namespace toprun::jobs
