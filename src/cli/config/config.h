#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "cli/config/config_search.h"
#include "cli/options/split.h"

namespace toprun::config {

// A profile, and the source that selected it.
struct ChosenProfile {
  std::string name;
  std::string source;  // "--profile", "TOPRUN_PROFILE", "toprun.toml:2"
};

struct SetVariable {
  std::string name;
  std::string value;
};

// The variable that gives this option its value in this call, as the command reads it. Pure.
std::optional<SetVariable> variable_for(const options::Flag& flag, options::Command command,
                                        const Environment& environment);

// --profile, else its variable, else the strongest file's default-profile. Pure. Error (exit 2): no
// file has such a profile.
Result<std::optional<ChosenProfile>> choose_profile(const Config& config,
                                                    const options::Split& split,
                                                    const Environment& environment);

// The options that files give to this call: those that the command knows and that neither the
// command line nor a variable gives. Pure. Profiles take precedence over keys outside of profiles,
// and then stronger files over weaker ones. The strongest table with a key decides it; each
// variable of `env` is decided separately. Two options with the same meaning, such as hosts and
// hostfile, count as one key between tables.
std::vector<options::GivenOption> options_of(const Config& config,
                                             const std::optional<ChosenProfile>& profile,
                                             const options::Split& split, options::Command command,
                                             const Environment& environment);

// Whether this call reads configuration at all: not under torchrun's name, not with --no-config,
// and not in an agent or at the start of a shell on a node, which received the files' options.
// Error (exit 2): --no-config beside an option that it makes void.
Result<bool> reads_config(const options::Split& split, const Environment& environment);

// A call with all that files give to it.
struct WithConfig {
  options::Split split;
  Environment environment;
};

// Moves variables that hold secrets into the environment and leaves -e NAME in the options, because
// other users can read command lines and job scripts; the same of the address of --notify. Returns
// the names of all variables of -e that hold one, also of those that were in the environment
// already. Pure.
std::vector<std::string> hide_secrets(std::vector<options::GivenOption>& options,
                                      Environment& environment);

// The words of a command line as `typed`, with -e NAME where hide_secrets() has left that in
// `hidden`: agents are given these words. Pure.
std::vector<std::string> words_without_secrets(std::vector<std::string> words,
                                               const options::Split& typed,
                                               const options::Split& hidden);

// Finds and reads the files, reports ignored files and the reasons on stderr, and puts the files'
// options before those of the command line, so that readers of `split` treat both alike; --verbose
// reports them. Secrets are then hidden in all options. It reads nothing for a command without
// --no-config, nor for config show, which shows what files would give to another command.
Result<WithConfig> with_config(const options::Split& split, options::Command command,
                               const Environment& environment);

// As a file would write it, secrets left out: "true" of a switch.
std::string shown_value(const options::GivenOption& option);

// The command line with what files gave: agents and jobs read no files.
std::vector<std::string> words_with_config(const std::vector<std::string>& argv,
                                           const options::Split& split);

}  // namespace toprun::config
