#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "cli/options/given.h"
#include "cli/options/split.h"

namespace toprun::pods {

// What one command line of `submit` says to an engine of pods, read by the options' names.
struct OptionReader {
  const options::Split& split;
  const Environment& environment;

  // The value given last; nullopt: none, or an empty one. Slurm's own variables (SBATCH_TIMELIMIT
  // …) say nothing about pods.
  std::optional<options::Given> one(std::string_view name) const;
  // All values of an option that may be given several times.
  std::vector<options::Given> all(std::string_view name) const;
  // Whether a switch is on.
  bool has(std::string_view name) const;
};

}  // namespace toprun::pods
