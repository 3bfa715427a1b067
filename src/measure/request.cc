#include "measure/request.h"

#include <fmt/format.h>

#include <cmath>

namespace toprun::measure {

Result<std::vector<std::uint64_t>> sizes(const Request& request) {
  const std::string what =
      fmt::format("--minbytes {} --maxbytes {}", request.min_bytes, request.max_bytes);
  if (request.min_bytes > request.max_bytes) {
    return usage(what, "the smallest size is larger than the largest");
  }
  if (request.factor && *request.factor <= 1) {
    return usage(fmt::format("--stepfactor {}", *request.factor), "it must be larger than 1");
  }
  const bool grows = request.factor || request.step_bytes > 0;
  if (!grows && request.min_bytes != request.max_bytes) {
    return usage("--stepbytes 0", "it must be larger than 0");
  }
  std::vector<std::uint64_t> found;
  for (std::uint64_t bytes = request.min_bytes; bytes <= request.max_bytes;) {
    if (found.size() == most_sizes) {
      return usage(what, fmt::format("these are more than {} sizes", most_sizes),
                   "give --stepfactor 2");
    }
    found.push_back(bytes);
    const double next = request.factor ? std::ceil(static_cast<double>(bytes) * *request.factor)
                                       : static_cast<double>(bytes + request.step_bytes);
    // The last size may be the largest that there is.
    if (next > static_cast<double>(request.max_bytes)) break;
    bytes = std::max(bytes + 1, static_cast<std::uint64_t>(next));
  }
  return found;
}

}  // namespace toprun::measure
