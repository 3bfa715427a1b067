#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/text/error.h"
#include "cli/options/call.h"

namespace toprun::cli {

// What --output names; unset: stdout, which "-" means as well.
std::optional<std::string> output_file(const options::Call& call);

// Prints there, or writes the file and says so. The exit code.
Result<int> put_out(const options::Call& call, std::string_view content);

}  // namespace toprun::cli
