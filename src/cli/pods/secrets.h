#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text/error.h"
#include "cli/pods/option_reader.h"
#include "engines/kubernetes/workload.h"

namespace toprun::pods {

// What --secret-env says: variables of Secrets in `job`, and the values of those that go into the
// job's own in `values`, from the environment. Pure. Errors (exit 2): no NAME or NAME=SECRET:KEY, a
// name twice, a variable that is not set.
Result<void> read_secrets(engines::kubernetes::Workload& job,
                          std::map<std::string, std::string>& values, const OptionReader& reader);

// A name that no other job's Secret has.
std::string fresh_secret_name();

// Refuses an object that would hold a secret (base/text/secrets.h): in a variable, a command's
// words or any other text. Pure.
Result<void> check_object(const nlohmann::ordered_json& object);

}  // namespace toprun::pods
