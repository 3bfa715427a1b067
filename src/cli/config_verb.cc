#include "cli/config_verb.h"

#include <array>

#include "cli/config_init.h"
#include "cli/config_show.h"
#include "cli/subverbs.h"

namespace toprun::cli {
namespace {

constexpr std::array verbs = {
    Subverb{"show", "what counts, and which file or variable says it", run_config_show},
    Subverb{"init", "write a toprun.toml with this cluster's partitions and GPUs", run_config_init},
};

constexpr Family family = {"config", "What toprun.toml and variables say.",
                           "toprun config show submit", "every value that a submission takes",
                           verbs};

}  // namespace

int run_config(const std::vector<std::string>& arguments, const Environment& environment) {
  return run_subverb(family, arguments, environment);
}

}  // namespace toprun::cli
