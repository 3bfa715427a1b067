#include "cli/jobs/predecessors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/text/clock.h"
#include "base/text/text.h"
#include "cli/jobs/job_summary.h"
#include "cli/jobs/setup_site.h"
#include "cli/options/call.h"
#include "node/plan/setup/setup_record.h"

namespace toprun::jobs {
namespace {

struct DemandName {
  std::string_view name;
  Demand demand;
};
constexpr std::array demands = {DemandName{"ok", Demand::ok}, DemandName{"any", Demand::any},
                                DemandName{"notok", Demand::notok}};

bool lives(const KnownJob& known) {
  return known.job && !has_ended(known.job->state);
}

// The engine's state has priority over the run's own report.
std::optional<int> code_of(const KnownJob& known) {
  if (known.job) return exit_code_of(*known.job);
  return summary_of(known).exit_code;
}

std::string_view requested(Demand demand) {
  return demand == Demand::ok ? "ended with exit code 0" : "failed";
}

std::string words_of(const std::vector<KnownJob>& known) {
  for (const KnownJob& one : known) {
    if (lives(one) || code_of(one).value_or(0) == 0) continue;
    return summary_of(one).words;
  }
  return "ended with exit code 0";
}

// The demand of "afterok". nullopt: it does not name jobs.
std::optional<Demand> demand_of(std::string_view kind) {
  constexpr std::string_view start = "after";
  if (!kind.starts_with(start)) return std::nullopt;
  const auto demand = std::ranges::find(demands, kind.substr(start.size()), &DemandName::name);
  return demand == demands.end() ? Demand::any : demand->demand;
}

// "36,37:any" as words of a command line.
std::string option_for_each(std::string_view jobs) {
  std::vector<std::string> words;
  for (const std::string_view job : split(jobs, ',')) {
    words.push_back(fmt::format("--after {}", printable(job)));
  }
  return join(words, " ");
}

std::unexpected<Error> cannot_begin(const std::string& label, const After& after,
                                    const FoundQueue& queue, const std::vector<KnownJob>& known) {
  const std::string& id = after.job.text;
  const Fate fate = fate_of(known);
  if (fate == Fate::unknown) {
    return fail(label, fmt::format("job {} is unknown: {}", id, (*queue)->forgets(after.job)),
                fmt::format("if it was submitted in another folder, submit this job there, or with "
                            "that folder's --log-dir: its report is there; --dependency {} leaves "
                            "the check to {}",
                            dependency_text(after), (*queue)->engine_in_words()));
  }
  if (fate == Fate::ended) {
    return fail(
        label,
        fmt::format(
            "it is not known how job {} ended: {} has forgotten it, and its files do not say how",
            id, (*queue)->engine_in_words()),
        fmt::format("toprun status {} shows more; --after {}:any accepts any end", id, id));
  }
  return fail(
      label, fmt::format("job {} {}", id, words_of(known)),
      after.demand == Demand::ok
          ? fmt::format("start that job again, or start this job regardless with --after {}:any",
                        id)
          : "leave --after out");
}

using setup::Record;
using setup::State;

bool is_after_setup(const options::ParsedOption& option) {
  return option.flag->id == options::FlagId::after && option.value == after_setup_word;
}

struct Build {
  std::string path;
  Record record;
};

// What this command line uses and toprun setup has begun or been asked to build.
Result<std::vector<Build>> builds_for(const options::Split& split, const Environment& environment) {
  std::vector<Build> builds;
  std::vector<std::string> labels;
  for (const options::FlagId id : {options::FlagId::venv, options::FlagId::container}) {
    const auto built = options::argument_of(options::flag_of(id), split, environment);
    if (!built || built->value.empty()) continue;
    labels.push_back(built->label());
    auto record = TRY(setup::read_record(built->value));
    if (record) builds.push_back({built->value, *std::move(record)});
  }
  if (!builds.empty()) return builds;
  if (labels.empty()) {
    return usage("--after setup", "neither --venv nor --container is given",
                 "name the environment or image that toprun setup builds");
  }
  return usage("--after setup", "toprun setup was never started for " + join(labels, " or "),
               "start toprun setup first");
}

// The job that is still to end. Empty: it has been built.
Result<std::string> awaited_job(const Record& record, const Environment& environment) {
  if (record.state == State::complete) return "";
  if (!record.job.empty() && record.state != State::failed) {
    const auto alive = TRY(is_alive(record.job, environment));
    if (alive) return record.job;
  }
  return fail("--after setup", "the environment is incomplete: " + setup::state_words(record),
              record.job.empty()
                  ? "run toprun setup again"
                  : "toprun logs " + record.job + " shows its output; run toprun setup again");
}

}  // namespace

Result<After> parse_after(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string_view how =
      colon == std::string::npos ? "ok" : std::string_view(text).substr(colon + 1);
  const auto demand = std::ranges::find(demands, how, &DemandName::name);
  auto id = engines::parse_job_id(std::string_view(text).substr(0, colon));
  const bool is_one = id && !id->text.contains('+') && !id->task.starts_with('[');
  if (text.contains(',')) {
    return usage("--after " + text, "it takes one job",
                 "for several jobs, repeat the option: " + option_for_each(text));
  }
  if (!is_one || demand == demands.end() || parse_int(id->number).value_or(0) < 1) {
    return usage("--after " + text,
                 "must be a job's number, optionally followed by :ok, :any or :notok",
                 "as in --after 1234 or --after 1234:any");
  }
  return After{*std::move(id), demand->demand};
}

std::string dependency_text(const After& after) {
  const auto found = std::ranges::find(demands, after.demand, &DemandName::demand);
  return fmt::format("after{}:{}", found->name, after.job.text);
}

Conditions parse_dependency(std::string_view text) {
  Conditions out;
  out.one_suffices = text.contains('?');
  for (const std::string_view item : split(text, out.one_suffices ? '?' : ',')) {
    const std::size_t colon = item.find(':');
    const auto demand = demand_of(item.substr(0, colon));
    if (!demand || colon == item.npos) continue;
    for (const std::string_view word : split(item.substr(colon + 1), ':')) {
      auto id = engines::parse_job_id(word.substr(0, word.find_first_of("+ (")));
      if (id && !id->number.empty()) out.all.push_back({*std::move(id), *demand});
    }
  }
  return out;
}

std::vector<std::string> never_met(const Conditions& conditions, const FindKnown& find) {
  std::vector<std::string> whys;
  for (const After& after : conditions.all) {
    const auto known = find(after.job);
    if (prospect(fate_of(known), after.demand) != Prospect::never) continue;
    whys.push_back(fmt::format("job {} {}", after.job.text, words_of(known)));
  }
  if (conditions.one_suffices && whys.size() < conditions.all.size()) return {};
  return whys;
}

Fate fate_of(const std::vector<KnownJob>& known) {
  if (known.empty()) return Fate::unknown;
  const bool any_lives = std::ranges::any_of(known, lives);
  const bool any_failed = std::ranges::any_of(
      known, [](const KnownJob& one) { return !lives(one) && code_of(one).value_or(0) != 0; });
  if (any_lives) return any_failed ? Fate::fails : Fate::lives;
  if (any_failed) return Fate::failed;
  const bool all_reported =
      std::ranges::all_of(known, [](const KnownJob& one) { return code_of(one).has_value(); });
  return all_reported ? Fate::succeeded : Fate::ended;
}

Prospect prospect(Fate fate, Demand demand) {
  switch (fate) {
    case Fate::lives:
      return Prospect::wait;
    case Fate::fails:
      return demand == Demand::ok ? Prospect::never : Prospect::wait;
    case Fate::succeeded:
      return demand == Demand::notok ? Prospect::never : Prospect::met;
    case Fate::failed:
      return demand == Demand::ok ? Prospect::never : Prospect::met;
    case Fate::ended:
      return demand == Demand::any ? Prospect::met : Prospect::unclear;
    case Fate::unknown:
      return Prospect::unclear;
  }
  return Prospect::unclear;
}

Result<Resolved> resolve_predecessors(const options::Split& split, const Environment& environment) {
  Resolved out{split, {}};
  const auto is_after = [](const options::ParsedOption& option) {
    return option.flag->id == options::FlagId::after;
  };
  if (std::ranges::none_of(split.options, is_after)) return out;
  FoundQueue queue = engines::find_queue(environment);
  if (!queue) return out;  // what is submitted without an engine fails by itself
  const auto log_dir =
      options::argument_of(options::flag_of(options::FlagId::log_dir), split, environment);
  out.split.options.clear();
  for (const options::ParsedOption& option : split.options) {
    if (!is_after(option)) {
      out.split.options.push_back(option);
      continue;
    }
    const auto after = TRY(parse_after(option.value));
    const auto known = TRY(find_known(after.job, queue, log_dir ? log_dir->value : ""));
    if (!queue) return std::unexpected(queue.error());
    const std::string label = options::as_argument(option).label();
    switch (prospect(fate_of(known), after.demand)) {
      case Prospect::wait:
        out.split.options.push_back(option);
        break;
      case Prospect::met:
        out.notes.push_back(
            fmt::format("{}: that job has {} already", label,
                        after.demand == Demand::any ? "ended" : requested(after.demand)));
        break;
      case Prospect::never:
      case Prospect::unclear:
        return cannot_begin(label, after, queue, known);
    }
  }
  return out;
}

Result<AwaitedSetup> after_setup(const options::Split& split, const Environment& environment) {
  AwaitedSetup out{split, {}, {}};
  const auto asked = std::ranges::find_if(out.split.options, is_after_setup);
  if (asked == out.split.options.end()) return out;
  const options::ParsedOption option = *asked;
  const auto builds = TRY(builds_for(split, environment));
  std::erase_if(out.split.options, is_after_setup);
  for (const auto& [path, record] : builds) {
    const auto job = TRY(awaited_job(record, environment));
    if (job.empty()) {
      const auto ended = time_in(record.ended);
      out.note = fmt::format("--after setup: toprun setup has already finished, at {}",
                             ended ? time_text(*ended) : record.ended);
    } else {
      out.split.options.push_back(option);
      out.split.options.back().value = job;
      out.setups[job] = path;
    }
  }
  return out;
}

}  // namespace toprun::jobs
