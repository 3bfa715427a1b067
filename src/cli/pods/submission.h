#pragma once

#include <string>
#include <string_view>

#include "base/os/environment.h"
#include "cli/options/split.h"
#include "cli/pods/options.h"

namespace toprun::pods {

// Submits a job of pods by `kubectl create`, or prints its manifest for a dry run. Prints the job's
// name on stdout, and notes on stderr. Returns the exit code.
int submit_pods(const PodOptions& options, const Environment& environment);

// Submits a job of pods by `runai`, or prints the runai command for a dry run. Prints the job's
// name on stdout, and notes on stderr. Returns the exit code. `split` is the command line. The
// function reads from it the options that exist only for Run:AI.
int submit_to_runai(const PodOptions& options, const options::Split& split,
                    const Environment& environment);

// Returns advice for an error message: how to pass a variable with a secret by this version of
// Run:AI.
std::string advice_on_a_secret(const std::string& name, const options::Split& split,
                               const Environment& environment);

// Returns a line that suggests which toprun verbs to use next for a new job.
std::string next_words(const PodOptions& options, std::string_view id);

}  // namespace toprun::pods
