#include <csignal>
#include <vector>

#include "base/text/error.h"
#include "cli/verbs/help/help.h"
#include "engines/queue.h"
#include "machine/doctor/report.h"
#include "run/conductor/restarts.h"
#include "run/model/exit.h"

namespace toprun::cli {
namespace {

std::string code_text(int code) {
  return fmt::to_string(code);
}

constexpr int signal_base = 128;
constexpr std::string_view wrong_words =
    "the command line is wrong, or a file that it names does not exist";

const std::vector<ExitCode>& codes_of_run() {
  static const std::vector<ExitCode> codes = {
      {"0", "every rank ended with 0"},
      {"N", "the exit code of the rank that failed first"},
      {fmt::format("{}+N", signal_base), "signal N ended the rank that failed first"},
      {code_text(exit_failure),
       "toprun itself failed: not all nodes connected, a node was lost, or a port was in use"},
      {code_text(exit_usage), wrong_words},
      {code_text(exit_preempted), "Slurm preempted or requeued the job"},
      {code_text(run::no_restart_exit_code),
       "a rank exited with this code to prevent a restart (see --max-restarts)"},
      {code_text(engines::exit_time_limit), "the job's time limit was reached"},
      {fmt::format("{}, {}", signal_base + SIGINT, signal_base + SIGTERM),
       "interrupted (Ctrl-C), or ended by SIGTERM"},
  };
  return codes;
}

const std::vector<ExitCode>& codes_of_submit() {
  static const std::vector<ExitCode> codes = {
      {"0", "submitted; with --wait or --follow, every rank ended with 0"},
      {"N", "with --wait or --follow: the exit code of toprun in the job"},
      {code_text(exit_failure), "Slurm, Kubernetes or Run:AI refused the job or did not answer"},
      {code_text(exit_usage), wrong_words},
      {code_text(engines::exit_not_started),
       "with --wait or --follow: the job was not started, because a job of --after did not end as "
       "required"},
  };
  return codes;
}

const std::vector<ExitCode>& codes_of_shell() {
  static const std::vector<ExitCode> codes = {
      {"N", "the exit code of the shell"},
      {code_text(exit_failure), "Slurm refused the allocation or did not answer"},
      {code_text(exit_usage), "the command line is wrong"},
  };
  return codes;
}

const std::vector<ExitCode>& codes_of_setup() {
  static const std::vector<ExitCode> codes = {
      {"0", "submitted; with --wait, --follow or --on local: built"},
      {code_text(exit_failure), "the build failed, or Slurm refused the job"},
      {code_text(exit_usage), "the command line is wrong, or the folder already exists"},
  };
  return codes;
}

const std::vector<ExitCode>& codes_of_others() {
  static const std::vector<ExitCode> codes = {
      {"0", "done"},
      {code_text(exit_failure), "the command failed; one line on stderr says why"},
      {code_text(exit_usage), "the command line, or a file that it names, is wrong"},
  };
  return codes;
}

const std::vector<ExitCode>& codes_of_compare() {
  static const std::vector<ExitCode> codes = {
      {"0", "no result became slower; a line on stderr names the results that could not be judged"},
      {code_text(exit_failure), "the output could not be written"},
      {code_text(exit_usage),
       "the command line, or a file that it names, is wrong, or the two files have no row in "
       "common"},
      {code_text(model::exit_found),
       "a result became slower by more than a quarter, spread included; with --fail-below, by "
       "more than this option allows"},
  };
  return codes;
}

// A launch whose ranks are toprun's own.
std::vector<ExitCode> codes_of_measurement(std::string_view found) {
  return {
      {"0", "measured, and no problem was found"},
      {code_text(exit_failure),
       "the measurement failed: a rank stalled or was lost, or not all nodes connected"},
      {code_text(exit_usage),
       "the command line is wrong, or needs nodes, ranks or GPUs that the job does not have"},
      {code_text(model::exit_found), found},
      {code_text(exit_preempted), "Slurm preempted or requeued the job"},
      {code_text(engines::exit_time_limit), "the job's time limit was reached"},
      {fmt::format("{}, {}", signal_base + SIGINT, signal_base + SIGTERM),
       "interrupted (Ctrl-C), or ended by SIGTERM"},
  };
}

const std::vector<ExitCode>& codes_of_bench() {
  static const std::vector<ExitCode> codes = codes_of_measurement(
      "a problem was found: busbw below --expect-busbw, nodes that make the collective hang "
      "(--bisect), or wrong elements");
  return codes;
}

const std::vector<ExitCode>& codes_of_pairs() {
  static const std::vector<ExitCode> codes =
      codes_of_measurement("a problem was found: a node, uplink or link is slow or hangs");
  return codes;
}

const std::vector<ExitCode>& codes_of_doctor() {
  static const std::vector<ExitCode> codes = {
      {"0", "no warning and no error was found, at most notes"},
      {code_text(exit_failure), "the output could not be written"},
      {code_text(exit_usage), "the command line is wrong"},
      {code_text(doctor::exit_warning), "a warning was found: jobs run, but may be slow or fail"},
      {code_text(doctor::exit_error),
       "an error was found: jobs will fail here, or a host did not answer"},
  };
  return codes;
}

const std::vector<ExitCode>& codes_of_logs() {
  static const std::vector<ExitCode> codes = [] {
    std::vector<ExitCode> all = codes_of_others();
    all.insert(all.begin(), {"N", "with -f: the exit code of toprun in the job"});
    return all;
  }();
  return codes;
}

}  // namespace

std::span<const ExitCode> exit_codes(options::Command command) {
  using options::Command;
  switch (command) {
    case Command::run:
    case Command::torchrun:
      return codes_of_run();
    case Command::bench:
      return codes_of_bench();
    case Command::bench_pairs:
      return codes_of_pairs();
    case Command::submit:
      return codes_of_submit();
    case Command::shell:
      return codes_of_shell();
    case Command::setup:
      return codes_of_setup();
    case Command::bench_compare:
      return codes_of_compare();
    case Command::doctor:
      return codes_of_doctor();
    case Command::logs:
      return codes_of_logs();
    default:
      return codes_of_others();
  }
}

}  // namespace toprun::cli
