#include <algorithm>
#include <array>

#include "base/net/hostlist.h"
#include "base/process/command.h"
#include "base/text/text.h"
#include "engines/slurm/facts.h"
#include "engines/slurm/slurm.h"
#include "engines/slurm/slurm_jobs.h"

namespace toprun::engines {

std::vector<std::string> nodes_in_sstat(std::string_view text) {
  std::vector<std::string> names;
  for (const std::string_view line : split(text, '\n')) {
    const auto fields = split(line, '|');
    if (fields.size() < 3 || trim(fields[2]).empty()) continue;
    const auto nodes = hosts::expand_hostlist(trim(fields[1]));
    if (nodes) names.insert(names.end(), nodes->begin(), nodes->end());
  }
  return names;
}

bool prolog_delays_steps(std::string_view config) {
  const auto is_set = [&](const char* key) {
    const std::string value = slurm::config_value(config, key);
    return !value.empty() && value != "(null)";
  };
  if (!is_set("Prolog") && !is_set("Prolog[0]")) return false;  // newer Slurms number several
  const std::string flags = lower(slurm::config_value(config, "PrologFlags"));
  // Contain and X11 imply Alloc (slurm.conf(5)).
  return std::ranges::none_of(std::array{"alloc", "contain", "x11"}, [&](const char* flag) {
    return flags.find(flag) != std::string::npos;
  });
}

std::optional<Presence> SlurmEngine::presence(const Environment& environment) const {
  const auto job = environment.non_empty("SLURM_JOB_ID");
  const auto step = environment.non_empty("SLURM_STEP_ID");
  if (!job || !step || environment.has("SLURM_HET_SIZE")) return std::nullopt;
  const auto processes = process::output_of(
      {"sstat", "--noheader", "--parsable2", "--pidformat", "-j", *job + "." + *step}, environment,
      slurm_answer_limit(environment));
  if (!processes) return std::nullopt;
  const auto config = process::output_of({"scontrol", "show", "config"}, environment,
                                         slurm_answer_limit(environment));
  return Presence{nodes_in_sstat(*processes), !config || prolog_delays_steps(*config)};
}

void SlurmEngine::end_step(const Environment& environment) const {
  const auto job = environment.non_empty("SLURM_JOB_ID");
  const auto step = environment.non_empty("SLURM_STEP_ID");
  if (!job || !step) return;
  [[maybe_unused]] const auto done =
      process::run({"scancel", *job + "." + *step}, environment, slurm_answer_limit(environment));
}

}  // namespace toprun::engines
