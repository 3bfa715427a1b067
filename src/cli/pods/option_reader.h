#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "cli/options/call.h"
#include "cli/options/split.h"

namespace toprun::pods {

// Reads `submit` options by name, for an engine whose jobs consist of pods.
struct OptionReader {
  const options::Split& split;
  const Environment& environment;

  // Returns the option's last value; nullopt if the option is not given or is empty. Ignores
  // Slurm's own variables (SBATCH_TIMELIMIT …), because they do not apply to pods.
  std::optional<options::Argument> one(std::string_view name) const;
  // Returns all values of a repeatable option.
  std::vector<options::Argument> all(std::string_view name) const;
  // Whether a switch is on.
  bool has(std::string_view name) const { return one(name).has_value(); }
};

}  // namespace toprun::pods
