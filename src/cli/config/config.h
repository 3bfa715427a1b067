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

// Returns the environment variable that sets this option for this command line. Pure.
std::optional<SetVariable> variable_for(const options::Flag& flag, options::Command command,
                                        const Environment& environment);

// Returns the profile that --profile names. Without --profile, TOPRUN_PROFILE names the profile,
// else default-profile in the file with the highest priority. Pure. Error (exit 2): no file
// contains the profile.
Result<std::optional<ChosenProfile>> choose_profile(const Config& config,
                                                    const options::Split& split,
                                                    const Environment& environment);

// Returns the options that configuration files set for this command line: those that the command
// knows, and that neither the command line nor a variable sets. Pure. A key in a profile has
// priority over the same key outside of profiles. If two files set the same key, the file with the
// higher priority counts. For `env`, this rule applies to each variable separately. If two tables
// set options with the same meaning, such as hosts and hostfile, the options count as the same key.
std::vector<options::ParsedOption> options_of(const Config& config,
                                              const std::optional<ChosenProfile>& profile,
                                              const options::Split& split, options::Command command,
                                              const Environment& environment);

// Whether toprun reads configuration files for this command line. False if toprun is called as
// torchrun, with --no-config, for an agent, and for the process on a job's node that becomes the
// shell of `toprun shell`. The agent and the shell's process have received the files' options from
// the toprun that started them. Error (exit 2): --no-config together with --profile or
// --config-file.
Result<bool> reads_config(const options::Split& split, const Environment& environment);

// A command line, together with the options that configuration files set for it.
struct WithConfig {
  options::Split split;
  Environment environment;
};

// Moves variables that contain secrets into the environment and leaves -e NAME in the options,
// because other users can read command lines and job scripts. The address of --notify is moved to
// the environment too. Returns the names of all -e variables that contain secrets, including
// variables that were in the environment before. Pure.
std::vector<std::string> hide_secrets(std::vector<options::ParsedOption>& options,
                                      Environment& environment);

// Returns the command line `words` without secrets, for agents. `typed` is the result of split()
// for `words`. `hidden` contains the options after hide_secrets(). If `hidden` has -e NAME, the
// result has -e NAME instead of -e NAME=VALUE. Pure.
std::vector<std::string> words_without_secrets(std::vector<std::string> words,
                                               const options::Split& typed,
                                               const options::Split& hidden);

// Finds and reads the files. For each configuration file that is ignored, prints the reason on
// stderr. The files' options are inserted before the options of the command line, so that readers
// of `split` treat both in the same way. --verbose prints the inserted options. At the end,
// hide_secrets() moves secrets out of all options. No configuration files are read for a command
// that has no option --no-config. with_config() reads no files for `config show` either, because
// this command shows what the files would set for another command.
Result<WithConfig> with_config(const options::Split& split, options::Command command,
                               const Environment& environment);

// Returns the option's value in a configuration file's syntax, without secrets; "true" for a
// switch.
std::string shown_value(const options::ParsedOption& option);

// Returns the command line including configuration files' options. Agents and jobs do not read
// these files.
std::vector<std::string> words_with_config(const std::vector<std::string>& argv,
                                           const options::Split& split);

}  // namespace toprun::config
