#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

#include "base/net/address.h"
#include "base/os/console.h"
#include "base/process/command.h"
#include "base/text/text.h"
#include "cli/config/config.h"
#include "cli/options/run_options.h"
#include "cli/verbs/output_file.h"
#include "cli/verbs/run_verbs.h"
#include "engines/engine.h"
#include "engines/slurm/variables.h"
#include "machine/doctor/checks.h"
#include "machine/doctor/host_report.h"
#include "machine/doctor/report.h"
#include "node/launch/every_node.h"
#include "node/plan/activation.h"
#include "node/plan/program.h"

namespace toprun::cli {
namespace {

using options::FlagId;

constexpr std::array one_machine = {FlagId::here, FlagId::json_lines, FlagId::root};

// One machine takes milliseconds; a file system or a name server that hangs must not keep the
// doctor that looks for such things waiting.
constexpr unsigned examination_limit_s = 20;

constexpr std::chrono::seconds python_limit{5};

// srun (22.05) may lose what a task printed and say nothing of it; seldom, on a busy machine.
// A host that gave no answer to a step that ended sooner is asked once more.
constexpr std::chrono::seconds hanging_after{10};

std::string not_done;  // made before the alarm is set: its handler must not allocate

void end_unfinished(int) {
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, not_done.data(), not_done.size());
  ::_exit(doctor::exit_error);
}

// The name of this host and of the job's other hosts, as the engine names them.
struct OwnPlace {
  std::string host;
  std::vector<std::string> all;
  int hosts = 1;         // under mpirun, which names no host, its estimate
  bool is_first = true;  // of the processes that print here
  bool by_mpi = false;
};

OwnPlace own_place(const Environment& environment) {
  engines::Hints hints;
  hints.host_name = hosts::host_name();
  const auto place = engines::detect(environment, hints);
  if (!place) return {hints.host_name, {}};
  OwnPlace own{place->node_name.empty() ? hints.host_name : place->node_name, {}};
  for (const engines::Node& node : place->nodes) own.all.push_back(node.name);
  own.by_mpi = place->engine == engines::EngineKind::mpi;
  own.hosts = own.by_mpi ? place->node_count : static_cast<int>(own.all.size());
  own.is_first =
      own.by_mpi ? place->task.value_or(0) == 0 : own.all.empty() || own.host == own.all.front();
  return own;
}

bool begins_as_script(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, 2> mark{};
  return file.read(mark.data(), mark.size()) && mark == std::array{'#', '!'};
}

struct ChosenPython {
  std::string path;      // empty: none is here, or a container has its own
  Result<void> trouble;  // why a launch from here fails
};

// As a launch from here chooses it, but without its modules and its command (--before).
ChosenPython python_of_launch(const Environment& environment, const std::string& host) {
  options::Split split;
  split.script = "SCRIPT";
  const auto any_file = [](const std::string&) { return true; };
  const auto whole = config::with_config(split, options::Command::run, environment);
  if (!whole) return {{}, std::unexpected(whole.error())};
  const auto run =
      options::run_options(whole->split, {"toprun", "SCRIPT"}, whole->environment, any_file);
  if (!run) return {{}, std::unexpected(run.error())};
  if (!run->options.container.empty()) return {};
  const plan::Activation& activation = run->options.activation;
  if (!activation.venv.empty()) {
    auto python = plan::find_venv(activation.venv, host);
    return python ? ChosenPython{*std::move(python), {}}
                  : ChosenPython{{}, std::unexpected(python.error())};
  }
  if (!activation.conda.empty()) {
    const auto folder = plan::find_conda(activation.conda, environment, host);
    if (!folder) return {{}, std::unexpected(folder.error())};
    const std::string python = (*folder / "bin" / "python").string();
    if (process::is_executable_file(python)) return {python, {}};
  }
  auto python = plan::choose_python(process::own_path().value_or(""), environment, host);
  if (python) return {std::move(python->path), {}};
  if (!environment.non_empty("PYTHON_EXEC")) return {};
  return {{}, std::unexpected(python.error())};
}

doctor::Installed installed(const std::string& python, const Environment& environment) {
  if (python.empty()) return {};
  auto found = doctor::look_at_python(python, environment);
  const bool is_unknown = found.python.empty() && !environment.non_empty("PYTHONHOME");
  if (is_unknown && begins_as_script(python)) {  // it runs a Python, as pyenv's does
    const std::vector<std::string> ask = {python, "-c", "import sys; print(sys.executable)"};
    const auto real = process::output_of(ask, environment, python_limit);
    if (real) found = doctor::look_at_python(std::string(trim(*real)), environment);
  }
  found.path = python;
  return found;
}

Result<doctor::HostReport> examine_this_host(const options::Call& call) {
  TRY(check_root(call));
  not_done = fmt::format(
      "toprun: doctor: not done after {} s: a file system, a name server or a driver hangs here\n",
      examination_limit_s);
  ::signal(SIGALRM, end_unfinished);
  ::alarm(examination_limit_s);
  const auto root = call.text(FlagId::root);
  const OwnPlace own = root ? OwnPlace{*root, {}} : own_place(call.environment);
  const fabric::Sysfs sysfs(root.value_or("/"));
  doctor::Facts facts = doctor::read_facts(sysfs, !root, call.environment);
  fabric::look_at_files(facts.network, root.value_or("/"));
  facts.peers = doctor::look_up(own.all, own.host);
  if (!root) {
    const ChosenPython python = python_of_launch(call.environment, own.host);
    facts.installed = installed(python.path, call.environment);
    if (!python.trouble) facts.python_trouble = python.trouble.error();
    // toprun.toml is read where the user is: a launch may choose another Python here.
    const bool is_elsewhere = call.environment.non_empty("TOPRUN_STEP").has_value();
    if (is_elsewhere && facts.installed.torch.empty()) facts.installed = {};
  }
  ::alarm(0);
  return doctor::HostReport{own.host, doctor::examine(facts), doctor::traits_of(facts)};
}

int print_fixes(const std::string& fixes) {
  if (fixes.empty()) say("found no problem, so there is nothing to fix");
  return print_bytes(fixes);
}

// Others of the same job print here too, as under srun: no process sees what is common to them.
void tell_of_the_comparison(const OwnPlace& own) {
  if (!own.is_first) return;
  const std::string other = own.by_mpi
                                ? "mpirun, as in toprun doctor --hosts n0,n1"
                                : fmt::format("srun, as in salloc -N {} toprun doctor", own.hosts);
  say(
      fmt::format("each of the {} hosts prints its own report here; to compare the hosts in one "
                  "report, start toprun doctor without {}",
                  own.hosts, other));
}

// Commands come from problems alone.
doctor::Checks checks_reported(const options::Call& call) {
  const bool is_fix =
      call.has(FlagId::fix) && !call.has(FlagId::json) && !call.has(FlagId::json_lines);
  return call.has(FlagId::all) && !is_fix ? doctor::Checks::all : doctor::Checks::with_findings;
}

int print_report(const options::Call& call, const doctor::HostReport& report) {
  const WallTime now = std::chrono::system_clock::now();
  if (call.has(FlagId::json_lines)) {
    return print_bytes(doctor::json_lines_of(report, now, checks_reported(call)));
  }
  if (call.has(FlagId::json)) return print_bytes(doctor::json_of(report, now));
  const OwnPlace own = call.has(FlagId::root) ? OwnPlace{} : own_place(call.environment);
  const bool has_others = own.hosts > 1;
  const std::string host = has_others ? report.host : "";
  if (call.has(FlagId::fix)) {
    return print_fixes(doctor::fixes_text(report.findings, ::geteuid() == 0, host));
  }
  const int printed = print(doctor::findings_text(report.findings, call.has(FlagId::all), host));
  if (has_others && !call.has(FlagId::here)) tell_of_the_comparison(own);
  return printed;
}

// The command for each node: this program with the verb that examines one host.
plan::Options options_of(const options::Call& call) {
  plan::Options options;
  options.program = plan::Program::executable;
  options.script = process::own_path().value_or("");
  options.arguments = {"--here", "--json-lines"};
  if (checks_reported(call) == doctor::Checks::all) options.arguments.emplace_back("--all");
  options.command_line = {options.script, "doctor"};
  std::ranges::copy(options.arguments, std::back_inserter(options.command_line));
  if (const auto argument = call.argument(FlagId::hosts))
    options.hosts = {argument->value, argument->source};
  if (const auto argument = call.argument(FlagId::host_file)) {
    options.host_file = {argument->value, argument->source};
  }
  return options;
}

std::vector<doctor::HostReport> reports_in(const launch::EveryNode& every) {
  doctor::HostReports reports;
  for (const launch::NodeLine& line : every.lines) {
    const bool is_ours = reports.take(line.text, line.arrived);
    if (!is_ours) say_block(line.text + '\n');  // of a login script or the engine
  }
  return reports.complete();
}

using Hosts = std::vector<std::string>;

int print_comparison(const options::Call& call, const std::vector<doctor::HostReport>& reports,
                     const launch::EveryNode& every) {
  std::vector<doctor::Unreached> unreached;
  for (const auto& [hosts, why, fix] : every.failed) unreached.push_back({hosts, why, fix});
  const auto findings = doctor::compare(reports, every.hosts, checks_reported(call), unreached);
  std::vector<std::string> answered;
  for (const doctor::HostReport& report : reports) answered.push_back(report.host);
  int printed = 0;
  if (call.has(FlagId::json)) {
    printed = print_bytes(doctor::findings_json(findings, answered));
  } else if (call.has(FlagId::fix)) {
    printed = print_fixes(doctor::fixes_text(findings));
  } else {
    printed = print(doctor::findings_text(findings, answered.size()));
  }
  if (printed != 0) return printed;
  return doctor::exit_code(findings.empty() ? doctor::Severity::ok
                                            : findings.front().finding.severity);
}

std::vector<doctor::HostReport> with_second_answers(std::vector<doctor::HostReport> reports,
                                                    const launch::EveryNode& again) {
  for (doctor::HostReport& late : reports_in(again)) {
    const auto place = std::ranges::lower_bound(reports, late.host, {}, &doctor::HostReport::host);
    const bool is_new = place == reports.end() || place->host != late.host;
    if (is_new) reports.insert(place, std::move(late));
  }
  return reports;
}

// The exit code; nullopt: the job has this node alone.
Result<std::optional<int>> compare_hosts(const options::Call& call) {
  const plan::Options options = options_of(call);
  const auto began = std::chrono::steady_clock::now();
  const auto every = TRY(launch::run_on_every_node(options, call.environment));
  if (!every) return std::nullopt;
  const Hosts& hosts = every->hosts;
  auto reports = reports_in(*every);
  const bool ended_soon = std::chrono::steady_clock::now() - began < hanging_after;
  if (reports.size() < hosts.size() && ended_soon && !every->by_login) {
    const auto again = launch::run_on_every_node(options, call.environment);
    if (again && *again) reports = with_second_answers(std::move(reports), **again);
  }
  return print_comparison(call, reports, *every);
}

// --hosts and --hostfile on the command line contradict options for one machine.
Result<void> check_hosts(const options::Call& call) {
  for (const FlagId hosts : {FlagId::hosts, FlagId::host_file}) {
    const auto argument = call.argument(hosts);
    if (!argument || !argument->is_typed()) continue;
    for (const FlagId here : one_machine) {
      if (const auto rival = call.argument(here)) {
        return usage(argument->source + " and " + rival->source,
                     "the first option names hosts, and the second option is only for this machine",
                     "give only one of them");
      }
    }
  }
  return {};
}

bool is_about_one_machine(const options::Call& call) {
  return std::ranges::any_of(one_machine, [&](FlagId id) { return call.has(id); }) ||
         call.environment.has(engines::slurm::script_context_variable);
}

}  // namespace

// What --fix and --json leave without effect.
void tell_of_unused_options(const options::Call& call) {
  if (!call.has(FlagId::fix)) return;
  if (call.has(FlagId::json) || call.has(FlagId::json_lines)) {
    say("--fix has no effect here: the JSON contains the commands of each finding");
  } else if (call.has(FlagId::all)) {
    say("--all has no effect with --fix, which prints commands only for problems");
  }
}

Result<int> run_doctor(const options::Call& call) {
  TRY(check_hosts(call));
  tell_of_unused_options(call);
  if (!is_about_one_machine(call)) {
    const auto code = TRY(compare_hosts(call));
    if (code) return *code;
  }
  const auto report = TRY(examine_this_host(call));
  const int printed = print_report(call, report);
  return printed == 0 ? doctor::exit_code(doctor::worst_of(report.findings)) : printed;
}

}  // namespace toprun::cli
