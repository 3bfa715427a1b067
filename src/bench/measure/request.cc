#include "bench/measure/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace toprun::measure {
namespace {

// What a factor adds: at least 1.
std::uint64_t grown_by(std::uint64_t bytes, double factor) {
  const double growth = std::ceil(static_cast<double>(bytes) * factor) - static_cast<double>(bytes);
  constexpr double too_large = 0x1p64;
  if (growth >= too_large) return std::numeric_limits<std::uint64_t>::max();
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(growth));
}

}  // namespace

Result<std::vector<std::uint64_t>> sizes(const Request& request) {
  const std::string what =
      fmt::format("--minbytes {} --maxbytes {}", request.min_bytes, request.max_bytes);
  if (request.min_bytes > request.max_bytes) {
    return usage(what, "the smallest size is larger than the largest");
  }
  if (request.factor && *request.factor <= 1) {
    return usage(fmt::format("--stepfactor {}", *request.factor),
                 "the factor must be larger than 1");
  }
  const bool grows = request.factor || request.step_bytes > 0;
  if (!grows && request.min_bytes != request.max_bytes) {
    return usage("--stepbytes 0", "the step must be larger than 0");
  }
  std::vector<std::uint64_t> found;
  for (std::uint64_t bytes = request.min_bytes; bytes <= request.max_bytes;) {
    if (found.size() == most_sizes) {
      return usage(what, fmt::format("the options request more than {} sizes", most_sizes),
                   "give --stepfactor 2");
    }
    found.push_back(bytes);
    const std::uint64_t growth = request.factor ? grown_by(bytes, *request.factor)
                                                : std::max<std::uint64_t>(request.step_bytes, 1);
    if (growth > request.max_bytes - bytes) break;
    bytes += growth;
  }
  return found;
}

}  // namespace toprun::measure
