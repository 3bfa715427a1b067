#include <algorithm>
#include <vector>

#include "base/text/text.h"
#include "cli/jobs/predecessors.h"
#include "cli/jobs/setup_site.h"
#include "cli/options/call.h"
#include "node/plan/setup/setup_record.h"

namespace toprun::jobs {
namespace {

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
      out.note = "--after setup: toprun setup has already finished, at " + record.ended;
    } else {
      out.split.options.push_back(option);
      out.split.options.back().value = job;
      out.setups[job] = path;
    }
  }
  return out;
}

}  // namespace toprun::jobs
