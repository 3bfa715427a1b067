#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/text/error.h"
#include "cli/options/call.h"

namespace toprun::cli {

// Returns the file of --output. Unset: --output is missing or is "-", so stdout is used.
std::optional<std::string> output_file(const options::Call& call);

// Prints the content on stdout, or writes it to the file of --output and says so on stderr. Returns
// the exit code.
Result<int> put_out(const options::Call& call, std::string_view content);

// Checks that --root, if given, contains a copy of a machine's /sys, /proc, /etc or /dev. In any
// other folder, `toprun doctor` would find nothing, and report that the machine has no faults.
Result<void> check_root(const options::Call& call);

}  // namespace toprun::cli
