#pragma once

#include <string>
#include <string_view>

#include "base/text/error.h"
#include "bench/tables/measurement.h"

namespace toprun::bench {

inline constexpr std::string_view report_schema = "toprun.bench/1";

// The report as JSON, with the fields, units (µs, GB/s) and spelling of an nccl-tests -J file: a
// root is a string, and a truth value is "true". Each result also has collective, backend, nodes,
// ranks, order, fabric, line_gbps, limit_gbps and wire_floor_gbps. Each placement also has min,
// median, p99, cv and samples. The field "schema" occurs only in toprun's format. Ends with a
// newline.
std::string report_json(const Report& report);

// Reads a report from its JSON. Adjacent results of the same series become one Series again, so a
// series without rows is lost. `file` is the name in errors. Errors (exit code 2): the text is not
// JSON, is too large, is nested too deeply or has another schema; or a field is invalid.
Result<Report> parse_report(std::string_view text, const std::string& file);

}  // namespace toprun::bench
