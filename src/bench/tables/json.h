#pragma once

#include <string>
#include <string_view>

#include "base/text/error.h"
#include "bench/tables/measurement.h"

namespace toprun::bench {

inline constexpr std::string_view report_schema = "toprun.bench/1";

// The fields of nccl-tests' -J file with its units (µs, GB/s) and its spelling (a root is a text, a
// truth is "true"), and per result what it lacks: collective, backend, nodes, ranks, order, fabric,
// line_gbps, limit_gbps and wire_floor_gbps; per placement min, median, p99, cv and samples.
// "schema" tells the two apart. Ends with a newline.
std::string report_json(const Report& report);

// The same report from its JSON; neighbouring results of the same series become one Series again,
// so a series without rows is lost. `file` names it in errors, which have exit code 2: not JSON,
// too large or too deep, another schema, or the first field that is not what it must be.
Result<Report> parse_report(std::string_view text, const std::string& file);

}  // namespace toprun::bench
