#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/error.h"

namespace toprun::cli {

// "4096", "8k", "64M", "4G" (multiples of 1024), lower or upper case. Fails with exit_usage,
// naming `option`.
Result<std::size_t> parse_bytes(std::string_view option, std::string_view text);

// `toprun store`, with the arguments after the verb: a PyTorch TCPStore server until SIGINT or
// SIGTERM, which are its normal end. Returns the exit code.
int run_store(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace toprun::cli
