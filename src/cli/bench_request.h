#pragma once

#include <optional>
#include <string>

#include "bench/compare.h"
#include "measure/limit.h"
#include "measure/request.h"
#include "options/call.h"

namespace toprun::cli {

// What `toprun bench` measures and how it shows it.
struct BenchRequest {
  measure::Request measured;
  std::string format;  // a word of --format
  std::optional<std::string> save;
  std::optional<bench::Expectation> expected;
  measure::Rates rates;
};

// Error (exit_usage): a value that is not possible, said before anything is started.
Result<BenchRequest> bench_request(const options::Call& call);

}  // namespace toprun::cli
