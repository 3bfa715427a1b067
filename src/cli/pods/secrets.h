#pragma once

#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "base/text/error.h"
#include "cli/pods/option_reader.h"
#include "engines/kubernetes/workload.h"

namespace toprun::pods {

// Parses --secret-env and adds the variables to `job`. `values` receives the values of the
// variables in the job's own Secret. These values come from the environment. Pure. Errors (exit 2):
// the form is not NAME or NAME=SECRET:KEY, a repeated name, an unset variable. Run:AI accepts no
// NAME, so with `on_runai` the environment does not matter.
Result<void> read_secrets(engines::kubernetes::Workload& job,
                          std::map<std::string, std::string>& values, const OptionReader& reader,
                          bool on_runai);

// Returns a unique name for a job's Secret.
std::string fresh_secret_name();

// Returns an error if the object contains a secret (base/text/secrets.h) in a variable, a command
// or any other text. Pure.
Result<void> check_object(const nlohmann::ordered_json& object);

}  // namespace toprun::pods
