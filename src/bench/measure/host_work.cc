#include "bench/measure/host_work.h"

#include <chrono>

namespace toprun::measure {

using std::chrono::steady_clock;

Result<void> HostWork::fill(bool in_place) {
  check().fill(memory_.buffers(in_place));
  return {};
}

Result<std::vector<double>> HostWork::run(bool in_place, std::size_t iterations,
                                          std::size_t /*aggregated*/) {
  const bool divides = request_.op == Op::avg && bench::facts_of(request_.collective).reduces;
  std::vector<double> times;
  for (std::size_t i = 0; i < iterations; ++i) {
    const auto began = steady_clock::now();
    TRY(once(in_place));
    if (divides) {
      divide(request_.type, {memory_.buffers(in_place).receive, memory_.lengths().receive},
             ring_.size);
    }
    const std::chrono::duration<double, std::micro> took = steady_clock::now() - began;
    times.push_back(took.count());
  }
  return times;
}

Result<std::uint64_t> HostWork::wrong(bool in_place) {
  return check().wrong(memory_.buffers(in_place));
}

}  // namespace toprun::measure
