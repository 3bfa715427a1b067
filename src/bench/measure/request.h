#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/text/error.h"
#include "bench/measure/element.h"
#include "bench/tables/measurement.h"

namespace toprun::measure {

// Which rank's time counts as an iteration's time. The enumerators have the numbers that nccl-tests
// uses for its option -a.
enum class Average { first_rank, mean, least, most };

// What to measure. The defaults are the defaults of nccl-tests.
struct Request {
  bench::Collective collective = bench::Collective::all_reduce;
  std::uint64_t min_bytes = 32u << 20;
  std::uint64_t max_bytes = 32u << 20;
  std::uint64_t step_bytes = 1u << 20;  // difference between two sizes, if `factor` is not set
  std::optional<double> factor = {};    // each size is the previous size times this factor; > 1
  std::size_t iterations = 20;
  // Each size is measured for at least this long. If `iterations` iterations take less time, more
  // run, because the mean over less than a scheduler's time slice would depend on chance. 0:
  // exactly `iterations`.
  std::chrono::milliseconds least_time{50};
  std::size_t warmups = 1;
  std::size_t aggregated = 1;  // operations that a GPU's library receives together
  Average average = Average::most;
  bool check = true;
  Type type = Type::float32;
  Op op = Op::sum;
  std::size_t root = 0;     // a rank
  std::size_t stripes = 1;  // connections to each neighbour
  // Iterations are repeated until the coefficient of variation of their times is below this value.
  std::optional<double> stable_cv = {};
  // The next five lists select the configurations to compare; all empty: all ranks in their order,
  // over TCP.
  std::vector<std::string> backends = {};
  std::vector<std::string> fabrics = {};  // names in fabric_names
  std::vector<std::string> orders = {};   // names in order_names
  std::vector<std::size_t> nodes = {};
  std::vector<std::size_t> ranks = {};
  // The measurement fails if no data moves for this long.
  std::chrono::seconds stall_limit{60};
};

inline constexpr std::size_t most_sizes = 1000;

// Returns the sizes in bytes, ascending. Error (exit_usage): the maximum is below the minimum, the
// factor is not above 1, the step is 0, or there are more than most_sizes sizes.
Result<std::vector<std::uint64_t>> sizes(const Request& request);

}  // namespace toprun::measure
