#include "cli/after_setup.h"

#include <algorithm>

#include "cli/given.h"
#include "cli/setup_site.h"
#include "setup/record.h"

namespace toprun::cli {
namespace {

using setup::Record;
using setup::State;

bool is_after_setup(const GivenOption& option) {
  return option.flag->id == FlagId::after && option.value == after_setup_word;
}

Result<Record> record_for(const Split& split, const Environment& environment) {
  const std::string what = "--after setup";
  auto built = given_of(flag_of(FlagId::venv), split, environment);
  if (!built || built->value.empty())
    built = given_of(flag_of(FlagId::container), split, environment);
  if (!built || built->value.empty()) {
    return usage(what, "no --venv or --container says which",
                 "give the one that toprun setup builds");
  }
  auto record = setup::read_record(built->value);
  if (!record) return std::unexpected(record.error());
  if (!*record)
    return usage(what, "no toprun setup was there for " + built->label(), "start it first");
  return **std::move(record);
}

}  // namespace

Result<AwaitedSetup> after_setup(const Split& split, const Environment& environment) {
  AwaitedSetup out{split, {}};
  if (std::ranges::none_of(split.options, is_after_setup)) return out;
  const auto record = record_for(split, environment);
  if (!record) return std::unexpected(record.error());
  if (record->state == State::complete) {
    std::erase_if(out.split.options, is_after_setup);
    out.note = "--after setup: it has been built already, at " + record->ended;
    return out;
  }
  const bool is_job = !record->job.empty() && record->state != State::failed;
  if (!is_job || !is_alive(record->job, environment)) {
    return fail("--after setup", "the environment is incomplete: " + setup::state_words(*record),
                record->job.empty()
                    ? "run toprun setup again"
                    : "toprun logs " + record->job + " shows what it said; run toprun setup again");
  }
  for (GivenOption& option : out.split.options) {
    if (is_after_setup(option)) option.value = record->job;
  }
  return out;
}

}  // namespace toprun::cli
