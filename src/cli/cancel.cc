#include "cli/cancel.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>

#include <CLI/CLI.hpp>

#include "base/console.h"
#include "base/print.h"
#include "base/signals.h"
#include "base/text.h"
#include "cli/parse.h"
#include "jobs/job_words.h"

namespace toprun::cli {
namespace {

using scheduler::Addressee;
using scheduler::Job;

struct CancelOptions {
  std::vector<std::string> ids;
  std::string signal;
  bool dry_run = false;
};

// scancel says nothing about a job that it does not know or that has ended, so the engine is asked
// first.
Result<void> check(const scheduler::Queue& queue, const std::string& text) {
  const auto jobs = jobs::jobs_of(queue, text);
  if (!jobs) return std::unexpected(jobs.error());
  if (!std::ranges::all_of(*jobs, [](const Job& job) { return has_ended(job.state); })) return {};
  const Job& last = jobs->back();
  return fail(
      fmt::format("job {} has already ended", text),
      jobs::end_text(queue, last) + (last.ended ? " at " + jobs::time_text(*last.ended) : ""));
}

// Whose the job is, where that tells why it may not be ended.
std::string owner_of(const scheduler::Queue& queue, const std::string& text) {
  const auto id = scheduler::parse_job_id(text);
  const auto jobs = id ? queue.find(*id) : Result<std::vector<Job>>();
  if (!jobs || jobs->empty() || jobs->front().uid == ::getuid()) return {};
  return fmt::format("job {} is {}'s", text, printable(jobs->front().user));
}

std::unexpected<Error> refused(const scheduler::Queue& queue, const std::vector<std::string>& ids,
                               const Error& error) {
  std::vector<std::string> others;
  for (const std::string& id : ids) {
    if (std::string owner = owner_of(queue, id); !owner.empty()) others.push_back(owner);
  }
  if (others.empty()) return std::unexpected(error);
  return fail(join(others, ", "), error.why, error.fix);
}

// What toprun passes on to its ranks in its own way: notices only to those that handle them.
bool passes_on(std::string_view signal) {
  constexpr std::array signals = {"TERM", "INT", "HUP", "QUIT", "USR1", "USR2"};
  return std::ranges::find(signals, signal) != signals.end();
}

std::map<Addressee, std::vector<std::string>> by_addressee(const scheduler::Queue& queue,
                                                           const std::vector<std::string>& ids,
                                                           const std::string& signal) {
  std::map<Addressee, std::vector<std::string>> out;
  for (const std::string& id : ids) {
    const auto parsed = scheduler::parse_job_id(id);
    const bool to_toprun = passes_on(signal) && parsed && queue.is_run_by_toprun(*parsed);
    out[to_toprun ? Addressee::batch_script : Addressee::processes].push_back(id);
  }
  return out;
}

Result<int> cancel(const CancelOptions& options, const Environment& environment) {
  const auto queue = scheduler::find_queue(environment);
  if (!queue) return std::unexpected(queue.error());
  std::vector<std::string> good;
  int code = 0;
  for (const std::string& id : options.ids) {
    if (const auto checked = check(**queue, id); checked) {
      good.push_back(id);
    } else {
      code = give_up(checked.error());
    }
  }
  if (good.empty()) return code;
  for (const auto& [addressee, ids] : by_addressee(**queue, good, options.signal)) {
    const auto command = (*queue)->cancel_command(ids, options.signal, addressee);
    if (options.dry_run) {
      const int printed = print_bytes(shell_quote(command) + '\n');
      if (printed != 0) return printed;
      continue;
    }
    const auto done = (*queue)->execute(command);
    if (!done) return refused(**queue, ids, done.error());
    say(options.signal.empty() ? fmt::format("told to end: {}", join(ids, ", "))
                               : fmt::format("sent {} to {}", options.signal, join(ids, ", ")));
  }
  return code;
}

// "usr1", "SIGUSR1" and "10" are one signal, which scancel takes without "SIG".
Result<std::string> signal_of(const std::string& text) {
  for (int number = 1; number < 32; ++number) {
    std::string name = signal_name(number);
    if (name.starts_with("SIG")) name = name.substr(3);
    const std::string given = lower(text);
    if (given == lower(name) || given == "sig" + lower(name) || text == fmt::to_string(number)) {
      return name;
    }
  }
  return usage("--signal " + text, "no such signal", "give a name (TERM, USR1 …) or a number");
}

}  // namespace

int run_cancel(const std::vector<std::string>& arguments, const Environment& environment) {
  CancelOptions options;
  CLI::App app("Ends jobs that wait or run, or sends them a signal.", "toprun cancel");
  app.add_option("ID", options.ids,
                 "as `toprun jobs` shows it: 17, 12_3 for an array's task, 12_[4-9] for several")
      ->required()
      ->type_name("ID");
  app.add_option("-s,--signal", options.signal,
                 "send this signal to the job's processes instead of ending it")
      ->type_name("SIGNAL");
  app.add_flag("--dry-run", options.dry_run, "print the command and do not run it");
  app.footer(
      "Examples:\n"
      "  toprun cancel 17 12_3\n"
      "  toprun cancel --signal USR1 17  # the ranks' handlers run, the job goes on");
  if (const auto code = parse(app, arguments)) return *code;
  if (!options.signal.empty()) {
    auto signal = signal_of(options.signal);
    if (!signal) return give_up(signal.error());
    options.signal = *std::move(signal);
  }
  const auto cancelled = cancel(options, environment);
  return cancelled ? *cancelled : give_up(cancelled.error());
}

}  // namespace toprun::cli
